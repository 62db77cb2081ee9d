"""Citations of the Gemini API: they stand beside the content, and point into it by bytes.

Where the tree's citations say all that ``groundingMetadata`` says, it is made of them again; where
it says more (what was searched for, how sure it is), it is kept whole for the same dialect.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...core.lowering.citations import is_bare
from ...model import Block, Citation, Json, Reasoning, Text


def cited(blocks: list[Block], doc: dict[str, Json], at: str) -> tuple[list[Block], bool]:
    """The blocks with their citations, and whether these are all that was written of them."""
    grounding, licences = doc.get("groundingMetadata"), doc.get("citationMetadata")
    found: dict[int, list[Citation]] = {}
    if grounding.__class__ is dict:
        _read_supports(blocks, grounding, f"{at}/groundingMetadata", found)
    if licences.__class__ is dict:
        _read_licences(blocks, licences, f"{at}/citationMetadata", found)
    if not found:
        return blocks, False
    out = list(blocks)
    for index, cites in found.items():
        block = out[index]
        assert isinstance(block, Text)
        out[index] = replace(block, citations=tuple(cites))
    return out, licences is None and grounded(list(enumerate(out))) == grounding


def _read_supports(
    blocks: list[Block], doc: dict[str, Json], at: str, found: dict[int, list[Citation]]
) -> None:
    chunks = doc.get("groundingChunks")
    supports = doc.get("groundingSupports")
    if chunks.__class__ is not list or supports.__class__ is not list:
        return
    for number, support in enumerate(supports):
        segment: Json = support.get("segment") if support.__class__ is dict else None
        indices: Json = support.get("groundingChunkIndices") if segment.__class__ is dict else None
        if indices.__class__ is not list:
            continue
        place = _place(blocks, segment)
        if place is None:
            continue
        where = f"{at}/groundingSupports/{number}"
        for index in indices:
            web = _web(chunks, index)
            if web is not None:
                index, span = place
                cite = Citation("url", web[0], web[1], span=span, at=where)
                found.setdefault(index, []).append(cite)


def _web(chunks: list[Json], index: Json) -> tuple[str, str | None] | None:
    """The address and the title of a page that was found."""
    if index.__class__ is not int or not 0 <= index < len(chunks):
        return None
    web = chunks[index].get("web") if chunks[index].__class__ is dict else None
    if web.__class__ is not dict or web.get("uri").__class__ is not str:
        return None
    title = web.get("title")
    return web["uri"], title if title.__class__ is str else None


def _place(blocks: list[Block], segment: dict[str, Json]) -> tuple[int, tuple[int, int]] | None:
    """The block that a segment lies in, and the characters that it covers there."""
    index = segment.get("partIndex", 0)
    first, last = segment.get("startIndex", 0), segment.get("endIndex", 0)
    if not index.__class__ is first.__class__ is last.__class__ is int:
        return None
    if "partIndex" not in segment:
        texts = [i for i, block in enumerate(blocks) if isinstance(block, Text)]
        reasoning = [block for block in blocks if isinstance(block, Reasoning)]
        if len(texts) == 1 and reasoning:
            index = texts[0]  # reasoning is not counted where no index is given
    if not 0 <= index < len(blocks):
        return None
    block = blocks[index]
    if not isinstance(block, Text):
        return None
    data = block.text.encode()
    if not 0 <= first < last <= len(data):
        return None
    try:
        return index, (len(data[:first].decode()), len(data[:last].decode()))
    except UnicodeDecodeError:
        return None


def _read_licences(
    blocks: list[Block], doc: dict[str, Json], at: str, found: dict[int, list[Citation]]
) -> None:
    """What the reply recites: ``citations`` at Vertex, ``citationSources`` elsewhere."""
    for key in ("citations", "citationSources"):
        listed = doc.get(key)
        for number, item in enumerate(listed if listed.__class__ is list else ()):
            uri = item.get("uri") if item.__class__ is dict else None
            if uri.__class__ is not str:
                continue
            title = item.get("title")
            place = _place(blocks, {k: item[k] for k in ("startIndex", "endIndex") if k in item})
            if place is not None:
                title = title if title.__class__ is str else None
                cite = Citation("url", uri, title, span=place[1], at=f"{at}/{key}/{number}")
                found.setdefault(place[0], []).append(cite)


def grounded(blocks: Sequence[tuple[int, Block]]) -> Json | None:
    """What stands beside a content for the citations in it; each block with its part's number."""
    chunks: list[Json] = []
    supports: list[Json] = []
    for index, block in blocks:
        if not isinstance(block, Text):
            continue
        for cite in block.citations:
            if not is_bare(cite) or cite.span is None or cite.span[1] > len(block.text):
                continue
            web: dict[str, Json] = {"uri": cite.url}
            if cite.title is not None:
                web["title"] = cite.title
            chunk: Json = {"web": web}
            if chunk not in chunks:
                chunks.append(chunk)
            first, last = cite.span
            segment: dict[str, Json] = {"partIndex": index} if index else {}
            if first:
                segment["startIndex"] = len(block.text[:first].encode())
            segment["endIndex"] = len(block.text[:last].encode())
            segment["text"] = block.text[first:last]
            supports.append({"segment": segment, "groundingChunkIndices": [chunks.index(chunk)]})
    return {"groundingChunks": chunks, "groundingSupports": supports} if chunks else None
