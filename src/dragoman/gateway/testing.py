"""A model for tests: a gateway with scripted replies on a free port of this machine.

>>> with scripted({"text": "Hello."}) as model:
...     model.url.startswith("http://127.0.0.1:")
True

``model.url`` is what clients take as the base URL (with ``/v1`` for OpenAI's SDKs), in any dialect
that the gateway serves; ``model.asked`` are the requests that it got, as canonical trees. No key is
needed, nothing leaves the machine, and the same request gets the same reply. ``script.py`` lists
what a reply can be: texts, calls, reasoning, errors, delays, streams that break off.

As a pytest fixture: ``pytest_plugins = ["dragoman.gateway.fixtures"]`` in a ``conftest.py``, then

    def test_my_agent(scripted_model):
        with scripted_model({"text": "Hello."}) as model:
            ...
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from ..errors import MissingExtra
from ..model import Json, Request
from .app import Gateway
from .config import SCRIPTED, Config
from .script import Script
from .upstreams import Ask, Incoming, Scripted


class Model(Scripted):
    """A scripted model that remembers what it was asked."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.url = ""
        """where clients reach it"""
        self.asked: list[Request] = []
        """the requests that it got"""

    async def open(self, body: Json, call: Ask) -> Incoming:
        tree = self.dialect.read(body, "request")
        assert isinstance(tree, Request)
        self.asked.append(tree)
        return await super().open(body, call)


@contextmanager
def running(application: Any) -> Iterator[str]:
    """An ASGI application that listens on a free port of this machine, in a thread; its URL."""
    try:
        import uvicorn
    except ModuleNotFoundError:
        raise MissingExtra("a gateway that listens", "gateway") from None
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    settings = uvicorn.Config(
        application, log_level="error", access_log=False, timeout_keep_alive=60
    )
    server = _prompt(uvicorn.Server)(settings)
    ready = threading.Event()

    async def serve() -> None:
        server.loop = asyncio.get_running_loop()
        server.told = asyncio.Event()
        task = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not server.started and not task.done():
            await asyncio.sleep(0.001)
        ready.set()
        await task

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(20)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        if thread.is_alive():
            server.loop.call_soon_threadsafe(server.told.set)
        thread.join(20)
        listener.close()


@cache
def _prompt(server: Any) -> Any:
    """uvicorn's server, but that it ends when it is told to and the last reply has gone out.

    Its own looks each tenth of a second whether it is to end, and then waits for another.
    """

    class Prompt(server):  # type: ignore[misc]
        loop: Any
        told: asyncio.Event

        async def main_loop(self) -> None:
            while not self.told.is_set():
                await self.on_tick(0)  # the date, which replies have in their headers
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.told.wait(), 0.5)

        async def shutdown(self, sockets: Any = None) -> None:
            for each in self.servers:
                each.close()
            for connection in list(self.server_state.connections):
                connection.shutdown()
            while self.server_state.connections or self.server_state.tasks:
                await asyncio.sleep(0.001)
            await self.lifespan.shutdown()

    return Prompt


@contextmanager
def scripted(*replies: Mapping[str, Any], **settings: Any) -> Iterator[Model]:
    """A model that gives these replies; ``settings`` are those of ``Config``."""
    gateway = Gateway(Config(log="none", **settings))
    model = Model(Script(list(replies)))
    gateway.upstreams[SCRIPTED] = model
    with running(gateway) as model.url:
        yield model
