"""What only some models on Bedrock reject. The API's own rules are not written down yet."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.models import UNKNOWN, Facts, Models
from ...dialect import Problem
from ...lint.rules import Placed, Problems, number, placed, string
from ...model import Json
from .._claude import WAYS, refusal
from .request import maker_of

KINDS = ("image", "video", "audio", "document")
MORE = "additionalModelRequestFields"


def check_model(doc: Json, models: Models) -> Problems:
    """A request names its model when it is written here; on the wire, the address does."""
    if doc.__class__ is not dict:
        return
    name = string(doc.get("modelId"))
    facts = models.facts(maker_of(name, models), name)
    if facts is UNKNOWN:
        return
    yield from sampling(doc, facts)
    yield from thinking(doc, facts)
    messages = placed(doc.get("messages"), "/messages")
    for at, message in messages:
        for where, block in blocks(message, at):
            yield from media(block, where, facts)
    written = messages[-1][1] if messages else {}
    texts = [b for _, b in blocks(written, "")]
    if facts.prefill is False and written.get("role") == "assistant":
        if texts and all("text" in block or "reasoningContent" in block for block in texts):
            why = (
                "The model returned the following errors: This model does not support assistant "
                "message prefill. The conversation must end with a user message."
            )
            yield Problem("model-prefill", messages[-1][0], why)


def blocks(message: dict[str, Json], at: str) -> Iterator[Placed]:
    """The blocks of a message, and those of the results in it."""
    for where, block in placed(message.get("content"), f"{at}/content"):
        yield where, block
        inner = block.get("toolResult")
        if inner.__class__ is dict:
            yield from placed(inner.get("content"), f"{where}/toolResult/content")


def media(block: dict[str, Json], at: str, facts: Facts) -> Problems:
    for kind in KINDS:
        inner = block.get(kind)
        if inner.__class__ is not dict:
            continue
        source, stored = inner.get("source"), facts.stored_media
        if facts.media is not None and kind not in facts.media:
            message = (
                f"This model doesn't support the {kind} content block that you provided. Update "
                "the content block and try again."
            )
            yield Problem("model-media", at, message)
        elif stored is None or kind in stored or source.__class__ is not dict:
            continue
        elif "s3Location" in source:
            message = "This model doesn't support the s3Uri field. Remove s3Uri and try again."
            yield Problem("model-media", f"{at}/{kind}/source", message)


def sampling(doc: dict[str, Json], facts: Facts) -> Problems:
    config = doc.get("inferenceConfig")
    if config.__class__ is not dict:
        return
    for name, key in (("temperature", "temperature"), ("top_p", "topP")):
        value = number(config.get(key))
        if value is None:
            continue
        if name in facts.refuses or value != facts.fixed.get(name, value):
            message = (
                f"The model returned the following errors: {name} is deprecated for this model."
            )
            yield Problem("model-parameter", f"/inferenceConfig/{key}", message)
    limit = number(config.get("maxTokens"))
    if limit is not None and facts.max_tokens is not None and limit > facts.max_tokens:
        message = (
            f"The maximum tokens you requested exceeds the model limit of {facts.max_tokens}. Try "
            "again with a maximum tokens value that is lower."
        )
        yield Problem("model-limit", "/inferenceConfig/maxTokens", message)


def thinking(doc: dict[str, Json], facts: Facts) -> Problems:
    more, output = doc.get(MORE), doc.get("outputConfig")
    config = more.get("thinking") if more.__class__ is dict else None
    way = WAYS.get(str(config.get("type"))) if config.__class__ is dict else None
    if way is not None and facts.thinking is not None and way not in facts.thinking:
        yield Problem("model-thinking", f"/{MORE}/thinking/type", refusal(way, facts))
    effort = string(output.get("effort")) if output.__class__ is dict else None
    if effort is not None and facts.efforts is not None and effort not in facts.efforts:
        message = f"This model does not support effort level '{effort}'."
        yield Problem("model-effort", "/outputConfig/effort", message)
