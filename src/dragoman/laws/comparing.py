"""What of a tree changed on the way through a dialect, node by node.

``changes(tree, back)`` holds two trees against each other and names each difference of their
meanings: what changed, how, and where it stood in the document that ``tree`` was read from.

Theory of operation. Nodes that stand alone (parameters, a choice, usage, an error) are compared
field by field. Lists are aligned first: a conversation is one sequence of blocks, in which equal
blocks are anchors; between two anchors the blocks that are most alike are pairs; what is left over
is looked for elsewhere (it moved) and inside its neighbours (texts that were joined). Only then
are pairs compared field by field, and messages by the blocks that they share: who speaks, and
where one message ends and the next begins.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..core.walk import meaning
from ..core.words import TELLING
from ..model import (
    Candidate,
    History,
    Media,
    Message,
    Node,
    Params,
    Passage,
    Request,
    Response,
    Text,
    Toolbox,
    ToolCall,
    ToolResult,
    Training,
    Usage,
)
from .aligning import Blocks
from .changes import Change, How, Place, Special, how_of, note_extras
from .likeness import alike_by, paired_by, source_words


def changes(tree: Any, back: Any, written: Any = None) -> list[Change]:
    """Every difference between the meanings of two trees; ``said``: the meaning of the first."""
    written = meaning(tree) if written is None else written
    got = meaning(back)
    found: list[Change] = []
    if written != got:
        _node(written, tree, got, (), found)
    for each in getattr(tree, "candidates", ()):  # a word that is no part of the meaning
        if each.stop is None or each.stop.native is None:
            continue
        if each.stop.reason == "other" or each.stop.native in TELLING:
            found.append(Change("Stop.reason", "altered", each.at, implied=True))
    return _less_learned(found) if any(c.what.startswith("Params.") for c in found) else found


def _less_learned(found: list[Change]) -> list[Change]:
    """Without the fields that are passed on to kin as they are, and are parameters there."""
    learned = {c.what: c.new for c in found if c.what.startswith("Params.") and c.how == "new"}
    kept = {f"Params.{c.at[1:]}": c.old for c in found if c.what == "extras" and c.how == "gone"}
    same = {name for name, value in learned.items() if name in kept and kept[name] == value}
    return [c for c in found if c.what not in same and f"Params.{c.at[1:]}" not in same]


def _node(
    written: Any, read: Any, got: Any, above: tuple[str, ...], out: list[Change],
    besides: frozenset[str] = frozenset(),
) -> None:  # fmt: skip
    """Two nodes of one class, field by field, besides those that were compared already."""
    name = type(written).__name__
    own = getattr(read, "at", None)
    at = above[0] if own is None else own  # a leaf has the place of its node
    inside = above if own is None else (own, *above)
    for field in written.__struct_fields__:
        old, new = getattr(written, field), getattr(got, field)
        if old == new or field in besides or (name, field) == ("Tool", "dialect"):
            continue  # the last: kin pass a provider's tool on as their own
        as_read = getattr(read, field)
        special = _FIELDS.get((type(written), field)) or _FIELDS.get((object, field))
        if special is not None:
            special(old, as_read, new, at, inside, out)
        elif isinstance(old, Struct) and type(new) is type(old):
            _node(old, as_read, new, inside, out)
        else:
            where, how = at, how_of(old, new)
            if isinstance(old, Node):
                where = as_read.at
            elif isinstance(read, Params) and how != "new":
                where = read.where(field)
            near = inside[:2] if how == "new" else ()  # what it would have stood in
            if field == "model" and isinstance(read, Request) and how != "new":
                where, near = read.params.where(field), (at,)  # a session has it inside of a line
            if field == "prefill":
                how, near = "altered", tuple(message.at for message in read.messages[-1:])
            out.append(Change(f"{name}.{field}", how, where, near, inside, old, new))


def _source(
    written: Any, read: Any, got: Any, at: str, above: tuple[str, ...], out: list[Change]
) -> None:
    """Where the bytes of a medium are: the type is one thing, the bytes are another."""
    if written.media_type != got.media_type and not (
        written.blocks and got.media_type == "text/plain"
    ):
        how = how_of(written.media_type, got.media_type)
        out.append(Change("Media.type", how, at, (), above, written.media_type, got.media_type))
    if written.blocks != got.blocks and written.blocks and got.blocks:
        _content(written.blocks, read.blocks, got.blocks, at, above, out)
    elif (
        written.kind != "file"
        and written.kind != got.kind
        and source_words(written, True) == source_words(got, True)
    ):
        out.append(Change("Media", "altered", at, (), above, written, got, True))  # text as data
        for block in read.blocks[1:]:
            out.append(Change("Text.boundary", "altered", block.at, (at,), above))
    elif any(getattr(written, f) != getattr(got, f) for f in ("kind", "value", "issuer", "blocks")):
        out.append(Change("Media", "altered", at, (), above, written, got))


def _listed(kind: str, key: Callable[[Any], Any]) -> Special:
    """Nodes in a list, which are known by a key, and by their place among those of that key."""

    def compare(
        written: Any, read: Any, got: Any, at: str, above: tuple[str, ...], out: list[Change]
    ) -> None:
        old = [Place(a, b) for a, b in zip(written or (), read or (), strict=True)]
        new = list(got or ())
        if kind == "Candidate":  # each is known by its number
            same = min(len(old), len(new))
            for place, other in zip(old[:same], new[:same], strict=True):
                if place.written != other:
                    _item(kind, place, other, above, out)
            for place in old[same:]:
                out.append(Change(kind, "gone", place.at, (), above, place.written))
            for other in new[same:]:
                _come(kind, other, at, above, out)
            return
        for i, j in paired_by([p.written for p in old], new, lambda a, b: alike_by(key, a, b)):
            if i is None:
                assert j is not None
                _come(kind, new[j], at, above, out)
            elif j is None:
                out.append(Change(kind, "gone", old[i].at, (), above, old[i].written))
            elif old[i].written != new[j]:
                _item(kind, old[i], new[j], above, out)

    return compare


def _come(kind: str, got: Any, at: str, above: tuple[str, ...], out: list[Change]) -> None:
    """A node that is new; a response in which nothing is written says nothing new."""
    empty = isinstance(got, Candidate) and not got.message.content
    out.append(Change(kind, "new", at, (), above, None, got, empty))
    if isinstance(got, Candidate) and got.stop is not None:
        failed = got.stop.reason in ("error", "other")  # as its error says, or nobody
        out.append(Change("Candidate.stop", "new", at, (), above, None, got.stop, failed))


def _item(kind: str, place: Place, got: Any, above: tuple[str, ...], out: list[Change]) -> None:
    """Two nodes of a list; a citation is one thing, but for what only its dialect knows."""
    spelled = place.written
    if kind != "Citation":
        return _node(spelled, place.read, got, above, out)
    if replace(spelled, extras=None) != replace(got, extras=None):
        out.append(Change(kind, "altered", place.at, (), above, spelled, got))
        if got.extras is not None and spelled.extras is None:
            return None  # it is another citation, and says what such a one says
    if spelled.extras != got.extras:
        note_extras(
            spelled.extras, place.read.extras, got.extras, place.at, (place.at, *above), out
        )
    return None


def _content(
    written: Any, read: Any, got: Any, at: str, above: tuple[str, ...], out: list[Change]
) -> None:
    """The blocks inside a block: of a result, a passage, a document."""
    old = [Place(a, b) for a, b in zip(written, read, strict=True)]
    Blocks(_node, old, [Place(b, b) for b in got], at, above, out).compare()


def _conversation(
    written: Sequence[Message], read: Sequence[Message], got: Sequence[Message], at: str,
    above: tuple[str, ...], out: list[Change],
) -> None:  # fmt: skip
    """All messages: their blocks as one sequence, then who speaks, then their boundaries."""
    start, end = 0, 0
    shorter = min(len(written), len(got))
    while start < shorter and written[start] == got[start]:
        start += 1
    while end < shorter - start and written[-1 - end] == got[-1 - end]:
        end += 1
    until = len(written) - end
    heads = [Place(*pair) for pair in zip(written[start:until], read[start:until], strict=True)]
    new = list(got[start : len(got) - end])
    old_blocks = [
        Place(block, block_read, n, head.written.role)
        for n, head in enumerate(heads)
        for block, block_read in zip(
            head.written.content or (None,), head.read.content or (head.read,), strict=True
        )
    ]
    new_blocks = [
        Place(block, block, n, other.role)
        for n, other in enumerate(new)
        for block in other.content or (None,)
    ]
    calls = (
        {b.id: b.name for message in got for b in message.content if isinstance(b, ToolCall)},
        {b.id: b.kind for message in written for b in message.content if isinstance(b, ToolCall)},
    )
    blocks = Blocks(_node, old_blocks, new_blocks, at, above, out, heads, calls)
    blocks.compare()
    if blocks.gone and end:  # what stands after them may be written to have moved past them
        near = (read[until].at, *(block.at for block in read[until].content))
        out.append(Change("order", "altered", at, near, above, implied=True))
    met = dict(blocks.there)
    for k, others in blocks.parts.items():
        met |= dict.fromkeys(others, met[k])
    both = [(old_blocks[i], new_blocks[j]) for i, j in sorted(met.items())]
    _speakers(heads, new, both, above, out)
    _boundaries(heads, both, above, out)


def _speakers(
    heads: list[Place], new: list[Message], both: list[tuple[Place, Place]],
    above: tuple[str, ...], out: list[Change],
) -> None:  # fmt: skip
    """Who says what was written, and what else there is to a message."""
    first: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    for old, got in both:
        first.setdefault(old.same, got.same)
        head, roles = heads[old.same], (heads[old.same].written.role, new[got.same].role)
        if roles[0] != roles[1] and (old.same, got.same) not in seen:
            out.append(Change("Message.role", "altered", head.at, (old.at,), above, *roles))
        seen.add((old.same, got.same))
    taken: set[int] = set()
    for same, there in first.items():
        head, message = heads[same], new[there]
        named = head.written.name, message.name
        if named[0] != named[1] and not (there in taken and named[0] is None):
            out.append(Change("Message.name", how_of(*named), head.at, (), above, *named))
        if head.written.extras != message.extras and not (
            there in taken and head.written.extras is None
        ):
            inside = (head.at, *above)
            note_extras(head.written.extras, head.read.extras, message.extras, head.at, inside, out)
        taken.add(there)


def _boundaries(
    heads: list[Place], both: list[tuple[Place, Place]], above: tuple[str, ...], out: list[Change]
) -> None:
    """Where one message ends and the next begins."""
    for (a, b), (c, d) in itertools.pairwise(both):
        if (a.same == c.same) == (b.same == d.same):
            continue
        near = tuple(head.at for head in heads[a.same : c.same + 1])
        how: How = "gone" if b.same == d.same else "new"
        at = heads[c.same].at
        out.append(Change("Message.boundary", how, at, (*near, a.at, c.at), above))


def _one(
    written: Message,
    read: Message,
    got: Message,
    at: str,
    above: tuple[str, ...],
    out: list[Change],
) -> None:
    _conversation((written,), (read,), (got,), at, above, out)


_TOOLS = _listed("Tool", lambda tool: tool.name)


def _uncounted(
    old: Any, read: Any, new: Any, at: str, inside: tuple[str, ...], out: list[Change]
) -> None:
    """What nobody counted is new where it is a number."""
    how: How = "new" if set(old) - set(new) else "gone"
    near = inside[:2] if how == "new" else ()
    out.append(Change("Usage.unsaid", how, at, near, inside, old, new))


def _rejected(
    old: Any, read: Any, new: Any, at: str, above: tuple[str, ...], out: list[Change]
) -> None:
    """The worse reply of a pair."""
    if old and new:
        _conversation(old, read, new, at, above, out)
    else:
        out.append(Change("Training.rejected", how_of(old, new), at, (), above, old, new))


_FIELDS: dict[tuple[type, str], Special] = {
    (Usage, "unsaid"): _uncounted,
    (object, "extras"): note_extras,
    (object, "at"): lambda *_: None,
    (Request, "messages"): _conversation,
    (History, "messages"): _conversation,
    (Candidate, "message"): _one,
    (Training, "rejected"): _rejected,
    (Media, "source"): _source,
    (ToolResult, "content"): _content,
    (Passage, "content"): _content,
    (Text, "citations"): _listed("Citation", lambda c: c.url),
    (Request, "tools"): _TOOLS,
    (Toolbox, "tools"): _TOOLS,
    (Response, "candidates"): _listed("Candidate", lambda c: None),
}
