"""Calls without ids and their results: which replies which."""

from __future__ import annotations

from collections import deque

from ..model import ToolCall


class Waiting:
    """The ids that were made up for calls, until results without ids reply these.

    The last turn that waits is asked first: an older one may never have been answered.
    """

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.callers: dict[str, list[Turn]] = {}  # name -> turns with a call of that name

    def add(self, call: ToolCall, made: str) -> None:
        at = call.at.rpartition("/")[0]
        if not self.turns or self.turns[-1].at != at:
            self.turns.append(Turn(at))
        turn = self.turns[-1]
        turn.add(call.name, made)
        callers = self.callers.setdefault(call.name, [])
        if not callers or callers[-1] is not turn:
            callers.append(turn)

    def reply(self, name: str | None) -> str | None:
        """Which call a result of that name replies; None if it replies none."""
        while self.turns and not self.turns[-1].left:
            self.turns.pop()
        if not self.turns:
            return None
        last = self.turns[-1]
        if name is None:
            return last.first()
        callers = self.callers.get(name, [])
        while callers and not callers[-1].named[name]:
            callers.pop()
        if callers:
            return callers[-1].take(name)
        return last.first() if last.left == 1 else None


class Turn:
    """The calls of one turn that wait, in their order and by name."""

    def __init__(self, at: str) -> None:
        self.at = at
        self.left = 0
        self.calls: deque[tuple[str, str]] = deque()
        self.named: dict[str, deque[str]] = {}

    def add(self, name: str, made: str) -> None:
        self.left += 1
        self.calls.append((name, made))
        self.named.setdefault(name, deque()).append(made)

    def take(self, name: str) -> str:
        self.left -= 1
        return self.named[name].popleft()

    def first(self) -> str:
        name, made = self.calls.popleft()
        while not self.waits(name, made):
            name, made = self.calls.popleft()
        return self.take(name)

    def waits(self, name: str, made: str) -> bool:
        """Whether a call, the first that is left, was not answered by its name."""
        return bool(self.named[name]) and self.named[name][0] == made
