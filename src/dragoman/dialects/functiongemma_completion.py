"""FunctionGemma's text as ``prompt`` and ``completion``: the last reply is what is learned.

The prompt is what the model is asked with: it ends in ``<start_of_turn>model`` and a line break, or
in the response of the last function.
"""

from __future__ import annotations

from msgspec.structs import replace

from ..ledger import Ledger
from ..model import Json, Request, Training
from ._gemma import RESPONDED, Gemma
from ._sessions import ABSENT
from .functiongemma import FunctionGemma
from .functiongemma.writing import header

MARKS = (header("assistant"), RESPONDED)
"""What a reply follows."""


class FunctionGemmaCompletion(FunctionGemma):
    name = "functiongemma-completion"
    kin = FunctionGemma.kin | {"functiongemma-completion"}
    can = replace(Gemma.can, training=frozenset({"completion"}))
    read_messages = write_messages = ABSENT
    read_tools = write_tools = ABSENT
    read_response = write_response = ABSENT

    def read_request(self, doc: Json) -> Request:
        tree = super().read_request(doc)
        count = sum(message.at == "/completion" for message in tree.messages)
        if not count:
            return tree
        return replace(tree, training=Training(count, at="/completion"))

    def write_request(self, tree: Request, log: Ledger) -> Json:
        told = tree.training
        last = tree.messages[-1] if tree.messages else None
        replies = last is not None and last.role == "assistant"
        if told is None and last is not None and replies and not self.is_same(tree.dialect):
            log.invented("training.completion", last.at, f"{self.name} trains on the last reply")
        elif told is not None and told.completion not in (None, int(replies)):
            why = f"{self.name} trains on the last reply alone"
            log.approximated("training.completion", told.at, why)
        log.embeds = False  # the text is cut in two
        out: dict[str, Json] = super().write_request(tree, log)
        text = out.pop("text")
        place = len(text)
        if replies and (told is not None or not self.is_same(tree.dialect)):
            ends = [text.rfind(mark) + len(mark) for mark in MARKS if mark in text]
            place = max(ends, default=place)  # a reply without words is not written
        return {"prompt": text[:place], "completion": text[place:], **out}


DIALECT = FunctionGemmaCompletion()
