"""A document as units: what of it stands or falls together, and what each unit says.

``capsule`` has the theory. A unit is a run of items of a list, or a whole value, that messages of
the tree (or definitions of tools) were read from; its gist is what they say, spelling aside.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, TypeAlias
from zlib import crc32

import msgspec

from ..core.reading import UNREADABLE, decode
from ..model import (
    Cache,
    History,
    Hosted,
    Json,
    Media,
    Message,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Request,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
)

Speaker: TypeAlias = Message | Tool
WHOLE = -1
"""The start of a unit that is not a run of items but the whole value of a key."""
LONG = 256
"""How long a text must be to be referred to rather than copied."""
_sorted = msgspec.msgpack.Encoder(order="sorted").encode  # many times as fast as JSON
_spelled = msgspec.json.Encoder(order="sorted").encode


class Unit(msgspec.Struct, gc=False, eq=False):
    """A run of items, ``start`` to ``end``, of the list under ``slot``; or all that is there."""

    slot: str
    start: int
    nodes: list[Any]
    end: int = 0
    reach: int = WHOLE
    """An item further down that some of the unit stands in."""
    twins: list[Any] | None = None
    """What the client said that the nodes were written from; the gist is that of these."""
    _atoms: list[Json] | None = None
    _key: str | None = None
    size: int = 0

    @property
    def atoms(self) -> list[Json]:
        """What the unit says, one value for each thing that it says."""
        if self._atoms is None:
            self._atoms = gist_of(self.nodes if self.twins is None else self.twins)
        return self._atoms

    @property
    def ats(self) -> list[str]:
        """Where each of the atoms stands."""
        return [at for node in self.nodes for at in _places(node)]

    @property
    def key(self) -> str:
        """The digest of what the unit says."""
        if self._key is None:
            self._key, self.size = digest(joined(self.atoms))
        return self._key

    def says_the_same(self, other: Unit) -> bool:
        """Whether two units have the same gist."""
        return say_the_same(self.nodes, other.nodes)

    def calls(self) -> tuple[list[str | None], list[str | None]]:
        """The ids of the calls of a unit, and of the calls that it replies."""
        blocks = [b for node in self.nodes if node.__class__ is Message for b in node.content]
        called = [b.id for b in blocks if b.__class__ is ToolCall]
        return called, [b.call_id for b in blocks if b.__class__ is ToolResult]

    def ids(self) -> list[str | None]:
        """The ids of the calls and the results of a unit, as the client has them."""
        return ids_of(self.nodes if self.twins is None else self.twins)

    def identified(self) -> Iterator[tuple[Json, str | None]]:
        """The calls and the results of a unit, each with the id that pairs it."""
        for node in self.nodes:
            for block in node.content if node.__class__ is Message else ():
                if block.__class__ is ToolCall:
                    yield _atom(block), block.id
                elif block.__class__ is ToolResult:
                    yield joined([_atom(block)])[0], block.call_id

    def marks(self) -> list[str]:
        """Where the cache marks of a unit stand."""
        return [mark.at for node in self.nodes for mark in _marks(node)]


def joined(atoms: list[Json]) -> list[Json]:
    """Atoms with texts that follow each other as one: clients join such texts, and split them."""
    before: Any = None
    for atom in atoms:
        kind = atom.__class__
        if kind is str:
            if before is str:
                break
        elif atom[0] == "result" and len(atom[2]) > 1:
            break
        before = kind
    else:
        return atoms  # as most
    out: list[Json] = []
    for atom in atoms:
        if atom.__class__ is not str:
            out.append(["result", atom[1], joined(atom[2])] if atom[0] == "result" else atom)
        elif out and out[-1].__class__ is str:
            out[-1] += atom
        else:
            out.append(atom)
    return out


def digest(atoms: list[Json]) -> tuple[str, int]:
    """The digest of a gist, and how long that is.

    Length and checksum tell one turn of a conversation from another, at a small part of the cost
    of a cryptographic digest; whoever makes two alike has a capsule of his own that fits both.
    """
    try:
        gist = _sorted(atoms)
    except OverflowError:  # a number that has no place in MessagePack
        gist = _spelled(atoms)
    size = len(gist)
    return f"{size:x}-{crc32(gist):x}", size


def _bytes(value: Json) -> bytes:
    try:
        return _sorted(value)
    except OverflowError:  # as in ``digest``
        return _spelled(value)


def ids_of(nodes: Sequence[Any]) -> list[str | None]:
    """The ids of calls and results."""
    blocks = [block for node in nodes for block in getattr(node, "content", ())]
    return [
        block.id if block.__class__ is ToolCall else block.call_id
        for block in blocks
        if block.__class__ in PAIRED
    ]


def are_marked(messages: Sequence[Any]) -> bool:
    """Whether there are cache marks in messages."""
    for message in messages:
        for block in message.content:
            if block.__class__ in MARKED:
                if block.cache is not None:
                    return True
                if block.__class__ in NESTED and any(_marks(block)):
                    return True
    return False


def say_the_same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two runs of messages have the same gist."""
    if len(a) != len(b):
        return False
    if _are_messages(a) and _are_messages(b) and common_gist(a, b) is not None:
        return True
    return digest(joined(gist_of(a))) == digest(joined(gist_of(b)))


def _are_messages(nodes: Sequence[Any]) -> bool:
    return all(node.__class__ is Message for node in nodes)


def common_gist(written: Sequence[Any], mine: Sequence[Any]) -> list[Json] | None:
    """What messages say, if one sees at once that others say the same, and that there are no marks.

    ``say_the_same``, ``are_marked`` and ``gist_of`` in one go, for texts, calls and plain results.
    """
    atoms: list[Json] = []
    for a, b in zip(written, mine, strict=True):
        role, name = a.role, a.name
        if role != b.role or name != b.name:
            return None
        atoms.append(["system" if role == "developer" else role, name])
        size = len(atoms)
        others = iter(b.content)
        for x in a.content:
            kind = x.__class__
            if kind is Reasoning:
                continue
            y: Any = next(others, None)
            while y.__class__ is Reasoning:
                y = next(others, None)
            atom = COMMON[kind](x, y) if kind is y.__class__ and kind in COMMON else None
            if atom is None:
                return None
            atoms.append(atom)
        if len(atoms) == size:
            return None  # what says nothing is told by its reasoning
        for y in others:
            if y.__class__ is not Reasoning:
                return None
    return atoms


def _common_text(x: Any, y: Any) -> Json:
    text = x.text
    return text if text and text[0] != "[" and text == y.text and x.cache is None else None


def _common_call(x: Any, y: Any) -> Json:
    if x.cache is not None or x.name != y.name or x.kind != y.kind:
        return None
    arguments = _arguments(x)
    if x.arguments != y.arguments and _bytes(arguments) != _bytes(_arguments(y)):
        return None
    return ["call", x.name, arguments]


def _common_result(x: Any, y: Any) -> Json:
    if x.cache is not None or len(x.content) != 1 or len(y.content) != 1:
        return None
    one, two, failed = x.content[0], y.content[0], bool(x.is_error)
    if one.__class__ is not Text or two.__class__ is not Text or failed != bool(y.is_error):
        return None
    text = _common_text(one, two)
    return None if text is None else ["result", failed, [text]]


COMMON = {Text: _common_text, ToolCall: _common_call, ToolResult: _common_result}


def gist_of(nodes: Sequence[Any]) -> list[Json]:
    """What nodes say, one value for each thing that they say."""
    atoms: list[Json] = []
    for node in nodes:
        _say(node, atoms)
    return atoms


class View:
    """A document as its settings, the units of its conversation and those of its tools."""

    __slots__ = ("base", "doc", "has_tools", "inner", "tools", "turns")

    def __init__(self, doc: Json, tree: Any, tools_too: bool = True) -> None:
        """Raises ``LookupError`` where the conversation is not made of items."""
        messages = tree.messages if isinstance(tree, Request | History) else ()
        tools = (tree.tools or ()) if isinstance(tree, Request | Toolbox) else ()
        self.doc = doc
        self.base = _base(doc, messages or tools)
        self.inner: dict[str, Json] = {"": doc}
        if doc.__class__ is dict:
            self.inner = doc if self.base is None else doc[self.base]
        self.turns = self._units(messages)
        self.has_tools = True
        try:
            self.tools = self._units(tools) if tools_too else []
            self.has_tools = tools_too
        except LookupError:
            self.leave_tools()

    def leave_tools(self) -> None:
        """Tools that are not the items of a list are among the settings."""
        if self.doc.__class__ is not dict:
            raise LookupError
        self.tools, self.has_tools = [], False

    def _units(self, nodes: Sequence[Speaker]) -> list[Unit]:
        out: list[Unit] = []
        first: list[Unit] = []
        last: dict[str, Unit] = {}
        unit: Unit | None = None
        prefix, size = "\0", 0  # of the last place in a list: the next one stands beside it, mostly
        for node in nodes:
            at = beginning(node)
            if at.startswith(prefix):
                assert unit is not None
                slot, number = unit.slot, at[size:]
                start = int(number if number.isdigit() else number.partition("/")[0])
            else:
                slot, start = self._place(node, at)
                if start == WHOLE and not any(map(_atom, getattr(node, "content", ()))):
                    continue  # an empty prompt says nothing: a setting
                unit = last.get(slot)
                prefix = "\0"
                if start != WHOLE:
                    prefix = at[: at.index(f"/{start}") + 1]
                    size = len(prefix)
            if unit is None:
                last[slot] = unit = Unit(slot, start, [node])
                first.append(unit)
                out.append(unit)
            elif unit.start == start or WHOLE < start <= unit.reach:
                if out[-1] is not unit:
                    raise LookupError  # what stands in one place is written in two
                unit.nodes.append(node)
            elif start < unit.start or start == WHOLE or unit.start == WHOLE:
                raise LookupError
            else:
                unit.end = start
                last[slot] = unit = Unit(slot, start, [node])
                out.append(unit)
            if start != WHOLE and node.__class__ is Message and node.role == "tool":
                written = getattr(node.content[-1], "content", ()) if node.content else ()
                if written and not written[-1].at.startswith(at):
                    unit.reach = max(unit.reach, _reach(written[-1].at, prefix))
        for unit in first:
            if unit.start != WHOLE:
                unit.start = 0  # what stands before belongs to it
                last[unit.slot].end = len(self.inner[unit.slot])
        return out

    def _place(self, node: Speaker, at: str) -> tuple[str, int]:
        tokens = at.split("/")
        if self.base is not None:
            del tokens[0]
        elif self.doc.__class__ is list:
            tokens.insert(0, "")
        slot = tokens[1]  # a ``LookupError`` if it stands nowhere
        if "~" in slot:
            slot = slot.replace("~1", "/").replace("~0", "~")
        value = self.inner[slot]
        if value.__class__ is list:
            if len(tokens) > 2 and tokens[2].isdigit():
                return slot, int(tokens[2])
            if value is self.doc:
                raise LookupError
        if not isinstance(node, Message):
            raise LookupError
        if node.role not in ("system", "developer") and value.__class__ is not str:
            raise LookupError
        return slot, WHOLE

    def slots(self) -> set[str]:
        return {unit.slot for unit in (*self.turns, *self.tools)}

    def settings(self, slots: set[str]) -> Json:
        """The document without what stands under the slots."""
        if self.doc.__class__ is not dict:
            return {}
        inner = {k: v for k, v in self.inner.items() if k not in slots}
        return inner if self.base is None else {**self.doc, self.base: inner}

    def value(self, unit: Unit) -> Json:
        """What a unit is in the document: the items of it, or the value."""
        value = self.inner[unit.slot]
        return value if unit.start == WHOLE else value[unit.start : unit.end]

    def pieces(self, units: Sequence[Unit]) -> list[Json]:
        """What units are in the document: ``[slot, whether it is all of it, value]``, in order."""
        out: list[Json] = []
        for unit in units:
            whole = unit.start == WHOLE
            if out and not whole and out[-1][0] == unit.slot and not out[-1][1]:
                out[-1][2] = out[-1][2] + self.value(unit)
            else:
                out.append([unit.slot, whole, self.value(unit)])
        return out


def beginning(node: Speaker) -> str:
    """Where a message begins: its reasoning may stand in an item of its own before it."""
    at = node.at
    if node.__class__ is Message and node.content:
        first: Any = node.content[0]
        if first.__class__ is Reasoning and not first.at.startswith(at):
            return str(first.at)
    return at


def _reach(at: str, prefix: str) -> int:
    """The item that the end of a result stands in: images may have been hoisted out of it."""
    return int(at[len(prefix) :].partition("/")[0]) if at.startswith(prefix) else WHOLE


def _base(doc: Json, nodes: Sequence[Speaker]) -> str | None:
    """The key of the object that holds the conversation, where it is not at the top."""
    if doc.__class__ is not dict or not nodes:
        return None
    tokens = nodes[0].at.split("/")
    inner = doc.get(tokens[1]) if len(tokens) > 3 else None
    if inner.__class__ is dict and inner.get(tokens[2]).__class__ is list and tokens[3].isdigit():
        if all(node.at.startswith(f"/{tokens[1]}/{tokens[2]}/") for node in nodes):
            return tokens[1]
    return None


# -- what a unit says -----------------------------------------------------------------------


def _say(node: Any, out: list[Json]) -> None:
    if node.__class__ is Tool:
        service = node.payload if node.kind == "hosted" else None
        out.append(["tool", node.kind, node.name, node.description, node.schema, service])
        return
    # The two mean the same to those who have one of them only.
    out.append(["system" if node.role == "developer" else node.role, node.name])
    size = len(out)
    for block in node.content:
        kind = block.__class__
        if kind is Text:  # as most; the same as ``_atom``, without a call
            if text := block.text:
                out.append(NAMED.sub(r"\1 ]", text) if text[0] == "[" else text)
        elif kind is ToolCall:
            out.append(["call", block.name, _arguments(block)])
        elif kind is not Reasoning and (atom := _atom(block)) is not None:
            out.append(atom)
    if len(out) == size:  # it says nothing, or nothing but reasoning
        for block in node.content:
            if isinstance(block, Reasoning):
                out.append(["reasoning", block.content, block.summary])


def _places(node: Speaker) -> list[str]:
    """Where the atoms of a node stand, in the order of ``_say``."""
    if not isinstance(node, Message):
        return [node.at]
    written = [block.at for block in node.content if _atom(block) is not None]
    if not written:
        written = [block.at for block in node.content if isinstance(block, Reasoning)]
    return [node.at, *written]


def _atom(block: Any) -> Json:
    """What a block says; None: nothing that counts."""
    kind = block.__class__
    if kind is Text:
        text = block.text
        return NAMED.sub(r"\1 ]", text) if text[:1] == "[" else text or None
    if kind is ToolCall:
        return ["call", block.name, _arguments(block)]
    if kind is ToolResult:
        written = [atom for inner in block.content if (atom := _atom(inner)) is not None]
        return ["result", bool(block.is_error), written]
    if kind is Media:
        source = block.source
        inner = [_atom(part) for part in source.blocks]
        return ["media", block.kind, source.kind, source.value, inner]
    if kind is Refusal:
        return ["refusal", block.text]
    if kind is Passage:
        return ["passage", block.source, block.title, [_atom(part) for part in block.content]]
    if kind is Hosted or kind is Raw:
        return ["other", block.payload]
    return None


NAMED = re.compile(
    r"\A(\[content of tool result|\[(?:result|error) of the tool call) .+\]\Z", re.DOTALL
)
"""Texts that are written where there is no field for it, and name an id (``normal``, ``results``):
ids are no part of what a unit says."""


def _arguments(call: ToolCall) -> Json:
    text = call.arguments
    if not text or text.isspace():
        return {}
    try:
        value = decode(text) if call.kind == "function" else text
    except UNREADABLE:
        return text
    if value.__class__ is dict and UNCOUNTED.issuperset(map(type, value.values())):
        return value  # as most
    return _counted(value) if ".0" in text else value


def _counted(value: Json) -> Json:
    """Whole numbers are the same with and without a point: many clients know one kind only."""
    if value.__class__ is dict:
        return {key: _counted(item) for key, item in value.items()}
    if value.__class__ is list:
        return [_counted(item) for item in value]
    if value.__class__ is float and value.is_integer() and abs(value) < EXACT:
        return int(value)
    return value


UNCOUNTED = frozenset({str, int, bool, type(None)})
EXACT = 2.0**53
"""Numbers above are written in other ways, and none of them is a count."""


def _marks(node: Any) -> Iterator[Cache]:
    if node.__class__ is not Message and node.cache is not None:
        yield node.cache
    for block in getattr(node, "content", ()):
        if block.__class__ in MARKED:
            if block.cache is not None or block.__class__ in NESTED:
                yield from _marks(block)


MARKED = frozenset({Text, Media, Passage, ToolCall, ToolResult})
NESTED = frozenset({Passage, ToolResult})
PAIRED = frozenset({ToolCall, ToolResult})


# -- which belong together ------------------------------------------------------------------


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Which members of two sequences correspond, in order, at a linear cost.

    Those are the same that start and end both sequences, and those that occur once in each; so are
    their neighbours as far as they are alike, and what stands between two such in equal number.
    """
    pairs: list[tuple[int, int]] = []
    start, ends = _trim(old, new, 0, len(old), 0, len(new))
    pairs += [(i, i) for i in range(start)]
    a, b = len(old) - ends, len(new) - ends
    i = j = start
    for x, y in [*_anchors(old, new, start, a, b), (a, b)]:
        pairs += _between(old, new, i, x, j, y)
        if x < a:
            pairs.append((x, y))
        i, j = x + 1, y + 1
    pairs += [(a + n, b + n) for n in range(ends)]
    return pairs


def _trim(
    old: Sequence[Hashable], new: Sequence[Hashable], i: int, x: int, j: int, y: int
) -> tuple[int, int]:
    """How many members are alike at the start of two runs, and how many more at their end."""
    size = min(x - i, y - j)
    start = 0
    while start < size and old[i + start] == new[j + start]:
        start += 1
    ends = 0
    while ends < size - start and old[x - 1 - ends] == new[y - 1 - ends]:
        ends += 1
    return start, ends


def _between(
    old: Sequence[Hashable], new: Sequence[Hashable], i: int, x: int, j: int, y: int
) -> list[tuple[int, int]]:
    if x - i == y - j:
        return [(i + n, j + n) for n in range(x - i)]
    start, ends = _trim(old, new, i, x, j, y)
    return [(i + n, j + n) for n in range(start)] + [(x - n, y - n) for n in range(ends, 0, -1)]


def _anchors(
    old: Sequence[Hashable], new: Sequence[Hashable], start: int, a: int, b: int
) -> list[tuple[int, int]]:
    """What occurs once in each run, as far as it is in the same order: the longest such chain."""
    once = {key for key, count in Counter(old[start:a]).items() if count == 1}
    once &= {key for key, count in Counter(new[start:b]).items() if count == 1}
    places = {new[j]: j for j in range(start, b)}
    found = [(i, places[old[i]]) for i in range(start, a) if old[i] in once]
    tops: list[int] = []  # the lowest end of a chain of each length
    chain: list[int] = []  # which of the found ones that is
    before: list[int] = []
    for number, (_, j) in enumerate(found):
        at = bisect_left(tops, j)
        before.append(chain[at - 1] if at else -1)
        if at == len(tops):
            tops.append(j)
            chain.append(number)
        else:
            tops[at], chain[at] = j, number
    out: list[tuple[int, int]] = []
    number = chain[-1] if chain else -1
    while number >= 0:
        out.append(found[number])
        number = before[number]
    return out[::-1]
