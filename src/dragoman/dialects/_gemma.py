"""What the two text forms of FunctionGemma share: the tokens, and what no text has a place for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.writing import Rule, Writing
from ..ledger import Ledger
from ..model import Json, Tool
from ..tools import freeform
from ._training import Records

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


def defuse(text: str, at: str, log: Ledger, control: re.Pattern[str] = CONTROL) -> str:
    """A text in which no tokenizer finds a control token: there is no way to quote one."""
    if "<" not in text:
        return text
    safe, count = control.subn("< ", text)
    if count:
        defuse_noted(at, log)
    return safe


def defuse_noted(at: str, log: Ledger) -> None:
    """Report a text in which control tokens are broken."""
    why = f"a space is inserted into a control token of {log.target} in the text"
    log.approximated("text.control", at, why)


class Gemma(Records):
    """What no training text has a place for, said aloud."""

    can = replace(
        Records.can,
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        order={"assistant": {"text": 0, "call": 1}, "response": {"text": 0, "call": 1}},
    )

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return Writing(log, IDS, NAMES, self.is_same(dialect))

    def unwrap(self, name: str, description: str | None, schema: Json, at: str) -> Tool:
        """The tool that was declared: a function, or a freeform tool in its wrapping."""
        if description and freeform.MARK in description and schema == FREEFORM:
            found = freeform.unwrap(description, freeform.SCHEMA)
            if found is not None:
                return Tool(name, found[0], kind="custom", grammar=found[1], at=at)
        return Tool(name, description or None, schema, at=at)


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
