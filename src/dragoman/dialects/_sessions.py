"""What the session files of agents have alike: lines of JSON, of which some are the conversation.

Theory of operation. A line has an envelope (ids, a time, a folder) and holds a turn or an item as
the agent's API has it; that is read by the API's own reader, at its place in the file. All else
(other lines, and the envelopes) is kept under the root, by the number of its line (``Kept``): in
the same dialect it is written again, elsewhere each line is one loss.

Written in the same dialect, a block stands in the line that it was read from, and what is new gets
a line after the one before it. Written from another dialect, all lines are new, and what an
envelope requires is made up: the ids are ``log.ids("uuid")``, the time is ``log.now``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from ..core.capabilities import NO_CHOICE, Capabilities
from ..core.dates import date_of, has_year
from ..core.endpoint import Endpoint
from ..core.fields import Fields
from ..core.reading import as_dict
from ..core.walk import meaning
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import (
    Block,
    Extras,
    History,
    Json,
    Message,
    Node,
    Params,
    Request,
    Text,
    ToolChoice,
    Tree,
)

Line: TypeAlias = dict[str, Json]
T = TypeVar("T", Request, History)

ABSENT: Any = property()
"""A facet that the API of the parent has and its session files have not."""


class Kept:
    """What of the lines is no part of the tree."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.fields: dict[str, Json] = {}
        self.parts: list[str] = []
        self.whys: dict[str, Json] = {}

    def line(self, number: int, value: Json, why: str = "") -> None:
        """A line of which nothing was read, and why not, if its type does not tell."""
        self.fields[str(number)] = value
        if why:
            self.whys[str(number)] = why

    def rest(self, number: int, value: Line, *inner: str) -> None:
        """What is left of a line that was read, and of the objects in it that were as well."""
        self.fields[str(number)] = value
        self.parts += (str(number), *(f"{number}/{key}" for key in inner if key in value))

    def extras(self) -> Extras | None:
        if not self.fields:
            return None
        fields = dict(sorted(self.fields.items(), key=lambda item: int(item[0])))
        return Extras(self.dialect, fields, self.whys, inner=tuple(self.parts), records=True)


class Found(NamedTuple):
    """What was read of a file."""

    messages: list[Message]
    kept: Kept
    model: str | None = None
    model_at: str = ""


class Group(NamedTuple):
    """Blocks that stand in one line, or one item: ``at`` is its place; empty: it is new."""

    at: str
    message: Message
    blocks: list[Block]

    @property
    def number(self) -> int:
        return number_of(self.at)


def number_of(at: str) -> int:
    """The number of the line in which a place is; -1: in none."""
    token = at[1:].partition("/")[0]
    return int(token) if token.isdecimal() and len(token) < 12 else -1


def rest_of(doc: Line, *taken: str) -> Line:
    return {key: value for key, value in doc.items() if key not in taken}


def stored(can: Capabilities) -> Capabilities:
    """What an API can express, without what a request says beside its conversation."""
    return replace(can, strict=False, choices=NO_CHOICE, thinking=None)


class SessionFile(Dialect):
    """The base of the dialects of session files. Its document is a list of lines."""

    lines = True
    placed = True
    prompts: ClassVar[bool] = False
    """Whether a session holds the system prompt."""
    history: ClassVar[str | None] = None
    model_key = ""
    needs_model = False
    rules: ClassVar[dict[str, str]] = {}
    fields = Fields()  # the agent has its own
    has_tools = False
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = ()

    read_tools = write_tools = ABSENT
    read_tool_choice = write_tool_choice = ABSENT
    read_response = write_response = ABSENT
    read_error = write_error = ABSENT
    read_stream = write_stream = ABSENT

    def find(self, doc: Json, facet: str) -> Found:
        """The conversation of a file, and what else is in it."""
        raise NotImplementedError

    def write_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        """The lines of a conversation from elsewhere."""
        raise NotImplementedError

    def rewrite_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        """The lines of a conversation of the same dialect."""
        raise NotImplementedError

    def read_request(self, doc: Json) -> Request:
        found = self.find(doc, "request")
        ats = {} if found.model is None else {"model": found.model_at}
        return Request(
            found.model,
            tuple(found.messages),
            params=Params(ats=ats),
            dialect=self.name,
            extras=found.kept.extras(),
        )

    def read_messages(self, doc: Json) -> History:
        found = self.find(doc, "messages")
        return History(tuple(found.messages), dialect=self.name, extras=found.kept.extras())

    def write(self, tree: Tree, log: Ledger) -> Json:
        """What an agent has of its own goes first, so that nothing of it is lowered."""
        if isinstance(tree, Request | History) and not self.is_same(tree.dialect):
            log.target = self.name
            if isinstance(tree, Request):
                tree = self.without_settings(self.without_prompts(tree, log), log)
            else:
                tree = self.without_prompts(tree, log)
        return super().write(tree, log)

    def without_prompts(self, tree: T, log: Ledger) -> T:
        """The conversation without the system prompts that a session does not hold."""
        spoken = [m for m in tree.messages if m.role not in ("system", "developer")]
        if self.prompts or len(spoken) == len(tree.messages):
            return tree
        for message in tree.messages:
            if message.role in ("system", "developer"):
                lose_prompt(self, message, log)
        return replace(tree, messages=tuple(spoken))

    def write_request(self, tree: Request, log: Ledger) -> Json:
        return self.write_any(tree, log)

    def write_messages(self, tree: History, log: Ledger) -> Json:
        return self.write_any(tree, log)

    def write_any(self, tree: Request | History, log: Ledger) -> Json:
        if self.is_same(tree.dialect):
            return self.rewrite_lines(tree, log)
        self.lose(tree.extras, tree.at, log)
        return self.write_lines(tree, log)

    def without_settings(self, tree: Request, log: Ledger) -> Request:
        """The request without tools and parameters."""
        why = f"{self.name} stores no {{}}; the agent has its own"
        for tool in tree.tools or ():
            log.dropped("tool", tool.at, why.format("tools"))
            self.lose(tool.extras, tool.at, log)
        choice = tree.tool_choice
        if choice is not None and meaning(choice) != ToolChoice():
            alone = choice.mode is None and choice.payload is None and choice.parallel is not None
            code = "tool_choice.parallel" if alone else "tool_choice"
            log.dropped(code, choice.at, why.format("tool choice"))
            if not alone and choice.parallel is not None:
                log.dropped("tool_choice.parallel", choice.at, why.format("tool choice"))
        params = tree.params
        said = meaning(params)
        for name in SETTINGS:
            if getattr(said, name) is not None:
                value = getattr(params, name)
                place = value.at if isinstance(value, Node) else params.where(name)
                log.dropped(name, place, f"{self.name} has no field for {name}")
        self.lose(params.extras, params.at, log)
        ats = {"model": params.where("model")}
        return replace(tree, tools=None, tool_choice=None, params=Params(at=params.at, ats=ats))

    restored = Dialect.restored
    fit_model = Dialect.fit_model

    def judge_model(self, tree: Request, log: Ledger) -> None:
        """A session names the model that has spoken in it, whoever serves it."""


SETTINGS = tuple(name for name in Params.__struct_fields__ if name not in ("at", "extras", "ats"))


# -- the same dialect -------------------------------------------------------------------------


class Rows:
    """The lines of a file that is written again, each with its place in the order."""

    def __init__(self, extras: Extras | None, dialect: str) -> None:
        self.rows: dict[tuple[int, int], Json] = {}
        self.parts: dict[int, Line] = {}
        self.last = -1
        self.added: list[Json] = []
        if extras is not None and extras.dialect == dialect:
            parts = frozenset(extras.inner)
            for token, value in extras.fields.items():
                if token in parts:
                    self.parts[int(token)] = value
                else:
                    self.rows[int(token), 0] = value

    def rest(self, number: int) -> Line | None:
        """What was kept of a line, if that is not written yet; the place is noted."""
        if (number, 0) in self.rows or number not in self.parts:
            return None
        return self.parts[number]

    def put(self, number: int, line: Json) -> None:
        """A line in its own place."""
        self.rows[number, 0] = line
        self.last = number

    def add(self, line: Json) -> None:
        """A new line, after the last one."""
        self.added.append(line)
        self.rows[self.last, len(self.added)] = line

    def lines(self) -> list[Json]:
        return [self.rows[place] for place in sorted(self.rows)]


def linked(rows: Rows, is_named: Callable[[Line], bool]) -> list[Json]:
    """The lines of a tree: new ones, and those whose parents are gone, follow what precedes them.

    ``is_named`` tells which lines are in the tree.
    """
    gone: dict[str, Json] = {
        rest["uuid"]: rest.get("parentUuid")
        for rest in rows.parts.values()
        if rest.get("uuid").__class__ is str
    }
    lines, new = rows.lines(), set(map(id, rows.added))
    there = {line["uuid"] for _, line in objects(lines) if is_named(line)}
    before: str | None = None
    out: list[Json] = []
    for line in lines:
        if line.__class__ is dict and is_named(line):
            parent = line.get("parentUuid")
            if id(line) in new:
                line = {**line, "parentUuid": before}
            elif parent.__class__ is str and parent not in there and parent in gone:
                while parent.__class__ is str and parent in gone and parent not in there:
                    parent = gone.pop(parent)
                line = {**line, "parentUuid": parent}
            before = line["uuid"]
        out.append(line)
    return out


def groups_of(messages: Iterable[Message], place_of: Any) -> Iterator[Group]:
    """The blocks of messages, by the line or item in which they stand.

    ``place_of`` gives the place of the line or item of a block; what has none goes with the block
    before it in the same message.
    """
    group: Group | None = None
    for message in messages:
        mine = False  # the group has blocks of this message
        for block in message.content:
            at = place_of(block.at)
            joins = mine and group is not None and not at
            shared = group is not None and at and group.at == at
            if group is not None and (joins or (shared and is_alike(group.message, message))):
                group.blocks.append(block)
            else:
                if group is not None:
                    yield group
                group = Group(at, message, [block])
            mine = True
        if not message.content:
            if group is not None:
                yield group
            group = Group(place_of(message.at), message, [])
    if group is not None:
        yield group


def lose_prompt(d: Dialect, message: Message, log: Ledger) -> None:
    """A system prompt, which the agent does not store; its mark may stand beside it."""
    why = f"{d.name} stores no system prompt; the agent has its own"
    for block in message.content or (message,):
        log.dropped("system", block.at, why)
        mark = block.cache if isinstance(block, Text) else None
        if mark is not None and not mark.at.startswith(f"{block.at}/"):
            log.dropped("cache", mark.at, why)
    if message.name is not None:
        log.dropped("message.name", message.at, why)
    d.lose(message.extras, message.at, log)


def is_alike(one: Message, two: Message) -> bool:
    """Whether two messages may stand in one line: results do so, and words of the user."""
    sides = {"tool": "user"}
    return sides.get(one.role, one.role) == sides.get(two.role, two.role)


# -- what is made up ----------------------------------------------------------------------------


class Stamps:
    """Ids and times of new lines: those that the caller gives, or the same ones every time."""

    def __init__(self, log: Ledger) -> None:
        self.log = log
        self.count = 0

    def uuid(self) -> str:
        if self.log.ids is not None:
            return self.log.ids("uuid")
        self.count += 1
        return f"00000000-0000-4000-8000-{self.count:012d}"

    @property
    def time(self) -> str:
        return iso(self.log.now or 0)


def iso(seconds: float) -> str:
    """A time as JavaScript writes it.

    >>> iso(1.5)
    '1970-01-01T00:00:01.500Z'
    """
    if not has_year(seconds):
        seconds = 0
    days, left = divmod(round(seconds * 1000), 86_400_000)
    year, month, day = date_of(days)
    minutes, millis = divmod(left, 60_000)
    hour, minute = divmod(minutes, 60)
    second, milli = divmod(millis, 1000)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"


def is_newer(version: Json, known: str) -> bool:
    """Whether a version is later than one that is known.

    >>> is_newer("2.2.0", "2.1.197"), is_newer("2.1.9", "2.1.197"), is_newer(None, "1.0")
    (True, False, False)
    """
    if version.__class__ is not str:
        return False
    parts = version.split("-")[0].split(".")
    if not all(part.isdecimal() and len(part) < 9 for part in parts):
        return False
    return [int(part) for part in parts] > [int(part) for part in known.split(".")]


def objects(docs: list[Json]) -> Iterator[tuple[int, Line]]:
    """The lines that are objects, with their numbers."""
    for number, doc in enumerate(docs):
        if doc.__class__ is dict:
            yield number, as_dict(doc, "")
