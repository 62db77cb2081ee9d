"""Conversations of OpenAI's harmony format, as the package ``openai-harmony`` stores them.

What it does differently from its neighbours: what the model says is a message for each channel:
``analysis`` is its reasoning, ``commentary`` what it says before calls, ``final`` its reply; a call
is a message of the channel ``commentary`` to ``functions.NAME``, a result one from there; the
system prompt is the ``developer``'s, and the tools stand beside it; calls have no ids and pair with
their results by name and order. The first message names the channels, the same in all records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.reading import as_dict, as_list, maybe_str, need_list, need_str
from ..core.writing import Rule, Writing, parameters
from ..errors import Malformed
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict, objects
from ..model import (
    Block,
    Extras,
    Json,
    Message,
    Raw,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ..tools import freeform
from ..tools.tool_errors import unmark_error
from ._training import Records

# openai-harmony: SystemContent.new()
SYSTEM: Json = {
    "type": "system_content",
    "model_identity": "You are ChatGPT, a large language model trained by OpenAI.",
    "reasoning_effort": "Medium",
    "knowledge_cutoff": "2024-06",
    "channel_config": {
        "valid_channels": ["analysis", "commentary", "final"],
        "channel_required": True,
    },
}
FUNCTIONS = "functions."
CONSTRAINED = "<|constrain|>json"
KEYS = ("role", "name", "content", "channel", "recipient", "content_type")
ANY: Rule = (r"[\s\S]", 1 << 20)
NAMES: Rule = (r"[a-zA-Z0-9_.:-]", 256)


class Harmony(Records):
    name = "harmony"
    spec = "https://cookbook.openai.com/articles/openai-harmony"
    aliases = ("openai-harmony", "gpt-oss")
    history = None  # several messages are one turn
    can = replace(
        Records.can,
        developer=False,
        texts=cap.Texts(empty=cap.NOWHERE, needed=frozenset({"result"})),
        unfit={
            **cap.RESULTS_APART,
            "system": frozenset({Reasoning, ToolCall, ToolResult}),
            "user": frozenset({Reasoning, ToolCall, ToolResult}),
        },
        emptied=False,
    )

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return Writing(log, ANY, NAMES, self.is_same(dialect))

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        messages: list[Message] = []
        tools: list[Tool] = []
        begun = False  # a turn of the model, whose channels are messages
        for index, item in enumerate(need_list(doc, "messages", "")):
            at = f"/messages/{index}"
            item = as_dict(item, at)
            role = need_str(item, "role", at)
            if role == "assistant":
                message = self.read_reply(item, at)
                if begun and message.extras is None and messages[-1].extras is None:
                    last = messages[-1]
                    messages[-1] = replace(last, content=(*last.content, *message.content))
                else:
                    messages.append(message)
                begun = True
                continue
            if role == "tool":
                found = [self.read_result(item, at)]
            elif role in ("system", "developer", "user"):
                found = list(self.read_words(item, role, tools, at))
            else:
                raise Malformed(f"unknown role {role!r}", f"{at}/role")
            messages += found
            begun = begun and not found
        tree = Request(
            None,
            tuple(messages),
            tuple(tools) or None,
            dialect=self.name,
            extras=self.keep(doc, ("messages",)),
        )
        return freeform.unwrap_calls(tree)

    def read_words(
        self, doc: dict[str, Json], role: str, tools: list[Tool], at: str
    ) -> Iterator[Message]:
        """What is said to the model; the usual first message says nothing."""
        blocks: list[Block] = []
        docs = self.contents(doc, at)
        for index, part in enumerate(docs):
            where = place_of(doc, at, index)
            kind = part.get("type")
            if kind == "text":
                blocks.append(self.read_text(part, where))
            elif kind == "developer_content":
                blocks += self.read_developer(part, tools, where)
            elif part != SYSTEM or role != "system":
                blocks.append(Raw(self.name, part, at=where))
        extras = self.keep(doc, ("role", "content"))
        if blocks or extras is not None or role == "user":
            spoken = "user" if role == "user" else "system"
            if role == "system":
                extras = self.respell(extras, place="system")
            yield Message(spoken, tuple(blocks), at=at, extras=extras)  # type: ignore[arg-type]

    def read_developer(self, doc: dict[str, Json], tools: list[Tool], at: str) -> Iterator[Block]:
        """The system prompt and the tools; what has more than that is kept as it is."""
        spaces = doc.get("tools")
        own = spaces.get("functions") if spaces.__class__ is dict else None
        found: list[Tool] = []
        if own.__class__ is dict:
            where = f"{at}/tools/functions/tools"
            for index, item in enumerate(as_list(own.get("tools"), where)):
                found.append(self.read_tool(as_dict(item, where), f"{where}/{index}"))
        words = maybe_str(doc, "instructions", at)
        listed = own.get("tools") if own.__class__ is dict else None
        usual = {"functions": {"name": "functions", "tools": listed}}
        if doc.keys() <= {"type", "instructions", "tools"} and (not spaces or spaces == usual):
            tools += found
            if words is not None:
                yield Text(words, at=f"{at}/instructions")
        else:
            yield Raw(self.name, doc, at=at)

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        known = ("name", "description", "parameters")
        tool = Tool(
            need_str(doc, "name", at),
            maybe_str(doc, "description", at) or None,
            doc.get("parameters"),
            at=at,
            extras=self.keep(doc, known),
            schema_at="/parameters" if "parameters" in doc else None,
        )
        return freeform.unwrap_tool(tool, self.name)

    def read_reply(self, doc: dict[str, Json], at: str) -> Message:
        """One channel of what the model said."""
        channel, to = maybe_str(doc, "channel", at), maybe_str(doc, "recipient", at)
        docs = self.contents(doc, at)
        if to is not None and not to.startswith(FUNCTIONS):
            return Message("assistant", (Raw(self.name, doc, at=at),), at=at)
        taken = ["role", "content", "channel", "recipient"]
        if doc.get("content_type") in (CONSTRAINED, "json", None):
            taken.append("content_type")
        if not docs and to is not None:
            taken.remove("recipient")  # of no call
        extras = self.keep(doc, taken)
        blocks: list[Block] = []
        for index, part in enumerate(docs):
            where = place_of(doc, at, index)
            block: Block = Raw(self.name, part, at=where)
            if part.get("type") == "text":
                block = self.read_text(part, where)
            if isinstance(block, Text) and to is not None:
                name = to[len(FUNCTIONS) :]
                block = ToolCall(None, name, block.text, at=at, extras=inside(block.extras, index))
            elif isinstance(block, Text) and channel == "analysis":
                block = Reasoning((block.text,), at=where, extras=block.extras)
            elif isinstance(block, Text) and channel != "final":
                block = replace(block, extras=self.respell(block.extras, place=channel))
            blocks.append(block)
        if len(docs) > 1 and any(isinstance(x, ToolCall) and x.extras is not None for x in blocks):
            extras = self.respell(extras, parts=len(docs))  # so that it is written as it stood
        return Message("assistant", tuple(blocks), at=at, extras=extras)

    def read_result(self, doc: dict[str, Json], at: str) -> Message:
        name = maybe_str(doc, "name", at)
        blocks: list[Block] = []
        failed = None
        for index, part in enumerate(self.contents(doc, at)):
            where = place_of(doc, at, index)
            text = part.get("text")
            whole = part.keys() == {"type", "text"} and part["type"] == "text"
            if not whole or text.__class__ is not str:
                blocks.append(Raw(self.name, part, at=where))
                continue
            if not index:
                failed, text = unmark_error(text)
            if blocks and isinstance(last := blocks[-1], Text):  # a result is one text
                blocks[-1] = replace(last, text=f"{last.text}\n{text}")
            elif text is not None:
                blocks.append(Text(text, at=where))
        known = ["role", "name", "content"]
        known += [k for k, v in (("channel", "commentary"), ("recipient", "assistant"))
                  if doc.get(k) == v]  # fmt: skip
        called = name.removeprefix(FUNCTIONS) if name is not None else None
        extras = self.keep(doc, known)
        if name is not None and called == name:
            extras = self.respell(extras, place=name)
        result = ToolResult(None, tuple(blocks), failed, called, at=at, extras=extras)
        return Message("tool", (result,), at=at)

    def contents(self, doc: dict[str, Json], at: str) -> list[dict[str, Json]]:
        value = doc.get("content")
        if value.__class__ is str:
            return [{"type": "text", "text": value}]
        docs = as_list(value, f"{at}/content")
        return [as_dict(item, f"{at}/content/{index}") for index, item in enumerate(docs)]

    def read_text(self, doc: dict[str, Json], at: str) -> Text:
        return Text(need_str(doc, "text", at), at=at, extras=self.keep(doc, ("type", "text")))

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        self.lose_settings(tree, w)
        messages = tree.messages if w.same else self.results_in_order(tree.messages, log)
        out: list[Json] = [{"role": "system", "content": [dict(SYSTEM)]}]
        if w.same and messages and self.spelling(messages[0]).get("place") == "system":
            out = []
        tools = [self.write_tool(tool, w) for tool in tree.tools or ()]
        rest = list(messages)
        if tools or (rest and rest[0].role == "system" and not self.spelling(rest[0])):
            first = rest.pop(0) if rest and rest[0].role == "system" else None
            written = self.write_head(first, tools, w)
            if written is not None:
                out.append(written)
        names: dict[str, str] = {}
        before = ""
        for message in rest:
            if message.role == before == "assistant" and not w.same:
                self.merge_message(message, log)
            before = message.role
            if message.role == "tool":
                out.append(self.write_result(message, names, w))
            elif message.role == "assistant":
                docs = list(self.write_reply(message, names, w))
                out += [joined(docs)] if w.same and message.extras is not None else docs
            elif (doc := self.write_words(message, w)) is not None:
                out.append(doc)
        return self.emit({"messages": out}, tree, log)

    def write_head(self, message: Message | None, tools: Sequence[Json], w: Writing) -> Json | None:
        """The developer's first message: the system prompt and the tools."""
        content: list[Json] = []
        own: list[dict[str, Json]] = []  # those of the content that are not kept as they were
        if message is not None:
            texts: list[tuple[str, str]] = []
            for block in message.content:
                if isinstance(block, Raw) and self.is_same(block.dialect):
                    content.append(block.payload)
                elif (text := self.plain(block, w.log)) is not None:
                    texts.append((text, block.at))
                    if w.same:
                        own.append(instructions(text))
                        content.append(own[-1])
            if not w.same and (words := self.join_texts(texts, w.log)):
                own.append(instructions(words))
                content.insert(0, own[0])
            elif not (content or w.same):
                self.lose(message.extras, message.at, w.log)
                self.omit_message(message, w.log)
        if tools:
            if not own:
                own.append({"type": "developer_content"})
                content.insert(0, own[0])
            own[0]["tools"] = {"functions": {"name": "functions", "tools": list(tools)}}
        if not (content or w.same):
            return None
        out: Json = {"role": "developer", "content": content}
        return out if message is None else self.emit(out, message, w.log)

    def write_words(self, message: Message, w: Writing) -> Json | None:
        """A turn of the user, or of the developer in between."""
        content: list[Json] = []
        texts: list[tuple[str, str]] = []
        for block in message.content:
            if isinstance(block, Raw) and self.is_same(block.dialect):
                content.append(block.payload)
            elif (text := self.plain(block, w.log)) is not None:
                texts.append((text, block.at))
                if w.same:
                    content.append(self.emit(say(text), block, w.log))
        if not w.same and (words := self.join_texts(texts, w.log)):
            content.append(say(words))
        if not (content or w.same):
            self.lose(message.extras, message.at, w.log)
            self.omit_message(message, w.log)
            return None
        role = "user" if message.role == "user" else "developer"
        if role == "developer" and content and content[0].get("type") == "text" and not w.same:
            content = [instructions(content[0]["text"])]
        if self.spelling(message).get("place") == "system":
            role = "system"
        return self.emit({"role": role, "content": content}, message, w.log)

    def is_lost(self, text: str, at: str, log: Ledger) -> bool:
        return False  # what is empty was lowered, and white space stays

    def write_reply(self, message: Message, names: dict[str, str], w: Writing) -> Iterator[Json]:
        """What the model says: a message for each channel and for each call."""
        calls = any(isinstance(block, ToolCall) for block in message.content)
        texts: list[tuple[str, str]] = []
        said = False
        if not w.same:
            self.lose(message.extras, message.at, w.log)
        for block in message.content:
            out: dict[str, Json] = {"role": "assistant", "content": []}
            if isinstance(block, ToolCall):
                if texts:
                    yield spoken(self.join_texts(texts, w.log), "commentary")
                    texts = []
                written = self.write_call(block, names, w)
            elif isinstance(block, Reasoning):
                words = "\n\n".join(filter(None, block.words))
                if not (words or w.same):
                    self.lose(block.extras, block.at, w.log)
                    continue
                written = out | {"channel": "analysis"}
                written["content"] = [self.emit(say(words), block, w.log)]
            elif isinstance(block, Raw) and self.is_same(block.dialect):
                whole = "role" in block.payload
                written = block.payload if whole else out | {"content": [block.payload]}
            elif isinstance(block, Text) and w.same:
                place = self.spelling(block).get("place", "final") if block.extras else "final"
                written = out | {"content": [self.emit(say(block.text), block, w.log)]}
                if place is not None:
                    written["channel"] = place
            else:
                if (text := self.plain(block, w.log)) is not None:
                    texts.append((text, block.at))
                continue
            said = True
            yield self.emit(written, message, w.log) if w.same else written
        if texts:
            words = self.join_texts(texts, w.log)
            if words or not said:
                yield spoken(words, "commentary" if calls else "final")
                said = True
        if not said and w.same:
            yield self.emit({"role": "assistant", "content": []}, message, w.log)
        elif not said:
            self.omit_message(message, w.log)

    def write_call(self, call: ToolCall, names: dict[str, str], w: Writing) -> dict[str, Json]:
        self.lose_call(replace(call, extras=None), w)  # what it has is emitted with it
        call = freeform.as_function(call, w.same)
        name = w.tool_name(call.name, call.at)
        if call.id is not None:
            names[call.id] = name
        part = say(call.arguments if w.same else call.arguments or "{}")
        if w.same and call.extras is not None:
            for kept in call.extras.fields.get("content", {}).values():
                part = kept | part
        self.lose(call.extras, call.at, w.log)
        return {
            "role": "assistant",
            "content": [part],
            "channel": "commentary",
            "recipient": FUNCTIONS + name,
            "content_type": CONSTRAINED,
        }

    def write_result(self, message: Message, names: dict[str, str], w: Writing) -> Json:
        result = message.content[0] if message.content else None
        if not isinstance(result, ToolResult):
            raise Malformed("only tool results are allowed in a tool message", message.at)
        self.lose(message.extras, message.at, w.log)
        out: dict[str, Json] = {"role": "tool"}
        name = self.name_of(result, names, w)
        if name is not None:
            out["name"] = self.spelling(result).get("place", FUNCTIONS + name)
        texts: list[tuple[str, str]] = []
        content: list[Json] = []
        for block in result.content:
            if isinstance(block, Raw) and self.is_same(block.dialect):
                content.append(block.payload)
            elif (text := self.plain(block, w.log)) is not None:
                texts.append((text, block.at))
                if w.same:
                    content.append(self.emit(say(text), block, w.log))
        if not w.same:
            content = [say(self.join_texts(texts, w.log))]
        out |= {"content": content, "channel": "commentary", "recipient": "assistant"}
        return self.emit(out, result, w.log)

    def name_of(self, result: ToolResult, names: dict[str, str], w: Writing) -> str | None:
        """The tool of a result, which must be told, as there are no ids."""
        called = result.call_id
        if called is not None:
            why = f"{self.name} has no field for call ids; results match calls by name and order"
            w.log.dropped("tool_call.id", result.at, why)
        if result.name is not None:
            return w.tool_name(result.name, result.at)
        if called in names or w.same:
            return names.get(called or "")
        why = f"{self.name} requires the tool name of a result; written as 'tool'"
        w.log.invented("tool_result.name", result.at, why)
        return "tool"

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        tool = freeform.as_function(tool, w.same)
        if tool.description == "" and not w.same:
            w.log.dropped("text.empty", tool.at, f"an empty description is none in {self.name}")
        out: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
        out["description"] = tool.description or ""
        if tool.schema is not None:
            out["parameters"] = tool.schema if w.same else parameters(tool, w.log)
        return self.emit(out, tool, w.log)

    # -- detection --------------------------------------------------------------------------

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if doc.__class__ is not dict or doc.get("messages").__class__ is not list:
            return
        e = Evidence("request")
        for message in objects(doc["messages"]):
            if message.get("channel") in ("analysis", "commentary", "final"):
                e.speaks_for("a message with a channel", 0.97)
            for part in objects(message.get("content")):
                if part.get("type") in ("system_content", "developer_content"):
                    e.speaks_for(f"content of type {part['type']!r}", 0.97)
        if e.signs:
            yield e.verdict()


def place_of(doc: dict[str, Json], at: str, index: int) -> str:
    """Where a part of a message stands; a text may stand for the list of one."""
    return f"{at}/content" if doc["content"].__class__ is str else f"{at}/content/{index}"


def say(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def instructions(text: str) -> dict[str, Json]:
    return {"type": "developer_content", "instructions": text}


def joined(docs: list[Json]) -> Json:
    """The parts of a message that was one: it has keys of its own."""
    content = [part for doc in docs for part in doc["content"]]
    out: dict[str, Json] = {}
    for doc in docs:
        out |= doc
    return out | {"content": content}


def inside(extras: Extras | None, index: int) -> Extras | None:
    """What is kept of the text of a call, which stands where its message does."""
    if extras is None:
        return None
    place = str(index)
    return replace(
        extras, fields={"content": {place: extras.fields}}, inner=("content", f"content/{place}")
    )


def spoken(text: str, channel: str) -> Json:
    return {"role": "assistant", "content": [say(text)], "channel": channel}


DIALECT = Harmony()
