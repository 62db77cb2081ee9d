"""Makes a tree fit a target that cannot say all of it; every change is in the ledger.

What is lowered here, once for all dialects, is what a dialect either can express or cannot
(``Dialect.can``, see ``capabilities``). Of messages:

- names of speakers, where there is no field for them;
- the ``developer`` role, which is ``system`` where there is none.

Of tools:

- ``namespace``: tools in a namespace. Elsewhere both names become one, ``namespace__name``.
- ``deferred``: tools that are loaded when a tool search finds them. Elsewhere they are loaded at
  once; so they are where the search itself cannot be said, as nothing would load them.
- ``search``: a tool search that the client runs. Elsewhere it is a function, and what it finds is
  named in its result and joins the tools of the request.

And blocks of another dialect: tools that they bring join those of the request, what they say in
plain words is text, and a compacted history that nobody else can read is reported as such.

A tree that fits passes after one scan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from .capabilities import LACKED, Capabilities, Place
from .events import Delta, Event, Open
from .ledger import Ledger
from .model import (
    Block,
    Candidate,
    Extras,
    History,
    Json,
    Message,
    Raw,
    Request,
    Response,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolChoice,
    ToolResult,
    Tree,
)
from .reading import escape
from .writing import Names

if TYPE_CHECKING:
    from .dialect import Dialect

USUAL = ("[a-zA-Z0-9_-]", 64)
"""What a tool may be called nearly everywhere."""
FOUND = "Tools found: {}"
NOTHING_FOUND = "No tools found."
SEARCH = "tool_search"
SEARCH_KEYS = frozenset({"type", "name", "cache_control"})
"""What of a provider's tool search is its name, or is read as what every tool has."""


def lower(tree: Tree, to: Dialect, log: Ledger) -> Tree:
    """The tree without what the target has no form for."""
    if isinstance(tree, Request):
        if not _has_special_tools(tree.tools or ()) and _fits(tree.messages, to.can, "history"):
            return tree
        return Lowering(to, log, "history").request(tree)
    if isinstance(tree, History):
        if _fits(tree.messages, to.can, "history"):
            return tree
        lowered = Lowering(to, log, "history")
        return replace(tree, messages=lowered.messages(tree.messages))
    if isinstance(tree, Response):
        messages = [candidate.message for candidate in tree.candidates]
        if _has_only(tree, to.can) and _fits(messages, to.can, "response"):
            return tree
        return Lowering(to, log, "response").response(tree)
    if isinstance(tree, Toolbox) and _has_special_tools(tree.tools):
        lowered = Lowering(to, log, "history")
        lowered.define(tree.tools)
        return replace(tree, tools=tuple(map(lowered.tool, tree.tools)))
    return tree


def _has_special_tools(tools: Sequence[Tool]) -> bool:
    """Whether a tool is of a kind that some dialects cannot say."""
    for tool in tools:
        if tool.namespace is not None or tool.deferred:
            return True
        kind = tool.kind
        if kind != "function" and (kind == "search" or is_hosted_search(tool)):
            return True
    return False


def _has_only(tree: Response, can: Capabilities) -> bool:
    """Whether a response has no field that the target lacks, and no more candidates than it has."""
    if can.candidates is not None and len(tree.candidates) > can.candidates:
        return False
    return not any(_has(tree, code) for code in can.lacks)


def _has(tree: Response, code: str) -> bool:
    if code in ROOT_FIELDS:
        value = getattr(tree, ROOT_FIELDS[code])
        return value is not None and not (isinstance(value, Extras) and not value.fields)
    return any(_field(candidate, code) is not None for candidate in tree.candidates)


def _field(candidate: Candidate, code: str) -> Json:
    if code == "logprobs":
        return candidate.logprobs
    stop = candidate.stop
    return None if stop is None else stop.sequence if code == "stop.sequence" else stop.detail


ROOT_FIELDS = {
    "response.id": "id",
    "response.model": "model",
    "response.created": "created",
    "response.echo": "echo",
    "service_tier": "service_tier",
}
"""Fields of a response by the codes of their losses; all others are fields of its candidates."""


def _fits(messages: Sequence[Message], can: Capabilities, place: Place) -> bool:
    """Whether there is nothing to lower, as usual. This is all that most trees cost."""
    unnamed, developer = place not in can.names, can.developer
    for message in messages:
        if unnamed and message.name is not None:
            return False
        if message.role == "developer" and not developer:
            return False
        for block in message.content:
            if block.__class__ is Text:
                continue
            if block.__class__ is ToolCall:
                if block.namespace is not None or block.kind == "search":
                    return False
            elif block.__class__ is ToolResult:
                if block.namespace is not None or block.kind == "search":
                    return False
                for inner in block.content:
                    if inner.__class__ is Raw and _is_known(inner):
                        return False
            elif block.__class__ is Raw and _is_known(block):
                return False
    return True


def _is_known(block: Raw) -> bool:
    """Whether others can be told what a block of one dialect is."""
    return block.text is not None or bool(block.tools) or block.code is not None


def is_hosted_search(tool: Tool) -> bool:
    """Whether a tool is the provider's own search for tools."""
    return tool.kind == "hosted" and tool.service is not None and tool.service.startswith(SEARCH)


class Lowering:
    """One tree on its way to one target."""

    def __init__(self, to: Dialect, log: Ledger, place: Place) -> None:
        self.to = to
        self.log = log
        self.place = place
        writing = getattr(to, "writing", None)
        rule = USUAL if writing is None else writing(Ledger(), None).names.rule
        self.names = Names(rule, "tool.name", made=set())
        self.plain: set[str] = set()  # the tools that have no namespace
        self.spaces: dict[str, list[str]] = {}  # name of a tool -> the namespaces that have it
        self.inside: dict[str, list[str]] = {}  # namespace -> the names of its tools
        self.flat: dict[tuple[str, str], str] = {}  # namespace and name -> what is written
        self.owned: set[str] = set()  # what was written for a namespace and a name
        self.called: dict[str | None, str] = {}  # id of a call -> the name that was written for it
        self.brought: list[Tool] | None = None  # tools of the conversation; None: no place for them
        self.search = SEARCH  # what the client's search is called
        self.refers = False  # what a search finds is referred to, and not told

    # -- names ------------------------------------------------------------------------------

    def define(self, tools: Sequence[Tool]) -> None:
        """The tools of a request get their names before any call, and keep them as it grows."""
        for tool in tools:
            if tool.namespace is not None:
                self.spaces.setdefault(tool.name, []).append(tool.namespace)
                self.inside.setdefault(tool.namespace, []).append(tool.name)
            elif tool.kind in ("function", "custom"):
                self.plain.add(tool.name)
        self.names.made |= self.plain
        if self.search in self.plain:
            self.search = self.names.rename(SEARCH)
        if self.spaces and "namespace" not in self.to.can.tools:
            for tool in tools:
                if tool.namespace is not None and tool.kind != "hosted":
                    self.name(tool.namespace, tool.name)

    def name(self, namespace: str, name: str) -> str:
        """One name for both, legal at the target and nobody else's."""
        pair = (namespace, name)
        if (known := self.flat.get(pair)) is not None:
            return known
        if namespace == name and namespace not in self.spaces.get(name, ()):
            # A deferred tool without a namespace is called under its own name as the namespace.
            given = name
        else:
            given = f"{namespace}__{name}"
            if not self.names.fits(given):
                given = self.names.rename(given)
            elif given in self.names.made:
                given = self.names.rename(f"{given}_{len(namespace)}")
            self.names.made.add(given)
            self.owned.add(given)
        self.flat[pair] = given
        self.log.tool_names[given] = pair
        return given

    def note(self, namespace: str, at: str, given: str) -> None:
        why = f"namespace {namespace!r} written into the name: {given!r}"
        self.log.moved("tool.namespace", at, why)

    # -- requests and responses -------------------------------------------------------------

    def request(self, tree: Request) -> Request:
        own = tree.tools or ()
        brought = [tool for raw in self.carriers(tree.messages) for tool in raw.tools]
        self.define((*own, *brought))
        tools = self.joined(own, brought)
        self.refers = self.to.reference(SEARCH) is not None and any(
            tool.kind == "search" for tool in tools
        )
        self.brought = []
        messages = self.messages(tree.messages)
        if self.refers:
            tools = self.referred(tools, brought)
        loads = self.refers or any(map(self.is_search, tools))
        written = tuple(self.tool(tool, loads) for tool in tools)
        choice = None if tree.tool_choice is None else self.choice(tree.tool_choice)
        return replace(tree, messages=messages, tools=written or tree.tools, tool_choice=choice)

    def is_search(self, tool: Tool) -> bool:
        """Whether a tool loads deferred ones at the target."""
        if is_hosted_search(tool):
            return self.to.tool_search is not None
        return tool.kind == "search" and "search" in self.to.can.tools

    def response(self, tree: Response) -> Response:
        can = self.to.can
        most = len(tree.candidates) if can.candidates is None else can.candidates
        for other in tree.candidates[most:]:
            self.log.dropped("candidates", other.at, f"{self.to.name} has one candidate")
        for code, name in ROOT_FIELDS.items():
            if code in can.lacks and _has(tree, code):
                self.lack(code, tree.at)
                tree = replace(tree, **{name: None})
        return replace(tree, candidates=tuple(map(self.candidate, tree.candidates[:most])))

    def candidate(self, candidate: Candidate) -> Candidate:
        message, stop, lacks = self.message(candidate.message), candidate.stop, self.to.can.lacks
        if message is not candidate.message:
            candidate = replace(candidate, message=message)
        if candidate.logprobs is not None and "logprobs" in lacks:
            self.lack("logprobs", candidate.at)
            candidate = replace(candidate, logprobs=None)
        if stop is None or self.to.is_home(stop.dialect):
            return candidate
        if stop.sequence is not None and "stop.sequence" in lacks:
            self.lack("stop.sequence", candidate.at)
            stop = replace(stop, sequence=None)
        if stop.detail is not None and "stop.detail" in lacks:
            self.lack("stop.detail", candidate.at)
            stop = replace(stop, detail=None)
        return candidate if stop is candidate.stop else replace(candidate, stop=stop)

    def lack(self, code: str, at: str) -> None:
        self.log.dropped(code, at, f"{self.to.name} has no field for {LACKED[code]}")

    def carriers(self, messages: Sequence[Message]) -> Iterator[Raw]:
        """The blocks that bring tools which the target takes only beside the conversation."""
        for message in messages:
            for block in message.content:
                inner = block.content if isinstance(block, ToolResult) else (block,)
                for raw in inner:
                    if isinstance(raw, Raw) and raw.tools and not self.to.accepts(raw):
                        yield raw

    def joined(self, own: Sequence[Tool], brought: Sequence[Tool]) -> list[Tool]:
        """The tools of a request and those of its conversation; of one name, the last counts."""
        out = list(own)
        places = {(tool.namespace, tool.name): place for place, tool in enumerate(own)}
        for tool in brought:
            key = (tool.namespace, tool.name)
            place = places.get(key)
            if place is None:
                places[key] = len(out)
                out.append(tool)
            elif _definition(out[place]) != _definition(tool):
                why = f"{tool.name!r} is defined again later in the conversation"
                self.log.dropped("tool", out[place].at, why)
                out[place] = tool
        return out

    def referred(self, tools: Sequence[Tool], brought: Sequence[Tool]) -> list[Tool]:
        """What a reference names is not loaded before; what none can name is loaded at once."""
        found = {(tool.namespace, tool.name) for tool in self.brought or ()}
        told = {(tool.namespace, tool.name) for tool in brought} - found
        out = []
        for tool in tools:
            if (tool.namespace, tool.name) in found:
                tool = replace(tool, deferred=True)
            elif tool.deferred and (tool.namespace, tool.name) in told:
                why = f"{self.to.name} takes no reference to such a name; it is loaded at once"
                self.log.dropped("tool.deferred", tool.at, why)
                tool = replace(tool, deferred=None)
            out.append(tool)
        return out

    # -- tools ------------------------------------------------------------------------------

    def tool(self, tool: Tool, loads: bool = True) -> Tool:
        """A tool as the target can define it; ``loads``: a search there loads what is deferred."""
        can = self.to.can
        if is_hosted_search(tool):
            tool = self.hosted_search(tool)
        if tool.kind == "search" and "search" not in can.tools:
            why = f"the client's tool search written as a function, {self.search!r}"
            self.log.approximated("tool.kind", tool.at, why)
            if self.search != tool.name:
                self.log.tool_names[self.search] = (None, tool.name)
            tool = replace(tool, kind="function", name=self.search)
        if tool.deferred and not ("deferred" in can.tools and loads):
            why = f"{self.to.name} loads every tool at once"
            if "deferred" in can.tools:
                why = f"no tool search is left that would load it in {self.to.name}"
            self.log.dropped("tool.deferred", tool.at, why)
            tool = replace(tool, deferred=None)
        if tool.namespace is None or "namespace" in can.tools or tool.kind == "hosted":
            return tool
        given = self.name(tool.namespace, tool.name)
        self.note(tool.namespace, tool.at, given)
        if (group := tool.group) is not None:
            if group.description:
                why = f"{self.to.name} has no field for the description of a namespace"
                self.log.dropped("tool.namespace", group.at, why)
            self.to.lose(group.extras, group.at, self.log)
        return replace(tool, name=given, namespace=None, group=None)

    def hosted_search(self, tool: Tool) -> Tool:
        """The target's own search instead of another provider's."""
        own = self.to.tool_search
        if own is None or self.to.is_home(tool.dialect):
            return tool
        if tool.payload != own:
            why = f"{tool.name!r} written as {own['type']!r}, the tool search of {self.to.name}"
            self.log.approximated("tool", tool.at, why)
            for key in (k for k in tool.payload if k not in SEARCH_KEYS):
                why = f"only {tool.dialect} knows this field of its tool search"
                self.log.dropped("extras", f"{tool.at}/{escape(key)}", why)
        return replace(tool, dialect=self.to.name, payload=own)

    def choice(self, choice: ToolChoice) -> ToolChoice:
        """A choice names tools without their namespaces, or a namespace."""
        if "namespace" in self.to.can.tools:
            return choice
        name, allowed = choice.name, choice.allowed
        if name is not None and (named := self.meant(name)) != (name,):
            name = named[0]
        if allowed is not None:
            allowed = tuple(given for one in allowed for given in self.meant(one))
        if (name, allowed) == (choice.name, choice.allowed):
            return choice
        self.log.moved("tool.namespace", choice.at, "namespaces written into the names of tools")
        return replace(choice, name=name, allowed=allowed)

    def meant(self, name: str) -> tuple[str, ...]:
        if name in self.plain:
            return (name,)
        if name in self.spaces:
            return tuple(self.name(space, name) for space in self.spaces[name])
        return tuple(self.name(name, tool) for tool in self.inside.get(name, ())) or (name,)

    # -- messages ---------------------------------------------------------------------------

    def messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        out: list[Message] = []
        for message in messages:
            lowered = self.message(message)
            if lowered.content or not message.content:
                out.append(lowered)
        return tuple(out)

    def message(self, message: Message) -> Message:
        name, role, content = message.name, message.role, self.content(message.content)
        if message.content and not content:
            return replace(message, content=content)  # nothing of it is left to be lowered
        if role == "developer" and not self.to.can.developer:
            why = "`developer` role written as `system`"
            self.log.approximated("message.role", message.at, why)
            role = "system"
        if name is not None and self.place not in self.to.can.names:
            why = f"{self.to.name} has no field for the names of speakers"
            self.log.dropped("message.name", message.at, why)
            name = None
        if name is message.name and role is message.role and content is message.content:
            return message
        return replace(message, role=role, content=content, name=name)

    def content(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        out: list[Block] = []
        for block in blocks:
            if isinstance(block, ToolCall):
                out.append(self.call(block))
            elif isinstance(block, ToolResult):
                out.append(self.result(block))
            elif isinstance(block, Raw) and _is_known(block) and not self.to.accepts(block):
                out += self.raw(block)
            else:
                out.append(block)
        same = len(out) == len(blocks) and all(a is b for a, b in zip(out, blocks, strict=True))
        return blocks if same else tuple(out)

    def call(self, call: ToolCall) -> ToolCall:
        if call.kind == "search" and "search" not in self.to.can.tools:
            why = f"the client's tool search written as a function, {self.search!r}"
            self.log.approximated("tool_call.kind", call.at, why)
            return replace(call, kind="function", name=self.search)
        if "namespace" in self.to.can.tools:
            return call
        if call.namespace is not None:
            given = self.called[call.id] = self.name(call.namespace, call.name)
            self.note(call.namespace, call.at, given)
            return replace(call, name=given, namespace=None)
        if call.name in self.owned:
            given = self.called[call.id] = self.names.rename(call.name)
            self.log.renamed("tool.name", call.at, f"{call.name!r} is another's; it is {given!r}")
            return replace(call, name=given)
        self.names.made.add(call.name)
        return call

    def result(self, result: ToolResult) -> ToolResult:
        content = result.content
        if any(block.__class__ is Raw for block in content):
            content = self.told(content)
        if content is not result.content:
            result = replace(result, content=content)
        if result.kind == "search" and "search" not in self.to.can.tools:
            why = "what the client's tool search found written as the result of a function"
            self.log.approximated("tool_call.kind", result.at, why)
            result = replace(result, kind="function")
        if "namespace" in self.to.can.tools or result.name is None:
            return result
        if result.namespace is not None:
            given = self.name(result.namespace, result.name)
            self.note(result.namespace, result.at, given)
            return replace(result, name=given, namespace=None)
        given = self.called.get(result.call_id, result.name)
        return result if given == result.name else replace(result, name=given)

    def told(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        """The content of a result; what follows each other of another dialect is one text."""
        out: list[Block] = []
        run: list[Text] = []

        def flush() -> None:
            if run:
                out.append(replace(run[0], text="\n".join(text.text for text in run)))
                run.clear()

        for block in blocks:
            known = isinstance(block, Raw) and _is_known(block) and not self.to.accepts(block)
            for told in self.raw(block) if known and isinstance(block, Raw) else [block]:
                if known and isinstance(told, Text):
                    if run:
                        self.log.approximated("text.boundary", told.at, "joined by a line break")
                    run.append(told)
                else:
                    flush()
                    out.append(told)
        flush()
        return tuple(out)

    # -- blocks of another dialect ----------------------------------------------------------

    def raw(self, block: Raw) -> list[Block]:
        if block.code == SEARCH:
            return self.found(block)
        if block.tools:
            self.bring(block)
        code = block.code or "raw"
        if block.text is not None or block.tools:
            self.to.lose(block.extras, block.at, self.log)
        if block.text is not None:
            self.log.approximated(code, block.at, f"written as text for {self.to.name}")
            return [Text(block.text, at=block.at)]
        if code == "compaction":
            why = (
                f"the conversation before it was compacted and encrypted; {self.to.name} cannot "
                "read it, so that part of the history is missing"
            )
            self.log.dropped(code, block.at, why)
        elif not block.tools:
            what = "message" if block.code == "raw" else "block"
            self.log.dropped(code, block.at, f"a {what} that only {block.dialect} knows")
        return []

    def bring(self, block: Raw) -> None:
        """Tools that are defined in the conversation join those of the request."""
        if self.brought is None:
            why = f"{self.to.name} defines tools in a request only"
            self.log.dropped("tool", block.at, why)
        else:
            names = ", ".join(tool.name for tool in block.tools)
            self.log.moved("tool", block.at, f"written among the tools of the request: {names}")

    def found(self, block: Raw) -> list[Block]:
        """What the client's tool search found: the tools, and a result that names them."""
        names = [
            tool.name
            if tool.namespace is None or "namespace" in self.to.can.tools
            else self.name(tool.namespace, tool.name)
            for tool in block.tools
        ]
        if block.tools:
            self.bring(block)
        references = [self.to.reference(name) for name in names] if self.refers else []
        if references and None not in references and self.brought is not None:
            self.brought += block.tools
            why = f"the tools that were found are referred to by name in {self.to.name}"
            self.log.approximated("tool_result.content", block.at, why)
            return [Raw(self.to.name, doc, at=block.at) for doc in references]
        text = FOUND.format(", ".join(names)) if names else NOTHING_FOUND
        why = f"what the tool search found is written as text for {self.to.name}"
        self.log.approximated("tool_result.content", block.at, why)
        return [Text(text, at=block.at)]


def _definition(tool: Tool) -> Tool:
    """What a tool is, apart from where it stands and when it is loaded."""
    return replace(
        tool,
        at="",
        schema_at=None,
        deferred=None,
        group=None,
        extras=None,
        strict=bool(tool.strict),
    )


class Opening:
    """The same for blocks while they arrive; what is lost is noted at rest."""

    def __init__(self, to: Dialect) -> None:
        self.lowering = Lowering(to, Ledger(), "response")

    def lower(self, event: Open) -> list[Event]:
        """The events that open a block as the target can say it."""
        block = event.block
        if isinstance(block, ToolCall):
            lowered: Block = self.lowering.call(block)
            return [event if lowered is block else replace(event, block=lowered)]
        if isinstance(block, Raw) and _is_known(block) and not self.lowering.to.accepts(block):
            said = [b for b in self.lowering.raw(block) if isinstance(b, Text)]
            if said:
                opened = replace(event, block=replace(said[0], text=""))
                return [opened, Delta(event.index, said[0].text)]
        return [event]
