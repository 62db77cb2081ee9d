"""ChatML with the calls of Qwen, as text: ``{"text": "<|im_start|>system\\n..."}``.

What it does differently from its neighbours: a whole conversation is one text, as the chat
templates of Qwen print it; the tools are JSON in the system turn, with the sentences that the
models were trained on; a call is JSON between ``<tool_call>`` tags, after the words of the turn;
results are a turn of the user, several of them one; calls have no ids and pair with their results
by order; reasoning stands before the words, between ``<think>`` tags, in every turn. Nothing can be
quoted, so tokens and tags in a text are broken. A conversation that ends with the user or a result
ends in the prompt for the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.reading import as_dict, compact, maybe_str, need_str
from ..core.writing import Rule, Writing, object_of, parameters
from ..errors import Malformed
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict
from ..model import (
    Block,
    History,
    Json,
    Message,
    Reasoning,
    Request,
    Role,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ..tools import freeform
from ..tools.tool_errors import unmark_error
from ._training import Records, read_json

START, END = "<|im_start|>", "<|im_end|>"
# https://qwen.readthedocs.io/en/latest/framework/function_call.html; the template of the models
TOOLS = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
CALLING = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments "
    'within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, '
    '"arguments": <args-json-object>}\n</tool_call>'
)
ROLES: dict[str, Role] = {
    "system": "system", "developer": "developer", "user": "user", "assistant": "assistant",
    "tool": "tool",
}  # fmt: skip
TURN = re.compile(r"\s*<\|im_start\|>([a-z]+)\n(.*?)(?:<\|im_end\|>[ \n]*|\Z)", re.DOTALL)
THINK = re.compile(r"<think>\n?(.*?)\n?</think>\n{0,2}", re.DOTALL)
CALL = re.compile(r"\n?<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
RESULT = re.compile(r"<tool_response>\n?(.*?)\n?</tool_response>\n?", re.DOTALL)
RESULTS = re.compile(r"(?:<tool_response>.*?</tool_response>\s*)+", re.DOTALL)
CONTROL = re.compile(
    r"<(?=(?:\|(?:im_start|im_end|endoftext)\||/?(?:think|tool_call|tool_response|tools))>)"
)
ANY: Rule = (r"[\s\S]", 1 << 20)


class ChatML(Records):
    name = "chatml"
    spec = "https://qwen.readthedocs.io/en/latest/getting_started/concepts.html"
    aliases: ClassVar[tuple[str, ...]] = ("qwen-text",)
    history = None  # the whole conversation is one text
    can = replace(
        Records.can,
        developer=False,
        texts=cap.Texts(empty=cap.NOWHERE, needed=frozenset({"result"})),
        unfit={
            **cap.RESULTS_APART,
            "system": frozenset({Reasoning, ToolCall, ToolResult}),
            "user": frozenset({Reasoning, ToolCall, ToolResult}),
        },
        result_names=False,
        emptied=False,
    )
    results_role: ClassVar[str] = "user"
    """Whose turn results are."""

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return Writing(log, ANY, ANY, self.is_same(dialect))

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        messages, tools, begun = self.read_text(need_str(doc, "text", ""))
        tree = Request(
            None,
            messages,
            tools or None,
            prefill=True if begun else None,
            dialect=self.name,
            extras=self.keep(doc, ("text",)),
        )
        return freeform.unwrap_calls(tree)

    def read_messages(self, doc: Json) -> History:
        doc = as_dict(doc, "")
        messages, tools, _ = self.read_text(need_str(doc, "text", ""))
        if tools:
            raise Malformed("a history has no tools; this is a request", "/text")
        return History(messages, dialect=self.name, extras=self.keep(doc, ("text",)))

    def read_text(self, text: str) -> tuple[tuple[Message, ...], tuple[Tool, ...], bool]:
        """The turns, the tools of the first one, and whether the last one is to be continued."""
        messages: list[Message] = []
        tools: tuple[Tool, ...] = ()
        pos, begun = 0, False
        while pos < len(text) and text[pos:].strip():
            found = TURN.match(text, pos)
            if found is None:
                raise Malformed(f"expected {START}, at character {pos}", "/text")
            role = ROLES.get(found[1])
            if role is None:
                raise Malformed(f"unknown role {found[1]!r}, at character {pos}", "/text")
            body, open_ = found[2], END not in found[0]
            if START in body:
                raise Malformed(f"this turn is not closed with {END}, at character {pos}", "/text")
            pos = found.end()
            if open_ and role == "assistant" and not body.strip():
                break  # the prompt for the model
            begun = open_ and role == "assistant"
            if role == "system" and not messages and not tools:
                tools, body = self.read_head(body)
                if tools and not body:
                    continue
            messages += self.read_turn(role, body)
        return tuple(messages), tools, begun

    def read_head(self, body: str) -> tuple[tuple[Tool, ...], str]:
        """The tools of the first turn, and what it says beside them."""
        words, mark, rest = body.partition(TOOLS)
        listed, closed, after = rest.partition(CALLING)
        if not mark or not closed or after.strip():
            return (), body
        docs = (read_json(line, "/text") for line in listed.split("\n") if line.strip())
        tools = tuple(self.read_tool(as_dict(doc, "/text")) for doc in docs)
        return tools, words.removesuffix("\n\n")

    def read_tool(self, doc: dict[str, Json]) -> Tool:
        inner = doc["function"] if doc.get("function").__class__ is dict else doc
        known = ("name", "description", "parameters")
        if inner is doc:
            extras = self.keep(doc, known)
        else:
            extras = self.keep(doc, ("type",), partly={"function": known})
        tool = Tool(
            need_str(inner, "name", "/text"),
            maybe_str(inner, "description", "/text"),
            inner.get("parameters"),
            at="/text",
            extras=extras,
        )
        return freeform.unwrap_tool(tool, self.name)

    def read_turn(self, role: Role, body: str) -> Iterator[Message]:
        at = "/text"
        if role == "tool" or (role == "user" and RESULTS.fullmatch(body.strip())):
            found = RESULT.findall(body) or [body]
            for words in found:
                failed, text = unmark_error(words)
                content = () if text is None else (Text(text, at=at),)
                yield Message("tool", (ToolResult(None, content, failed, at=at),), at=at)
            return
        blocks: list[Block] = []
        if role == "assistant":
            if (reasoned := THINK.match(body)) is not None:
                if reasoned[1]:
                    blocks.append(Reasoning((reasoned[1],), at=at))
                body = body[reasoned.end() :]
            calls = [read_call(call) for call in CALL.findall(body)]
            words = CALL.sub("", body) if calls else body
            blocks += [Text(words, at=at), *calls] if words else calls
        elif body:
            blocks.append(Text(body, at=at))
        yield Message(role, tuple(blocks), at=at)

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        self.lose_settings(tree, w)
        begun = bool(tree.prefill) and w.same
        text = self.write_text(tree.messages, tree.tools or (), w, begun)
        return self.emit({"text": text}, tree, log)

    def write_messages(self, tree: History, log: Ledger) -> Json:
        text = self.write_text(tree.messages, (), self.writing(log, tree.dialect), False)
        return self.emit({"text": text}, tree, log)

    def write_text(
        self, messages: Sequence[Message], tools: Sequence[Tool], w: Writing, begun: bool
    ) -> str:
        if not w.same:
            messages = self.results_in_order(messages, w.log)
        out: list[str] = []
        written = self.write_tools_of(tools, w)
        rest = messages
        if written:
            words = ""
            if messages and messages[0].role == "system":
                words, rest = self.write_words(messages[0], w), messages[1:]
                self.lose(messages[0].extras, messages[0].at, w.log)
            out.append(self.head(words, written))
        results: list[str] = []
        for message in rest:
            if message.role == "tool":
                results.append(self.write_result(message, w))
                continue
            if results:
                out.append(turn(self.results_role, "\n".join(results)))
                results = []
            self.lose(message.extras, message.at, w.log)
            body = self.write_reply(message, w) if message.role == "assistant" else (
                self.write_words(message, w)
            )  # fmt: skip
            if body or w.same:
                out.append(turn(message.role, body))
            else:
                self.omit_message(message, w.log)
        if results:
            out.append(turn(self.results_role, "\n".join(results)))
        if begun and out:
            return "".join(out).removesuffix(f"{END}\n")
        asks = not messages or messages[-1].role != "assistant"
        return "".join(out) + (f"{START}assistant\n" if asks else "")

    def head(self, words: str, tools: str) -> str:
        """The first turn of the system, with the tools."""
        return turn("system", (f"{words}\n\n" if words else "") + TOOLS + tools + CALLING)

    def write_tools_of(self, tools: Sequence[Tool], w: Writing) -> str:
        return "".join("\n" + spelled(self.write_tool(tool, w)) for tool in tools)

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        tool = freeform.as_function(tool, w.same)
        inner: dict[str, Json] = {"name": tool.name}
        if tool.description is not None:
            inner["description"] = tool.description
        if tool.schema is not None:
            inner["parameters"] = tool.schema if w.same else parameters(tool, w.log)
        out = self.emit({"type": "function", "function": inner}, tool, w.log)
        return defused(out, tool.at, w)

    def write_words(self, message: Message, w: Writing) -> str:
        texts = [
            (defuse(text, block.at, w), block.at)
            for block in message.content
            if (text := self.plain(block, w.log)) is not None
        ]
        return self.join_texts(texts, w.log)

    def is_lost(self, text: str, at: str, log: Ledger) -> bool:
        return False  # what is empty was lowered, and white space stays

    def write_reply(self, message: Message, w: Writing) -> str:
        texts: list[tuple[str, str]] = []
        reasoning: list[str] = []
        calls: list[str] = []
        for block in message.content:
            if isinstance(block, ToolCall):
                calls.append(self.write_call(block, w))
            elif isinstance(block, Reasoning):
                self.lose(block.extras, block.at, w.log)
                if reasoning:
                    self.join_text(block.at, w.log)
                reasoning.append(defuse("\n\n".join(filter(None, block.words)), block.at, w))
            elif (text := self.plain(block, w.log)) is not None:
                texts.append((defuse(text, block.at, w), block.at))
        words = self.join_texts(texts, w.log)
        reasoned = "\n\n".join(filter(None, reasoning))
        body = "\n".join(filter(None, [words, *calls]))
        return (f"<think>\n{reasoned}\n</think>\n\n" if reasoned else "") + body

    def write_call(self, call: ToolCall, w: Writing) -> str:
        self.lose_call(call, w)
        call = freeform.as_function(call, w.same)
        name = spelled(defused(call.name, call.at, w))
        arguments = spelled(defused(object_of(call, w.log), call.at, w))
        return f'<tool_call>\n{{"name": {name}, "arguments": {arguments}}}\n</tool_call>'

    def write_result(self, message: Message, w: Writing) -> str:
        result = message.content[0] if message.content else None
        if not isinstance(result, ToolResult):
            raise Malformed("only tool results are allowed in a tool message", message.at)
        self.lose(message.extras, message.at, w.log)
        self.lose(result.extras, result.at, w.log)
        if result.call_id is not None:
            why = f"{self.name} has no field for call ids; results match calls by order"
            w.log.dropped("tool_call.id", result.at, why)
        parts = ((self.plain(block, w.log), block.at) for block in result.content)
        texts = [(defuse(text, at, w), at) for text, at in parts if text is not None]
        return f"<tool_response>\n{self.join_texts(texts, w.log)}\n</tool_response>"

    # -- detection --------------------------------------------------------------------------

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        text = doc.get("text") if doc.__class__ is dict else None
        if text.__class__ is not str or START not in text[:200]:
            return
        e = Evidence("request")
        e.speaks_for(f"the text has {START!r}", 0.9)
        yield e.verdict()


def turn(role: str, body: str) -> str:
    return f"{START}{role}\n{body}{END}\n"


def read_call(text: str) -> ToolCall:
    doc = as_dict(read_json(text, "/text"), "/text")
    value = doc.get("arguments")
    arguments = value if value.__class__ is str else compact({} if value is None else value)
    return ToolCall(None, need_str(doc, "name", "/text"), arguments, at="/text")


def spelled(value: Json) -> str:
    """JSON as the templates print it."""
    return json.dumps(value, ensure_ascii=False)


def defuse(text: str, at: str, w: Writing) -> str:
    """A text in which no tokenizer finds a token, and no reader a tag: there is no quoting."""
    if "<" not in text:
        return text
    safe, count = CONTROL.subn("< ", text)
    if count:
        why = f"a space is inserted into a token of {w.log.target} in the text"
        w.log.approximated("text.control", at, why)
    return safe


def defused(value: Json, at: str, w: Writing) -> Json:
    """The same for all strings of a value."""
    if value.__class__ is str:
        return defuse(value, at, w)
    if value.__class__ is list:
        return [defused(item, at, w) for item in value]
    if value.__class__ is dict:
        return {defuse(key, at, w): defused(item, at, w) for key, item in value.items()}
    return value


DIALECT = ChatML()
