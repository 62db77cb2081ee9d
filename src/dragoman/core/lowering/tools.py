"""Tools on their way to a target: namespaces, deferred tools, and a search that the client runs.

The tools of a request get their names before any call is looked at, so that a longer conversation
does not rename them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Block, Raw, Text, Tool, ToolCall, ToolChoice, ToolResult
from ...tools import freeform
from ..capabilities import Capabilities
from ..reading import escape
from ..writing import Names, Rule

if TYPE_CHECKING:
    from ...dialect import Dialect

USUAL = ("[a-zA-Z0-9_-]", 64)
"""What a tool may be called nearly everywhere."""
FOUND = "Tools found: {}"
NOTHING_FOUND = "No tools found."
WRAPPED = "written as a function that takes {'input': text}"
SEARCH = "tool_search"
SEARCH_KEYS = frozenset({"type", "name", "cache_control"})
"""What of a provider's tool search is its name, or is read as what every tool has."""


def are_special(tools: Sequence[Tool], can: Capabilities) -> bool:
    """Whether a tool is of a kind that some dialects do not have."""
    strict, free = can.strict, "custom" if can.freeform == "native" else "function"
    for tool in tools:
        if tool.namespace is not None or tool.deferred or (tool.strict and not strict):
            return True
        kind = tool.kind
        if kind != "function" and kind != free:
            return True
    return False


def is_hosted_search(tool: Tool) -> bool:
    """Whether a tool is the provider's own search for tools."""
    return tool.kind == "hosted" and tool.service is not None and tool.service.startswith(SEARCH)


def omit_tool(tool: Tool, to: Dialect, log: Ledger) -> None:
    """Report a tool of a provider that the target does not have."""
    log.dropped(
        "tool", tool.at, f"{tool.name} is a tool of a provider that {to.name} does not have"
    )


RULES: dict[str, Rule] = {}


def rule_of(to: Dialect) -> Rule:
    """What the names of tools may be at the target; found out once for each."""
    rule = RULES.get(to.name)
    if rule is None:
        writing = getattr(to, "writing", None)
        rule = RULES[to.name] = USUAL if writing is None else writing(Ledger(), None).names.rule
    return rule


class Tools:
    """The tools of one tree on its way to one target."""

    def __init__(self, to: Dialect, log: Ledger) -> None:
        self.to = to
        self.log = log
        self.names = Names(rule_of(to), "tool.name")
        self.custom: set[str] = set()  # the freeform tools, by the names that are written
        self.wrapped: set[str | None] = set()  # the ids of freeform calls, as the target knows them
        self.plain: set[str] = set()  # the tools that have no namespace
        self.spaces: dict[str, list[str]] = {}  # name of a tool -> the namespaces that have it
        self.inside: dict[str, list[str]] = {}  # namespace -> the names of its tools
        self.flat: dict[tuple[str, str], str] = {}  # namespace and name -> what is written
        self.owned: set[str] = set()  # what was written for a namespace and a name
        self.called: dict[str | None, str] = {}  # id of a call -> the name that was written for it
        self.brought: list[Tool] | None = None  # tools of the conversation; None: no place for them
        self.search = SEARCH  # what the client's search is called
        self.refers = False  # what a search finds is referred to, and not told

    def define(self, tools: Sequence[Tool]) -> None:
        """The tools of a request get their names before any call, and keep them as it grows."""
        for tool in tools:
            if tool.namespace is not None:
                self.spaces.setdefault(tool.name, []).append(tool.namespace)
                self.inside.setdefault(tool.namespace, []).append(tool.name)
            elif tool.kind in ("function", "custom"):
                self.plain.add(tool.name)
        self.names.made.update(dict.fromkeys(self.plain))
        if self.search in self.plain:
            self.search = self.names.rename(SEARCH)
        if self.spaces and "namespace" not in self.to.can.tools:
            for tool in tools:
                if tool.namespace is not None and tool.kind != "hosted":
                    self.name(tool.namespace, tool.name)
        for tool in tools:
            if tool.kind == "custom":
                self.custom.add(self.flat.get((tool.namespace or "", tool.name), tool.name))

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
            self.names.made[given] = None
            self.owned.add(given)
        self.flat[pair] = given
        self.log.tool_names[given] = pair
        return given

    def note(self, namespace: str, at: str, given: str) -> None:
        why = f"namespace {namespace!r} written into the name: {given!r}"
        self.log.moved("tool.namespace", at, why)

    def begin(self, own: Sequence[Tool], brought: Sequence[Tool]) -> list[Tool]:
        """All tools of a request, before its messages are looked at."""
        self.define((*own, *brought))
        tools = self.joined(own, brought)
        self.refers = self.to.reference(SEARCH) is not None and any(
            tool.kind == "search" for tool in tools
        )
        self.brought = []
        return tools

    def begin_plain(self, own: Sequence[Tool]) -> list[Tool]:
        """The same where no tool is special and no message brings one: all stay as they are."""
        writes = self.to.writes
        known = None if writes is None else writes.named
        if known is None or known[0] is not own:
            plain = {tool.name for tool in own if tool.kind != "hosted"}
            known = own, plain, {tool.name for tool in own if tool.kind == "custom"}
            if writes is not None:
                writes.named = known
        _, self.plain, self.custom = known
        self.names.made.update(dict.fromkeys(self.plain))
        if self.search in self.plain:
            self.search = self.names.rename(SEARCH)
        self.brought = []
        return []

    def end(self, tools: list[Tool], brought: Sequence[Tool]) -> tuple[Tool, ...]:
        """The tools as the target defines them, when its messages have been looked at."""
        if self.refers:
            tools = self.referred(tools, brought)
        loads = self.refers or any(map(self.is_search, tools))
        return self.all(tools, loads)

    def all(self, tools: Sequence[Tool], loads: bool = True) -> tuple[Tool, ...]:
        """The tools that the target has; ``loads``: a search there loads what is deferred."""
        out: list[Tool] = []
        for tool in tools:
            if is_hosted_search(tool):
                tool = self.hosted_search(tool)
            if tool.kind == "hosted" and not self.to.has_tool(tool):
                omit_tool(tool, self.to, self.log)
            else:
                out.append(self.tool(tool, loads))
        return tuple(out)

    def is_search(self, tool: Tool) -> bool:
        """Whether a tool loads deferred ones at the target."""
        if is_hosted_search(tool):
            return self.to.tool_search is not None
        return tool.kind == "search" and "search" in self.to.can.tools

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
            elif _carrier(tool) == _carrier(out[place]) != "":
                why = f"{tool.name!r} is defined twice in one place; written once"
                self.log.dropped("tool", tool.at, why)
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

    def tool(self, tool: Tool, loads: bool) -> Tool:
        """A tool as the target can define it."""
        can = self.to.can
        if tool.kind == "custom" and can.freeform != "native":
            note = self.log.moved if can.freeform == "wrapped" else self.log.approximated
            note("tool.kind", tool.at, f"a freeform tool {WRAPPED}")
            tool = freeform.as_function(tool)
        if tool.strict and not can.strict:
            why = f"{self.to.name} does not enforce the schema of a tool"
            self.log.dropped("tool.strict", tool.at, why)
            tool = replace(tool, strict=None)
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
        if own is None or self.to.is_same(tool.dialect):
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

    def freeform(self, call: ToolCall) -> ToolCall:
        """A freeform call as the target can express it, under its name there."""
        if call.kind != "custom" or self.to.can.freeform == "native":
            return call
        known = self.to.can.freeform == "wrapped" and call.name in self.custom
        if known:
            self.wrapped.add(call.id)
        note = self.log.moved if known else self.log.approximated
        note("tool_call.kind", call.at, f"a freeform call {WRAPPED}")
        return freeform.as_function(call)

    def reply(self, result: ToolResult) -> ToolResult:
        """The result of a freeform call; what it is follows from its call, if that is known."""
        if result.kind != "custom" or self.to.can.freeform == "native":
            return result
        if result.call_id not in self.wrapped:
            why = "the result of a freeform call written as that of a function"
            self.log.approximated("tool_call.kind", result.at, why)
        return replace(result, kind="function")

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
        self.names.made[call.name] = None
        return call

    def result(self, result: ToolResult) -> ToolResult:
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
        if given == result.name:
            return result
        note = self.log.moved if given in self.owned else self.log.renamed
        code = "tool.namespace" if given in self.owned else "tool.name"
        note(code, result.at, f"the call of {result.name!r} is written as {given!r}")
        return replace(result, name=given)

    def bring(self, block: Raw) -> None:
        """Tools that are defined in the conversation join those of the request."""
        if not self.to.has_tools:
            self.log.dropped("tool", block.at, f"{self.to.name} stores no tools")
        elif self.brought is None:
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


def _carrier(tool: Tool) -> str:
    """The place of the item of a conversation that brings a tool."""
    return tool.at.partition("/tools/")[0]


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
