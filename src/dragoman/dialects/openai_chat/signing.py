"""Signatures on calls and texts, as Google's own endpoint for Chat Completions says them.

Gemini signs the first call of a step, and the last text of an answer. A call bears its signature
in ``extra_content.google.thought_signature``; that of the text stands there in the message.
https://ai.google.dev/gemini-api/docs/thought-signatures#openai
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from msgspec.structs import replace

from ...dialect import Dialect
from ...model import Block, Extras, Json, Seal, Text, ToolCall
from ...models import Models
from ...reading import only
from ...writing import Writing

KEY = "extra_content"
VENDORS = ("google", "vertex")
ISSUER = "google"
SIGNED = {vendor: only(vendor) for vendor in VENDORS}
PLAIN_SIGNATURE = only("thought_signature")

B = TypeVar("B", bound=Text | ToolCall)


def signature_of(doc: dict[str, Json]) -> tuple[str, str] | None:
    """Who signed a call or a message, as it is called there, and how; None if nobody did."""
    extra = doc.get(KEY)
    if extra.__class__ is not dict:
        return None
    for vendor in VENDORS:
        inner = extra.get(vendor)
        if inner.__class__ is dict and PLAIN_SIGNATURE(inner) and SIGNED[vendor](extra):
            signature = inner.get("thought_signature")
            if signature.__class__ is str and signature:
                return vendor, signature
    return None


def unsigned(block: B, spelling: str) -> B:
    """A block without its signature, and without how that was spelled."""
    extras = block.extras
    if extras is None:
        return block
    rest = {k: v for k, v in extras.spelling.items() if k != spelling}
    if not (extras.fields or extras.blanks or rest):
        return replace(block, extras=None)
    return replace(block, extras=replace(extras, seal=None, spelling=rest))


class Signing(Dialect):
    """Signatures, into the tree and out of it."""

    has_signatures: ClassVar[bool] = True
    """Whether Google may be the one who is spoken to."""

    def signed(self, extras: Extras | None, found: tuple[str, str]) -> Extras:
        vendor, signature = found
        if vendor != VENDORS[0]:
            extras = self.respell(extras, vendor=vendor)
        return replace(extras or Extras(self.name), seal=Seal(signature, ISSUER))

    def sign_last(self, blocks: list[Block], found: tuple[str, str]) -> bool:
        """The signature of a message is that of its last text, if it has one."""
        for index in range(len(blocks) - 1, -1, -1):
            block = blocks[index]
            if isinstance(block, Text):
                blocks[index] = replace(block, extras=self.signed(block.extras, found))
                return True
        return False

    def is_addressed(self, model: str | None, models: Models) -> bool:
        """Whether a request goes to Google, which alone may receive what it signed."""
        return models.vendor_of(model) == "google"

    def write_signature(self, out: dict[str, Json], block: B, w: Writing) -> B:
        """Say the signature of a block, if it may be said; the block without it."""
        extras = block.extras
        if extras is None or (seal := extras.seal) is None:
            return block
        if not w.home and not (self.has_signatures and w.signed and seal.issuer == ISSUER):
            return block  # as it is lost, so will be said
        vendor = self.spelling(block).get("vendor", VENDORS[0])
        out[KEY] = {vendor: {"thought_signature": seal.data}}
        return unsigned(block, "vendor")
