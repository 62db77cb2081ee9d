"""FunctionGemma, the teaching form: one reply of a larger model as a lesson, reasoning and call.

What it does differently from the official form: declarations are prose (name, description, a list
of parameters); what the model says before it calls is a comment, ``/* ... */``, and so are its
reasoning; a turn of the model is exactly one call, on a line of its own; every value stands between
``<escape>``, numbers and lists included, so all are read back as texts; every turn is closed. What
it has no form for (no call, several calls, objects inside arguments) is refused; results of tools
are dropped. The official form says all of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NoReturn

from msgspec import MsgspecError
from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.reading import as_dict, compact, decode, need_str
from ..core.writing import Writing, object_of
from ..errors import Malformed, Unsayable
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict
from ..model import (
    Block,
    History,
    Json,
    Message,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ..tools import freeform
from ._gemma import (
    CALL,
    CALLED,
    CONTROL,
    DECLARE,
    DECLARED,
    END,
    ESCAPE,
    HEAD_TOKENS,
    SAID_TOKENS,
    START,
    TURN_TOKENS,
    VALUE_TOKENS,
    Gemma,
    defuse,
    left_out,
)
from ._training import has_words

ACCESS = "You have access to the following functions:"
PARAMETERS = "Parameters:"
REQUIRED = " (required)"
ROLES = {"developer": "developer", "user": "user", "model": "assistant"}
INSTEAD = "; functiongemma, the official format, supports it"
NO_CALL = f"the conversation does not end in a tool call{INSTEAD}"


class FunctionGemmaTeaching(Gemma):
    name = "functiongemma-teaching"
    spec = "docs/dialects/functiongemma-teaching.md"
    can = replace(
        Gemma.can,
        unfit={"tool": frozenset({ToolResult})},
        reasoning=cap.ReasoningForm(summaries=cap.EVERYWHERE, parts=cap.EVERYWHERE),
        media=replace(Gemma.can.media, roles=Gemma.can.media.roles - {"tool"}),  # no results at all
    )

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        text = need_str(doc, "text", "")
        messages, tools = self.read_text(text)
        extras = self.keep(doc, ("text",))
        return Request(None, messages, tools or None, dialect=self.name, extras=extras)

    def read_messages(self, doc: Json) -> History:
        doc = as_dict(doc, "")
        text = need_str(doc, "text", "")
        messages, tools = self.read_text(text)
        if tools:
            raise Malformed("a history has no declarations; this is a request", "/text")
        return History(messages, dialect=self.name, extras=self.keep(doc, ("text",)))

    def read_text(self, text: str) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        messages: list[Message] = []
        tools: tuple[Tool, ...] = ()
        custom: frozenset[str] = frozenset()
        first = True
        for role, body, pos in turns(text):
            if role == "assistant":
                blocks = self.read_model(body, custom, pos)
                messages.append(Message("assistant", blocks, at="/text"))
            elif role == "developer" and first:
                tools, words = self.read_head(body, pos)
                custom = frozenset(tool.name for tool in tools if tool.kind == "custom")
                if words or not tools:
                    messages.append(Message("system", texts_of(words), at="/text"))
            else:
                messages.append(Message(role, texts_of(body), at="/text"))  # type: ignore[arg-type]
            first = False
        if not messages or messages[-1].role != "assistant":
            raise Malformed(NO_CALL, "/text")
        return tuple(messages), tools

    def read_head(self, body: str, pos: int) -> tuple[tuple[Tool, ...], str]:
        """The declarations of a developer's turn, and the system prompt before them."""
        start = body.find(DECLARE)
        if start < 0:
            return (), body
        words = body[:start].rstrip()
        words = words.removesuffix(ACCESS)
        tools: list[Tool] = []
        while start >= 0:
            end = body.find(DECLARED, start)
            if end < 0:
                fail("a declaration is not closed", pos + start)
            tools.append(self.read_tool(body[start + len(DECLARE) : end]))
            after = end + len(DECLARED)
            start = body.find(DECLARE, after)
            if body[after : start if start >= 0 else len(body)].strip():
                fail("text after a declaration", pos + after)
        return tuple(tools), words[:-1] if words.endswith("\n") else words

    def read_tool(self, text: str) -> Tool:
        name, _, rest = text.strip("\n").partition("\n")
        lines = rest.split("\n") if rest else []
        found: list[tuple[str, Json, bool]] = []
        count = len(lines)
        while count and (parameter := read_parameter(lines[count - 1])) is not None:
            found.append(parameter)
            count -= 1
        found.reverse()
        schema: Json = None
        if count and lines[count - 1] == PARAMETERS:
            count -= 1
            schema = {"type": "object", "properties": {key: value for key, value, _ in found}}
            if required := [key for key, _, needed in found if needed]:
                schema["required"] = required
        else:
            count = len(lines)
        return self.unwrap(name.strip(), "\n".join(lines[:count]), schema, "/text")

    def read_model(self, body: str, custom: frozenset[str], pos: int) -> tuple[Block, ...]:
        start, end = body.find(CALL), body.find(CALLED)
        if start < 0 or end < start:
            fail("no tool call in a turn of the model", pos)
        if body[end + len(CALLED) :].strip():
            fail("text after the tool call", pos + end)
        words = body[:start].removesuffix("\n")
        if words.startswith("/*") and words.rstrip().endswith("*/"):
            words = words.rstrip()[2:-2].removeprefix(" ").removesuffix(" ")
        call = self.read_call(body[start + len(CALL) : end].strip(), custom, pos + start)
        return (*texts_of(words), call)

    def read_call(self, text: str, custom: frozenset[str], pos: int) -> ToolCall:
        name, brace, rest = text.removeprefix("call:").partition("{")
        if not text.startswith("call:") or not brace or not rest.endswith("}") or not name:
            fail("expected call:NAME{...}", pos)
        arguments: dict[str, Json] = {}
        # Nothing but keys and values stands between the delimiters: key:, value, ,key:, value, ""
        parts = rest[:-1].split(ESCAPE)
        if len(parts) % 2 == 0 or parts[-1]:
            fail("a value is not closed with <escape>", pos)
        for index in range(0, len(parts) - 1, 2):
            key = parts[index]
            if not key.endswith(":") or (index and not key.startswith(",")):
                fail("expected a key", pos)
            key = key[1 if index else 0 : -1]
            if key in arguments:
                fail(f"the key {key!r} occurs twice", pos)
            arguments[key] = parts[index + 1]
        if name in custom and arguments.keys() == {"input"}:
            return ToolCall(None, name, arguments["input"], "custom", at="/text")
        return ToolCall(None, name, compact(arguments), at="/text")

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        self.lose_settings(tree, w)
        return self.emit({"text": self.compose(tree.messages, tree.tools or (), w)}, tree, log)

    def write_messages(self, tree: History, log: Ledger) -> Json:
        text = self.compose(tree.messages, (), self.writing(log, tree.dialect))
        return self.emit({"text": text}, tree, log)

    def compose(self, messages: Sequence[Message], tools: Iterable[Tool], w: Writing) -> str:
        """The whole text, line by line."""
        tools = tuple(tools)
        spoken = [message for message in messages if message.role != "tool"]
        if not spoken or spoken[-1].role != "assistant":
            at = spoken[-1].at if spoken else ""
            raise Unsayable(NO_CALL, at)
        lines: list[str] = []
        count = self.write_head(lines, spoken, tools, w)
        for message in messages:
            if message.role == "tool":
                self.lose(message.extras, message.at, w.log)
        for message in spoken[count:]:
            self.write_turn(lines, message, w)
        lines.append("")
        return "\n".join(lines)

    def write_head(
        self, lines: list[str], messages: list[Message], tools: tuple[Tool, ...], w: Writing
    ) -> int:
        """The turn of the developer; how many messages it takes."""
        count = 0
        texts: list[tuple[str, str]] = []
        for message in messages:
            if message.role not in ("system", "developer") or (w.same and count):
                break
            if w.same and message.role != "system":
                break
            if message.role == "developer":
                why = f"{self.name} writes the system prompt as `developer`"
                w.log.approximated("message.role", message.at, why)
            spoken = self.words(message, HEAD_TOKENS, w)
            if not w.same:
                self.note_prompt(message, has_words(texts), has_words(spoken), w.log)
            texts += spoken
            count += 1
        words = self.join_texts(texts, w.log)
        declared = [self.write_tool(tool, w) for tool in tools]
        if not declared and not words and not (count and w.same):
            return count
        lines.append(f"{START}developer")
        if words or not declared:
            lines.append(words)
        if declared:
            w.moved("system.trigger", messages[0].at if count else "", f"{ACCESS!r} is added")
            lines += [ACCESS, ""]
        for text in declared:
            lines += [text, ""]
        lines.append(END)
        return count

    def words(self, message: Message, own: re.Pattern[str], w: Writing) -> list[tuple[str, str]]:
        """The texts of a message; ``own`` are the tokens that are broken in the same dialect."""
        control = own if w.same else CONTROL
        self.lose(message.extras, message.at, w.log)
        return [
            (defuse(text, block.at, w.log, control), block.at)
            for block in message.content
            if (text := self.plain(block, w.log)) is not None
        ]

    def write_turn(self, lines: list[str], message: Message, w: Writing) -> None:
        if message.role == "assistant":
            self.write_model(lines, message, w)
            return
        if message.role == "system":
            why = f"{self.name} has one system prompt; written as `developer`"
            w.log.approximated("message.role", message.at, why)
        words = self.join_texts(self.words(message, TURN_TOKENS, w), w.log)
        if not words and not w.same:
            self.omit_message(message, w.log)
            return
        role = "user" if message.role == "user" else "developer"
        lines += [f"{START}{role}", words, END]

    def write_model(self, lines: list[str], message: Message, w: Writing) -> None:
        """One call, and before it, in a comment, all that was reasoning and said."""
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        if not calls:
            raise Unsayable(f"no tool call in a turn of the model{INSTEAD}", message.at)
        if len(calls) > 1:
            raise Unsayable(
                f"{len(calls)} tool calls in one turn of the model{INSTEAD}", message.at
            )
        self.lose(message.extras, message.at, w.log)
        reasoning: list[tuple[str, str]] = []
        texts: list[tuple[str, str]] = []
        for block in message.content:
            if isinstance(block, ToolCall):
                continue
            if isinstance(block, Reasoning):
                reasoning += self.write_reasoning(block, w)
            elif (text := self.plain(block, w.log)) is not None:
                texts.append((self.comment(text, block.at, w), block.at))
        written = self.join_texts([*reasoning, *texts], w.log)
        lines += [f"{START}model", f"/* {written} */", CALL]
        lines += [f"call:{self.write_call(calls[0], w)}", CALLED, END]

    def write_reasoning(self, reasoning: Reasoning, w: Writing) -> list[tuple[str, str]]:
        self.lose(reasoning.extras, reasoning.at, w.log)
        w.log.approximated(
            "reasoning",
            reasoning.at,
            f"{self.name} has no field for reasoning; written to the comment",
        )
        return [(self.comment(text, reasoning.at, w), reasoning.at) for text in reasoning.words]

    def comment(self, text: str, at: str, w: Writing) -> str:
        """A text that cannot end the comment it stands in."""
        if w.same:  # the last one ends it
            return defuse(text, at, w.log, SAID_TOKENS)
        text = defuse(text, at, w.log)
        if "*/" in text:
            w.log.approximated(
                "text.control", at, f"'*/' would end the comment of {self.name}; written as '* /'"
            )
            text = text.replace("*/", "* /")
        return text

    def write_call(self, call: ToolCall, w: Writing) -> str:
        self.lose_call(call, w)
        values: dict[str, Json] = {"input": call.arguments}
        if call.kind != "custom":
            if not is_object(call.arguments):
                raise Unsayable(f"the arguments of a call are not an object{INSTEAD}", call.at)
            values = object_of(call, w.log)
        if any(value.__class__ is not str for value in values.values()):
            why = (
                f"{self.name} writes every value as text, and a list as its "
                "items with commas between them"
            )
            w.log.approximated("tool_call.arguments", call.at, why)
        control = VALUE_TOKENS if w.same else CONTROL
        fields = [
            f"{defuse(key, call.at, w.log, control)}:{ESCAPE}"
            f"{defuse(say(value, call.at), call.at, w.log, control)}{ESCAPE}"
            for key, value in values.items()
        ]
        return f"{w.tool_name(call.name, call.at)}{{{','.join(fields)}}}"

    def write_tool(self, tool: Tool, w: Writing) -> str:
        self.lose_tool(tool, w.log)
        tool = freeform.as_function(tool)
        if tool.description == "":
            w.log.dropped("text.empty", tool.at, f"an empty description is omitted in {self.name}")
        name = w.tool_name(tool.name, tool.at)
        lines = [DECLARE + name]
        if tool.description:
            lines.append(tool.description)
        if tool.schema is not None:
            lines.append(PARAMETERS)
            lines += say_parameters(tool.schema)
        text = "\n".join(lines[1:])
        self.note_tool(tool, text, w)
        control = HEAD_TOKENS if w.same else CONTROL
        body = f"{defuse(text, tool.at, w.log, control)}\n" if text else ""
        return f"{lines[0]}\n{body}{DECLARED}"

    def note_tool(self, tool: Tool, text: str, w: Writing) -> None:
        """What a reader would not find again in the prose."""
        back = freeform.as_function(self.read_tool(f"{tool.name}\n{text}"))
        if (back.description or "") != (tool.description or ""):
            w.log.approximated(
                "tool",
                tool.at,
                f"the description cannot be distinguished from the parameters in {self.name}",
            )
        if back.schema != tool.schema:
            unsaid = ", ".join(dict.fromkeys(left_out(tool.schema, back.schema))) or "its form"
            why = f"a declaration of {self.name} has no notation for: {unsaid}"
            w.log.approximated("tool.schema", tool.at, why)

    # -- detection --------------------------------------------------------------------------

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        text = doc.get("text") if doc.__class__ is dict else None
        if text.__class__ is not str or START not in text[:200]:
            return
        e = Evidence("request")
        for sign, weight in SIGNS.items():
            if sign in text[:20_000]:
                e.speaks_for(f"the text has {sign!r}", weight)
        yield e.verdict()


SIGNS = {
    f"{CALL}\ncall:": 0.9,
    f"{START}model\n/* ": 0.8,
    f"{ACCESS}\n\n{DECLARE}": 0.9,
}


def fail(what: str, pos: int) -> NoReturn:
    raise Malformed(f"{what}, at character {pos}", "/text")


def turns(text: str) -> Iterator[tuple[str, str, int]]:
    """Each turn: who speaks, what is written, and where that begins."""
    pos = len(text) - len(text.lstrip().removeprefix("<bos>").lstrip())
    while pos < len(text):
        line = text.find("\n", pos)
        role = ROLES.get(text[pos + len(START) : line].strip()) if line >= 0 else None
        if role is None or not text.startswith(START, pos):
            raise Malformed(f"expected a turn, at character {pos}", "/text")
        body = line + 1
        end = text.find(END, body)
        if end < 0 or text.find(START, body, end) >= 0:
            fail(f"this turn is not closed with {END}", body)
        yield role, text[body:end].removesuffix("\n"), body
        pos = end + len(END)
        while pos < len(text) and text[pos].isspace():
            pos += 1


def texts_of(words: str) -> tuple[Text, ...]:
    return (Text(words, at="/text"),) if words.strip() else ()


def is_object(text: str) -> bool:
    if not text or text.isspace():
        return True
    try:
        return decode(text).__class__ is dict
    except (MsgspecError, UnicodeError, RecursionError):
        return False


def say(value: Json, at: str) -> str:
    """A value as text."""
    if value.__class__ is str:
        return str(value)
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if value.__class__ is list:
        return ",".join(say(item, at) for item in value)
    if value.__class__ is dict:
        raise Unsayable(f"an object inside the arguments of a call{INSTEAD}", at)
    return say_number(value)


def say_number(value: float) -> str:
    """A number as Haskell shows a ``Scientific``: ``5.0``, ``5.0e-2``, ``1.2345678e7``."""
    number = Decimal(str(value))
    sign = "-" if number < 0 else ""
    parts = number.copy_abs().as_tuple()
    digits = "".join(map(str, parts.digits)).lstrip("0")
    point = len(digits) + int(parts.exponent)  # the number is 0.DIGITS times ten to the point
    digits = digits.rstrip("0")
    if not digits:
        return "0.0"
    if 0 < point <= 7:
        digits = digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:] or '0'}"
    if point == 0:
        return f"{sign}0.{digits}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}e{point - 1}"


def say_parameters(schema: Json) -> Iterator[str]:
    """``  name (type): description (required)``, one line for each parameter."""
    properties = schema.get("properties") if schema.__class__ is dict else None
    if properties.__class__ is not dict:
        return
    required = schema.get("required")
    for name, inner in properties.items():
        inner = inner if inner.__class__ is dict else {}
        kind, description = inner.get("type"), inner.get("description")
        kinds = kind if kind.__class__ is list else [kind]
        line = f"  {name} ({'|'.join(k for k in kinds if k.__class__ is str) or 'any'})"
        if description.__class__ is str and description:
            line += f": {description}"
        needed = required.__class__ is list and name in required
        yield " ".join(line.split("\n")) + (REQUIRED if needed else "")


def read_parameter(line: str) -> tuple[str, Json, bool] | None:
    name, bracket, rest = line[2:].partition(" (")
    kind, closed, rest = rest.partition(")")
    if not line.startswith("  ") or not bracket or not closed or not name:
        return None
    needed = rest.endswith(REQUIRED)
    rest = rest.removesuffix(REQUIRED)
    if rest and not rest.startswith(": "):
        return None
    schema: dict[str, Json] = {}
    if kind != "any":
        schema["type"] = kind.split("|") if "|" in kind else kind
    if rest:
        schema["description"] = rest[2:]
    return name, schema, needed


DIALECT = FunctionGemmaTeaching()
