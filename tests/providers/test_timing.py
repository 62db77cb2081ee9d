"""Limits in time: what need not wait has none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.providers import timing
from dragoman.providers.timing import Limits, promptly
from gateways import in_a_loop


@in_a_loop
async def test_what_is_there_needs_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def there() -> int:
        return 7

    monkeypatch.delattr(timing, "within")
    assert await promptly(there(), 60) == 7


@in_a_loop
async def test_what_waits_has_a_limit() -> None:
    ended = []

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(TimeoutError):
        await promptly(never(), 0.01)
    assert ended == [True]


@in_a_loop
async def test_what_waits_gives_its_value_and_its_errors() -> None:
    async def soon(value: int) -> int:
        for _ in range(3):
            await asyncio.sleep(0)
        if value < 0:
            raise ValueError("no")
        return value

    assert await promptly(soon(7), 60) == 7
    with pytest.raises(ValueError, match="no"):
        await promptly(soon(-1), 60)


@in_a_loop
async def test_who_waits_can_be_cancelled() -> None:
    task = asyncio.ensure_future(promptly_waiting())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def promptly_waiting() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    await promptly(never(), 60)


class Clock:
    """The clock of an event loop that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now, self.timers = 0.0, dict[float, Callable[[], None]]()

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, work: Callable[[], None]) -> Any:
        assert not self.timers  # one timer for all
        self.timers[when] = work
        return when

    def go(self, now: float) -> None:
        self.now = now
        for when in [when for when in self.timers if when <= now]:
            self.timers.pop(when)()


class Waiter:
    told = False

    def late(self) -> None:
        self.told = True


def test_many_limits_have_one_timer() -> None:
    clock: Any = Clock()
    limits, waiters = Limits(10, clock), [Waiter() for _ in range(4)]
    for number, waiter in enumerate(waiters):
        clock.go(number)
        limits.begin(waiter)
    limits.end(waiters[1])
    clock.go(10)
    assert [w.told for w in waiters] == [True, False, False, False]
    assert clock.timers.keys() == {12}
    limits.begin(waiters[1])  # again: it is late ten seconds after this
    clock.go(13)
    assert [w.told for w in waiters] == [True, False, True, True]
    assert clock.timers.keys() == {20}
    clock.go(20)
    assert waiters[1].told
    assert not clock.timers
    assert not limits.waiting


def test_without_a_limit_nobody_is_late() -> None:
    clock: Any = Clock()
    limits = Limits(None, clock)
    limits.begin(waiter := Waiter())
    assert not clock.timers
    assert list(limits.waiting) == [waiter]


@in_a_loop
async def test_what_waits_too_long_within_the_limit_of_many() -> None:
    limits = Limits(0.01, asyncio.get_running_loop())
    with pytest.raises(TimeoutError), limits.within():
        await asyncio.Event().wait()
    assert not limits.waiting
    with limits.within():
        await asyncio.sleep(0)
    assert not limits.waiting


@in_a_loop
async def test_who_waits_within_the_limit_of_many_can_be_cancelled() -> None:
    async def wait() -> None:
        with Limits(60, asyncio.get_running_loop()).within():
            await asyncio.Event().wait()

    task = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
