"""Training records whose messages are those of Chat Completions, as chat templates take them.

Content is one text, as most templates join strings and leave out anything else; arguments are an
object, as templates print a JSON text as it is or quote it twice; a result names its tool, as
templates without ids need the name; no key is written with null, which a template may print.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.reading import (
    as_dict,
    as_list,
    compact,
    expected,
    maybe_list,
    maybe_str,
    need_dict,
    need_str,
)
from ..core.writing import Rule, Writing, json_of, object_or_text, parameters
from ..errors import Malformed
from ..ledger import Ledger
from ..model import (
    Block,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Role,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
)
from ..tools import freeform
from ..tools.tool_errors import unmark_error
from ._training import Records, read_json

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
FREE: Rule = (r"[\s\S]", 1 << 20)
REASONING = ("reasoning_content", "thinking", "reasoning")
"""What templates call the reasoning of a message; the first is what most do."""
WORDS = cap.NOT_TEXT - {Media}
"""What stands in the turns of the assistant alone; that there are no media is declared."""
FUNCTION_KEYS = ("name", "description", "parameters")


class Chatlike(Records):
    can = replace(
        Records.can,
        developer=False,
        unfit={**cap.RESULTS_APART, "system": WORDS, "user": WORDS},
        texts=cap.Texts(empty=cap.NOWHERE, needed=frozenset({"result"})),
        emptied=False,
    )

    thinks_in_content: ClassVar[bool] = False
    """Whether reasoning is a part of the content, and not a field beside it."""

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return Writing(log, FREE, FREE, self.is_same(dialect))

    # -- reading ----------------------------------------------------------------------------

    def read_turns(self, docs: Json, at: str) -> tuple[Message, ...]:
        """The messages of a list, each at its place."""
        docs = enumerate(as_list(docs, at))
        found = [self.read_turn(as_dict(doc, f"{at}/{i}"), f"{at}/{i}") for i, doc in docs]
        return tuple(unnamed(found) if self.can.result_names else found)

    def read_turn(self, doc: dict[str, Json], at: str) -> Message:
        given = need_str(doc, "role", at)
        if (role := ROLES.get(given)) is None:
            raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", at)
        blocks = self.read_content(doc.get("content"), f"{at}/content")
        if role == "assistant":
            return self.read_reply(doc, blocks, at)
        if role == "tool":
            return Message("tool", (self.read_result(doc, blocks, at),), at=at)
        name = maybe_str(doc, "name", at) if self.can.names else None
        known = ("role", "content") if name is None else ("role", "content", "name")
        return Message(role, blocks, name, at=at, extras=self.keep(doc, known))

    def read_content(self, value: Json, at: str) -> tuple[Block, ...]:
        if value is None:
            return ()
        if value.__class__ is str:
            return (Text(value, at=at),)
        if value.__class__ is not list:
            expected("a string or a list", value, at)
        parts = ((as_dict(part, f"{at}/{i}"), f"{at}/{i}") for i, part in enumerate(value))
        return tuple(self.read_part(part, where) for part, where in parts)

    def read_part(self, doc: dict[str, Json], at: str) -> Block:
        if doc.get("type") == "text" and doc.get("text").__class__ is str:
            return Text(doc["text"], at=at, extras=self.keep(doc, ("type", "text")))
        return Raw(self.name, doc, at=at)

    def read_reply(self, doc: dict[str, Json], blocks: Sequence[Block], at: str) -> Message:
        key = next((k for k in REASONING if doc.get(k).__class__ is str and doc[k]), None)
        calls = maybe_list(doc, "tool_calls", at) or ()
        out: list[Block] = []
        if key is not None:
            spelled = None if key == REASONING[0] else self.respell(None, place=key)
            out.append(Reasoning((doc[key],), at=f"{at}/{key}", extras=spelled))
        if calls or key is not None:  # an empty text beside them is no text
            blocks = [b for b in blocks if not (isinstance(b, Text) and not b.text)]
        out += blocks
        for index, call in enumerate(calls):
            where = f"{at}/tool_calls/{index}"
            out.append(self.read_call(as_dict(call, where), where))
        taken = ["role", "content", "tool_calls"]
        if key is not None:
            taken.append(key)
        name = maybe_str(doc, "name", at) if self.can.names else None
        if name is not None:
            taken.append("name")
        return Message("assistant", tuple(out), name, at=at, extras=self.keep(doc, taken))

    def read_call(self, doc: dict[str, Json], at: str) -> ToolCall:
        inner, where, extras = doc, at, None
        if doc.get("function").__class__ is dict:
            inner, where = need_dict(doc, "function", at), f"{at}/function"
            known = ("id", "type") if doc.get("type", "function") == "function" else ("id",)
            extras = self.keep(doc, known, partly={"function": ("name", "arguments")})
        else:
            extras = self.keep(doc, ("id", "type", "name", "arguments"))
        value = inner.get("arguments")
        text = "" if value is None else value if value.__class__ is str else compact(value)
        name = need_str(inner, "name", where)
        return ToolCall(maybe_str(doc, "id", at), name, text, at=at, extras=extras)

    def read_result(self, doc: dict[str, Json], blocks: tuple[Block, ...], at: str) -> ToolResult:
        failed = None
        if blocks and isinstance(first := blocks[0], Text):
            failed, text = unmark_error(first.text)
            blocks = (() if text is None else (replace(first, text=text),)) + blocks[1:]
        return ToolResult(
            maybe_str(doc, "tool_call_id", at),
            blocks,
            failed,
            maybe_str(doc, "name", at),
            at=at,
            extras=self.keep(doc, ("role", "content", "tool_call_id", "name")),
        )

    def read_toolbox(self, value: Json, at: str) -> tuple[Tool, ...] | None:
        """The tools of a record; as JSON text, where a table has one type for all rows."""
        if value is None:
            return None
        if value.__class__ is str:
            value = read_json(value, at)
            tools = [self.read_tool(as_dict(doc, at), at) for doc in as_list(value, at)]
            tools = [replace(tool, schema_at=None) for tool in tools]
        else:
            docs = enumerate(as_list(value, at))
            tools = [self.read_tool(as_dict(doc, f"{at}/{i}"), f"{at}/{i}") for i, doc in docs]
        return tuple(freeform.unwrap_tool(tool, self.name) for tool in tools)

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        inner, where, extras = doc, at, None
        if doc.get("function").__class__ is dict:
            inner, where = doc["function"], f"{at}/function"
            extras = self.keep(doc, ("type",), partly={"function": FUNCTION_KEYS})
        else:
            extras = self.keep(doc, FUNCTION_KEYS)
        return Tool(
            need_str(inner, "name", where),
            maybe_str(inner, "description", where),
            inner.get("parameters"),
            at=at,
            extras=extras,
            schema_at=f"{where[len(at) :]}/parameters" if "parameters" in inner else None,
        )

    def read_tools(self, doc: Json) -> Toolbox:
        return Toolbox(self.read_toolbox(as_list(doc, ""), "") or (), dialect=self.name)

    # -- writing ----------------------------------------------------------------------------

    def write_turns(self, messages: Sequence[Message], w: Writing) -> list[Json]:
        if messages is w.log.plain:
            return [{"role": role, "content": text} for role, text, _ in w.log.turns]
        names: dict[str, str] = {}
        written = (self.write_turn(message, names, w) for message in messages)
        return [doc for doc in written if doc is not None]

    def write_turn(self, message: Message, names: dict[str, str], w: Writing) -> Json | None:
        role, content = message.role, message.content
        if role == "tool" and content:
            block = content[0]
            if not isinstance(block, ToolResult):
                raise Malformed("only tool results are allowed in a tool message", block.at)
            if message.extras is not None:
                self.lose(message.extras, message.at, w.log)
            return self.write_result(block, names, w)
        if len(content) == 1 and (text := plain_text(content[0])) is not None:
            if message.extras is None and message.name is None:  # as most are
                return {"role": role, "content": text}
        doc: dict[str, Json] = {"role": role}
        parts: list[Json] = []
        calls: list[Json] = []
        for block in content:
            if (text := plain_text(block)) is not None:  # as most are
                parts.append((text, block.at))
            elif block.__class__ is ToolCall and role == "assistant":
                calls.append(self.write_call(block, names, w))
            elif isinstance(block, Reasoning) and not self.thinks_in_content:
                self.write_reasoning(doc, block, w)
            else:
                parts += self.write_part(block, w)
        thought = len(doc) > 1
        self.put_content(doc, parts, bool(calls), w)
        if message.name is not None:
            doc["name"] = message.name
        if calls:
            doc["tool_calls"] = calls
        if not (parts or calls or thought or w.same):
            self.lose(message.extras, message.at, w.log)
            self.omit_message(message, w.log)
            return None
        return self.emit(doc, message, w.log)

    def put_content(self, doc: dict[str, Json], parts: list[Json], calls: bool, w: Writing) -> None:
        """One text, or a list of parts where there is more than text."""
        if w.same and not parts:
            return  # which is not an empty text
        if all(part.__class__ is tuple for part in parts):
            doc["content"] = self.join_all(parts, w)
        else:
            doc["content"] = [
                {"type": "text", "text": part[0]} if part.__class__ is tuple else part
                for part in parts
            ]

    def write_part(self, block: Block, w: Writing) -> list[Json]:
        """A text with its place, or a part as it is written; nothing for what has no form."""
        if isinstance(block, Raw) and self.is_same(block.dialect):
            return [block.payload]
        if isinstance(block, Text) and block.extras is not None and w.same:
            return [self.emit({"type": "text", "text": block.text}, block, w.log)]
        text = self.plain(block, w.log)
        return [] if text is None else [(text, block.at)]

    def join_all(self, texts: Sequence[tuple[str, str]], w: Writing) -> str:
        if w.same:
            return "\n".join(text for text, _ in texts)
        return self.join_texts(texts, w.log)

    def is_lost(self, text: str, at: str, log: Ledger) -> bool:
        return False  # what is empty was lowered, and white space stays

    def write_reasoning(self, doc: dict[str, Json], block: Reasoning, w: Writing) -> None:
        """Reasoning beside the content; several blocks are one text."""
        key = str(self.spelling(block).get("place", REASONING[0]))
        self.lose(block.extras, block.at, w.log)
        text = "\n\n".join(filter(None, block.words))
        if not text:
            return
        if key in doc:
            self.join_text(block.at, w.log)
            text = f"{doc[key]}\n\n{text}"
        doc[key] = text

    def write_call(self, call: ToolCall, names: dict[str, str], w: Writing) -> Json:
        call = freeform.as_function(call, w.same)
        name = w.tool_name(call.name, call.at)
        out: dict[str, Json] = {}
        if call.id is not None:
            out["id"] = call.id
            names[call.id] = name
        out["type"] = "function"
        arguments = object_or_text(call, w) if w.same else json_of(call, w.log)
        out["function"] = {"name": name, "arguments": arguments}
        return out if call.extras is None else self.emit(out, call, w.log)

    def write_result(self, result: ToolResult, names: dict[str, str], w: Writing) -> Json:
        out: dict[str, Json] = {"role": "tool"}
        called = result.call_id
        name = result.name if result.name is not None else names.get(called or "")
        if name is not None:
            out["name"] = w.tool_name(name, result.at) if result.name is not None else name
        if called is not None:
            out["tool_call_id"] = called
        content = result.content
        if len(content) == 1 and (text := plain_text(content[0])) is not None:
            out["content"] = text
        else:
            parts = [part for block in content for part in self.write_part(block, w)]
            self.put_content(out, parts, False, w)
        return out if result.extras is None else self.emit(out, result, w.log)

    def write_toolbox(self, tools: Sequence[Tool], w: Writing) -> list[Json]:
        return [self.write_tool(tool, w) for tool in tools]

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        tool = freeform.as_function(tool, w.same)
        inner: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
        if tool.description is not None:
            inner["description"] = tool.description
        if tool.schema is not None:
            inner["parameters"] = tool.schema if w.same else parameters(tool, w.log)
        return self.emit({"type": "function", "function": inner}, tool, w.log)

    def write_tools(self, tree: Toolbox, log: Ledger) -> Json:
        self.lose(tree.extras, tree.at, log)
        return self.write_toolbox(tree.tools, self.writing(log, tree.dialect))


def plain_text(block: Block) -> str | None:
    """The words of a text about which nothing else is known; None for any other block."""
    return block.text if block.__class__ is Text and block.extras is None else None


def unnamed(messages: Sequence[Message]) -> Iterator[Message]:
    """Messages in which no result repeats the name of its call, which it names by its id."""
    names: dict[str | None, str] = {}
    for message in messages:
        if message.role == "assistant":
            names |= {b.id: b.name for b in message.content if isinstance(b, ToolCall) and b.id}
        elif message.role == "tool":
            result = message.content[0]
            if isinstance(result, ToolResult) and names.get(result.call_id) == result.name:
                message = replace(message, content=(replace(result, name=None),))
        yield message
