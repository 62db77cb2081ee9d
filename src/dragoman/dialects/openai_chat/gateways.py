"""Reasoning and signatures in shapes that are not OpenAI's, as gateways and servers write them.

LiteLLM has Anthropic's blocks as they are in ``thinking_blocks`` beside ``reasoning_content``,
which has their texts again, and Google's signatures in ``provider_specific_fields``.
https://docs.litellm.ai/docs/reasoning_content, https://docs.litellm.ai/docs/providers/gemini

Databricks has reasoning as a part of the content: ``{"type": "reasoning", "summary": [{"type":
"summary_text", "text": ..., "signature": ...}]}``; only Claude signs it.
https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.reading import only
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import Json, Reasoning, Signature

BLOCKS = "thinking_blocks"
FIELDS = "provider_specific_fields"
TWIN = "reasoning_content"
PART = "reasoning"
ISSUER = "anthropic"
SIGNATURE = "signature"
BLOCK_KEYS = {"thinking": ("type", "thinking", SIGNATURE), "redacted_thinking": ("type", "data")}
PLAIN_PART = only("type", "summary", "text")
PLAIN_ITEM = only("type", "text", SIGNATURE)


# -- LiteLLM ----------------------------------------------------------------------------------


def is_block(doc: Json) -> bool:
    """Whether an entry of ``thinking_blocks`` is one of Anthropic's blocks, whole or in part."""
    if doc.__class__ is not dict:
        return False
    if doc.get("type") == "redacted_thinking":
        return doc.get("data").__class__ is str
    signature = doc.get(SIGNATURE)
    worded = doc.get("type") == "thinking" and doc.get("thinking").__class__ is str
    return worded and (signature is None or signature.__class__ is str)


def are_blocks(docs: Json) -> bool:
    return docs.__class__ is list and bool(docs) and all(map(is_block, docs))


def words_of(docs: Sequence[Json]) -> str:
    """What ``reasoning_content`` repeats of the blocks."""
    return "".join(doc["thinking"] for doc in docs if doc["type"] == "thinking")


def read_blocks(dialect: Dialect, docs: list[Json], at: str) -> list[Reasoning]:
    return [read_block(dialect, doc, f"{at}/{BLOCKS}/{index}") for index, doc in enumerate(docs)]


def read_block(dialect: Dialect, doc: dict[str, Json], at: str) -> Reasoning:
    extras = dialect.keep(doc, BLOCK_KEYS[doc["type"]], {"place": BLOCKS})
    if doc["type"] == "redacted_thinking":
        signature = Signature(doc["data"], ISSUER, "encrypted")
        return Reasoning(signature=signature, at=at, extras=extras)
    signed = Signature(doc[SIGNATURE], ISSUER) if doc.get(SIGNATURE) else None
    return Reasoning((doc["thinking"],), signature=signed, at=at, extras=extras)


def write_block(dialect: Dialect, out: dict[str, Json], block: Reasoning, log: Ledger) -> None:
    """A block where it was, and its words beside it."""
    signature, text = block.signature, "".join(block.content)
    doc: dict[str, Json]
    if signature is not None and signature.kind == "encrypted":
        doc = {"type": "redacted_thinking", "data": signature.data}
    else:
        doc = {"type": "thinking", "thinking": text}
        out[TWIN] = out.get(TWIN, "") + text
        if signature is not None:
            doc[SIGNATURE] = signature.data
    out[BLOCKS] = [*out.get(BLOCKS, ()), dialect.emit(doc, block, log)]


# -- Databricks -------------------------------------------------------------------------------


def is_part(doc: dict[str, Json]) -> bool:
    """Whether a part of the content is reasoning of a known shape."""
    items = doc.get("summary")
    if not PLAIN_PART(doc) or (doc.get("text").__class__ is str) is (items.__class__ is list):
        return False
    return all(map(is_item, items)) if items.__class__ is list else "summary" not in doc


def is_item(doc: Json) -> bool:
    if doc.__class__ is not dict or not PLAIN_ITEM(doc) or doc.get("text").__class__ is not str:
        return False
    signature = doc.get(SIGNATURE)
    return doc.get("type") == "summary_text" and (signature is None or signature.__class__ is str)


def read_part(dialect: Dialect, doc: dict[str, Json], at: str) -> Reasoning:
    extras = dialect.respell(None, place="content")
    if "summary" not in doc:
        return Reasoning((doc["text"],), at=at, extras=extras)
    items = doc["summary"]
    signed = [item[SIGNATURE] for item in items if item.get(SIGNATURE)]
    signature = Signature(signed[-1], ISSUER) if signed else None
    texts = tuple(item["text"] for item in items)
    return Reasoning(summary=texts, signature=signature, at=at, extras=extras)


def write_part(block: Reasoning) -> Json:
    if block.content:
        return {"type": PART, "text": "".join(block.content)}
    items: list[Json] = [{"type": "summary_text", "text": text} for text in block.summary]
    if items and block.signature is not None:
        items[-1][SIGNATURE] = block.signature.data
    return {"type": PART, "summary": items}
