"""What a conversation must be to be sent: each call has one result, and each result a call.

The APIs of Anthropic, Amazon, Google, Mistral, Cohere and OpenAI reject a request in which a call
is not answered, is answered twice, or a result replies nothing: "unexpected `tool_use_id` found in
`tool_result` blocks", "No tool output found for function call". A session that was converted must
not end there. Such a request is made to fit, and each change is in the ledger:

- a call without a result, other than in the last turn, gets one that says that there is none;
- a call with the id of one that waits for its result gets an id of its own;
- a result without an id replies the call that has waited longest;
- a second result for a call joins the first if they stand together;
- any other result without a call becomes a message of the user.

A conversation that fits, as nearly all do, passes after one look. A history that is no request may
be a part of a longer one, and is left as it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from ..core.reading import escape
from ..core.resuming import Scan
from ..ledger import Ledger
from ..model import Block, Message, Request, Text, ToolCall, ToolResult
from . import pairing

if TYPE_CHECKING:
    from ..dialect import Dialect

Placed: TypeAlias = tuple[int, ToolCall]
"""A call with the number of its message."""
NO_RESULT = "[no result: the call was not answered]"
ORPHAN = "[{what} of {call}]"
"""What introduces a result without its call, in the user's words."""


def pair_up(tree: Request, to: Dialect, log: Ledger) -> Request:
    """The request with one result for each call, as the target demands."""
    if fits(tree.messages, None if to.writes is None else to.writes.paired):
        return tree
    pairs = Pairs(tree.messages)
    if not (pairs.twice or pairs.orphans or pairs.unanswered or pairs.renamed or pairs.guessed):
        return tree
    return replace(tree, messages=tuple(pairs.repaired(tree.messages, to.name, log)))


def fits(messages: Sequence[Message], scan: Scan | None = None) -> bool:
    """Whether each turn has its results right after it, as nearly always."""
    waiting: set[str | None] = set()
    start, stop = (0, -1) if scan is None else scan.begin(messages)
    for index, message in enumerate(messages[start:] if start else messages, start):
        role = message.role
        if index == stop and scan is not None and not waiting:
            scan.note(messages)
        if role == "assistant":
            for block in message.content:
                if block.__class__ is ToolCall:
                    if block.id is None or block.id in waiting:
                        return False
                    waiting.add(block.id)
        elif role == "tool":
            result = message.content[0] if message.content else None
            if result.__class__ is not ToolResult or result.call_id not in waiting:
                return False
            waiting.remove(result.call_id)
        elif waiting:
            return False
    if stop == len(messages) and scan is not None and not waiting:
        scan.note(messages)
    return not waiting


class Pairs:
    """Which results of a conversation reply no call, or one that was answered; and which calls
    are not answered, or share an id with one that waits. Places are the numbers of messages."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.twice: dict[int, int] = {}  # a second result -> the first, where they stand together
        self.orphans: set[int] = set()
        self.unanswered: dict[int, list[ToolCall]] = {}  # after which message a result is missing
        self.renamed: dict[tuple[int, int], str] = {}  # message and block -> the id of a call
        self.replies: dict[int, str] = {}  # a result -> the new id of its call
        self.guessed: set[int] = set()  # results without an id, of calls that have one
        self.ids: set[str] | None = None
        self.numbers: dict[str, int] = {}
        waiting = Waiting()
        replied: dict[str, int] = {}
        run = last = -1  # where the run of results began; the last message of the assistant
        for index, message in enumerate(messages):
            if message.role == "assistant":
                last = index
                for place, block in enumerate(message.content):
                    if isinstance(block, ToolCall):
                        name, call = block.id, block
                        if name is not None and waiting.has(name):
                            call = self.rename(messages, index, place, block)
                        waiting.add(name, index, call)
            if message.role != "tool":
                run = index
                continue
            result = message.content[0] if message.content else None
            if not isinstance(result, ToolResult):
                continue
            found = waiting.reply(result)
            if found is None and result.call_id is None:
                found = waiting.longest(result.name)
                if found is not None:
                    self.guessed.add(index)
            if found is not None:
                call = found
                if call.id is not None and call.id != result.call_id:
                    self.replies[index] = call.id
                if result.call_id is not None:
                    replied[result.call_id] = index
            elif result.call_id is None:
                self.orphans.add(index)
            elif replied.get(result.call_id, -1) > run:
                self.twice[index] = replied[result.call_id]
            else:
                self.orphans.add(index)
        if left := waiting.left():
            self.note_unanswered(messages, left, last)

    def rename(
        self, messages: Sequence[Message], index: int, place: int, call: ToolCall
    ) -> ToolCall:
        """A call whose id another has that waits for its result."""
        if self.ids is None:
            blocks = (block for message in messages for block in message.content)
            self.ids = {block.id for block in blocks if isinstance(block, ToolCall) and block.id}
        assert call.id is not None
        number = self.numbers.get(call.id, 2)
        while f"{call.id}_{number}" in self.ids:
            number += 1
        name = f"{call.id}_{number}"
        self.numbers[call.id] = number + 1
        self.ids.add(name)
        self.renamed[index, place] = name
        return replace(call, id=name)

    def note_unanswered(self, messages: Sequence[Message], left: list[Placed], last: int) -> None:
        ends_there = all(message.role == "assistant" for message in messages[last:])
        after = ends_of_runs(messages)
        for index, call in sorted(left, key=lambda found: found[0]):
            if index == last and ends_there:
                continue  # it is still to be answered
            self.unanswered.setdefault(after[index], []).append(call)

    def repaired(self, messages: Sequence[Message], target: str, log: Ledger) -> list[Message]:
        out: list[Message] = []
        places: dict[int, int] = {}
        late: list[Message] = []  # words of the user, after the results that have their calls
        for index, message in enumerate(messages):
            if message.role != "tool":
                out += late
                late = []
                message = self.with_ids(index, message, log)
            elif index in self.replies:
                result = message.content[0]
                assert isinstance(result, ToolResult)
                if index in self.guessed:
                    why = f"the result has no id; by position it belongs to {self.replies[index]!r}"
                    log.invented("tool_call.id", result.at, why)
                elif result.call_id not in (None, self.replies[index]):
                    why = f"{result.call_id!r} is the id of another call"
                    log.renamed("tool_call.id", result.at, why)
                result = replace(result, call_id=self.replies[index])
                message = replace(message, content=(result,))
            if index in self.twice:
                place = places[self.twice[index]]
                out[place] = joined_results(out[place], message, target, log)
            elif index in self.orphans:
                late.append(demoted(message, target, log))
            else:
                places[index] = len(out)
                out.append(message)
            out += (no_reply(call, target, log) for call in self.unanswered.get(index, ()))
        return out + late

    def with_ids(self, index: int, message: Message, log: Ledger) -> Message:
        """A message whose calls have ids of their own."""
        content: list[Block] = []
        for place, block in enumerate(message.content):
            name = self.renamed.get((index, place)) if self.renamed else None
            if name is not None and isinstance(block, ToolCall):
                log.renamed("tool_call.id", block.at, f"{block.id!r} is the id of another call")
                block = replace(block, id=name)
            content.append(block)
        return replace(message, content=tuple(content)) if self.renamed else message


class Waiting:
    """The calls that wait for a result; each step takes as long however many there are."""

    def __init__(self) -> None:
        self.named: dict[str, list[tuple[int, deque[ToolCall]]]] = {}  # by id, turn after turn
        self.unnamed = pairing.Waiting()  # calls without an id, as writers pair them
        self.numbered: dict[str, Placed] = {}  # those of them that are left, by number
        self.order: deque[str] = deque()  # the ids, as they came

    def has(self, name: str) -> bool:
        return bool(self.named.get(name))

    def add(self, name: str | None, index: int, call: ToolCall) -> None:
        if name is None:
            number = f"{index}/{len(self.numbered)}/{call.at}"
            self.unnamed.add(call, number)
            self.numbered[number] = (index, call)
            return
        self.order.append(name)
        turns = self.named.setdefault(name, [])
        if not turns or turns[-1][0] != index:
            turns.append((index, deque()))
        turns[-1][1].append(call)

    def longest(self, tool: str | None) -> ToolCall | None:
        """The call with an id that has waited longest, if it is one of that tool."""
        while self.order and not self.has(self.order[0]):
            self.order.popleft()
        if not self.order:
            return None
        turns = self.named[self.order[0]]
        call = turns[0][1][0]
        if tool not in (None, call.name):
            return None
        self.order.popleft()
        turns[0][1].popleft()
        if not turns[0][1]:
            del turns[0]
        return call

    def reply(self, result: ToolResult) -> ToolCall | None:
        """The call that a result replies: of the last turn that waits for it, the first."""
        if result.call_id is None:
            number = self.unnamed.reply(result.name)
            return None if number is None else self.numbered.pop(number)[1]
        turns = self.named.get(result.call_id)
        if not turns:
            return None
        call = turns[-1][1].popleft()
        if not turns[-1][1]:
            turns.pop()
        return call

    def left(self) -> list[Placed]:
        named = [
            (index, call)
            for turns in self.named.values()
            for index, calls in turns
            for call in calls
        ]
        return named + list(self.numbered.values())


def ends_of_runs(messages: Sequence[Message]) -> list[int]:
    """For each message the last of the results that stand right after it."""
    ends = list(range(len(messages)))
    for index in range(len(messages) - 2, -1, -1):
        if messages[index + 1].role == "tool":
            ends[index] = ends[index + 1]
    return ends


def joined_results(first: Message, second: Message, target: str, log: Ledger) -> Message:
    """Two results of one call as one."""
    one, other = first.content[0], second.content[0]
    assert isinstance(one, ToolResult)
    assert isinstance(other, ToolResult)
    why = f"{target} accepts one result per call; a second one is appended to the first"
    log.approximated("tool_result", second.at, why)
    log.approximated("tool_result", one.at, "a second result of the call is appended to it")
    lose_details(second, other, log)
    if other.name not in (None, one.name):
        why = "a result that is appended to another does not name its tool"
        log.dropped("tool_result.name", other.at, why)
    if other.is_error and not one.is_error:
        why = "one of two results that are joined has failed, so both are written as failed"
        log.approximated("tool_result.error", other.at, why)
    failed = one.is_error or other.is_error
    content = (*one.content, *other.content)
    return replace(first, content=(replace(one, content=content, is_error=failed),))


def demoted(message: Message, target: str, log: Ledger) -> Message:
    """A result without its call as words of the user."""
    result = message.content[0]
    assert isinstance(result, ToolResult)
    why = f"{target} accepts no result without its call; it is written as a user message"
    log.approximated("tool_result", message.at, why)
    lose_details(message, result, log)
    if result.kind != "function":
        why = f"the result of a {result.kind} call is written as a user message"
        log.approximated("tool_call.kind", result.at, why)
    if result.name is not None:
        why = "a result that is written as a user message does not name its tool"
        log.dropped("tool_result.name", result.at, why)
    if result.namespace is not None:
        why = "a result that is written as a user message does not name the namespace of its tool"
        log.dropped("tool.namespace", result.at, why)
    what = "error" if result.is_error else "result"
    mark = Text(ORPHAN.format(what=what, call=call_of(result)), at=result.at)
    return replace(message, role="user", content=(mark, *result.content), extras=None)


def call_of(result: ToolResult) -> str:
    return "a tool call" if result.call_id is None else f"the tool call {result.call_id}"


def lose_details(message: Message, result: ToolResult, log: Ledger) -> None:
    """What cannot stay with a result that is no longer one: its cache mark, and what only its
    dialect knows of it and of its message."""
    if result.cache is not None:
        why = "a result appended to another or written as a user message has no cache mark"
        log.dropped("cache", result.cache.at, why)
    for node in (message, result):
        for key in node.extras.fields if node.extras is not None else ():
            why = "a result appended to another or written as a user message has no such field"
            log.dropped("extras", f"{node.at}/{escape(key)}", why)


def no_reply(call: ToolCall, target: str, log: Ledger) -> Message:
    """A result that says that there is none."""
    why = f"{target} requires a result for each call, and {call.id or call.name!r} has none"
    log.invented("tool_result", call.at, why)
    text = Text(NO_RESULT, at=call.at)
    name = call.name if call.id is None else None
    result = ToolResult(call.id, (text,), is_error=True, name=name, kind=call.kind, at=call.at)
    return Message("tool", (result,), at=call.at)
