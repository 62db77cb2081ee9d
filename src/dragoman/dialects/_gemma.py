"""What the two text forms of FunctionGemma share: the tokens, and what no text has a place for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..core import capabilities as cap
from ..core.fields import Fields
from ..core.turns import results_in_place
from ..core.writing import Rule, Writing, is_blank
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import (
    Block,
    Json,
    Message,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ..tools import freeform

START, END = "<start_of_turn>", "<end_of_turn>"
DECLARE, DECLARED = "<start_function_declaration>", "<end_function_declaration>"
CALL, CALLED = "<start_function_call>", "<end_function_call>"
RESPOND, RESPONDED = "<start_function_response>", "<end_function_response>"
ESCAPE = "<escape>"

FUNCTION = r"(?:start|end)_function_(?:declaration|call|response)"
CONTROL = re.compile(
    r"<(?=(?:bos|eos|pad|unk|mask|escape|image_soft_token|unused[0-9]+"
    rf"|(?:start|end)_of_(?:turn|image)|{FUNCTION})>)"
)
"""How every token begins that the tokenizer takes for more than text."""
# In the same dialect, only what would be read otherwise than it was meant is broken.
TURN_TOKENS = re.compile(r"<(?=(?:start|end)_of_turn>)")
HEAD_TOKENS = re.compile(r"<(?=(?:(?:start|end)_of_turn|(?:start|end)_function_declaration)>)")
SAID_TOKENS = re.compile(rf"<(?=(?:(?:start|end)_of_turn|{FUNCTION})>)")
VALUE_TOKENS = re.compile(rf"<(?=(?:escape|(?:start|end)_of_turn|{FUNCTION})>)")

# Google's own parser takes these and no others; the first character is a letter or "_".
NAMES: Rule = (r"(?:[A-Za-z_]|(?<=.)[0-9.-])", 1000)
IDS: Rule = (".", 1000)

# What a declaration can say of the one parameter that a freeform tool has.
FREEFORM: Json = {k: v for k, v in freeform.SCHEMA.items() if k != "additionalProperties"}

FIELDS = Fields()
"""A training text holds no settings."""


def defuse(text: str, at: str, log: Ledger, control: re.Pattern[str] = CONTROL) -> str:
    """A text in which no tokenizer finds a control token: there is no way to quote one."""
    if "<" not in text:
        return text
    safe, count = control.subn("< ", text)
    if count:
        log.approximated(
            "text.control",
            at,
            f"a space is inserted into a control token of {log.target} in the text",
        )
    return safe


class Gemma(Dialect):
    """What no training text has a place for, said aloud."""

    fields = FIELDS
    can = cap.Capabilities(
        freeform="wrapped",
        strict=False,
        choices=cap.NO_CHOICE,
        names=cap.NOWHERE,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        results=cap.Results(errors="mark", joint="\n"),
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        caching=cap.NO_MARKS,
        media=cap.NO_MEDIA,
        candidates=1,
        lacks=cap.RARE | cap.HEAD,
        order={"assistant": {"text": 0, "call": 1}, "response": {"text": 0, "call": 1}},
        prefill="never",
    )

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return Writing(log, IDS, NAMES, self.is_same(dialect))

    def lose_settings(self, tree: Request, w: Writing) -> None:
        """A text holds a conversation, and nothing that is written about it."""
        log = w.log
        if tree.model is not None:
            log.dropped("model", tree.at, f"{self.name} has no field for the model")
        FIELDS.write({}, tree.params, w, self.name)
        self.lose(tree.params.extras, tree.params.at, log)

    def lose_tool(self, tool: Tool, log: Ledger) -> None:
        self.lose(tool.extras, tool.at, log)

    def lose_call(self, call: ToolCall, w: Writing) -> None:
        if call.id is not None:
            w.log.dropped("tool_call.id", call.at, f"{self.name} has no field for tool call ids")
        self.lose(call.extras, call.at, w.log)

    def unwrap(self, name: str, description: str | None, schema: Json, at: str) -> Tool:
        """The tool that was declared: a function, or a freeform tool in its wrapping."""
        if description and freeform.MARK in description and schema == FREEFORM:
            found = freeform.unwrap(description, freeform.SCHEMA)
            if found is not None:
                return Tool(name, found[0], kind="custom", grammar=found[1], at=at)
        return Tool(name, description or None, schema, at=at)

    def plain(self, block: Block, log: Ledger) -> str | None:
        """The words of a block that is neither a call nor reasoning; None where it has none."""
        match block:
            case Text():
                self.lose(block.extras, block.at, log)
                return block.text
            case _:
                self.omit(block, log)
        return None

    def join_texts(self, texts: Sequence[tuple[str, str]], log: Ledger) -> str:
        """Several texts (with their places) as one, each on lines of its own."""
        kept = [text for text, at in texts if not self.is_lost(text, at, log)]
        if len(kept) > 1:
            for _, at in texts[1:]:
                self.join_text(at, log)
        return "\n".join(kept)

    def is_lost(self, text: str, at: str, log: Ledger) -> bool:
        if is_blank(text):
            self.omit_text(at, log)
            return True
        return False

    def results_in_order(self, messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
        """Results after their calls and in their order: that is all that pairs them here."""
        messages = results_in_place(messages, log)
        out: list[Message] = []
        rank: dict[str | None, int] = {}
        run: list[Message] = []
        for message in messages:
            if message.role == "tool":
                run.append(message)
                continue
            if run:
                out += self.in_order(run, rank, log)
                run = []
            if message.role == "assistant":
                ids = (b.id for b in message.content if b.__class__ is ToolCall)
                rank = {call_id: index for index, call_id in enumerate(ids)}
            out.append(message)
        return out + self.in_order(run, rank, log)

    def in_order(
        self, run: list[Message], rank: dict[str | None, int], log: Ledger
    ) -> list[Message]:
        if len(run) < 2:
            return run
        last = len(rank)

        def place(message: Message) -> int:
            replied = (b.call_id for b in message.content if isinstance(b, ToolResult))
            return next((rank[i] for i in replied if i is not None and i in rank), last)

        ordered = sorted(run, key=place)
        for now, was in zip(ordered, run, strict=True):
            if now is not was:
                why = f"{self.name} requires results in the order of their calls"
                log.moved("message.position", was.at, why)
                break
        return ordered


def left_out(schema: Json, back: Json) -> Iterable[str]:
    """The keywords and parameters of a schema that do not come back."""
    if schema.__class__ is dict and back.__class__ is dict:
        for key, value in schema.items():
            if key not in back:
                yield key
            elif back[key] != value:
                found = tuple(left_out(value, back[key]))
                yield from found or (key,)
        yield from (key for key in back if key not in schema)
    elif schema.__class__ is list and back.__class__ is list and len(schema) == len(back):
        for mine, theirs in zip(schema, back, strict=True):
            yield from left_out(mine, theirs)
