"""Reasoning on its way to a target: signatures, ids, summaries, parts, and whether it goes at all.

These are one family: reasoning without text is dropped silently where the loss of its signature or
of its id has told of it, so none of them can be looked at alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Block, Reasoning, Signature
from ..capabilities import ReasoningForm
from ..signers import signer
from ..writing import joined

if TYPE_CHECKING:
    from .messages import Messages


def lower(block: Reasoning, form: ReasoningForm, lowering: Messages) -> Sequence[Reasoning]:
    """A block of reasoning as the target takes it, or nothing."""
    to, place, log = lowering.to, lowering.place, lowering.log
    extras, signature, name = block.extras, block.signature, block.id
    if extras is not None and to.is_same(extras.dialect):
        return (block,)  # the target wrote it
    content, summary = block.content, block.summary
    words = block.words if summary else content
    if signature is not None and not _accepts(signature, form, lowering):
        log.later(_lose_signature, signature, block.at, form, to.name, lowering.model)
        signature = None
    if signature is not None and (signer(signature), signature.kind) in form.redacted:
        return (_redacted(block, lowering),)
    if name is not None and place not in form.ids:
        log.dropped("reasoning.id", block.at, f"{to.name} has no field for reasoning ids")
        name = None
    written = any(words)
    signed = signature is not None or (form.by_id and name is not None)
    if place not in form.places or not signed:
        if (why := _unfit(signed, written or name is not None, form, lowering)) is not None:
            if written or (block.signature is None and block.id is None):
                log.dropped("reasoning", block.at, why)
            elif name is not None:
                log.dropped("reasoning.id", block.at, why)
            if extras is not None:
                to.lose(extras, block.at, log)
            return ()
    if _counts_as_summary(signature, name, form):
        content, summary = _summed(block, words, form, lowering)
    elif summary and place not in form.summaries:
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
    if content is block.content and summary is block.summary:
        if signature is block.signature and name is block.id:
            return (block,)
    return (Reasoning(content, summary, signature, name, at=block.at, extras=extras),)


def note_same_id(before: Block, block: Reasoning, lowering: Messages) -> None:
    """Report a block that is read as a part of the one before it, as both have one id."""
    if block.id is not None and isinstance(before, Reasoning) and before.id == block.id:
        why = f"reasoning blocks with one id are parts of one in {lowering.to.name}"
        lowering.log.approximated("text.boundary", block.at, why)


def _lose_signature(
    signature: Signature, at: str, form: ReasoningForm, target: str, model: str | None, log: Ledger
) -> None:
    log.dropped("reasoning.signature", at, _refused(signature, form, target, model))


def _accepts(signature: Signature, form: ReasoningForm, lowering: Messages) -> bool:
    if (signer(signature), signature.kind) not in form.signatures:
        return False
    return not form.by_model or lowering.to.opens(signature, lowering.model, lowering.log)


def _redacted(block: Reasoning, lowering: Messages) -> Reasoning:
    """Encrypted reasoning, without what cannot stand beside it."""
    to, log = lowering.to, lowering.log
    if any(block.content) or any(block.summary):
        log.dropped("reasoning", block.at, f"encrypted reasoning has no text in {to.name}")
    if block.id is not None:
        log.dropped("reasoning.id", block.at, f"{to.name} has no field for reasoning ids")
    return replace(block, content=(), summary=(), id=None)


def _counts_as_summary(signature: Signature | None, name: str | None, form: ReasoningForm) -> bool:
    if name is not None and form.summed_by_id:
        return True
    return signature is not None and (signer(signature), signature.kind) in form.summed


def _summed(
    block: Reasoning, words: tuple[str, ...], form: ReasoningForm, lowering: Messages
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Content and summary, where all texts beside such a signature count as the summary."""
    to, log, own = lowering.to, lowering.log, words is block.content
    if own and any(block.summary):
        why = f"{to.name} has one form of reasoning; the summary beside it is omitted"
        log.dropped("reasoning.summary", block.at, why)
    if own and any(words):
        why = f"{to.name} takes the text of such reasoning for a summary"
        log.approximated("reasoning.summary", block.at, why)
    elif "" in words and any(words):
        why = f"an empty part of a summary is omitted for {to.name}"
        log.approximated("reasoning.summary", block.at, why)
    summary = tuple(filter(None, words))
    if len(summary) > 1 and not form.summary_parts:
        why = f"a block of reasoning is one text in {to.name}"
        log.approximated("text.boundary", block.at, why)
        summary = (joined(summary),)
    return (), summary


def _unfit(signed: bool, written: bool, form: ReasoningForm, lowering: Messages) -> str | None:
    """Why a block cannot be written at all; None where it can."""
    to, place = lowering.to, lowering.place
    if place not in form.places:
        return f"{to.name} has no field for reasoning"
    if signed:
        return None
    if not written:
        return None if place in form.empty else "reasoning without text"
    if place not in form.unsigned:
        kinds = "a signature" if ("anthropic", "signature") in form.signatures else "its encryption"
        return f"{to.name} rejects reasoning without {kinds}{' or an id' if form.by_id else ''}"
    return None


def _refused(signature: Signature, form: ReasoningForm, target: str, model: str | None) -> str:
    if not form.signatures:
        return f"{target} has no field for reasoning signatures"
    known = (signer(signature), signature.kind) in form.signatures
    done = "signed" if signature.kind == "signature" else "encrypted"
    return f"reasoning {done} by {signature.issuer} is not accepted by {model if known else target}"
