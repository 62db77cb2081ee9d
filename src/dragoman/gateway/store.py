"""What is kept between requests: small values under a key, for some days.

Three places: the memory of this process, a SQLite file, or Redis, which several gateways share;
or nowhere at all.
Values are bytes; whoever keeps something knows its form.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..errors import MissingExtra
from .config import ConfigError

DAY = 86_400.0
MOST = 256 * 2**20
"""How many bytes are kept in memory; the oldest go first."""
AT_ONCE = 500
"""How many keys one statement of SQLite names."""


class StoreFailed(Exception):
    """The store did not do what it was asked; the message names it, and nothing that is in it."""


class Store(Protocol):
    """Keys and values that live for a while."""

    async def get(self, key: str) -> bytes | None: ...

    async def find(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Those of the keys that there are, with their values."""
        ...

    async def put(self, key: str, value: bytes) -> None: ...

    async def delete(self, key: str) -> bool: ...

    async def ready(self) -> bool: ...

    async def close(self) -> None: ...


class Memory:
    """In this process, and gone with it."""

    def __init__(self, seconds: float = 30 * DAY, most: int = MOST) -> None:
        self._seconds, self._most, self._size = seconds, most, 0
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def get(self, key: str) -> bytes | None:
        found = self._kept.get(key)
        if found is None or found[0] < time.monotonic():
            return None
        return found[1]

    async def find(self, keys: Sequence[str]) -> dict[str, bytes]:
        return {key: value for key in keys if (value := await self.get(key)) is not None}

    async def put(self, key: str, value: bytes) -> None:
        await self.delete(key)
        self._kept[key] = (time.monotonic() + self._seconds, value)
        self._size += len(key) + len(value)
        while self._size > self._most:
            old, (_, gone) = self._kept.popitem(last=False)
            self._size -= len(old) + len(gone)

    async def delete(self, key: str) -> bool:
        found = self._kept.pop(key, None)
        self._size -= len(key) + len(found[1]) if found else 0
        return found is not None

    async def ready(self) -> bool:
        return True

    async def close(self) -> None:
        self._kept.clear()


class SQLite:
    """In a file. Several processes of one machine may share it."""

    def __init__(self, path: str | Path, seconds: float = 30 * DAY) -> None:
        self._seconds = seconds
        self._path = Path(path).expanduser()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = not self._path.exists()
        try:
            self._base = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = normal")
            self._base.execute(
                "create table if not exists kept (key text primary key, until real, value blob)"
            )
            self._base.commit()
        except sqlite3.Error as problem:
            raise ConfigError(f"store {self._path}: {problem}") from None
        if new:
            self._path.chmod(0o600)
        self._lock = asyncio.Lock()
        self._puts = 0

    async def get(self, key: str) -> bytes | None:
        rows = await self._run("select until, value from kept where key = ?", key)
        return bytes(rows[0][1]) if rows and rows[0][0] > time.time() else None

    async def find(self, keys: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            marks = ", ".join("?" * len(some))
            rows = await self._run(
                f"select key, value from kept where key in ({marks}) and until > ?",
                *some,
                time.time(),
            )
            found |= {key: bytes(value) for key, value in rows}
        return found

    async def put(self, key: str, value: bytes) -> None:
        until = time.time() + self._seconds
        await self._run("insert or replace into kept values (?, ?, ?)", key, until, value)
        self._puts += 1
        if self._puts % 1000 == 1:
            await self._run("delete from kept where until < ?", time.time())

    async def delete(self, key: str) -> bool:
        return bool(await self._run("delete from kept where key = ? returning key", key))

    async def ready(self) -> bool:
        try:
            await self._run("select 1")
        except StoreFailed:
            return False
        return True

    async def close(self) -> None:
        self._base.close()

    async def _run(self, statement: str, *values: object) -> list[Any]:
        async with self._lock:
            try:
                return await asyncio.to_thread(self._work, statement, values)
            except sqlite3.Error as problem:
                raise StoreFailed(f"the store (SQLite) failed: {problem}") from None

    def _work(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        with self._base:
            return self._base.execute(statement, values).fetchall()


class Redis:
    """On a server of its own, for gateways on several machines."""

    def __init__(self, url: str, seconds: float = 30 * DAY) -> None:
        try:
            from redis import RedisError
            from redis import asyncio as redis
        except ModuleNotFoundError:
            raise MissingExtra("a store in Redis", "redis") from None
        self._seconds, self._error = int(seconds), RedisError
        self._redis: Any = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5)

    async def _ask(self, work: Awaitable[Any]) -> Any:
        try:
            return await work
        except (self._error, OSError) as problem:
            raise StoreFailed(f"the store (Redis) failed: {type(problem).__name__}") from None

    async def get(self, key: str) -> bytes | None:
        found: bytes | None = await self._ask(self._redis.get(f"dragoman:{key}"))
        return found

    async def find(self, keys: Sequence[str]) -> dict[str, bytes]:
        values = await self._ask(self._redis.mget([f"dragoman:{key}" for key in keys]))
        return {k: v for k, v in zip(keys, values, strict=True) if v is not None}

    async def put(self, key: str, value: bytes) -> None:
        await self._ask(self._redis.set(f"dragoman:{key}", value, ex=self._seconds))

    async def delete(self, key: str) -> bool:
        return bool(await self._ask(self._redis.delete(f"dragoman:{key}")))

    async def ready(self) -> bool:
        try:
            return bool(await self._redis.ping())
        except Exception:  # whatever it is, requests that need the store would meet it too
            return False

    async def close(self) -> None:
        await self._redis.aclose()


class Owned:
    """What one client keeps: no other one finds it."""

    def __init__(self, store: Store, client: str) -> None:
        self._store, self._whose = store, f"{client}:"
        self.keeps = not isinstance(store, Nothing)

    async def get(self, key: str) -> bytes | None:
        return await self._store.get(self._whose + key)

    async def put(self, key: str, value: bytes) -> None:
        await self._store.put(self._whose + key, value)

    async def delete(self, key: str) -> bool:
        return await self._store.delete(self._whose + key)


class Nothing(Memory):
    """No store: nothing is kept."""

    async def put(self, key: str, value: bytes) -> None:
        pass


def open_store(url: str, days: float = 30.0) -> Store:
    """The store that a configuration names."""
    if url == "none":
        return Nothing()
    if url == "memory":
        return Memory(days * DAY)
    if url.startswith("sqlite:"):
        return SQLite(url.removeprefix("sqlite:"), days * DAY)
    if url.startswith(("redis://", "rediss://", "unix://")):
        return Redis(url, days * DAY)
    raise ConfigError(f"store {url!r}: expected memory, none, sqlite:PATH or redis://...")
