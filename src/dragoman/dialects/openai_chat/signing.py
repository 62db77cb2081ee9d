"""Signatures on calls and texts, as Google's own endpoint for Chat Completions says them.

Gemini signs the first call of a step, and the last text of a reply. A call bears its signature
in ``extra_content.google.thought_signature``; that of the text stands there in the message.
https://ai.google.dev/gemini-api/docs/thought-signatures#openai

LiteLLM has them in ``provider_specific_fields``: ``thought_signature`` of a call or of its
function, ``thought_signatures`` of a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ...core.models import Models
from ...core.reading import only
from ...core.writing import Writing
from ...model import Block, Extras, Json, Signature, Text, ToolCall

if TYPE_CHECKING:
    from . import OpenAIChat


FIELDS = "provider_specific_fields"
# Where LiteLLM has the signature of a call (or of its function, or of both), and of a message.
ONE, SEVERAL = "thought_signature", "thought_signatures"
KEY = "extra_content"
VENDORS = ("google", "vertex")
ISSUER = "google"
SIGNED = {vendor: only(vendor) for vendor in VENDORS}
PLAIN_SIGNATURE = only(ONE)

B = TypeVar("B", bound=Text | ToolCall)


def taken_of(place: str) -> tuple[list[str], dict[str, Json]]:
    """The keys that a signature takes, and the objects of which it takes a part."""
    if place in VENDORS:
        return [KEY], {}
    fields: dict[str, Json] = {FIELDS: (SEVERAL if place == "message" else ONE,)}
    if place == "function":
        return [], {"function": fields}
    return [], fields | ({"function": fields} if place == "both" else {})


def litellm_signature(doc: dict[str, Json]) -> tuple[str, str] | None:
    """Where LiteLLM says how a call or a message was signed, and how."""
    fields, function = doc.get(FIELDS), doc.get("function")
    inner = function.get(FIELDS) if function.__class__ is dict else None
    known = [f.get(ONE) if f.__class__ is dict else None for f in (fields, inner)]
    call, own = (s if s.__class__ is str and s else None for s in known)
    if call:
        return ("both" if call == own else "call"), call
    if own:
        return "function", own
    several = fields.get(SEVERAL) if fields.__class__ is dict else None
    if several.__class__ is list and len(several) == 1:
        if several[0].__class__ is str and several[0]:
            return "message", several[0]
    return None


def signature_of(doc: dict[str, Json]) -> tuple[str, str] | None:
    """Who signed a call or a message, as it is called there, and how; None if nobody did."""
    extra = doc.get(KEY)
    if extra.__class__ is not dict:
        return litellm_signature(doc)
    for vendor in VENDORS:
        inner = extra.get(vendor)
        if inner.__class__ is dict and PLAIN_SIGNATURE(inner) and SIGNED[vendor](extra):
            signature = inner.get(ONE)
            if signature.__class__ is str and signature:
                return vendor, signature
    return None


def unsigned(block: B) -> B:
    """A block without its signature."""
    assert block.extras is not None
    return replace(block, extras=replace(block.extras, signature=None))


def signed(d: OpenAIChat, extras: Extras | None, found: tuple[str, str]) -> Extras:
    """Extras with a signature; where LiteLLM or Vertex have it, they want it back."""
    vendor, signature = found
    if vendor != VENDORS[0]:
        extras = d.respell(extras, vendor=vendor)
    return replace(extras or Extras(d.name), signature=Signature(signature, ISSUER))


def sign_last(d: OpenAIChat, blocks: list[Block], found: tuple[str, str]) -> bool:
    """The signature of a message is that of its last text, if it has one."""
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        if isinstance(block, Text):
            blocks[index] = replace(block, extras=signed(d, block.extras, found))
            return True
    return False


def is_addressed(model: str | None, models: Models) -> bool:
    """Whether a request goes to Google, which alone may receive what it signed."""
    return models.vendor_of(model) == "google"


def write_signature(d: OpenAIChat, out: dict[str, Json], block: B, w: Writing) -> B:
    """Say the signature of a block, if it may be written; the block without it."""
    extras = block.extras
    if extras is None or (signature := extras.signature) is None:
        return block
    if not w.same and not (d.has_signatures and w.signed and signature.issuer == ISSUER):
        return block  # as it is lost, so will be written
    vendor = d.spelling(block).get("vendor", VENDORS[0])
    if vendor in VENDORS:
        out[KEY] = {vendor: {ONE: signature.data}}
    elif isinstance(block, ToolCall):
        out[FIELDS] = {ONE: signature.data}
    else:
        out[FIELDS] = {SEVERAL: [signature.data]}
    return unsigned(block)
