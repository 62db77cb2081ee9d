"""Training lines of Mistral (``mistral-finetune``, and the fine-tuning of its API).

What it does differently from OpenAI's, which it looks like: the id of a call has exactly nine
letters or digits; reasoning is a chunk of the content, before the text; a result may name its tool;
a conversation ends in a reply; the system prompt stands at the beginning or after a turn of the
user; there are no preference pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.reading import as_list
from ..core.writing import Writing, needed_parameters
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict, objects
from ..model import Block, Json, Message, Reasoning, Request, Text, Tool, ToolCall, ToolResult, Tree
from ._nine import ID_RULE, Nine, is_legal
from ._training import answered, up_to_the_reply
from .openai_finetune import NAMES, TOP, OpenAIFinetune


class NineWriting(Writing):
    """One conversion into Mistral's training lines."""

    def __init__(self, log: Ledger, same: bool) -> None:
        super().__init__(log, ID_RULE, NAMES, same)
        self.ids = Nine(ID_RULE, "tool_call.id")

    def made(self, call_id: str) -> str:
        return call_id if self.ids.fits(call_id) else self.ids.rename(call_id)


class MistralFinetune(OpenAIFinetune):
    name = "mistral-finetune"
    spec = "https://github.com/mistralai/mistral-finetune#instruct"
    aliases: ClassVar[tuple[str, ...]] = ()
    kin = frozenset({"openai-finetune"})
    history = None  # what a message may be depends on those around it
    pairs = True
    thinks_in_content = True
    can = replace(
        OpenAIFinetune.can,
        names=cap.NOWHERE,
        systems="asked",
        reasoning=cap.ReasoningForm(),
        choices=cap.NO_CHOICE,
        order={"assistant": {"reasoning": 0, "text": 1, "call": 2}},
        result_names=True,
        training=frozenset(),
    )

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return NineWriting(log, self.is_same(dialect))

    def read_part(self, doc: dict[str, Json], at: str) -> Block:
        """Reasoning: one text here, a list of texts in the hosted API."""
        if doc.get("type") != "thinking":
            return super().read_part(doc, at)
        value = doc.get("thinking")
        if value.__class__ is not str:
            parts = as_list(value, f"{at}/thinking")
            if not all(map(is_plain, parts)):
                return super().read_part(doc, at)
            value = "".join(part["text"] for part in parts)
        known = (
            ("type", "thinking", "closed") if doc.get("closed") is True else ("type", "thinking")
        )
        return Reasoning((value,), at=at, extras=self.keep(doc, known))

    def write(self, tree: Tree, log: Ledger) -> Json:
        return super().write(up_to_the_reply(self, tree, log), log)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        if not (self.is_same(tree.dialect) or log.restores):
            # "Expected last role Assistant for finetuning"
            messages = answered(self, tree.messages, log)
            if messages[0].role == "assistant":  # "Conversation must start with a user message"
                at = messages[0].at
                self.add_user_turn(at, log)
                messages = (Message("user", (Text("", at=at),), at=at), *messages)
            tree = replace(tree, messages=messages)
        return super().write_request(tree, log)

    def write_part(self, block: Block, w: Writing) -> list[Json]:
        if not isinstance(block, Reasoning):
            return super().write_part(block, w)
        words = "\n\n".join(filter(None, block.words))
        if not (words or w.same):
            self.lose(block.extras, block.at, w.log)
            return []
        out: dict[str, Json] = {"type": "thinking", "thinking": words, "closed": True}
        return [self.emit(out, block, w.log)]

    def write_result(self, result: ToolResult, names: dict[str, str], w: Writing) -> Json:
        out: dict[str, Json] = super().write_result(result, names, w)
        name = names.get(out.get("tool_call_id", "")) if result.name is None else result.name
        if name is not None and out["role"] == "tool":
            out["name"] = name
        return out

    def id_of(self, block: ToolCall | ToolResult, w: Writing) -> str:
        """ "Duplicate tool call id": each is given once."""
        if isinstance(block, ToolCall):
            return w.call_once(block)
        return w.once(w.result_id(block), block)

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        out: dict[str, Json] = super().write_tool(tool, w)
        if "parameters" not in out["function"] and not w.same:
            out["function"]["parameters"] = needed_parameters(tool, w.log)
        return out

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if doc.__class__ is not dict or doc.keys() - {*TOP}:
            return
        e = Evidence("request")
        for message in objects(doc.get("messages")):
            for call in objects(message.get("tool_calls")):
                if call.get("id").__class__ is str and is_legal(call["id"]):
                    e.speaks_for("the id of a call has nine characters, and no model", 0.3)
            for part in objects(message.get("content")):
                if part.get("type") == "thinking" and part.get("thinking").__class__ is str:
                    if "signature" not in part:
                        e.speaks_for("reasoning as a chunk, and no model", 0.97)
        if e.signs:
            yield e.verdict()


def is_plain(part: Json) -> bool:
    """Whether a part of reasoning is a text and nothing else."""
    return (
        part.__class__ is dict
        and part.keys() <= {"type", "text"}
        and part.get("text").__class__ is str
        and part.get("type", "text") == "text"
    )


DIALECT = MistralFinetune()
