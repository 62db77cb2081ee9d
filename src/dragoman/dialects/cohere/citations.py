"""Citations of Cohere's, both ways.

They stand beside the content: where in the answer something is cited, and from which sources. Each
source is a citation of its own in the tree, at the text that cites it. What is cited in reasoning,
and what says more than is known here, is kept as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, maybe_int
from ...model import Block, Citation, Extras, Json, Text
from .documents import TEXTS, CohereWriting, respell

if TYPE_CHECKING:
    from . import Cohere


KNOWN = frozenset({"start", "end", "text", "sources", "type", "content_index"})
CONTENT, PLAN = "TEXT_CONTENT", "PLAN"


def read_citations(
    d: Cohere, docs: Sequence[Json], blocks: list[Block], plan: Text | None, at: str
) -> tuple[list[Block], Text | None, list[Json], list[int]]:
    """The blocks with what they cite, what found no place, and the order if it is unusual."""
    cited: dict[int, list[Citation]] = {}
    ranks: dict[int, list[int]] = {}
    lost: list[Json] = []
    strays: list[int] = []
    for number, doc in enumerate(docs):
        doc = as_dict(doc, f"{at}/{number}")
        place = place_of(doc, blocks, plan)
        if place is None:
            lost.append(doc)
            strays.append(number)
            continue
        block = plan if place < 0 else blocks[place]
        assert isinstance(block, Text)
        index = None if place == first_text(blocks) else place
        cited.setdefault(place, []).extend(
            read_citation(d, doc, block.text, index, f"{at}/{number}")
        )
        ranks.setdefault(place, []).append(number)
    for place, found in cited.items():
        if place < 0:
            assert plan is not None
            plan = replace(plan, citations=tuple(found))
        else:
            block = blocks[place]
            assert isinstance(block, Text)
            blocks[place] = replace(block, citations=tuple(found))
    written = [*strays, *(n for p in sorted(ranks, key=rank) for n in ranks[p])]
    order = [] if written == sorted(written) else written
    return blocks, plan, lost, order


def write_citations(
    d: Cohere, block: Text, index: int | None, w: CohereWriting
) -> list[dict[str, Json]]:
    """What a text cites. ``index`` is its place in the content.

    None is that of the first text, which goes without saying, and -1 the plan.
    """
    out: list[dict[str, Json]] = []
    for cite in block.citations:
        spelling = d.spelling(cite)
        source = write_source(d, cite, spelling, w)
        if spelling.get("more") and out:
            out[-1]["sources"].append(source)
            continue
        span = cite.span
        if span is None and not w.home:
            span = (0, len(block.text))
        doc: dict[str, Json] = {} if span is None else {"start": span[0], "end": span[1]}
        doc |= usual_keys(block.text, span, index) | {"sources": [source]}
        for key in ("text", "type", "content_index", "sources"):
            if key in spelling:
                respell(doc, key, spelling[key])
        out.append(doc)
    return out


def read_citation(
    d: Cohere, doc: dict[str, Json], text: str, index: int | None, at: str
) -> list[Citation]:
    start, end = maybe_int(doc, "start", at), maybe_int(doc, "end", at)
    span = None if start is None or end is None else (start, end)
    usual = usual_keys(text, span, index)
    spelling: dict[str, Json] = {
        key: [doc[key]] if key in doc else []
        for key in ("text", "type", "content_index")
        if (key in doc) != (key in usual) or doc.get(key) != usual.get(key)
    }
    sources = doc.get("sources")
    if not sources:
        spelling["sources"] = [sources] if "sources" in doc else []
        extras = Extras(d.name, spelling=spelling)
        return [Citation("other", span=span, at=at, extras=extras)]
    return [
        read_source(
            d,
            as_dict(source, f"{at}/sources/{number}"),
            span,
            {"more": True} if number else spelling,
            f"{at}/sources/{number}",
        )
        for number, source in enumerate(sources)
    ]


def read_source(
    d: Cohere,
    source: dict[str, Json],
    span: tuple[int, int] | None,
    spelling: dict[str, Json],
    at: str,
) -> Citation:
    name, document = source.get("id"), source.get("document")
    if source.get("type") != "document" or name.__class__ is not str:
        return Citation("other", span=span, at=at, extras=Extras(d.name, source, {}, spelling))
    if document.__class__ is not dict:
        spelling["document"] = [document] if "document" in source else []
        extras = d.keep(source, ("type", "id", "document"), spelling)
        return Citation("passage", name, span=span, at=at, extras=extras)
    taken = ["title"] if document.get("title").__class__ is str else []
    if document.get("id") == name:
        taken.append("id")
    else:
        spelling["unnamed"] = True
    title = document["title"] if "title" in taken else None
    if document.get("url").__class__ is str:
        taken.append("url")
        known = ("type", "id") if name == document["url"] else ("type",)
        extras = d.keep(source, known, spelling or None, partly={"document": taken})
        return Citation("url", document["url"], title, span=span, at=at, extras=extras)
    key = next((key for key in TEXTS if document.get(key).__class__ is str), None)
    if key is not None:
        taken.append(key)
        if key != TEXTS[0]:
            spelling["key"] = key
    quote = None if key is None else document[key]
    extras = d.keep(source, ("type", "id"), spelling or None, partly={"document": taken})
    return Citation("passage", name, title, quote, span=span, at=at, extras=extras)


def write_source(d: Cohere, cite: Citation, spelling: dict[str, Json], w: CohereWriting) -> Json:
    extras = cite.extras
    if cite.kind == "other" and extras is not None and d.is_home(extras.dialect):
        return extras.fields
    if not w.home:
        note_citation(d, cite, w)
    name = cite.url if cite.url is not None else f"doc:{cite.document or 0}"
    out: dict[str, Json] = {"type": "document", "id": name}
    if "document" in spelling:
        respell(out, "document", spelling["document"])
        return d.emit(out, cite, w.log)
    document: dict[str, Json] = {"id": name}
    if extras is not None and d.is_home(extras.dialect):
        document["id"] = extras.fields.get("id", name)
        if "unnamed" in spelling:
            del document["id"]
    if cite.title is not None:
        document["title"] = cite.title
    if cite.quote is not None:
        document[spelling.get("key", TEXTS[0])] = cite.quote
    if cite.kind == "url":
        document["url"] = cite.url
    return d.emit(out | {"document": document}, cite, w.log)


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


def usual_keys(text: str, span: tuple[int, int] | None, index: int | None) -> dict[str, Json]:
    """What a citation says of its place, as the API does."""
    out: dict[str, Json] = {}
    if span is not None:
        out["text"] = text[span[0] : span[1]]
    out["type"] = PLAN if index is not None and index < 0 else CONTENT
    if index is not None and index >= 0:
        out["content_index"] = index
    return out


def first_text(blocks: Sequence[Block]) -> int | None:
    return next((i for i, block in enumerate(blocks) if isinstance(block, Text)), None)


def rank(place: int) -> float:
    """The content before the plan."""
    return place if place >= 0 else float("inf")


def place_of(doc: dict[str, Json], blocks: Sequence[Block], plan: Text | None) -> int | None:
    """The block that a citation belongs to; -1 is the plan, None what is not known here."""
    sources = doc.get("sources")
    if not doc.keys() <= KNOWN or not (sources is None or is_objects(sources)):
        return None
    ends = [doc[key] for key in ("start", "end") if key in doc]
    if len(ends) == 1 or any(end.__class__ is not int or end < 0 for end in ends):
        return None
    kind, index = doc.get("type", CONTENT), doc.get("content_index")
    if kind == PLAN:
        return -1 if plan is not None and index is None else None
    if kind != CONTENT:
        return None
    if index is None:
        return first_text(blocks)
    if index.__class__ is not int or not 0 <= index < len(blocks):
        return None
    return index if isinstance(blocks[index], Text) else None


def is_objects(value: Json) -> bool:
    return value.__class__ is list and all(item.__class__ is dict for item in value)
