"""Results of tools and their calls: which answers which, and in what order.

The API pairs the one with the other by their number and, where there are no ids, by their order:
"Please ensure that the number of function response parts is equal to the number of function call
parts of the function call turn."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ledger import Ledger
from ...model import Block, Message, ToolCall, ToolResult
from ...normal import results_in_place


def arranged(messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
    """The messages with their results right behind the calls, and in their order."""
    before, several = "", False
    for message in messages:  # one look at all of them: mostly there is nothing to do
        role = message.role
        if role == "tool":
            if before == "tool":
                several = True
            elif before != "assistant":
                return in_order(results_in_place(messages, log), log)
        before = role
    return in_order(messages, log) if several else messages


def in_order(messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
    """The messages with the results of every turn in the order of its calls."""
    out: list[Message] | None = None
    run = 0
    for end, message in enumerate([*messages, None]):
        if message is not None and message.role == "tool":
            run += 1
        elif run:
            start = end - run
            if run > 1 and not is_settled(messages, start, end):
                results = messages[start:end]
                ordered = sort(results, calls_before(messages, start), log)
                if ordered is not results:
                    out = out or [*messages]
                    out[start:end] = ordered
            run = 0
    return out or messages


def is_settled(messages: Sequence[Message], start: int, end: int) -> bool:
    """Whether a run of results answers, one by one, the calls right before it, as usual."""
    for block in messages[start - 1].content if start else ():
        if block.__class__ is ToolCall:
            if start == end:
                return True
            result = messages[start].content[0]
            if block.id is None or result.__class__ is not ToolResult:
                return False
            if block.id != result.call_id:
                return False
            start += 1
    return start == end


def calls_before(messages: Sequence[Message], start: int) -> list[ToolCall]:
    """The calls of the turn that results answer."""
    first = start
    while first and messages[first - 1].role == "assistant":
        first -= 1
    return [b for m in messages[first:start] for b in m.content if isinstance(b, ToolCall)]


def sort(run: Sequence[Message], calls: Sequence[ToolCall], log: Ledger) -> Sequence[Message]:
    """Results in the order of the calls; those that answer none of them stay where they are."""
    waiting = dict(enumerate(calls))
    answered: list[int | None] = []
    for message in run:
        number = answered_by(message.content[0] if message.content else None, waiting)
        answered.append(number)
        if number is not None:
            del waiting[number]
    places = [place for place, number in enumerate(answered) if number is not None]
    wanted = sorted(places, key=lambda place: answered[place] or 0)
    if wanted == places:
        return run
    out = list(run)
    for place, origin in zip(places, wanted, strict=True):
        out[place] = run[origin]
        if place < origin:
            why = "results stand in the order of their calls here"
            log.moved("message.position", run[origin].at, why)
    return out


def answered_by(result: Block | None, waiting: dict[int, ToolCall]) -> int | None:
    """The number of the call that a result answers: by its id, or by its name where it has none."""
    if not isinstance(result, ToolResult):
        return None
    for number, call in waiting.items():
        if call.id == result.call_id and (call.id is not None or call.name == result.name):
            return number
    return None


# -- reading --------------------------------------------------------------------------------------


def is_odd(block: Block, called: Mapping[str, str]) -> bool:
    """Whether a result may have no id though its call has one, or one though its call has none."""
    if not isinstance(block, ToolResult):
        return False
    return bool(called) if block.call_id is None else block.call_id not in called


def pair(blocks: Sequence[Block], before: Sequence[Message]) -> dict[str, ToolCall]:
    """The calls that results answer, by the places of the results: by id, by name, by position."""
    waiting = unanswered(before)
    found: dict[str, ToolCall] = {}
    for fits in (has_id, has_name):
        for result in blocks:
            if not isinstance(result, ToolResult) or result.at in found:
                continue
            for index, call in enumerate(waiting):
                if fits(result, call):
                    found[result.at] = waiting.pop(index)
                    break
    left = [r for r in blocks if isinstance(r, ToolResult) and r.at not in found]
    if len(left) == len(waiting):
        found |= {r.at: c for r, c in zip(left, waiting, strict=True) if None in (r.call_id, c.id)}
    return found


def has_id(result: ToolResult, call: ToolCall) -> bool:
    return call.id is not None and call.id == result.call_id


def has_name(result: ToolResult, call: ToolCall) -> bool:
    return call.name == result.name and None in (call.id, result.call_id)


def unanswered(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls of the last turn of the model that still wait for a result."""
    end = len(messages)
    while end and messages[end - 1].role == "tool":
        end -= 1
    waiting = dict(enumerate(calls_before(messages, end)))
    for message in messages[end:]:
        number = answered_by(message.content[0], waiting)
        if number is not None:
            del waiting[number]
    return list(waiting.values())
