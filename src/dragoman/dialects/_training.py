"""What formats of training records share: a conversation and its tools, and no settings.

A record holds texts, calls and results. It names no model and holds no media; several texts of a
message are one; a failed result says so by how its text begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Fields
from ..core.reading import decode
from ..core.turns import results_in_place
from ..core.writing import Writing, is_blank
from ..dialect import Dialect
from ..errors import Malformed, Unsayable
from ..ledger import Ledger
from ..model import Block, Json, Message, Request, Text, Tool, ToolCall, ToolResult, Tree

FIELDS = Fields()
"""A training record holds no settings."""


class Records(Dialect):
    """What no training record has a place for, said aloud."""

    fields = FIELDS
    model_key = ""
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
        reasoning=cap.ReasoningForm(parts=cap.NOWHERE),
        caching=cap.NO_MARKS,
        media=cap.NO_MEDIA,
        candidates=1,
        lacks=cap.RARE | cap.HEAD,
        order={"assistant": {"reasoning": 0, "text": 1, "call": 2}},
        prefill="never",
    )

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


NO_REPLY = "the conversation has no reply, so there is nothing to learn from it"


def answered(d: Dialect, messages: tuple[Message, ...], log: Ledger) -> tuple[Message, ...]:
    """Messages up to the last reply, for readers that take no others."""
    end = len(messages)
    while end and messages[end - 1].role != "assistant":
        end -= 1
    if not end:
        raise Unsayable(NO_REPLY, messages[0].at if messages else "")
    for message in messages[end:]:
        for at in [block.at for block in message.content] or [message.at]:
            log.dropped("training.unanswered", at, f"a record of {d.name} ends in a reply")
        d.lose(message.extras, message.at, log)
    return messages[:end]


def up_to_the_reply(d: Dialect, tree: Tree, log: Ledger) -> Tree:
    """A request without what no reply follows: it goes first, so that nothing of it is lowered."""
    if not isinstance(tree, Request) or d.is_same(tree.dialect) or log.restores:
        return tree
    told = tree.training
    if told is not None and told.rejected is not None and "rejected" in d.can.training:
        return tree
    log.target = d.name
    return replace(tree, messages=answered(d, tree.messages, log))


def read_json(text: str, at: str) -> Json:
    try:
        return decode(text)
    except (ValueError, RecursionError):
        raise Malformed("expected a JSON text", at) from None
