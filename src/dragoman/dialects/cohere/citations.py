"""Citations of Cohere's, both ways.

They stand beside the content: where in the reply something is cited, and from which sources. Each
source is a citation of its own in the tree, at the text that cites it. What is cited in reasoning,
and what says more than is known here, is kept as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, maybe_int
from ...dialect import NOTHING
from ...model import Block, Citation, Extras, Json, Text
from .documents import TEXTS, CohereWriting

if TYPE_CHECKING:
    from . import Cohere


KNOWN = frozenset({"start", "end", "text", "sources", "type", "content_index"})
CONTENT, PLAN = "TEXT_CONTENT", "PLAN"


def read_citations(
    d: Cohere, docs: Sequence[Json], blocks: list[Block], planned: bool, at: str
) -> list[Json]:
    """Give the blocks what they cite; returns what found no place. ``planned``: the last of them
    is the plan."""
    content = blocks[:-1] if planned else blocks
    cited: dict[int, list[Citation]] = {}
    strays: list[Json] = []
    for number, doc in enumerate(docs):
        doc = as_dict(doc, f"{at}/{number}")
        place = place_of(doc, content, planned)
        if place is None or not is_inside(doc, blocks[place]):
            strays.append(doc)
        else:
            cited.setdefault(place, []).extend(read_citation(d, doc, f"{at}/{number}"))
    for place, found in cited.items():
        block = blocks[place]
        assert isinstance(block, Text)
        blocks[place] = replace(block, citations=tuple(found))
    return strays


def write_citations(
    d: Cohere, block: Text, index: int | None, w: CohereWriting
) -> list[dict[str, Json]]:
    """What a text cites. ``index`` is its place in the content: None for the first text, and -1
    for the plan, which have no index on the wire."""
    out: list[dict[str, Json]] = []
    for cite in block.citations:
        source, span = write_source(d, cite, w), cite.span
        if span is None and not w.same:
            span = (0, len(block.text))
        doc: dict[str, Json] = {}
        if span is not None:
            doc = {"start": span[0], "end": span[1], "text": block.text[span[0] : span[1]]}
        doc["type"] = PLAN if index == -1 else CONTENT
        if index is not None and index >= 0:
            doc["content_index"] = index
        out.append(doc | {"sources": [source] if source else []})
    return out


def read_citation(d: Cohere, doc: dict[str, Json], at: str) -> list[Citation]:
    """A citation for each source."""
    start, end = maybe_int(doc, "start", at), maybe_int(doc, "end", at)
    span = None if start is None or end is None else (start, end)
    sources = doc.get("sources")
    if not sources:
        return [Citation("other", span=span, at=at, extras=Extras(d.name))]
    return [
        read_source(d, as_dict(source, where), span, where)
        for number, source in enumerate(sources)
        if (where := f"{at}/sources/{number}")
    ]


def read_source(
    d: Cohere, source: dict[str, Json], span: tuple[int, int] | None, at: str
) -> Citation:
    name, document = source.get("id"), source.get("document")
    if source.get("type") != "document" or name.__class__ is not str:
        return Citation("other", span=span, at=at, extras=Extras(d.name, source))
    if document.__class__ is not dict:
        return Citation("passage", name, span=span, at=at, extras=d.keep(source, ("type", "id")))
    taken = ["title"] if document.get("title").__class__ is str else []
    if document.get("id") == name:
        taken.append("id")
    title = document["title"] if "title" in taken else None
    if document.get("url").__class__ is str:
        taken.append("url")
        known = ("type", "id") if name == document["url"] else ("type",)
        extras = d.keep(source, known, partly={"document": taken})
        return Citation("url", document["url"], title, span=span, at=at, extras=extras)
    key = next((key for key in TEXTS if document.get(key).__class__ is str), None)
    quote = None if key is None else document[key]
    extras = d.keep(source, ("type", "id"), partly={"document": (*taken, key or "")})
    return Citation("passage", name, title, quote, span=span, at=at, extras=extras)


def write_source(d: Cohere, cite: Citation, w: CohereWriting) -> Json:
    own: dict[str, Json] = NOTHING
    if cite.extras is not None and d.is_same(cite.extras.dialect):
        own = cite.extras.fields
        if cite.kind == "other":
            return own
    if not w.same:
        note_citation(d, cite, w)
    name = own.get("id") or (cite.url if cite.url is not None else f"doc:{cite.document or 0}")
    document: dict[str, Json] = {"id": name}
    if cite.title is not None:
        document["title"] = cite.title
    if cite.quote is not None:
        document[TEXTS[0]] = cite.quote
    if cite.kind == "url":
        document["url"] = cite.url
    return d.emit({"type": "document", "id": name, "document": document}, cite, w.log)


def note_citation(d: Cohere, cite: Citation, w: CohereWriting) -> None:
    """What of a citation is not carried: its place in the source, above all."""
    rest = (cite.document, cite.location, cite.signature, cite.file_id, cite.filename)
    if cite.span is None:
        w.log.approximated(
            "text.citations",
            cite.at,
            f"{d.name} requires the span of a citation; written as the whole text",
        )
    elif (
        any(part is not None for part in rest)
        or cite.kind == "document"
        or (cite.kind == "passage" and cite.url is None)
        or (cite.kind == "url" and cite.quote is not None)
    ):
        w.log.approximated(
            "text.citations",
            cite.at,
            f"the source of a citation in {d.name} has only an id, a title and a text",
        )


def first_text(blocks: Sequence[Block]) -> int | None:
    return next((i for i, block in enumerate(blocks) if isinstance(block, Text)), None)


def place_of(doc: dict[str, Json], blocks: Sequence[Block], planned: bool) -> int | None:
    """The block that a citation belongs to; -1 is the plan, None what is not known here."""
    sources = doc.get("sources")
    if not doc.keys() <= KNOWN or not (sources is None or is_objects(sources)):
        return None
    ends = [doc[key] for key in ("start", "end") if key in doc]
    if len(ends) == 1 or any(end.__class__ is not int or end < 0 for end in ends):
        return None
    kind, index = doc.get("type", CONTENT), doc.get("content_index")
    if kind == PLAN:
        return -1 if planned and index is None else None
    if kind != CONTENT:
        return None
    if index is None:
        return first_text(blocks)
    if index.__class__ is not int or not 0 <= index < len(blocks):
        return None
    return index if isinstance(blocks[index], Text) else None


def is_inside(doc: dict[str, Json], block: Block | None) -> bool:
    """Whether what a citation quotes stands at its place: else it cites another text."""
    if "end" not in doc or not isinstance(block, Text):
        return True
    return doc.get("text") in (None, "", block.text[doc["start"] : doc["end"]])


def is_objects(value: Json) -> bool:
    return value.__class__ is list and all(item.__class__ is dict for item in value)
