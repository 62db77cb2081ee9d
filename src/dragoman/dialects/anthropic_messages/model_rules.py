"""What only some of Claude's models reject; ``models/anthropic.py`` has which."""

from __future__ import annotations

from ...core.models import UNKNOWN, Facts
from ...dialect import Problem
from ...lint.rules import Page, Problems, number, string
from ...model import Json
from .._claude import WAYS, refusal

SAID = ("text", "thinking", "redacted_thinking")


def model(page: Page) -> Problems:
    facts = page.facts("anthropic")
    if facts is UNKNOWN:
        return
    yield from sampling(page, facts)
    yield from thinking(page, facts)
    yield from limit(page, facts)
    yield from turns(page, facts)
    choice = page.choice
    if facts.tools is False and page.tools:
        yield Problem("model-tools", "/tools", "tools are not supported on this model")
    forced = choice.__class__ is dict and choice.get("type") in ("any", "tool")
    if facts.forced_tools is False and forced:
        message = "tool_choice: forced tool use is not supported on this model"
        yield Problem("model-tools", page.choice_at, message)


def sampling(page: Page, facts: Facts) -> Problems:
    for key in ("temperature", "top_p", "top_k"):
        value = number(page.top.get(key))
        if value is None:
            continue
        if key in facts.refuses or value != facts.fixed.get(key, value):
            message = f"`{key}` is deprecated for this model."
            yield Problem("model-parameter", f"/{key}", message)
    there = [key for key in facts.exclusive if page.top.get(key) is not None]
    if len(there) > 1 and page.top.get("temperature") != 1:
        message = (
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one."
        )
        yield Problem("model-parameter", f"/{there[1]}", message)


def thinking(page: Page, facts: Facts) -> Problems:
    config, output = page.top.get("thinking"), page.top.get("output_config")
    kind = string(config.get("type")) if config.__class__ is dict else None
    way = WAYS.get(kind or "")
    if way is not None and facts.thinking is not None and way not in facts.thinking:
        yield Problem("model-thinking", "/thinking/type", refusal(way, facts))
    effort = string(output.get("effort")) if output.__class__ is dict else None
    if effort is None or facts.efforts is None:
        return
    at = "/output_config/effort"
    if not facts.efforts:
        message = "This model does not support the effort parameter."
        yield Problem("model-effort", at, message)
    elif effort not in facts.efforts:
        known = ", ".join(sorted(facts.efforts))
        message = f"This model does not support effort level '{effort}'. Supported levels: {known}."
        yield Problem("model-effort", at, message)
    elif way == "off" and facts.efforts_off is not None and effort not in facts.efforts_off:
        message = (
            f"output_config.effort '{effort}' is not supported when thinking is disabled on this "
            "model. Use effort 'high' or below, or enable thinking."
        )
        yield Problem("model-effort", at, message)


def limit(page: Page, facts: Facts) -> Problems:
    value = page.top.get("max_tokens")
    if value.__class__ is int and facts.max_tokens is not None and value > facts.max_tokens:
        message = (
            f"max_tokens: {value} > {facts.max_tokens}, which is the maximum allowed number of "
            f"output tokens for {page.top.get('model')}"
        )
        yield Problem("model-limit", "/max_tokens", message)


def turns(page: Page, facts: Facts) -> Problems:
    for at, message in page.messages if facts.system_turns is False else ():
        if message.get("role") == "system":
            written = "role 'system' is not supported on this model"
            yield Problem("model-system", f"{at}/role", written)
    if facts.prefill is not False or not page.whole or not page.messages:
        return
    at, last = page.messages[-1]
    if last.get("role") == "assistant" and is_stated(last.get("content")):
        written = (
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )
        yield Problem("model-prefill", at, written)


def is_stated(content: Json) -> bool:
    """Whether a turn is words alone. What ends in work of a server's tool goes on elsewhere."""
    if content.__class__ is not list:
        return content.__class__ is str
    return bool(content) and all(b.__class__ is dict and b.get("type") in SAID for b in content)


def display(page: Page) -> Problems:
    """Whatever the model: thinking that is off shows nothing."""
    config = page.top.get("thinking")
    if config.__class__ is dict and config.get("display") is not None:
        if (kind := config.get("type")) in ("disabled", "between_tools"):
            message = f"thinking.{kind}.display: Extra inputs are not permitted"
            yield Problem("thinking-display", "/thinking/display", message)


def adaptive(page: Page) -> Problems:
    """Whatever the model: thinking by its own judgement takes no temperature either."""
    config = page.top.get("thinking")
    if config.__class__ is dict and config.get("type") == "adaptive":
        if number(page.top.get("temperature")) not in (None, 1):
            message = (
                "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
            )
            yield Problem("thinking-temperature", "/temperature", message)
