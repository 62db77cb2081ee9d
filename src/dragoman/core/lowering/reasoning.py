"""Reasoning on its way to a target: signatures, ids, summaries, parts, and whether it goes at all.

These are one family: reasoning without text is dropped silently where the loss of its signature or
of its id has told of it, so none of them can be looked at alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...model import Reasoning, Signature
from ..capabilities import ReasoningForm
from ..signers import signer
from ..writing import joined

if TYPE_CHECKING:
    from .messages import Messages


def lower(block: Reasoning, form: ReasoningForm, lowering: Messages) -> Sequence[Reasoning]:
    """A block of reasoning as the target takes it, or nothing."""
    to, place, log = lowering.to, lowering.place, lowering.log
    if block.extras is not None and to.is_home(block.extras.dialect):
        return (block,)  # the target wrote it
    signature, name = block.signature, block.id
    words = block.words if block.summary else block.content
    if signature is not None and (signer(signature), signature.kind) not in form.signatures:
        log.dropped("reasoning.signature", block.at, _refused(signature, form, to.name))
        signature = None
    if name is not None and place not in form.ids:
        log.dropped("reasoning.id", block.at, f"{to.name} has no field for reasoning ids")
        name = None
    said = any(words)
    signed = signature is not None or (form.by_id and name is not None)
    if (why := _unfit(signed, said or name is not None, form, lowering)) is not None:
        if said or (block.signature is None and block.id is None):
            log.dropped("reasoning", block.at, why)
        elif name is not None:
            log.dropped("reasoning.id", block.at, why)
        to.lose(block.extras, block.at, log)
        return ()
    content, summary = block.content, block.summary
    if summary and place not in form.summaries:
        if any(summary) and words is content:
            why = f"{to.name} has one form of reasoning; the summary beside it is omitted"
            log.dropped("reasoning.summary", block.at, why)
        elif any(summary):
            why = f"{to.name} does not tell a summary from the reasoning itself"
            log.approximated("reasoning.summary", block.at, why)
        content, summary = words, ()
    if len(content) > 1 and place not in form.parts:
        why = f"a block of reasoning is one text in {to.name}"
        log.approximated("text.boundary", block.at, why)
        content = (joined(content),)
    if (name, signature, content, summary) == (
        block.id,
        block.signature,
        block.content,
        block.summary,
    ):
        return (block,)
    return (replace(block, content=content, summary=summary, id=name, signature=signature),)


def _unfit(signed: bool, said: bool, form: ReasoningForm, lowering: Messages) -> str | None:
    """Why a block cannot be written at all; None where it can."""
    to, place = lowering.to, lowering.place
    if place not in form.places:
        return f"{to.name} has no field for reasoning"
    if signed:
        return None
    if not said:
        return "reasoning without text"
    if place not in form.unsigned:
        kinds = "a signature" if ("anthropic", "signature") in form.signatures else "its encryption"
        return f"{to.name} rejects reasoning without {kinds}{' or an id' if form.by_id else ''}"
    return None


def _refused(signature: Signature, form: ReasoningForm, target: str) -> str:
    if not form.signatures:
        return f"{target} has no field for reasoning signatures"
    done = "signed" if signature.kind == "signature" else "encrypted"
    return f"reasoning {done} by {signature.issuer} is not accepted by {target}"
