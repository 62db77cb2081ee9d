"""Results of tools and their calls: which replies which, and in what order.

The API pairs the one with the other by their number and, where there are no ids, by their order:
"Please ensure that the number of function response parts is equal to the number of function call
parts of the function call turn."
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from ...core.turns import results_in_place
from ...ledger import Ledger
from ...model import Block, Message, ToolCall, ToolResult


def arranged(messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
    """The messages with their results right after the calls, and in their order."""
    before, several = "", False
    for message in messages:
        role = message.role
        if role == "tool":
            if before == "tool":
                several = True
            elif before != "assistant":
                return in_order(results_in_place(messages, log), log)
        before = role
    return in_order(messages, log) if several and not is_settled(messages) else messages


def is_settled(messages: Sequence[Message]) -> bool:
    """Whether all results come one by one in the order of all calls, as usual."""
    calls: list[str | None] = []
    replied: list[str | None] = []
    for message in messages:
        role = message.role
        if role == "tool":
            for block in message.content:
                replied.append(block.call_id if block.__class__ is ToolResult else None)
        elif role == "assistant":
            for block in message.content:
                if block.__class__ is ToolCall:
                    calls.append(block.id)
    return replied == calls[: len(replied)] and None not in replied


def runs_of(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where runs of results begin and end, told by those that follow another one."""
    start = end = 0
    for place in places:
        if place != end:
            if end:
                yield start, end
            start = place - 1
        end = place + 1
    yield start, end


def in_order(messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
    """The messages with the results of every turn in the order of its calls."""
    places = [index for index, message in enumerate(messages) if message.role == "tool"]
    several = [place for place in places if place and messages[place - 1].role == "tool"]
    out: list[Message] | None = None
    for start, end in runs_of(several) if several else ():
        results = messages[start:end]
        ordered = sort(results, calls_before(messages, start), log)
        if ordered is not results:
            out = out or [*messages]
            out[start:end] = ordered
    return out or messages


def calls_before(messages: Sequence[Message], start: int) -> list[ToolCall]:
    """The calls of the turn that results reply."""
    first = start
    while first and messages[first - 1].role == "assistant":
        first -= 1
    return [b for m in messages[first:start] for b in m.content if isinstance(b, ToolCall)]


def sort(run: Sequence[Message], calls: Sequence[ToolCall], log: Ledger) -> Sequence[Message]:
    """Results in the order of the calls; those that reply none of them stay where they are."""
    waiting: dict[tuple[str | None, str | None], deque[int]] = {}
    for number, call in enumerate(calls):
        waiting.setdefault(key_of(call.id, call.name), deque()).append(number)
    replied: list[int | None] = []
    for message in run:
        result = message.content[0] if message.content else None
        found = None
        if isinstance(result, ToolResult):
            found = waiting.get(key_of(result.call_id, result.name))
        replied.append(found.popleft() if found else None)
    places = [place for place, number in enumerate(replied) if number is not None]
    wanted = sorted(places, key=lambda place: replied[place] or 0)
    if wanted == places:
        return run
    out = list(run)
    for place, origin in zip(places, wanted, strict=True):
        out[place] = run[origin]
        if place < origin:
            why = f"{log.target} requires results in the order of their calls"
            log.moved("message.position", run[origin].at, why)
    return out


def key_of(call_id: str | None, name: str | None) -> tuple[str | None, str | None]:
    """By what a result is known to reply a call: its id, or its name where it has none."""
    return call_id, name if call_id is None else None


# -- reading --------------------------------------------------------------------------------------


def is_odd(block: Block, called: Mapping[str, str]) -> bool:
    """Whether a result may have no id though its call has one, or one though its call has none."""
    if not isinstance(block, ToolResult):
        return False
    return bool(called) if block.call_id is None else block.call_id not in called


def pairs_of(messages: Sequence[Message]) -> dict[str, ToolCall]:
    """The calls that results reply, by the places of the results."""
    found: dict[str, ToolCall] = {}
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    before = ""
    for message in messages:
        if message.role == "assistant":
            if before != "assistant":  # another turn
                found |= pair(calls, results)
                calls, results = [], []
            calls += [block for block in message.content if isinstance(block, ToolCall)]
        elif message.role == "tool":
            results += [block for block in message.content if isinstance(block, ToolResult)]
        before = message.role
    return found | pair(calls, results)


def pair(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> dict[str, ToolCall]:
    """Which call of a turn each result replies: by id, by name, and those that are left by place.

    Where both have ids, and others, they are not of a pair.
    """
    found: dict[str, ToolCall] = {}
    waiting = Unanswered(calls)
    left: list[ToolResult] = []
    for result in results:
        call = None if result.call_id is None else waiting.take(result.call_id, None)
        if call is not None:
            found[result.at] = call
        else:
            left.append(result)
    for result in left:
        unnamed = result.call_id is not None  # it has an id, so that its call has none
        if (call := waiting.take(None, result.name, unnamed)) is not None:
            found[result.at] = call
    left = [result for result in left if result.at not in found]
    others = waiting.all()
    if len(left) == len(others):
        pairs = zip(left, others, strict=True)
        found |= {r.at: c for r, c in pairs if None in (r.call_id, c.id)}
    return found


class Unanswered:
    """Calls that wait for their results, each to be taken once."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self.calls = dict(enumerate(calls))
        self.known: dict[tuple[str | None, str | None, bool], deque[int]] = {}
        for number, call in self.calls.items():
            keys: list[tuple[str | None, str | None, bool]] = [(None, call.name, False)]
            keys.append((None, call.name, True) if call.id is None else (call.id, None, False))
            for key in keys:
                self.known.setdefault(key, deque()).append(number)

    def take(self, call_id: str | None, name: str | None, unnamed: bool = False) -> ToolCall | None:
        """The first call of that id or that name; ``unnamed``: one that has no id."""
        numbers = self.known.get((call_id, name, unnamed), deque())
        while numbers:
            if (call := self.calls.pop(numbers.popleft(), None)) is not None:
                return call
        return None

    def all(self) -> list[ToolCall]:
        return list(self.calls.values())
