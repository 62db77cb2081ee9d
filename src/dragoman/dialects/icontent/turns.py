"""The contents of llxprt, both ways: who speaks, and the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, maybe_dict, need_list, need_str, only
from ...core.turns import mark_custom_results
from ...core.writing import Writing
from ...errors import Malformed
from ...model import Block, Extras, Json, Message, Raw, Role, ToolResult
from . import blocks
from .blocks import ContentWriting, Known, has_response

if TYPE_CHECKING:
    from . import IContent


PLAIN_CONTENT = only("speaker", "blocks")
ROLES: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "tool": "tool",
    "system": "system",  # in the design only; the real type has no such speaker
}
FAMILY = "icontent"
"""Whose contents are that are read as a whole: the same in both variants."""
WHOLE = "whole"
"""Marks a message whose only block is the whole content."""
SPEAKERS = {"user": "human", "assistant": "ai", "tool": "tool"}


def read_history(
    d: IContent, docs: list[Json], at: str, custom: frozenset[str] = frozenset()
) -> list[Message]:
    out: list[Message] = []
    known = Known(custom)
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        read_content(d, as_dict(doc, where), where, known, out)
    return mark_custom_results(out) if custom else out


def write_history(d: IContent, messages: Sequence[Message], w: ContentWriting) -> list[Json]:
    out: list[Json] = []
    for message in messages:
        doc = write_message(d, message, w)
        if out and message.extras is not None and d.spelling(message).get("joined"):
            out[-1]["blocks"] += doc["blocks"]
        else:
            out.append(doc)
    return out


def write_message(d: IContent, message: Message, w: ContentWriting) -> dict[str, Json]:
    if (whole := write_whole(d, message)) is not None:
        return whole
    doc: dict[str, Json] = {}
    if message.role == "tool":
        if len(message.content) != 1 or not isinstance(message.content[0], ToolResult):
            raise Malformed("only one tool result is allowed in a tool message", message.at)
        doc["speaker"] = "tool"
        doc["blocks"] = blocks.write_result(d, message.content[0], w)
        if d.spelling(message).get("role"):
            doc["metadata"] = {"role": "system"}
    else:
        write_speaker(d, doc, message, w)
        doc["blocks"] = blocks.write_blocks(d, message.content, w)
        if "metadata" in doc:
            doc["metadata"] = doc.pop("metadata")  # after the blocks
    if message.extras is None:
        return doc
    doc["speaker"] = d.spelling(message).get("speaker", doc["speaker"])
    return blocks.emit(d, doc, message, w.log)


def read_content(
    d: IContent, doc: dict[str, Json], at: str, known: Known, out: list[Message]
) -> None:
    """One content; where it holds results, they become messages of their own."""
    said = need_str(doc, "speaker", at)
    role = ROLES.get(said)
    blocks = need_list(doc, "blocks", at)
    if role is None or (role == "tool" and not has_response(blocks)):
        out.append(read_whole(d, doc, at))
        return
    metadata = known.metadata = maybe_dict(doc, "metadata", at) or {}
    spelling: dict[str, Json] = {}
    taken: tuple[str, ...] = ()
    if metadata.get("role") == "system" and role != "tool":
        role, taken = "system", ("role",)
    if role == "system":
        spelling = {"speaker": said, "role": bool(taken)}
    if role == "tool":
        pieces = read_results(d, blocks, f"{at}/blocks", known)
    else:
        pieces = read_pieces(d, blocks, f"{at}/blocks", role, known)
    for index, (piece, content) in enumerate(pieces):
        if index:
            extras: Extras | None = Extras(d.name, spelling={"joined": True})
        else:
            if piece != role:
                spelling["speaker"] = said
            extras = None
            if spelling or not PLAIN_CONTENT(doc):
                partly = {"metadata": taken}
                extras = d.keep(doc, ("speaker", "blocks"), spelling, partly=partly)
        out.append(Message(piece, content, at=at, extras=extras))


def read_whole(d: IContent, doc: dict[str, Json], at: str) -> Message:
    """A content that only llxprt understands: "RETURN null  // Unknown speaker type".

    It comes back as it is, and any other dialect omits it; so it does not keep a history from
    being converted.
    """
    raw = Raw(FAMILY, doc, code="raw", at=at)
    return Message("user", (raw,), at=at, extras=Extras(d.name, spelling={WHOLE: True}))


def write_whole(d: IContent, message: Message) -> dict[str, Json] | None:
    """A content that was read as a whole, as it was."""
    extras = message.extras
    if extras is None or WHOLE not in extras.spelling or not d.knows(extras.dialect):
        return None
    raw = message.content[0] if len(message.content) == 1 else None
    return raw.payload if isinstance(raw, Raw) and d.knows(raw.dialect) else None


def write_speaker(d: IContent, doc: dict[str, Json], message: Message, w: Writing) -> None:
    role = message.role
    if role != "system":
        doc["speaker"] = SPEAKERS[role]
        return
    d.write_system(doc, d.spelling(message))


def write_system(d: IContent, doc: dict[str, Json], spelling: dict[str, Json]) -> None:
    """There is no system speaker: llxprt's converters go by the metadata."""
    doc["speaker"] = "ai"
    if spelling.get("role", True):
        doc["metadata"] = {"role": "system"}


def read_pieces(
    d: IContent, docs: list[Json], at: str, role: Role, known: Known
) -> list[tuple[Role, tuple[Block, ...]]]:
    """What somebody other than a tool says; results among it are cut out, not dropped."""
    pieces: list[tuple[Role, tuple[Block, ...]]] = []
    run: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        block = blocks.read_block(d, as_dict(doc, where), where, known)
        if isinstance(block, ToolResult):
            if run:
                pieces.append((role, tuple(run)))
                run = []
            pieces.append(("tool", (block,)))
        else:
            run.append(block)
    if run or not pieces:
        pieces.append((role, tuple(run)))
    return pieces


def read_results(
    d: IContent, docs: list[Json], at: str, known: Known
) -> list[tuple[Role, tuple[Block, ...]]]:
    """What a tool says: images and texts beside a result belong to it."""
    results: list[ToolResult] = []
    before: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        block = blocks.read_block(d, as_dict(doc, where), where, known)
        if isinstance(block, ToolResult):
            if before and not results:
                block = replace(
                    block,
                    content=(*before, *block.content),
                    extras=d.respell(block.extras, before=len(before)),
                )
            results.append(block)
        elif results:
            last = results[-1]
            results[-1] = replace(last, content=(*last.content, block))
        else:
            before.append(block)
    return [("tool", (result,)) for result in results]
