"""Media on their way to a target: which kinds it takes, from where, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...model import Block, Media, Role, Text
from ..capabilities import ALL_MEDIA, Form, MediaForms
from ..media import plain_type, sniff, text_of
from ..turns import with_extension

if TYPE_CHECKING:
    from .messages import Messages

LABELS = {
    "title": "titles",
    "filename": "file names",
    "context": "contexts",
    "citable": "switches for citations",
    "transcript": "transcripts",
    "detail": "detail levels",
}
"""What may be told of a medium, and what it is called in the ledger."""

SOURCES = {
    "url": "by URL",
    "base64": "as data",
    "file": "as stored files",
    "text": "as text",
    "blocks": "as blocks",
}


def lower(block: Media, role: Role, lowering: Messages) -> Sequence[Block]:
    """A medium as the target can take it: with less told of it, as text, or not at all."""
    to, log = lowering.to, lowering.log
    can = to.can.media
    if can is ALL_MEDIA or role not in can.roles:
        return (block,)  # which cannot be there at all
    if role == "assistant" and block.kind not in can.spoken:
        return (block,)
    kinds = can.kinds if role != "tool" or can.results is None else can.results
    why = _refused(block, can, kinds, lowering)
    if why is not None:
        log.dropped(can.code if role == "tool" else "media", block.at, why)
        return ()
    if block.source.kind in can.texts:
        return _text(block, role, lowering)
    return (_told(block, kinds[block.kind], lowering),)


def _refused(
    block: Media, can: MediaForms, kinds: Mapping[str, Form], lowering: Messages
) -> str | None:
    """Why a medium cannot be sent."""
    to, kind, source = lowering.to, block.kind, block.source
    taken = lowering.facts.media
    if taken is not None and kind not in taken:
        return f"{kind} input is not supported by {lowering.model}"
    if source.kind in can.texts:
        return None
    form = kinds.get(kind)
    if form is None:
        return f"{to.name} has no form for {kind} input"
    if source.kind not in form.sources:
        ways = " or ".join(SOURCES[way] for way in SOURCES if way in form.sources)
        return f"{to.name} takes {kind} input {ways} only"
    if source.kind == "file" and source.issuer not in (None, to.issuer) and not form.any_file:
        return f"the file is stored at {source.issuer}; {to.name} has no access to it"
    if source.kind == "url":
        if source.value[:5].lower() == "data:" and not form.any_data:
            return f"{to.name} takes data as base64 only"
    if source.kind in ("url", "file"):
        if not source.value.startswith(form.scheme):
            return f"{to.name} takes no addresses but those that begin with {form.scheme}"
    elif source.kind == "base64" and form.types is not None and source.media_type is not None:
        if plain_type(source.media_type) not in form.types:
            if kind != "document" or text_of(source.value) is None:
                return f"{to.name} takes no {kind} input of the type {source.media_type}"
    return None


def _text(block: Media, role: Role, lowering: Messages) -> Sequence[Block]:
    """A document of plain text, where there are no documents of such a kind."""
    to, log, source = lowering.to, lowering.log, block.source
    log.approximated("media", block.at, f"{to.name} has no text documents; written as text")
    for name in LABELS:
        if name != "detail" and getattr(block, name) is not None:
            why = f"the document is written as text for {to.name}"
            log.dropped(f"media.{name}", block.at, why)
    to.lose(block.extras, block.at, log)
    if source.kind == "text":
        return lowering.block(Text(source.value, cache=block.cache, at=block.at), role)
    if block.cache is not None:
        why = f"the document that it marks is written as texts for {to.name}"
        log.dropped("cache", block.cache.at, why)
    return lowering.content(source.blocks, role)


def _told(block: Media, form: Form, lowering: Messages) -> Media:
    """A medium with what can be told of it."""
    to, log, source = lowering.to, lowering.log, block.source
    changes: dict[str, str | None] = {}
    for name, what in LABELS.items():
        value = getattr(block, name)
        if value is None or name in form.labels:
            continue
        changes[name] = None
        if name == "title" and block.filename is None and source.kind in form.titled:
            kind = source.media_type or ("text/plain" if source.kind == "text" else None)
            changes["filename"] = with_extension(value, kind) if form.extended else value
            log.approximated("media.title", block.at, f"written as the file name for {to.name}")
        elif name == "filename" and block.title is None and "title" in form.labels:
            changes["title"] = value
            log.approximated("media.filename", block.at, f"written as the title for {to.name}")
        elif value != "auto" or name != "detail":
            log.dropped(f"media.{name}", block.at, f"{to.name} has no {what} of {block.kind} input")
    if source.media_type is not None and source.kind in ("url", "file") and not form.typed:
        why = f"{to.name} has no media types of what is only pointed at"
        log.dropped("media.type", block.at, why)
        source = replace(source, media_type=None)
    elif source.media_type is None and source.kind == "base64" and form.usual is not None:
        found = sniff(source.value)  # the data tell better what they are
        if found is None or not found.startswith(f"{block.kind}/"):
            found = form.usual
        log.invented("media.type", block.at, f"data without a type; taken for {found}")
        source = replace(source, media_type=found)
    if source is not block.source:
        return replace(block, source=source, **changes)
    return replace(block, **changes) if changes else block
