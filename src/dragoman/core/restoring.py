"""Calls of a response as the request knew its tools, at rest and in a stream.

A request that was converted may have renamed its tools, written their namespaces into the names
and wrapped freeform tools as functions; ``Ledger.tool_names`` tells which. The response calls the
tools as they were written; here the calls get their namespace, name and kind back.

A freeform call arrives as ``{"input": "..."}``. In a stream its text is unescaped and passed on
while it arrives, however the deltas are cut. One machine, ``Unwrapping``, reads the arguments at
rest and in a stream, so that both give the same. The block is opened once the arguments have begun
as expected; where they begin otherwise, they wait for their end and are judged as a whole: an
object with a text under ``input`` is a freeform call, anything else stays a function's. Either
deviation is noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from ..ledger import Ledger
from ..model import Block, Candidate, Raw, Request, Response, Tool, ToolCall, ToolKind, ToolResult
from ..streams.events import Close, Delta, End, Event, Fail, Open
from .lowering import SEARCH
from .reading import UNREADABLE, decode

HEAD = ("{", '"input"', ":", '"')
"""What the arguments begin with, but for white space."""
SPACE = " \t\n\r"
PLAIN = re.compile(r'[^"\\]*')
ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
PARTIAL = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
"""The beginning of an escape, of which more may come."""
SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
UNPAIRED = "\ufffd"

CUT = "the arguments are truncated; the input is what was received"
MORE = "the arguments hold more than the `input` of the custom tool; the rest is omitted"
BROKEN = "the input has escapes that are not JSON, or a lone surrogate"
KEPT = "the arguments are not {'input': text}, so the call stays a function call"

Note = tuple[str, str, str]
"""A code of the ledger, the place of the call, and what became of it."""


class Unwrapping:
    """Reads ``{"input": "..."}`` in pieces and gives the text of the string in pieces."""

    __slots__ = ("_held", "_offset", "_state", "_token", "_whole", "note")

    def __init__(self) -> None:
        self._state = "head"  # then "text" and "tail", or "whole"
        self._token = self._offset = 0  # how much of the head has come
        self._whole: list[str] = []  # all that came before it was clear what it is
        self._held = ""  # an escape that is not complete; the beginning of the tail
        self.note: str | None = None

    @property
    def begun(self) -> bool:
        """Whether this is the input of a freeform tool, as far as it has come."""
        return self._state in ("text", "tail")

    def feed(self, text: str) -> str:
        """More of the arguments; the text that they make sayable."""
        if self._state == "text":
            return self._text(text)
        if self._state == "tail":
            self._tail(text)
            return ""
        self._whole.append(text)
        if self._state == "whole":
            return ""
        return self._head(text)

    def _head(self, text: str) -> str:
        for index, char in enumerate(text):
            token = HEAD[self._token]
            if not self._offset and char in SPACE:
                continue
            if char != token[self._offset]:
                self._state = "whole"
                return ""
            self._offset += 1
            if self._offset == len(token):
                self._token, self._offset = self._token + 1, 0
                if self._token == len(HEAD):
                    self._state = "text"
                    return self._text(text[index + 1 :])
        return ""

    def _text(self, text: str) -> str:
        data, place, out = self._held + text, 0, []
        self._held = ""
        while place < len(data):
            plain = PLAIN.match(data, place)
            assert plain is not None
            out.append(plain[0])
            place = plain.end()
            if place == len(data):
                break
            if data[place] == '"':
                self._state = "tail"
                self._tail(data[place + 1 :])
                break
            spelled, place = self._escape(data, place)
            if spelled is None:
                self._held = data[place:]
                break
            out.append(spelled)
        return "".join(out)

    def _tail(self, text: str) -> None:
        """What follows the string: a brace, or the beginning of something else."""
        if len(self._held) < 2:
            self._held += text.strip(SPACE)[:2]

    def _escape(self, data: str, place: int) -> tuple[str | None, int]:
        """What an escape stands for, and where it ends; None: more of it may come."""
        found = ESCAPE.match(data, place)
        if found is None:
            if PARTIAL.fullmatch(data, place):
                return None, place
            self.note = BROKEN
            return "\\", place + 1
        end = found.end()
        if found[2] is not None:
            return SHORT[found[2]], end
        code = int(found[1], 16)
        if 0xDC00 <= code < 0xE000:
            self.note = BROKEN
            return UNPAIRED, end
        if not 0xD800 <= code < 0xDC00:
            return chr(code), end
        low = ESCAPE.match(data, end)
        if low is not None and low[1] is not None and 0xDC00 <= int(low[1], 16) < 0xE000:
            pair = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
            return chr(pair), low.end()
        if end == len(data) or PARTIAL.fullmatch(data, end):
            return None, place
        self.note = BROKEN
        return UNPAIRED, end

    def close(self) -> str:
        """No more comes; the rest of the text. ``begun`` now tells what it is."""
        if self._state == "text":
            self.note = CUT
            return UNPAIRED if ESCAPE.match(self._held) else ""
        if self._state == "tail":
            if self._held != "}":
                self.note = MORE if self._held else CUT
            return ""
        return self._judge()

    def _judge(self) -> str:
        """Arguments that began otherwise, as a whole."""
        try:
            value = decode(self.whole)
        except UNREADABLE:
            value = None
        text = value.get("input") if isinstance(value, dict) else None
        if not isinstance(text, str):
            self.note = KEPT
            return ""
        self._state = "tail"
        if isinstance(value, dict) and len(value) > 1:
            self.note = MORE
        return text

    @property
    def whole(self) -> str:
        """The arguments as they came, where they are not those of a freeform tool."""
        return "".join(self._whole)


class Naming:
    """What the tools of a request were before they were written."""

    def __init__(
        self,
        names: Mapping[str, tuple[str | None, str]],
        custom: frozenset[str],
        search: frozenset[str] = frozenset(),
    ) -> None:
        self.names, self.custom, self.search = names, custom, search

    def call(self, call: ToolCall) -> ToolCall:
        """A call under the name that the request gave its tool."""
        pair = self.names.get(call.name)
        if call.name in self.search:
            return replace(call, kind="search", name=SEARCH if pair is None else pair[1])
        if pair is None or call.namespace is not None:
            return call
        return replace(call, namespace=pair[0], name=pair[1])

    def is_freeform(self, call: ToolCall) -> bool:
        """Whether a function stands for a freeform tool."""
        if call.kind != "function":
            return False
        if call.name in self.custom:
            return True
        namespace, name = self.names.get(call.name, (None, ""))
        return namespace is None and name in self.custom


def restore(
    tree: Response,
    names: Mapping[str, tuple[str | None, str]],
    custom: frozenset[str],
    log: Ledger | None = None,
    *,
    search: frozenset[str] = frozenset(),
) -> Response:
    """The response with its calls as the request knew the tools.

    ``names`` is ``Ledger.tool_names`` of the converted request; ``custom`` and ``search`` are the
    freeform tools and the client's tool search, as ``written`` gives them. What is not as expected
    goes to the log.
    """
    if not names and not custom and not search:
        return tree
    naming = Naming(names, custom, search)
    notes: list[Note] = []
    candidates = tuple(_restored(candidate, naming, notes) for candidate in tree.candidates)
    for code, at, why in notes if log is not None else ():
        assert log is not None
        log.approximated(code, at, why)
    if all(a is b for a, b in zip(candidates, tree.candidates, strict=True)):
        return tree
    return replace(tree, candidates=candidates)


def _restored(candidate: Candidate, naming: Naming, notes: list[Note]) -> Candidate:
    blocks = candidate.message.content
    if not any(block.__class__ is ToolCall for block in blocks):
        return candidate
    content = tuple(
        _call(block, naming, notes) if isinstance(block, ToolCall) else block for block in blocks
    )
    if all(a is b for a, b in zip(content, blocks, strict=True)):
        return candidate
    return replace(candidate, message=replace(candidate.message, content=content))


def _call(call: ToolCall, naming: Naming, notes: list[Note]) -> Block:
    named = naming.call(call)
    if not naming.is_freeform(call):
        return named
    unwrapping = Unwrapping()
    text = unwrapping.feed(call.arguments) + unwrapping.close()
    if unwrapping.note is not None:
        notes.append(_note(call, unwrapping))
    if not unwrapping.begun:
        return named
    return replace(named, kind="custom", arguments=text)


def _note(call: ToolCall, unwrapping: Unwrapping) -> Note:
    assert unwrapping.note is not None
    code = "tool_call.arguments" if unwrapping.begun else "tool_call.kind"
    return code, call.at, unwrapping.note


class Restorer:
    """The same for the events of a stream; ``notes`` are what ``restore`` would log."""

    def __init__(
        self,
        names: Mapping[str, tuple[str | None, str]],
        custom: frozenset[str],
        *,
        search: frozenset[str] = frozenset(),
    ) -> None:
        self.naming = Naming(names, custom, search)
        self.held: dict[int, tuple[Open, Unwrapping, bool]] = {}  # the last: it was opened
        self.notes: list[Note] = []

    def event(self, event: Event) -> Iterable[Event]:
        """The events that an event amounts to: none while it is not clear what a call is."""
        kind = event.__class__
        if kind is Delta:
            if self.held and event.index in self.held:  # type: ignore[union-attr]
                return self.grow(event.index, event.text)  # type: ignore[union-attr]
        elif kind is Open:
            if event.block.__class__ is ToolCall:  # type: ignore[union-attr]
                return self.open(event)  # type: ignore[arg-type]
        elif kind is Close:
            if event.index in self.held:  # type: ignore[union-attr]
                return (*self.shut(event.index), event)  # type: ignore[union-attr]
        elif isinstance(event, End | Fail):
            return self.end(event)
        return (event,)

    def open(self, event: Open) -> Iterable[Event]:
        call = event.block
        assert isinstance(call, ToolCall)
        named = self.naming.call(call)
        opened = event if named is call else replace(event, block=named)
        if not self.naming.is_freeform(call):
            return (opened,)
        opened = replace(event, block=replace(named, arguments=""))
        self.held[event.index] = (opened, Unwrapping(), False)
        return self.grow(event.index, call.arguments) if call.arguments else ()

    def grow(self, index: int, text: str) -> list[Event]:
        opened, unwrapping, known = self.held[index]
        spelled = unwrapping.feed(text)
        out: list[Event] = []
        if unwrapping.begun and not known:
            self.held[index] = (opened, unwrapping, True)
            out.append(freeform(opened))
        if spelled:
            out.append(Delta(index, spelled))
        return out

    def shut(self, index: int) -> list[Event]:
        """All that is left to be written of a call that ends."""
        opened, unwrapping, known = self.held.pop(index)
        text = unwrapping.close()
        out: list[Event] = []
        if not unwrapping.begun:
            out.append(opened)
            text = unwrapping.whole
        elif not known:
            out.append(freeform(opened))
        if text:
            out.append(Delta(index, text))
        if unwrapping.note is not None:
            assert isinstance(opened.block, ToolCall)
            self.notes.append(_note(opened.block, unwrapping))
        return out

    def end(self, event: End | Fail) -> list[Event]:
        out: list[Event] = [e for index in list(self.held) for e in self.shut(index)]
        tree = event.response
        if tree is not None:
            naming = self.naming
            restored = restore(tree, naming.names, naming.custom, search=naming.search)
            event = event if restored is tree else replace(event, response=restored)
        return [*out, event]


def freeform(opened: Open) -> Open:
    """The beginning of a function as that of the freeform tool it stands for."""
    assert isinstance(opened.block, ToolCall)
    return replace(opened, block=replace(opened.block, kind="custom"))


# -- which tools are of which kind ------------------------------------------------------------


def written(
    tree: Request, names: Mapping[str, tuple[str | None, str]], kind: ToolKind
) -> frozenset[str]:
    """The tools of a kind under the names that were written for them.

    ``tree`` is the request as it was read, ``names`` is ``Ledger.tool_names`` after it was written.
    """
    given = {pair: name for name, pair in names.items()}
    found = ((tool.namespace, tool.name) for tool in tools_of(tree) if tool.kind == kind)
    return frozenset(given.get(pair, pair[1]) for pair in found)


def tools_of(tree: Request) -> Iterator[Tool]:
    """The tools of a request, those that its conversation brings included."""
    yield from tree.tools or ()
    for message in tree.messages:
        for block in message.content:
            for inner in block.content if isinstance(block, ToolResult) else (block,):
                if isinstance(inner, Raw):
                    yield from inner.tools
