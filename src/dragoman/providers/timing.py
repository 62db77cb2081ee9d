"""A limit in time, for what is done many times a second: cheaper than ``asyncio.timeout``."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from math import inf
from types import TracebackType, coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class within:
    """Ends what is awaited inside of it with ``TimeoutError`` after so many seconds; None: never.

    >>> async def slow() -> None:
    ...     with within(0.001):
    ...         await asyncio.sleep(60)
    >>> try:
    ...     asyncio.run(slow())
    ... except TimeoutError:
    ...     print("too late")
    too late
    """

    __slots__ = ("_cancelling", "_late", "_seconds", "_task", "_timer")

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._late = False
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        if self._seconds is not None:
            self._task = task = asyncio.current_task()
            self._cancelling = 0 if task is None else task.cancelling()
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)

    def _end(self) -> None:
        self._late = True
        assert self._task is not None
        self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        # As in asyncio.timeout: a cancellation from elsewhere, at the same time, goes on.
        if self._late and self._task is not None and self._task.uncancel() <= self._cancelling:
            if kind is not None and issubclass(kind, asyncio.CancelledError):
                raise TimeoutError from problem


class Waiting(Protocol):
    """Who is told that it has waited too long."""

    def late(self) -> None: ...


class Limits:
    """Many limits of the same length with one timer: one that is kept costs no timer of its own.

    All are equally long, so the first that began ends first: a dict keeps the order.
    """

    def __init__(self, seconds: float | None, loop: asyncio.AbstractEventLoop) -> None:
        self.loop, self.seconds = loop, inf if seconds is None else seconds
        self._timer: asyncio.TimerHandle | None = None
        self.waiting: dict[Waiting, float] = {}
        """Each, and when it is late."""

    def begin(self, waiting: Waiting) -> None:
        self.waiting[waiting] = due = self.loop.time() + self.seconds
        if self._timer is None and due < inf:
            self._timer = self.loop.call_at(due, self._look)

    def end(self, waiting: Waiting) -> None:
        self.waiting.pop(waiting, None)

    def _look(self) -> None:
        """Tell those who are late, and come back when the next one may be."""
        self._timer, now = None, self.loop.time()
        while self.waiting:
            first = next(iter(self.waiting))
            if (due := self.waiting[first]) > now:
                self._timer = self.loop.call_at(due, self._look)
                return
            del self.waiting[first]
            first.late()

    def within(self) -> limited:
        """Ends what is awaited inside of it with ``TimeoutError``, as the class ``within`` does."""
        return limited(self, self.loop)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class limited:
    """What is awaited within the limit of many."""

    __slots__ = ("_cancelling", "_late", "_limits", "_task")

    def __init__(self, limits: Limits, loop: asyncio.AbstractEventLoop) -> None:
        self._limits, self._late = limits, False
        task = asyncio.current_task(loop)
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()

    def __enter__(self) -> None:
        self._limits.begin(self)

    def late(self) -> None:
        self._late = True
        self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._limits.end(self)
        if self._late and self._task.uncancel() <= self._cancelling:
            if kind is not None and issubclass(kind, asyncio.CancelledError):
                raise TimeoutError from problem


@coroutine
def promptly(work: Coroutine[Any, Any, T], seconds: float) -> Generator[Any, None, T]:
    """What some work gives; ``TimeoutError`` if it must wait, and that takes longer.

    What need not wait costs no timer.
    """
    value: T
    try:
        waits = work.send(None)
    except StopIteration as done:
        value = done.value
        return value
    with within(seconds):
        try:
            while True:
                try:
                    yield waits
                except BaseException as problem:
                    waits = work.throw(problem)
                else:
                    waits = work.send(None)
        except StopIteration as done:
            value = done.value
            return value
