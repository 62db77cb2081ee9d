"""Calls and their results: each has the other, at the place that the API requires."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Block, Message, Text, ToolCall, ToolResult
from ...tools.results import NO_RESULT, ORPHAN, call_of
from .context import (
    Bench,
    Conversation,
    Messages,
    calls_in,
    is_stored,
    lose_extras,
    merged,
    resettle,
    result_in,
    turn_ends,
    unspell,
    with_content,
    with_messages,
)


def calls_last(tree: Conversation, bench: Bench) -> Conversation:
    """Text after a call moves before the calls; where turns are merged, in the whole turn."""
    out: list[Message] = []
    for run in runs(tree.messages, bench):
        message = run[0]
        if message.role == "assistant" and speaks_after_call(run):
            for other in run[1:]:
                message = merged(message, other, bench.log)
            out.append(with_content(message, before_calls(message.content, bench.log)))
        else:
            out += run
    return with_messages(tree, resettle(tree.messages, out))


def runs(messages: Messages, bench: Bench) -> list[list[Message]]:
    """Messages that the API merges into one turn."""
    out: list[list[Message]] = []
    for message in messages:
        if bench.merges and out and out[-1][0].role == message.role == "assistant":
            out[-1].append(message)
        else:
            out.append([message])
    return out


def speaks_after_call(run: list[Message]) -> bool:
    called = False
    for block in (block for message in run for block in message.content):
        if isinstance(block, ToolCall):
            called = True
        elif called and isinstance(block, Text):
            return True
    return False


def before_calls(content: Sequence[Block], log: Ledger) -> list[Block]:
    first = next(i for i, block in enumerate(content) if isinstance(block, ToolCall))
    late = [block for block in content[first:] if isinstance(block, Text)]
    for block in late:
        log.moved("content.order", block.at, "text is not allowed after a tool call")
    rest = [block for block in content[first:] if not isinstance(block, Text)]
    return [*content[:first], *late, *rest]


def results_first(tree: Conversation, bench: Bench) -> Conversation:
    """Results directly after their calls. A group that is there already keeps its order."""
    messages = tree.messages
    found = replies(messages)
    used: set[int] = set()
    groups: dict[int, list[int]] = {}
    for end, calls in turn_ends(messages, bench):
        group = [i for call in calls if (i := found.get(id(call))) is not None]
        after = end + 1
        while after < len(messages) and messages[after].role == "tool":
            after += 1
        if any(i >= after for i in group):
            groups[end] = group
            used.update(group)
    out: list[Message] = []
    for index, message in enumerate(messages):
        if index not in used:
            out.append(message)
        for place in groups.get(index, ()):
            out.append(brought(messages[place], place > index + 1, bench.log))
    return with_messages(tree, resettle(messages, out))


def brought(message: Message, far: bool, log: Ledger) -> Message:
    """A result that is moved to its call; the extra fields of its old message are dropped."""
    if far:
        log.moved("message.position", message.at, "a tool result must directly follow its call")
    lose_extras(message, "the result was moved out of this message", log)
    return message if message.extras is None else replace(message, extras=None)


def replies(messages: Messages) -> dict[int, int]:
    """Which message replies which call, by id and place; a call is known by ``id(call)``."""
    waiting: dict[str, list[deque[ToolCall]]] = {}
    found: dict[int, int] = {}
    for index, message in enumerate(messages):
        if message.role == "assistant":
            fresh: dict[str, deque[ToolCall]] = {}
            for call in calls_in(message):
                if call.id is not None:
                    fresh.setdefault(call.id, deque()).append(call)
            for name, calls in fresh.items():
                waiting.setdefault(name, []).append(calls)
        elif (result := result_in(message)) is not None:
            for calls in reversed(waiting.get(result.call_id or "", [])):
                if calls:
                    found[id(calls.popleft())] = index
                    break
    return found


def drop_orphan_results(tree: Conversation, bench: Bench) -> Conversation:
    orphans = find_orphans(tree, bench)
    out: list[Message] = []
    for message in tree.messages:
        if id(message) in orphans:
            bench.log.dropped("tool_result", message.at, "a tool result without its call")
            lose_extras(message, "a tool result without its call", bench.log)
        else:
            out.append(message)
    return with_messages(tree, resettle(tree.messages, out))


def demote_orphan_results(tree: Conversation, bench: Bench) -> Conversation:
    """A result without its call becomes a user message, after the results that have their calls."""
    orphans = find_orphans(tree, bench)
    out: list[Message] = []
    held: list[Message] = []
    for message in tree.messages:
        if message.role != "tool":
            out += held
            held = []
        if id(message) in orphans:
            held.append(demoted(message, bench.log))
        else:
            out.append(message)
    return with_messages(tree, resettle(tree.messages, [*out, *held]))


def demoted(message: Message, log: Ledger) -> Message:
    result = result_in(message)
    assert result is not None
    why = "a tool result without its call, written as a user message"
    log.approximated("message.role", message.at, why)
    lose_extras(result, why, log)
    if result.cache is not None:
        log.dropped("cache", result.cache.at, why)
    what = "error" if result.is_error else "result"
    mark = Text(ORPHAN.format(what=what, call=call_of(result)), at=result.at)
    return unspell(replace(message, role="user", content=(mark, *result.content)))


def find_orphans(tree: Conversation, bench: Bench) -> set[int]:
    """The results that reply no call: of the last assistant turn, or of any where that will do.

    A result that names no call replies one without a name, or any that is open.
    """
    if is_stored(tree):
        return set()
    orphans: set[int] = set()
    waiting: Counter[str | None] = Counter()
    before = ""
    for message in tree.messages:
        if message.role == "assistant":
            if bench.adjacent and before != "assistant":
                waiting.clear()
            waiting.update(call.id for call in calls_in(message))
        elif (result := result_in(message)) is not None:
            if waiting[result.call_id] > 0:
                waiting[result.call_id] -= 1
            elif result.call_id is not None or not any(waiting.values()):
                orphans.add(id(message))
        before = message.role
    return orphans


def answer_orphan_calls(tree: Conversation, bench: Bench) -> Conversation:
    """A call without a result gets an error result."""
    if is_stored(tree):
        return tree
    messages = tree.messages
    found = replies(messages)
    made: dict[int, list[Message]] = {}
    for end, calls in turn_ends(messages, bench):
        missing = [c for c in calls if c.id is not None and id(c) not in found]
        if missing:
            place = end
            while place + 1 < len(messages) and messages[place + 1].role == "tool":
                place += 1
            made.setdefault(place, []).extend(no_reply(call, bench.log) for call in missing)
    out: list[Message] = []
    for index, message in enumerate(messages):
        out.append(message)
        out += made.get(index, ())
    return with_messages(tree, resettle(messages, out))


def no_reply(call: ToolCall, log: Ledger) -> Message:
    log.invented("tool_result", call.at, f"the call {call.id!r} has no result")
    text = Text(NO_RESULT, at=call.at)
    result = ToolResult(call.id, (text,), is_error=True, kind=call.kind, at=call.at)
    return Message("tool", (result,), at=call.at)
