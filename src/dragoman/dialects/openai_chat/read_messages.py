"""Reading the messages of Chat Completions."""

from __future__ import annotations

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    compact,
    expected,
    maybe_list,
    maybe_str,
    need_dict,
    need_str,
    only,
    pointers,
    tokens,
)
from ...core.turns import mark_custom_results, more_results, unhoist
from ...core.writing import is_plain_text
from ...dialect import merged
from ...errors import Malformed
from ...model import (
    Block,
    Extras,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Refusal,
    Role,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools.tool_errors import MARK, unmark_error
from . import gateways, inline
from .gateways import BLOCKS, FIELDS
from .parts import Parts
from .signing import signature_of, taken_of

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",  # before there were tools
}
PLAIN_KEYS = frozenset({"role", "content", "name"})
SIMPLE_FUNCTION = frozenset({"name", "arguments"})
# The usual shapes
PLAIN_MESSAGE = only("role", "content")
CALLING_MESSAGE = only("role", "content", "tool_calls")
PLAIN_RESULT = only("role", "content", "tool_call_id")
PLAIN_CALL = only("id", "type", "function")
PLAIN_FUNCTION = only("name", "arguments")
# How compatible servers say what the model reasoning; the official API never does.
THINKING_KEYS = ("reasoning_content", "reasoning")


class ReadMessages(Parts):
    """The turns of a conversation, into the tree."""

    def read_history(self, docs: list[Json], at: str) -> list[Message]:
        out: list[Message] = []
        append = out.append
        custom = after_tool = False
        places, contents = pointers(at, docs, "/content")
        for index, doc in enumerate(docs):  # not zip, which takes long to begin
            where = places[index]
            if doc.__class__ is not dict:
                expected("an object", doc, where)
            role = doc.get("role")
            content = doc.get("content")
            # The usual shapes, most messages by far; but no text that may begin with a mark.
            if content.__class__ is str:
                text = Text(content, at=contents[index])
                if role == "tool":
                    call_id = doc.get("tool_call_id")
                    if call_id.__class__ is str and PLAIN_RESULT(doc):
                        if not content or content[0] != "[" or not content.startswith(MARK):
                            result = ToolResult(call_id, (text,), at=where)
                            append(Message("tool", (result,), at=where))
                            after_tool = True
                            continue
                elif PLAIN_MESSAGE(doc):
                    if (
                        role == "assistant"
                        or role == "system"
                        or (role == "user" and not (after_tool and content[:1] == "["))
                    ):
                        append(Message(role, (text,), at=where))
                        after_tool = False
                        continue
                elif role == "assistant" and CALLING_MESSAGE(doc):
                    if (calls := doc.get("tool_calls")).__class__ is list and calls:
                        blocks: list[Block] = [text]
                        custom = self.read_calls(blocks, calls, where) or custom
                        append(Message("assistant", tuple(blocks), at=where))
                        after_tool = False
                        continue
            elif role == "assistant" and content is None and CALLING_MESSAGE(doc):
                calls = doc.get("tool_calls")
                if calls.__class__ is list and calls and "content" in doc:
                    blocks = []
                    custom = self.read_calls(blocks, calls, where) or custom
                    append(Message("assistant", tuple(blocks), at=where))
                    after_tool = False
                    continue
            message = self.read_message(doc, where)
            if message.role == "user" and inline.has_results(message):
                out += inline.cut(self, message)
                after_tool = out[-1].role == "tool"
                continue
            if message.role == "user" and out and out[-1].role == "tool":
                alone = PLAIN_MESSAGE(doc) and not more_results(docs, index)
                if alone and unhoist(message, out, self.holds_all):
                    continue
            elif message.role == "assistant":
                custom = custom or any(is_custom(block) for block in message.content)
            after_tool = message.role == "tool"
            append(message)
        return mark_custom_results(out) if custom else out

    def read_calls(self, blocks: list[Block], calls: list[Json], at: str) -> bool:
        """Appends the calls to what was said before them; whether a freeform one is among them."""
        custom = False
        at += "/tool_calls"
        token = tokens(calls)
        for index, call in enumerate(calls):
            where = at + token[index]
            if call.__class__ is dict and call.get("type") == "function" and PLAIN_CALL(call):
                function = call.get("function")
                if function.__class__ is dict and PLAIN_FUNCTION(function):
                    call_id = call.get("id")
                    name = function.get("name")
                    text = function.get("arguments")
                    if text.__class__ is name.__class__ is call_id.__class__ is str and text:
                        blocks.append(ToolCall(call_id, name, text, at=where))  # the usual shape
                        continue
            block = self.read_call(as_dict(call, where), where)
            custom = custom or is_custom(block)
            blocks.append(block)
        return custom

    def read_message(self, doc: dict[str, Json], at: str) -> Message:
        said = doc.get("role")
        role = ROLES.get(said) if said.__class__ is str else None
        if role is None:
            need_str(doc, "role", at)
            raise Malformed(f"unknown role {said!r}; there are: {', '.join(ROLES)}", at)
        if role == "assistant":
            return self.read_assistant(doc, at)
        if role == "tool":
            return self.read_result(doc, str(said), at)
        content = doc.get("content")
        if content.__class__ is str and PLAIN_MESSAGE(doc):
            return Message(role, (Text(content, at=f"{at}/content"),), at=at)
        blocks, spelling = self.read_content(doc, at)
        extras = None if PLAIN_MESSAGE(doc) else self.keep(doc, PLAIN_KEYS)
        if spelling:
            extras = self.respell(extras, **spelling)
        return Message(role, blocks, maybe_str(doc, "name", at), at=at, extras=extras)

    def read_content(
        self, doc: dict[str, Json], at: str
    ) -> tuple[tuple[Block, ...], dict[str, Json] | None]:
        """Content in any of its forms, and the form where it is not the usual one."""
        content = doc.get("content")
        where = f"{at}/content"
        if content.__class__ is str:
            return (Text(content, at=where),), None
        if content.__class__ is list:
            blocks = tuple(self.read_parts(content, where))
            if not blocks or (len(blocks) == 1 and is_plain_text(blocks[0])):
                return blocks, {"content": "list"}
            return blocks, None
        if content is None:
            return (), {"content": "null" if "content" in doc else "absent"}
        if content.__class__ is not dict:
            expected("a string or a list", content, where)
        # Some servers parse a JSON answer on the client's behalf.
        return (Text(compact(content), at=where),), {"content": "object"}

    def read_assistant(self, doc: dict[str, Json], at: str) -> Message:
        content = doc.get("content")
        calls = doc.get("tool_calls")
        blocks: list[Block] = []
        if content.__class__ is str and PLAIN_MESSAGE(doc):
            return Message("assistant", (Text(content, at=f"{at}/content"),), at=at)
        if (
            CALLING_MESSAGE(doc)
            and calls.__class__ is list
            and content is None
            and "content" in doc
            and calls
        ):
            self.read_calls(blocks, calls, at)
            return Message("assistant", tuple(blocks), at=at)
        taken = ["role", "content", "name"]
        partly: dict[str, Json] = {}
        if gateways.are_blocks(doc.get(gateways.BLOCKS)):
            blocks += self.read_thinking_blocks(doc, at, taken, partly)
        for key in THINKING_KEYS if not blocks else ():
            reasoning = doc.get(key)
            if reasoning.__class__ is str and reasoning:
                note = Extras(self.name, spelling={"key": key})
                blocks.append(Reasoning((reasoning,), at=f"{at}/{key}", extras=note))
                taken.append(key)
                break
        said, spelling = self.read_content(doc, at)
        if content.__class__ is list:
            said = inline.read_spoken(self, said)
        if spelling == {"content": "null"}:
            spelling = None  # the usual form of an assistant that says nothing
        cited = maybe_list(doc, "annotations", at)
        if cited and len(said) == 1 and isinstance(said[0], Text):
            taken.append("annotations")
            citations = self.read_annotations(cited, f"{at}/annotations")
            said = (replace(said[0], citations=citations),)
        blocks += said
        if (signed := signature_of(doc)) is not None and self.sign_last(blocks, signed):
            keys, parts = taken_of(signed[0])
            taken += keys
            for key, inner in parts.items():
                partly[key] = (*partly.get(key, ()), *inner)
        if (refusal := maybe_str(doc, "refusal", at)) is not None:
            blocks.append(Refusal(refusal, at=f"{at}/refusal"))
            taken.append("refusal")
        if calls:
            taken.append("tool_calls")
            if calls.__class__ is not list:
                expected("a list", calls, f"{at}/tool_calls")
            for index, call in enumerate(calls):
                where = f"{at}/tool_calls/{index}"
                blocks.append(self.read_call(as_dict(call, where), where))
        if doc.get("function_call").__class__ is dict:
            taken.append("function_call")
            blocks.append(self.read_legacy_call(doc["function_call"], f"{at}/function_call"))
        if doc.get("audio").__class__ is dict:
            taken.append("audio")
            blocks.append(self.read_spoken(doc["audio"], f"{at}/audio"))
        extras = None
        if (
            not calls or spelling or not CALLING_MESSAGE(doc)
        ):  # role, content and calls: the usual shape
            spelling = {
                **(spelling or {}),
                **({"fields": True} if BLOCKS in partly.get(FIELDS, ()) else {}),
            }
            extras = self.keep(doc, taken, partly=partly)
            if spelling:
                extras = self.respell(extras, **spelling)
        name = maybe_str(doc, "name", at)
        return Message("assistant", tuple(blocks), name, at=at, extras=extras)

    def read_thinking_blocks(
        self, doc: dict[str, Json], at: str, taken: list[str], partly: dict[str, Json]
    ) -> list[Reasoning]:
        """LiteLLM's blocks, which stand twice or three times in a message."""
        docs, fields = doc[BLOCKS], doc.get(FIELDS)
        found = gateways.read_blocks(self, docs, doc.get(gateways.TWIN), at)
        taken.append(BLOCKS)
        if "twin" in self.spelling(found[0]):
            taken.append(gateways.TWIN)
        if fields.__class__ is dict and fields.get(BLOCKS) == docs:
            partly[FIELDS] = (BLOCKS,)
        return found

    def read_call(self, doc: dict[str, Json], at: str) -> Block:
        function = doc.get("function")
        if function.__class__ is dict and PLAIN_CALL(doc) and PLAIN_FUNCTION(function):
            call_id, name, text = doc.get("id"), function.get("name"), function.get("arguments")
            if (
                call_id.__class__ is str
                and name.__class__ is str
                and text.__class__ is str
                and text
            ):
                if doc.get("type") == "function":
                    return ToolCall(call_id, name, text, at=at)
        kind = doc.get("type")
        if kind == "custom":
            custom = need_dict(doc, "custom", at)
            said = {} if custom.get("input").__class__ is str else {"input": None}
            return ToolCall(
                maybe_str(doc, "id", at),
                need_str(custom, "name", f"{at}/custom"),
                maybe_str(custom, "input", f"{at}/custom") or "",
                "custom",
                at=at,
                extras=self.keep_call(doc, said, {"custom": ("name", "input")}),
            )
        if function.__class__ is not dict and isinstance(kind, str) and kind != "function":
            return Raw(self.name, doc, at=at)
        function = need_dict(doc, "function", at)
        text, spelling = self.read_arguments(function, f"{at}/function")
        if kind is None:
            spelling["type"] = None
        elif kind is not None and kind != "function":
            spelling["type"] = kind
        if doc.get("index").__class__ is int:  # as in a stream; the place in the list says it
            spelling["index"] = doc["index"]
        return ToolCall(
            maybe_str(doc, "id", at),
            need_str(function, "name", f"{at}/function"),
            text,
            at=at,
            extras=self.keep_call(doc, spelling, {"function": ("name", "arguments")}),
        )

    def keep_call(
        self, doc: dict[str, Json], spelling: dict[str, Json], partly: dict[str, Json]
    ) -> Extras | None:
        """What a call says beyond the tree, and how it was signed."""
        signed = signature_of(doc)
        taken = ["id", "type"]
        if "index" in spelling:
            taken.append("index")
        if signed is not None:
            keys, parts = taken_of(signed[0])
            taken += keys
            known: dict[str, Json] = {
                key: dict.fromkeys(inner, ()) for key, inner in partly.items()
            }
            partly = merged(known, parts)
        extras = self.keep(doc, taken, spelling, partly=partly)
        return extras if signed is None else self.signed(extras, signed)

    def read_arguments(self, doc: dict[str, Json], at: str) -> tuple[str, dict[str, Json]]:
        """The argument text; some servers send an object, and blank means no arguments."""
        value = doc.get("arguments")
        if value.__class__ is str:
            return (value, {}) if value else ("{}", {"arguments": ""})
        if value is None:
            return "{}", {"arguments": None}
        if value.__class__ is not dict:
            expected("a string", value, f"{at}/arguments")
        return compact(value), {"arguments": "object"}

    def read_legacy_call(self, doc: dict[str, Json], at: str) -> Block:
        text, spelling = self.read_arguments(doc, at)
        extras = self.keep(doc, SIMPLE_FUNCTION, spelling | {"legacy": True})
        return ToolCall(None, need_str(doc, "name", at), text, at=at, extras=extras)

    def read_spoken(self, doc: dict[str, Json], at: str) -> Block:
        """Audio that the model spoke: whole in an answer, by its id in a history."""
        data, spoken = maybe_str(doc, "data", at), maybe_str(doc, "id", at)
        transcript = maybe_str(doc, "transcript", at)
        if data is None and spoken is not None:
            source, taken = Source("file", spoken, issuer=self.issuer), ("id", "transcript")
        elif data is not None:
            source, taken = Source("base64", data), ("data", "transcript")
        else:
            return Raw(self.name, doc, at=at, extras=Extras(self.name, spelling={"place": "audio"}))
        extras = self.keep(doc, taken, {"place": "audio"})
        return Media("audio", source, transcript=transcript, at=at, extras=extras)

    def read_result(self, doc: dict[str, Json], role: str, at: str) -> Message:
        content = doc.get("content")
        if role == "tool" and content.__class__ is str and PLAIN_RESULT(doc):
            call_id = doc.get("tool_call_id")
            if call_id.__class__ is str and not content.startswith(MARK):
                result = ToolResult(call_id, (Text(content, at=f"{at}/content"),), at=at)
                return Message("tool", (result,), at=at)
        blocks, spelling = self.read_content(doc, at)
        spelling = spelling or {}
        if any(not isinstance(b, Text) for b in blocks):
            spelling["content"] = "list"  # against the official rules, and kept so at home
        failed, blocks = self.read_failed(blocks, spelling)
        if role == "function":
            spelling["legacy"] = True
        elif doc.get("tool_call_id") is None and "tool_call_id" not in doc:
            spelling["no_id"] = True
        extras = self.keep(doc, ("role", "content", "tool_call_id", "name"), spelling)
        result = ToolResult(
            maybe_str(doc, "tool_call_id", at),
            blocks,
            True if failed else None,
            maybe_str(doc, "name", at),
            at=at,
            extras=extras,
        )
        return Message("tool", (result,), at=at)

    def read_failed(
        self, blocks: tuple[Block, ...], spelling: dict[str, Json]
    ) -> tuple[bool, tuple[Block, ...]]:
        """A result that begins with the mark of an error is one; the mark goes."""
        if not blocks or not isinstance(first := blocks[0], Text):
            return False, blocks
        failed, text = unmark_error(first.text)
        if text is None and is_plain_text(first):
            if len(blocks) > 1:
                spelling["mark"] = "alone"
            return True, blocks[1:]
        if text is None or text == first.text:
            return False, blocks
        return bool(failed), (replace(first, text=text), *blocks[1:])

    def holds_all(self, result: ToolResult) -> bool:
        """Whether a result holds its images itself, against the official rules."""
        spelled = self.spelling(result).get("content")
        only = result.content[0] if len(result.content) == 1 else None
        return bool(spelled) and not (spelled == "list" and only and is_plain_text(only))


def is_custom(block: Block) -> bool:
    """Whether a block is a freeform call."""
    return block.__class__ is ToolCall and block.kind == "custom"
