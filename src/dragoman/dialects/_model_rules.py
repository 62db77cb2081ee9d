"""Rules that hold for some models of an API only: what the tables of ``models`` say is refused.

The same words in all dialects; what the server says stands in the problem itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..core.models import UNKNOWN, Facts
from ..dialect import Problem
from ..lint.rules import Page, Problems, number, string
from ..model import Json

RULES: dict[str, str] = {
    "model-parameter": "The model accepts the parameter: newer Claude models and OpenAI's "
    "reasoning models accept no sampling parameters.",
    "model-thinking": "The model supports this thinking mode: a budget, adaptive, or disabled.",
    "model-effort": "The model supports this reasoning effort.",
    "model-limit": "The output limit is not above the maximum of the model, and in the field that "
    "the model accepts.",
    "model-prefill": "'This model does not support assistant message prefill. The conversation "
    "must end with a user message.'",
    "model-system": "The model accepts a system prompt, and system messages in the conversation.",
    "model-tools": "The model accepts tools, and a tool choice that forces a call.",
    "model-output": "The model supports JSON output.",
    "model-media": "The model accepts media of this kind.",
}
# The values that say nothing: a server takes them though the model takes no others.
DEFAULTS: dict[str, Json] = {
    "temperature": 1,
    "top_p": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "logprobs": False,
    "logit_bias": {},
    "stop": [],
}


def unsupported(names: Mapping[str, str]) -> Callable[[Page, Facts, bool], Problems]:
    """A rule over parameters: their names in the tree, and their keys in the document."""

    def rule(page: Page, facts: Facts, reasons: bool) -> Problems:
        refused = {*facts.refuses, *(facts.refuses_thinking if reasons else ())}
        for name, key in names.items():
            value = page.top.get(key)
            if name not in refused or value is None or value == DEFAULTS.get(name):
                continue
            message = f"Unsupported parameter: '{key}' is not supported with this model."
            yield Problem("model-parameter", f"/{key}", message)

    return rule


CHAT = unsupported(
    {
        name: name
        for name in (
            "temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias",
            "logprobs", "top_logprobs", "stop",
        )
    }
)  # fmt: skip
RESPONSES = unsupported({name: name for name in ("temperature", "top_p", "top_logprobs")})


def reasons(effort: str | None, facts: Facts) -> bool:
    """Whether a model reasons over a request with that effort."""
    if facts.thinks in ("always", "never"):
        return facts.thinks == "always"
    return facts.thinks == "on" if effort is None else effort != "none"


def efforts(effort: str | None, at: str, page: Page, facts: Facts) -> Problems:
    if effort is None or facts.efforts is None or effort in facts.efforts:
        return
    key = at[1:].replace("/", ".")
    message = f"Unsupported parameter: '{key}' is not supported with this model."
    if facts.efforts:
        model, known = page.top.get("model"), ", ".join(f"'{level}'" for level in facts.efforts)
        message = (
            f"Unsupported value: '{effort}' is not supported with the '{model}' model. Supported "
            f"values are: {known}."
        )
    yield Problem("model-effort", at, message)


def limits(page: Page, facts: Facts, *keys: str) -> Problems:
    """ "max_tokens is too large: 99999. This model supports at most 16384 completion tokens" """
    for key in keys:
        value, most = number(page.top.get(key)), facts.max_tokens
        if value is not None and most is not None and value > most:
            message = (
                f"{key} is too large: {value}. This model supports at most {most} completion "
                f"tokens, whereas you provided {value}."
            )
            yield Problem("model-limit", f"/{key}", message)


def chat_model(page: Page, vendor: str) -> Problems:
    """What a model after an API like Chat Completions does not take."""
    facts = page.facts(vendor)
    if facts is UNKNOWN:
        return
    effort = string(page.top.get("reasoning_effort"))
    yield from CHAT(page, facts, reasons(effort, facts))
    yield from efforts(effort, "/reasoning_effort", page, facts)
    yield from limits(page, facts, "max_completion_tokens", "max_tokens")
    if facts.limit_key is not None and page.top.get("max_tokens") is not None:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            f"'{facts.limit_key}' instead."
        )
        yield Problem("model-limit", "/max_tokens", message)
    if facts.tools is False and page.tools:
        yield Problem("model-tools", "/tools", "tools is not supported in this model.")
    yield from system_roles(page, facts, "messages")
    if facts.media is not None:
        yield from chat_media(page, facts.media)


def responses_model(page: Page) -> Problems:
    """What a model after OpenAI's Responses API does not take."""
    facts = page.facts("openai")
    if facts is UNKNOWN:
        return
    written = page.top.get("reasoning")
    effort = string(written.get("effort")) if written.__class__ is dict else None
    yield from RESPONSES(page, facts, reasons(effort, facts))
    yield from efforts(effort, "/reasoning/effort", page, facts)
    if facts.tools is False and page.tools:
        yield Problem("model-tools", "/tools", "tools is not supported in this model.")
    yield from system_roles(page, facts, "input")


def system_roles(page: Page, facts: Facts, listed: str) -> Problems:
    for index, (at, message) in enumerate(page.messages if facts.system_prompt is False else ()):
        role = message.get("role")
        if role in ("system", "developer"):
            written = (
                f"Unsupported value: '{listed}[{index}].role' does not support '{role}' with this "
                "model."
            )
            yield Problem("model-system", f"{at}/role", written)


PARTS = {"image_url": "image", "input_audio": "audio", "file": "document", "video_url": "video"}


def chat_media(page: Page, kinds: tuple[str, ...]) -> Problems:
    """ "unknown variant `image_url`, expected `text`" """
    for at, message in page.messages:
        content = message.get("content")
        for index, part in enumerate(content if content.__class__ is list else ()):
            word = string(part.get("type")) if part.__class__ is dict else None
            kind = PARTS.get(word or "")
            if kind is not None and kind not in kinds:
                where = f"{at}/content/{index}"
                yield Problem("model-media", where, f"{word} is not supported with this model.")
