"""Contents of the Interactions API: texts and media, both ways.

What a text cites stands with the text, and its place is counted in bytes of UTF-8; in the tree it
is counted in characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.media import standard
from ...core.reading import as_dict, expected, maybe_list, maybe_str, need_str, only
from ...core.writing import Writing
from ...model import Block, Citation, Extras, Hosted, Json, Media, Raw, Source, Text

if TYPE_CHECKING:
    from . import GeminiInteractions

TEXT_KEYS = frozenset({"type", "text", "annotations"})
MEDIA_KEYS = frozenset({"type", "data", "uri", "mime_type", "resolution"})
PLAIN_TEXT = only("type", "text")
MEDIA = ("image", "audio", "video", "document")
CONTENTS = frozenset({"text", *MEDIA})
# Addresses that only Google can open: the Files API's, and those of its cloud storage.
OWN_FILES = ("https://generativelanguage.googleapis.com/", "gs://")


def read_contents(d: GeminiInteractions, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        out.append(read_content(d, as_dict(item, where), where))
    return out


def read_content(d: GeminiInteractions, doc: dict[str, Json], at: str) -> Block:
    kind = need_str(doc, "type", at)
    if kind == "text":
        return read_text(d, doc, at)
    if kind in MEDIA:
        return read_media(d, doc, kind, at)
    return Raw(d.name, doc, at=at)  # new kinds arrive every month


def write_contents(d: GeminiInteractions, blocks: Sequence[Block], w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        if (doc := write_content(d, block, w)) is not None:
            out.append(doc)
    return out


def write_content(d: GeminiInteractions, block: Block, w: Writing) -> Json | None:
    match block:
        case Text():
            return write_text(d, block, w)
        case Media():
            return write_media(d, block, w)
        case Raw() | Hosted() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


def read_text(d: GeminiInteractions, doc: dict[str, Json], at: str) -> Text:
    text = need_str(doc, "text", at)
    if PLAIN_TEXT(doc):
        return Text(text, at=at)
    cited = read_citations(d, text, maybe_list(doc, "annotations", at) or [], at)
    return Text(text, cited, at=at, extras=d.keep(doc, TEXT_KEYS))


def write_text(d: GeminiInteractions, block: Text, w: Writing) -> dict[str, Json]:
    out: dict[str, Json] = {"type": "text", "text": block.text}
    if block.citations:
        places = Places()
        places.add(block.text)
        out["annotations"] = [write_citation(d, cite, places, w) for cite in block.citations]
    return out if block.extras is None else d.emit(out, part_of(d, block), w.log)


def read_citations(
    d: GeminiInteractions, text: str, docs: list[Json], at: str
) -> tuple[Citation, ...]:
    if not docs:
        return ()
    places = Places()
    places.add(text)
    out: list[Citation] = []
    for index, item in enumerate(docs):
        where = f"{at}/annotations/{index}"
        out.append(read_citation(d, as_dict(item, where), places, where))
    return tuple(out)


def read_citation(d: GeminiInteractions, doc: dict[str, Json], places: Places, at: str) -> Citation:
    """A page on the web; what else is noted of a text only this API knows."""
    if need_str(doc, "type", at) != "url_citation":
        return Citation("other", at=at, extras=Extras(d.name, doc))
    span, taken = (
        places.span(doc.get("start_index"), doc.get("end_index")),
        {"type", "url", "title"},
    )
    if span is not None:
        taken |= {"start_index", "end_index"}
    url, title = maybe_str(doc, "url", at), maybe_str(doc, "title", at)
    return Citation("url", url, title, span=span, at=at, extras=d.keep(doc, taken))


def write_citation(d: GeminiInteractions, cite: Citation, places: Places, w: Writing) -> Json:
    extras = cite.extras
    if cite.kind == "other" and extras is not None and d.is_same(extras.dialect):
        return extras.fields
    out: dict[str, Json] = {"type": "url_citation"}
    if cite.url is not None:
        out["url"] = cite.url
    if cite.title is not None:
        out["title"] = cite.title
    if cite.span is not None:
        out["start_index"], out["end_index"] = map(places.byte, cite.span)
    return d.emit(out, cite, w.log)


class Places:
    """Places in a text that grows, in bytes and in characters.

    Kept are those alone where the two drift apart, so a long text in ASCII takes no memory.
    """

    def __init__(self) -> None:
        self.chars = self.bytes = 0
        self.wide: list[tuple[int, int, int]] = []  # of each wide character: place, byte, width

    def add(self, text: str) -> None:
        if text.isascii():
            self.chars += len(text)
            self.bytes += len(text)
            return
        for char in text:
            width = len(char.encode("utf-8", "surrogatepass"))
            if width > 1:
                self.wide.append((self.chars, self.bytes, width))
            self.chars += 1
            self.bytes += width

    def byte(self, char: int) -> int:
        """The byte at which a character begins."""
        drift = 0
        for place, _, width in self.wide:
            if place >= char:
                break
            drift += width - 1
        return char + drift

    def char(self, byte: int) -> int | None:
        """The character that begins at a byte; None where none does."""
        drift = 0
        for _, place, width in self.wide:
            if place >= byte:
                break
            if byte < place + width:
                return None
            drift += width - 1
        return byte - drift

    def span(self, start: Any, end: Any) -> tuple[int, int] | None:
        """A span in characters; None where it is none, or not of this text."""
        if start.__class__ is not int or end.__class__ is not int:
            return None
        if not 0 <= start <= end:
            return None
        first, last = self.char(start), self.char(end)
        return None if first is None or last is None else (first, last)


def read_media(d: GeminiInteractions, doc: dict[str, Json], kind: Any, at: str) -> Block:
    data, uri = doc.get("data"), doc.get("uri")
    media_type = maybe_str(doc, "mime_type", at)
    taken = MEDIA_KEYS
    if data.__class__ is str:
        # google-genai writes bytes in the alphabet for URLs, which other APIs do not take.
        source = Source("base64", standard(data), media_type)
        taken -= {"uri"}
    elif uri.__class__ is str:
        source = Source("url", uri, media_type)
        if uri.startswith(OWN_FILES):
            source = Source("file", uri, media_type, d.issuer)
    elif data is None and uri is None:
        return Raw(d.name, doc, at=at)
    else:
        key = "data" if data is not None else "uri"
        expected("a string", doc[key], f"{at}/{key}")
    detail = maybe_str(doc, "resolution", at)
    return Media(kind, source, detail, at=at, extras=d.keep(doc, taken))


def write_media(d: GeminiInteractions, block: Media, w: Writing) -> dict[str, Json]:
    source = block.source
    out: dict[str, Json] = {"type": block.kind}
    out["data" if source.kind == "base64" else "uri"] = source.value
    if source.media_type is not None:
        out["mime_type"] = source.media_type
    if block.detail is not None:
        out["resolution"] = block.detail
    return d.emit(out, part_of(d, block), w.log)


# -- the first content of a step ------------------------------------------------------------------

PART = "content/0"
"""Where the first content of a step keeps its own extra fields, beside those of the step."""
BEGINS, JOINS = "begins", "joins"
"""The spellings of a content that begins another step, or joins that of a text before it, where
that is not how steps are written."""


def mark(d: GeminiInteractions, block: Any, step: Extras | None, at: str, begins: bool) -> Any:
    """The first content of a step, with what the step says beyond the tree."""
    if step is None and not begins:
        return block
    if begins:
        block = spell(d, block, BEGINS)
    if step is None:
        return block
    own: Extras = block.extras or Extras(d.name)
    fields, inner = dict(step.fields), (*step.inner, PART)
    if own.fields:
        fields[PART] = own.fields
        inner += tuple(f"{PART}/{name}" for name in own.inner)
    return replace(block, at=at, extras=Extras(d.name, fields, own.spelling, inner))


def spell(d: GeminiInteractions, block: Any, word: str) -> Any:
    """A content with a note of how it stands among others."""
    own: Extras = block.extras or Extras(d.name)
    return replace(block, extras=replace(own, spelling={**own.spelling, word: True}))


def part_of(d: GeminiInteractions, block: Any) -> Any:
    """A content without what it keeps for its step."""
    extras = block.extras
    if extras is None or PART not in extras.inner or not d.is_same(extras.dialect):
        return block
    within = f"{PART}/"
    inner = tuple(name.removeprefix(within) for name in extras.inner if name.startswith(within))
    own = replace(extras, fields=extras.fields.get(PART, {}), inner=inner)
    return replace(block, extras=own)


def step_of(d: GeminiInteractions, block: Any) -> Any:
    """What the first content of a step keeps for the step alone."""
    extras = block.extras
    if extras is None or PART not in extras.inner:
        return replace(block, extras=None)
    fields = {k: v for k, v in extras.fields.items() if k != PART}
    inner = tuple(name for name in extras.inner if not name.startswith(PART))
    return replace(block, extras=replace(extras, fields=fields, inner=inner))
