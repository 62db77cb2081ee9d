"""Limits in time: what need not wait has none."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.providers import timing
from dragoman.providers.timing import promptly
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
