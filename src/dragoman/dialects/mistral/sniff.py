"""How to know a document of Mistral's: one of OpenAI Chat with signs of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...core.models import is_named
from ...lint.evidence import FIRST, PARTS, Verdict, objects, told_by
from ...model import Json
from .._nine import is_legal

KEYS = {
    "random_seed": 0.9, "safe_prompt": 0.9, "prompt_mode": 0.7, "guardrails": 0.5,
    "repetition_penalty": 0.1,
}  # fmt: skip
NINE = "the id of a call has nine characters"  # not on its own: Groq has such ids, too
CHUNKS = {"document_url": 0.9, "thinking": 0.5, "reference": 0.5, "resource_link": 0.3}


def sniff(base: Iterable[Verdict], doc: Json) -> Iterator[Verdict]:
    """With a sign of Mistral, what speaks for OpenAI Chat speaks for it; else nothing does."""
    if doc.__class__ is dict and doc.get("choices") is None and doc.get("object") == "error":
        if doc.get("message").__class__ is str:
            yield "error", 0.8, ("a flat error with the object 'error'",)
            return
    signs = dict(signs_of(doc))
    if not signs.keys() - {NINE}:
        return
    yield from told_by(signs, base)


def signs_of(doc: Json) -> Iterator[tuple[str, float]]:
    top = doc if doc.__class__ is dict else {}
    if is_named("mistral", top.get("model")):
        yield "the model is one of Mistral's", 0.5
    for key, weight in KEYS.items():
        if top.get(key) is not None:
            yield f"the key {key!r}", weight
    if top.get("tool_choice") == "any":
        yield "the tool choice 'any'", 0.8
    usage = top.get("usage")
    if usage.__class__ is dict and usage.get("num_cached_tokens") is not None:
        yield "a usage with 'num_cached_tokens'", 0.5
    for message in messages_of(doc):
        yield from signs_in(message)


def messages_of(doc: Json) -> Iterator[dict[str, Json]]:
    if doc.__class__ is list:
        yield from objects(doc, FIRST)
    elif doc.__class__ is dict:
        yield from objects(doc.get("messages"), FIRST)
        for choice in objects(doc.get("choices"), 3):
            if choice.get("message").__class__ is dict:
                yield choice["message"]


def signs_in(message: dict[str, Json]) -> Iterator[tuple[str, float]]:
    if message.get("prefix").__class__ is bool:
        yield "a message with 'prefix'", 0.8
    for call in objects(message.get("tool_calls"), PARTS):
        call_id = call.get("id")
        if call_id.__class__ is str and is_legal(call_id):
            yield NINE, 0.6
    for part in objects(message.get("content"), PARTS):
        kind = part.get("type")
        if kind.__class__ is not str or kind not in CHUNKS:
            continue
        if kind != "thinking" or part.get("thinking").__class__ is list:
            yield f"a chunk of type {kind!r}", CHUNKS[kind]
