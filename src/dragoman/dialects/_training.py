"""What formats of training records share: a conversation and its tools, and no settings.

A record holds texts, calls and results. It names no model and holds no media; several texts of a
message are one; a failed result says so by how its text begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec import Raw
from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Fields
from ..core.reading import decode, encode
from ..core.turns import results_in_place
from ..core.writing import Writing, is_blank
from ..dialect import Dialect
from ..errors import Malformed, Unsayable
from ..ledger import Ledger
from ..model import Block, Json, Message, Request, Text, Tool, ToolCall, ToolResult, Tree
from ..tools.pairing import Waiting

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
            w.log.dropped("tool_call.id", call.at, no_call_ids(self.name))
        if call.extras is not None:
            self.lose(call.extras, call.at, w.log)

    def plain(self, block: Block, log: Ledger) -> str | None:
        """The words of a block that is neither a call nor reasoning; None where it has none."""
        match block:
            case Text():
                if block.extras is not None:
                    self.lose(block.extras, block.at, log)
                return block.text
            case _:
                self.omit(block, log)
        return None

    def join_texts(self, texts: Sequence[tuple[str, str]], log: Ledger) -> str:
        """Several texts (with their places) as one, each on lines of its own."""
        if len(texts) == 1 and not texts[0][0].isspace() and texts[0][0]:
            return texts[0][0]  # as most are
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
        is_usual = messages is log.usual
        if is_usual:
            return messages
        messages = results_in_place(messages, log)
        if are_in_order(messages):  # as nearly all are
            return messages
        out: list[Message] = []
        caller: Message | None = None
        run: list[Message] = []
        for message in messages:
            if message.role == "tool":
                run.append(message)
                continue
            if run:
                out += self.in_order(run, caller, log)
                run = []
            if message.role == "assistant":
                caller = message
            out.append(message)
        return out + self.in_order(run, caller, log)

    def in_order(self, run: list[Message], caller: Message | None, log: Ledger) -> list[Message]:
        places = list(map(Ranks(caller).of, run))
        ordered = [run[n] for n in sorted(range(len(run)), key=places.__getitem__)]
        for now, was in zip(ordered, run, strict=True):
            if now is not was:
                why = f"{self.name} requires results in the order of their calls"
                log.moved("message.position", was.at, why)
                break
        return ordered


@cache
def no_call_ids(target: str) -> str:
    return f"{target} has no field for tool call ids"


def has_words(texts: Sequence[tuple[str, str]]) -> bool:
    """Whether anything is left of texts (with their places) when they are joined."""
    return any(not is_blank(text) for text, _ in texts)


def are_in_order(messages: Sequence[Message]) -> bool:
    """Whether the results of each turn stand in the order of its calls."""
    ranks: Ranks | None = None
    caller: Message | None = None
    before: Message | None = None
    last = 0
    for message in messages:
        if message.role != "tool":
            if message.role == "assistant":
                caller, ranks = message, None
            before = None
            continue
        if before is not None:  # one alone is in order
            if ranks is None:
                ranks = Ranks(caller)
            if last < 0:
                last = ranks.of(before)
            place = ranks.of(message)
            if place < last:
                return False
            last = place
        else:
            last = -1
        before = message
    return True


class Ranks:
    """Which of the calls of a turn each message of results replies.

    A result without an id replies a call without one: that of its name, or the next one.
    """

    def __init__(self, caller: Message | None) -> None:
        self.calls: dict[str, int] = {}
        self.waiting: Waiting | None = None
        self.count = 0
        for block in () if caller is None else caller.content:
            if block.__class__ is not ToolCall:
                continue
            if block.id is None:
                self.waiting = self.waiting or Waiting()
                self.waiting.add(block, str(self.count))
            else:
                self.calls[block.id] = self.count
            self.count += 1

    def of(self, message: Message) -> int:
        """The number of the call; what replies a call of another turn comes last."""
        for block in message.content:
            if not isinstance(block, ToolResult):
                continue
            if block.call_id is not None:
                if block.call_id in self.calls:
                    return self.calls[block.call_id]
            elif self.waiting is not None and (made := self.waiting.reply(block.name)) is not None:
                return int(made)
        return self.count


LONG = 4096
"""From how many characters on it is quicker not to put a text together before it is encoded."""


def text_of(pieces: Sequence[str], log: Ledger) -> Json:
    """A text of pieces; JSON text, where only bytes are wanted.

    One dash among pages of ASCII makes a text of wide characters, which is slow to put together
    and to encode; its pieces are mostly narrow, and what is JSON of them is JSON of the whole.
    """
    if not log.embeds or sum(map(len, pieces)) < LONG:
        return "".join(pieces)
    log.embedded = True
    return Raw(b'"%b"' % b"".join([encode(piece)[1:-1] for piece in pieces]))


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
