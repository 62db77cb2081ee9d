"""What a conversation must be to be sent: each call has one result, and each result a call.

The APIs of Anthropic, Amazon, Google, Mistral, Cohere and OpenAI reject a request in which a call
is not answered, is answered twice, or a result answers nothing: "unexpected `tool_use_id` found in
`tool_result` blocks", "No tool output found for function call". A session that was converted must
not end there. Such a request is made to fit, and each change is in the ledger:

- a call without a result, other than in the last turn, gets one that says that there is none;
- a second result for a call joins the first if they stand together;
- any other result without a call becomes a message of the user.

A conversation that fits, as nearly all do, passes after one look. A history that is no request may
be a part of a longer one, and is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from .ledger import Ledger
from .model import Message, Request, Text, ToolCall, ToolResult

NO_RESULT = "[no result: the call was not answered]"
ORPHAN = "[{what} of {call}]"
"""What introduces a result without its call, in the user's words."""


def pair_up(tree: Request, target: str, log: Ledger) -> Request:
    """The request with one result for each call, as the target demands."""
    pairs = Pairs(tree.messages)
    if not (pairs.twice or pairs.orphans or pairs.unanswered):
        return tree
    return replace(tree, messages=tuple(pairs.mended(tree.messages, target, log)))


class Pairs:
    """Which results of a conversation answer no call, or one that was answered; and which calls
    are not answered. Places are the numbers of messages."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.twice: dict[int, int] = {}  # a second result -> the first, where they stand together
        self.orphans: set[int] = set()
        self.unanswered: dict[int, list[ToolCall]] = {}  # behind which message a result is missing
        waiting: dict[str | None, list[tuple[int, ToolCall]]] = {}
        answered: dict[str, int] = {}
        run = last = -1  # where the run of results began; the last message of the assistant
        for index, message in enumerate(messages):
            if message.role == "assistant":
                last = index
                for block in message.content:
                    if block.__class__ is ToolCall:
                        waiting.setdefault(block.id, []).append((index, block))
            if message.role != "tool":
                run = index
                continue
            result = message.content[0] if message.content else None
            if not isinstance(result, ToolResult):
                continue
            calls = waiting.get(result.call_id)
            if result.call_id is None:
                if calls:  # those without ids are answered by name, then by place
                    names = [call.name for _, call in calls]
                    del calls[names.index(result.name) if result.name in names else 0]
            elif calls:
                calls.pop()
                answered[result.call_id] = index
            elif answered.get(result.call_id, -1) > run:
                self.twice[index] = answered[result.call_id]
            else:
                self.orphans.add(index)
        if any(waiting.values()):
            self.note_unanswered(messages, waiting, last)

    def note_unanswered(
        self,
        messages: Sequence[Message],
        waiting: dict[str | None, list[tuple[int, ToolCall]]],
        last: int,
    ) -> None:
        ends_there = all(message.role == "assistant" for message in messages[last:])
        for index, call in sorted(
            ((index, call) for calls in waiting.values() for index, call in calls),
            key=lambda found: found[0],
        ):
            if index == last and ends_there:
                continue  # it is still to be answered
            place = index
            while place + 1 < len(messages) and messages[place + 1].role == "tool":
                place += 1
            self.unanswered.setdefault(place, []).append(call)

    def mended(self, messages: Sequence[Message], target: str, log: Ledger) -> list[Message]:
        out: list[Message] = []
        places: dict[int, int] = {}
        late: list[Message] = []  # words of the user, behind the results that have their calls
        for index, message in enumerate(messages):
            if message.role != "tool":
                out += late
                late = []
            if index in self.twice:
                place = places[self.twice[index]]
                out[place] = joined_results(out[place], message, target, log)
            elif index in self.orphans:
                late.append(demoted(message, target, log))
            else:
                places[index] = len(out)
                out.append(message)
            out += (no_answer(call, target, log) for call in self.unanswered.get(index, ()))
        return out + late


def joined_results(first: Message, second: Message, target: str, log: Ledger) -> Message:
    """Two results of one call as one."""
    one, other = first.content[0], second.content[0]
    assert isinstance(one, ToolResult)
    assert isinstance(other, ToolResult)
    why = f"{target} takes one result for each call; a second one is written behind the first"
    log.approximated("tool_result", second.at, why)
    failed = one.is_error or other.is_error
    content = (*one.content, *other.content)
    return replace(first, content=(replace(one, content=content, is_error=failed),))


def demoted(message: Message, target: str, log: Ledger) -> Message:
    """A result without its call as words of the user."""
    result = message.content[0]
    assert isinstance(result, ToolResult)
    why = f"{target} takes no result without its call; it is written as a user message"
    log.approximated("tool_result", message.at, why)
    what = "error" if result.is_error else "result"
    mark = Text(ORPHAN.format(what=what, call=f"the tool call {result.call_id}"), at=result.at)
    return replace(message, role="user", content=(mark, *result.content), extras=None)


def no_answer(call: ToolCall, target: str, log: Ledger) -> Message:
    """A result that says that there is none."""
    why = f"{target} demands a result for each call, and {call.id or call.name!r} has none"
    log.invented("tool_result", call.at, why)
    text = Text(NO_RESULT, at=call.at)
    name = call.name if call.id is None else None
    result = ToolResult(call.id, (text,), is_error=True, name=name, kind=call.kind, at=call.at)
    return Message("tool", (result,), at=call.at)
