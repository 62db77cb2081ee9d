"""XZatoma's own messages, tools and choices, which design 001 converts to and from ``/responses``.

What it does differently from OpenAI Chat, which it looks like: what a message says is one string,
and several texts are joined with a space; a call has no type; a tool is flat; a choice is a word,
the name of a tool among them, so that a tool that is named like a mode cannot be chosen. A request
is a model, messages and tools: XZatoma keeps the parameters elsewhere. Requests, responses and
streams are in ``_xzatoma``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ..core import capabilities as cap
from ..core.reading import as_dict, as_list, as_str, maybe_list, maybe_str, need_dict, need_str
from ..core.writing import Writing
from ..errors import Malformed, Unsayable
from ..ledger import Ledger
from ..model import (
    Block,
    History,
    Json,
    Message,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from ..tools import freeform
from ..tools.tool_errors import unmark_error
from ._xzatoma import FIELDS, Exchanges

Speaker: TypeAlias = Literal["user", "assistant", "system", "tool"]

ROLES: tuple[Speaker, ...] = ("user", "assistant", "system", "tool")
ANYTHING = (r"[\s\S]", 10_000)
JOINT = " "
NAMELESS = "the name of a tool is empty"
MODES: dict[str, Literal["auto", "none", "required"]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}


class Xzatoma(Exchanges):
    name = "xzatoma"
    fields = FIELDS
    can = cap.Capabilities(
        freeform="function",
        strict=False,
        choices=cap.Choices(subsets=cap.NO_MODE, parallel=cap.NO_MODE),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        results=cap.Results(errors="mark", joint=JOINT),
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(places=cap.RESPONSE, parts=cap.EVERYWHERE),
        order={
            "assistant": {"text": 0, "call": 1},
            "response": {"reasoning": 0, "text": 1, "call": 2},
        },
        prefill="never",
        caching=cap.NO_MARKS,
        media=cap.NO_MEDIA,
        candidates=1,
        lacks=cap.RARE | {"response.id", "response.created", "error.param", "error.request_id"},
        result_names=False,
    )
    whole_events = True
    spec = "https://github.com/xbcsmith/xzatoma"

    # -- reading ----------------------------------------------------------------------------

    def read_messages(self, doc: Json) -> History:
        docs = as_list(doc, "")
        read = (self.read_message(as_dict(d, f"/{i}"), f"/{i}") for i, d in enumerate(docs))
        return History(tuple(read), dialect=self.name)

    def read_message(self, doc: dict[str, Json], at: str) -> Message:
        role = self.read_role(doc, at)
        content = maybe_str(doc, "content", at)
        given: tuple[Block, ...] = () if content is None else (Text(content, at=f"{at}/content"),)
        match role:
            case "tool":
                return Message("tool", (self.read_result(doc, content, at),), at=at)
            case "assistant":
                calls = maybe_list(doc, "tool_calls", at) or ()
                called = (self.read_call(c, f"{at}/tool_calls/{i}") for i, c in enumerate(calls))
                extras = self.keep(doc, ("role", "content", "tool_calls"))
                return Message("assistant", (*given, *called), at=at, extras=extras)
            case _:
                return Message(role, given, at=at, extras=self.keep(doc, ("role", "content")))

    def read_role(self, doc: dict[str, Json], at: str) -> Speaker:
        role = need_str(doc, "role", at)
        for known in ROLES:
            if role == known:
                return known
        raise Malformed(f"unknown role {role!r}; there are: {', '.join(ROLES)}", at)

    def read_result(self, doc: dict[str, Json], content: str | None, at: str) -> ToolResult:
        failed, text = (None, None) if content is None else unmark_error(content)
        return ToolResult(
            need_str(doc, "tool_call_id", at),
            () if text is None else (Text(text, at=f"{at}/content"),),
            failed,
            at=at,
            extras=self.keep(doc, ("role", "content", "tool_call_id")),
        )

    def read_call(self, doc: Json, at: str) -> ToolCall:
        doc = as_dict(doc, at)
        inner, where = need_dict(doc, "function", at), f"{at}/function"
        typed = doc.get("type") == "function"  # as in Chat
        taken = ("id", "type") if typed else ("id",)
        extras = self.keep(doc, taken, partly={"function": ("name", "arguments")})
        name, text = need_str(inner, "name", where), need_str(inner, "arguments", where)
        return ToolCall(need_str(doc, "id", at), name, text, at=at, extras=extras)

    def read_tools(self, doc: Json) -> Toolbox:
        docs = as_list(doc, "")
        read = (self.read_tool(as_dict(d, f"/{i}"), f"/{i}") for i, d in enumerate(docs))
        return Toolbox(tuple(read), dialect=self.name)

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        return Tool(
            self.need_name(doc, at),
            maybe_str(doc, "description", at),
            doc.get("parameters"),
            at=at,
            extras=self.keep(doc, ("name", "description", "parameters")),
        )

    def need_name(self, doc: dict[str, Json], at: str) -> str:
        """The name of a tool; a made-up one would stand for no tool of XZatoma's."""
        if not (name := need_str(doc, "name", at)):
            raise Malformed(NAMELESS, f"{at}/name")
        return name

    def read_tool_choice(self, doc: Json) -> ToolChoice:
        if not (word := as_str(doc, "")):
            raise Malformed(NAMELESS)
        if (mode := MODES.get(word)) is None:
            return ToolChoice("named", word, dialect=self.name)
        return ToolChoice(mode, dialect=self.name)

    # -- writing ----------------------------------------------------------------------------

    def write_messages(self, tree: History, log: Ledger) -> Json:
        w = Writing(log, ANYTHING, ANYTHING, self.is_same(tree.dialect))
        self.lose(tree.extras, tree.at, log)
        written = (self.write_message(message, w) for message in tree.messages)
        return [doc for doc in written if doc is not None]

    def write_message(self, message: Message, w: Writing) -> Json | None:
        if message.role == "tool" and message.content:
            block = message.content[0]
            if not isinstance(block, ToolResult):
                raise Malformed("only tool results are allowed in a tool message", block.at)
            self.lose(message.extras, message.at, w.log)
            return self.write_result(block, w)
        role = message.role
        doc: dict[str, Json] = {"role": role}
        texts, calls = self.sort_blocks(message, w)
        if texts:
            doc["content"] = self.join(texts, w)
        if calls:
            doc["tool_calls"] = [self.write_call(call, w) for call in calls]
        if len(doc) == 1 and not w.same:
            self.lose(message.extras, message.at, w.log)
            self.omit_message(message, w.log)
            return None
        return self.emit(doc, message, w.log)

    def sort_blocks(self, message: Message, w: Writing) -> tuple[list[Text], list[ToolCall]]:
        """The texts of a message and its calls; all else has no place."""
        texts: list[Text] = []
        calls: list[ToolCall] = []
        for block in message.content:
            if isinstance(block, ToolCall) and message.role == "assistant":
                calls.append(block)
            else:
                texts += self.texts_in(block, w)
        return texts, calls

    def texts_in(self, block: Block, w: Writing) -> Sequence[Text]:
        """What a block says as text; what is no text is lost."""
        match block:
            case Text():
                return (block,)
            case _:
                self.omit(block, w.log)
        self.lose(block.extras, block.at, w.log)
        return ()

    def join(self, texts: Sequence[Text], w: Writing) -> str:
        for index, text in enumerate(texts):
            if index:
                self.join_text(text.at, w.log)
            self.lose(text.extras, text.at, w.log)
        return JOINT.join(text.text for text in texts)

    def write_call(self, call: ToolCall, w: Writing) -> Json:
        call = freeform.as_function(call)
        arguments = call.arguments or "{}" if not w.same else call.arguments
        function = {"name": call.name, "arguments": arguments}
        out: dict[str, Json] = {"id": w.call_id(call), "function": function}
        return self.emit(out, call, w.log)

    def write_result(self, result: ToolResult, w: Writing) -> Json:
        doc: dict[str, Json] = {"role": "tool"}
        texts: list[Text] = []
        for block in result.content:
            texts += self.texts_in(block, w)
        if texts:
            doc["content"] = self.join(texts, w)
        doc["tool_call_id"] = w.result_id(result)
        return self.emit(doc, result, w.log)

    def write_tools(self, tree: Toolbox, log: Ledger) -> Json:
        self.lose(tree.extras, tree.at, log)
        return [self.write_tool(tool, log) for tool in tree.tools]

    def write_tool(self, tool: Tool, log: Ledger) -> Json:
        if not tool.name:
            raise Unsayable(NAMELESS, tool.at)
        out: dict[str, Json] = {"name": tool.name}
        if tool.description is not None:
            out["description"] = tool.description
        if tool.schema is not None:
            out["parameters"] = tool.schema
        return self.emit(out, tool, log)

    def write_tool_choice(self, tree: ToolChoice, log: Ledger) -> Json:
        self.lose(tree.extras, tree.at, log)
        if tree.mode != "named":
            return tree.mode
        name = tree.name or ""
        if not name:
            raise Unsayable(NAMELESS, tree.at)
        if name in MODES:
            log.approximated(
                "tool_choice",
                tree.at,
                f"{name!r} is a mode of tool_choice in {self.name}, not a tool",
            )
        return name


DIALECT = Xzatoma()
