"""The contents of llxprt, both ways: who speaks, and the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, maybe_dict, need_list, need_str, only
from ...core.turns import mark_custom_results
from ...errors import Malformed
from ...model import Block, Json, Message, Raw, Role, ToolResult
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
WHOLE = "raw"
"""The code of a block that is the whole content; those inside of contents have none."""
SPEAKERS = {"user": "human", "assistant": "ai", "tool": "tool", "system": "ai"}


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
    return [write_message(d, message, w) for message in messages]


def write_message(d: IContent, message: Message, w: ContentWriting) -> dict[str, Json]:
    role, content = message.role, message.content
    if role == "developer":  # of a history that was edited; others are lowered
        w.log.approximated("message.role", message.at, "`developer` role written as `system`")
        role = "system"
    first = content[0] if len(content) == 1 else None
    if isinstance(first, Raw) and first.code == WHOLE and d.knows(first.dialect):
        return as_dict(first.payload, first.at)
    doc: dict[str, Json] = {"speaker": SPEAKERS[role]}
    if role == "tool":
        if not isinstance(first, ToolResult):
            raise Malformed("only one tool result is allowed in a tool message", message.at)
        doc["blocks"] = blocks.write_result(d, first, w)
    else:
        doc["blocks"] = blocks.write_blocks(d, content, w)
    if role == "system" and not d.has_system:
        doc["metadata"] = {"role": "system"}  # by which llxprt's converters go
    if message.extras is not None:
        doc = blocks.emit(d, doc, message, w.log)
    if role == "system" and (doc.get("metadata") or {}).get("role") != "system":
        doc["speaker"] = "system"  # nothing else tells who speaks
    return doc


def read_content(
    d: IContent, doc: dict[str, Json], at: str, known: Known, out: list[Message]
) -> None:
    """One content; where it holds results, they become messages of their own."""
    given = need_str(doc, "speaker", at)
    role = ROLES.get(given)
    blocks = need_list(doc, "blocks", at)
    if role is None or (role == "tool" and not has_response(blocks)):
        out.append(read_whole(d, doc, at))
        return
    metadata = known.metadata = maybe_dict(doc, "metadata", at) or {}
    taken: tuple[str, ...] = ()
    if metadata.get("role") == "system" and role != "tool":
        role, taken = "system", ("role",)
    if role == "tool":
        pieces = read_results(d, blocks, f"{at}/blocks", known)
    else:
        pieces = read_pieces(d, blocks, f"{at}/blocks", role, known)
    extras = None
    if not PLAIN_CONTENT(doc):
        extras = d.keep(doc, ("speaker", "blocks"), partly={"metadata": taken})
    for index, (piece, content) in enumerate(pieces):
        if index and not any(block["type"] == "thinking" for block in blocks):
            extras = None  # the metadata tell who signed reasoning
        out.append(Message(piece, content, at=at, extras=extras))


def read_whole(d: IContent, doc: dict[str, Json], at: str) -> Message:
    """A content that only llxprt understands: "RETURN null  // Unknown speaker type".

    It comes back as it is, and any other dialect omits it; so it does not keep a history from
    being converted.
    """
    return Message("user", (Raw(FAMILY, doc, code=WHOLE, at=at),), at=at)


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
                block = replace(block, content=(*before, *block.content))
            results.append(block)
        elif results:
            last = results[-1]
            results[-1] = replace(last, content=(*last.content, block))
        else:
            before.append(block)
    return [("tool", (result,)) for result in results]
