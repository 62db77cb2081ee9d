"""Media on their way to a target: which kinds it takes, from where, and what is told of them.

What cannot be sent at all is dropped first. Then the source becomes one that is taken, its type one
that is accepted, and last come the labels, as a file name may need the type.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...model import Block, Media, Role, Source, Text
from ..capabilities import ALL_MEDIA, Form, MediaForms
from ..media import kind_of, lies, plain_type, sniff, text_of, type_by_ending
from ..turns import with_extension
from . import caching, roles

if TYPE_CHECKING:
    from .messages import Messages

PLAIN = "text/plain"

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
    if can is ALL_MEDIA:
        return (block,)
    if is_misplaced(block, role, lowering):
        return _misplaced(block, role, lowering)
    kinds = can.kinds if role != "tool" or can.results is None else can.results
    why = _refused(block, can, kinds, lowering)
    if why is not None:
        log.dropped(can.code if role == "tool" else "media", block.at, why)
        caching.omit(block, to, log)
        return ()
    if block.source.kind in can.texts:
        return _text(block, role, lowering)
    form = kinds[block.kind]
    source = _typed(block, _taken(block, form, lowering), form, lowering)
    if form.verified and source.kind == "base64" and source.media_type is not None:
        block = replace(block, kind=kind_of(source.media_type))
        form = kinds.get(block.kind, form)
    return (_labelled(block, source, form, lowering),)


def is_misplaced(block: Media, role: Role, lowering: Messages) -> bool:
    """Whether a medium cannot be there at all, whatever it is."""
    to, can = lowering.to, lowering.to.can.media
    if role == "developer" and not to.can.developer:
        role = "system"
    if role == "assistant" and role in can.roles:
        return block.kind not in can.spoken or lowering.place not in can.spoken_in
    return role not in can.roles


def _misplaced(block: Media, role: Role, lowering: Messages) -> Sequence[Block]:
    """What is spoken is written, if its words are known."""
    to, log = lowering.to, lowering.log
    if role == "tool" or (block.extras is not None and to.is_same(block.extras.dialect)):
        return (block,)
    if block.transcript:
        why = f"{to.name} takes no {block.kind} of the {role}; its transcript is written"
        log.approximated("media", block.at, why)
        to.lose(block.extras, block.at, log)
        return (Text(block.transcript, at=block.at),)
    roles.omit(block, to, log)
    return ()


def _refused(
    block: Media, can: MediaForms, kinds: Mapping[str, Form], lowering: Messages
) -> str | None:
    """Why a medium cannot be sent."""
    to, kind, source = lowering.to, block.kind, block.source
    taken, stored = lowering.facts.media, lowering.facts.stored_media
    if taken is not None and kind not in taken:
        return f"{kind} input is not supported by {lowering.model}"
    if source.kind in can.texts:
        return None
    form = kinds.get(kind)
    if form is None:
        return f"{to.name} has no form for {kind} input"
    if not _is_taken(source, kind, form):
        ways = " or ".join(SOURCES[way] for way in SOURCES if way in form.sources)
        return f"{to.name} takes {kind} input {ways} only"
    issuers = form.issuers or (None, to.issuer)
    if source.kind == "file" and source.issuer not in issuers and not form.any_file:
        return f"the file is stored at {source.issuer}; {to.name} has no access to it"
    if source.kind == "file" and source.issuer is None and form.any_file:
        return f"{to.name} needs to know who stores a file"
    if source.kind == "file" and form.files and not source.value.startswith(form.files):
        return f"{to.name} takes no stored files but those of {' or '.join(form.files)}"
    if form.files and stored is not None and kind not in stored:
        if source.value.startswith(form.files) and source.kind in ("url", "file"):
            # "This model doesn't support the s3Uri field. Remove s3Uri and try again."
            return f"stored {kind} input is not supported by {lowering.model}"
    if source.kind == "url" and source.value[:5].lower() == "data:" and not form.any_data:
        return f"{to.name} takes data as base64 only"
    if source.kind == "url" and form.absolute and "://" not in source.value[:16]:
        return f"{to.name} takes an address without a scheme for data"
    if source.kind == "url" and form.schemes and _scheme(source.value) not in form.schemes:
        return f"{to.name} takes no addresses but those of {' and '.join(form.schemes)}"
    if source.kind == "base64":
        return _refused_data(source, kind, form, lowering)
    return None


def _scheme(address: str) -> str:
    """
    >>> _scheme("https://example.com/a.png"), _scheme("UEsDBBQACAgI")
    ('https', '')
    """
    return address[: max(address[:16].find("://"), 0)]


def _is_taken(source: Source, kind: str, form: Form) -> bool:
    """Whether a source is taken, as it is or as another."""
    if source.kind in form.sources:
        return True
    if source.kind == "url":
        return bool(form.files) and source.value.startswith(form.files)
    if kind != "document" or form.sources.isdisjoint(("text", "base64")):
        return False
    return source.kind == "text" or any(isinstance(part, Text) for part in source.blocks)


def _refused_data(source: Source, kind: str, form: Form, lowering: Messages) -> str | None:
    if form.verified:
        return lies("".join(source.value.split()), source.media_type)
    if form.types is None or lowering.place not in form.checked:
        return None
    media_type = source.media_type or sniff(source.value)
    if media_type is None:
        return None if form.usual else f"{lowering.to.name} takes no {kind} input without a type"
    if _accepted(media_type, form) is not None:
        return None
    if kind == "document" and text_of(source.value) is not None:
        return None
    return f"{lowering.to.name} takes no {kind} input of the type {media_type}"


def _accepted(media_type: str, form: Form) -> str | None:
    """A type as it is written; None where it is not taken."""
    plain = plain_type(media_type)
    plain = form.synonyms.get(plain, plain)
    known = form.types is None or plain in form.types or plain.startswith(form.families or "\0")
    return plain if known else None


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


def _taken(block: Media, form: Form, lowering: Messages) -> Source:
    """The source of a medium as one that the target takes."""
    to, log, source = lowering.to, lowering.log, block.source
    if source.kind == "url" and form.files and source.value.startswith(form.files):
        log.approximated("media", block.at, f"the address is a stored file for {to.name}")
        return replace(source, kind="file", issuer=to.issuer)
    if source.kind == "blocks" and "blocks" not in form.sources:
        log.approximated("media", block.at, f"a document of blocks is one text in {to.name}")
        source = Source("text", _joined(source.blocks, lowering), PLAIN)
    if source.kind == "text" and "text" not in form.sources:
        if block.source.kind == "text":
            log.approximated("media", block.at, f"plain text written as data for {to.name}")
        data = base64.b64encode(source.value.encode()).decode()
        return Source("base64", data, source.media_type or PLAIN)
    return source


def _joined(blocks: Sequence[Block], lowering: Messages) -> str:
    """The texts of a document as one; what is no text is lost."""
    texts: list[str] = []
    why = f"a document is text alone in {lowering.to.name}"
    for part in blocks:
        if isinstance(part, Text):
            texts.append(part.text)
            for cite in part.citations:
                lowering.log.dropped("text.citations", cite.at, why)
            if part.cache is not None:
                lowering.log.dropped("cache", part.cache.at, why)
        else:
            lowering.log.dropped("media", part.at, why)
        lowering.to.lose(part.extras, part.at, lowering.log)
    return "\n\n".join(texts)


def _typed(block: Media, source: Source, form: Form, lowering: Messages) -> Source:
    """The source with a type that the target accepts."""
    match source.kind:
        case "base64":
            return _typed_data(block, source, form, lowering)
        case "text" if form.plain and source.media_type != PLAIN:
            if source.media_type is not None:
                _note_type(block, source.media_type, PLAIN, lowering)
            return replace(source, media_type=PLAIN)
        case "url" | "file":
            return _typed_address(block, source, form, lowering)
    return source


def _note_type(block: Media, was: str, is_now: str, lowering: Messages) -> None:
    why = f"{was} written as {is_now} for {lowering.to.name}"
    lowering.log.approximated("media.type", block.at, why)


def _typed_data(block: Media, source: Source, form: Form, lowering: Messages) -> Source:
    to, log, claimed = lowering.to, lowering.log, source.media_type
    found = sniff(source.value) if claimed is None or form.verified or form.untyped else None
    if form.untyped:
        if found != claimed:
            why = f"{to.name} has no media types of {block.kind} data, which tell what they are"
            (log.dropped if found is None else log.approximated)("media.type", block.at, why)
        return replace(source, media_type=found)
    if form.verified and found is not None and claimed is not None:
        if plain_type(claimed) != found:
            _note_type(block, claimed, found, lowering)
            return replace(source, media_type=found)
    if claimed is None:
        if (found := found or form.usual) is None:
            return source
        log.invented("media.type", block.at, f"data without a type; taken for {found}")
        return replace(source, media_type=found)
    return _fitted(block, source, claimed, form, lowering)


def _fitted(block: Media, source: Source, claimed: str, form: Form, lowering: Messages) -> Source:
    """Data whose type is one of those that are taken, or of which the text is."""
    to, log = lowering.to, lowering.log
    known = _accepted(claimed, form) if lowering.place in form.checked else claimed
    text = None
    if form.types is not None and block.kind == "document" and known in (None, PLAIN):
        text = text_of(source.value)
    if text is not None and "text" in form.sources and not form.encoded:
        if plain_type(claimed) == PLAIN:
            log.approximated("media", block.at, f"data of plain text written as text for {to.name}")
        else:
            _note_type(block, claimed, PLAIN, lowering)
        return Source("text", text, PLAIN)
    known = known or PLAIN
    if known == claimed or not (form.types or form.synonyms):
        return source
    _note_type(block, claimed, known, lowering)
    return replace(source, media_type=known)


def _typed_address(block: Media, source: Source, form: Form, lowering: Messages) -> Source:
    to, log, claimed = lowering.to, lowering.log, source.media_type
    if claimed is not None and not form.typed:
        why = f"{to.name} has no media types of what is only pointed at"
        log.dropped("media.type", block.at, why)
        return replace(source, media_type=None)
    usual = form.pointed.get(source.kind)
    if usual is None or source.value.startswith(form.evident or "\0"):
        return source
    if claimed is not None and (form.types is None or _accepted(claimed, form) is not None):
        return source
    found = type_by_ending(block.kind, source.value)
    if found is None or _accepted(found, form) is None:
        found = usual
    log.invented("media.type", block.at, f"{to.name} needs a type of it; taken for {found}")
    return replace(source, media_type=found)


def _labelled(block: Media, source: Source, form: Form, lowering: Messages) -> Media:
    """A medium with what can be told of it."""
    to, log = lowering.to, lowering.log
    changes: dict[str, str | None] = {}
    labels = frozenset() if source.kind in form.unlabelled else form.labels
    for name, what in LABELS.items():
        value = getattr(block, name)
        if value is None:
            continue
        if name in labels:
            if name == "detail" and form.details is not None and value not in form.details:
                changes[name] = None
                if value == "auto":
                    continue  # which is what is meant where nothing is written
                levels = ", ".join(sorted(form.details))
                why = f"{to.name} has no detail level {value!r}, only {levels}"
                log.dropped("media.detail", block.at, why)
            continue
        changes[name] = None
        if name == "title" and block.filename is None and source.kind in form.titled:
            kind = source.media_type or (PLAIN if source.kind == "text" else None)
            changes["filename"] = with_extension(value, kind) if form.extended else value
            log.approximated("media.title", block.at, f"written as the file name for {to.name}")
        elif name == "filename" and block.title is None and "title" in labels:
            changes["title"] = value
            log.approximated("media.filename", block.at, f"written as the title for {to.name}")
        elif value != "auto" or name != "detail":
            why = f"{to.name} has no {what} of {block.kind} input"
            log.dropped(f"media.{name}", block.at, why)
    if source.kind in form.named and (changes.get("filename") or block.filename) is None:
        changes["filename"] = with_extension("document", source.media_type)
        why = f"{to.name} requires a file name: {changes['filename']!r}"
        log.invented("media.filename", block.at, why)
    if source is not block.source:
        return replace(block, source=source, **changes)
    return replace(block, **changes) if changes else block
