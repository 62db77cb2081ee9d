"""Two gateways that share a Redis server serve one conversation."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.gateway import Config, Gateway, Upstream
from dragoman.model import Reasoning
from gateways import running, scripted
from sdk_clients import TALKS

pytestmark = pytest.mark.redis

REPLIES = (
    {"reasoning": "Hm.", "signature": "c2ln", "calls": [{"name": "look", "arguments": {}}]},
    {"text": "Done."},
)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server on a free port, with nothing but memory."""
    program = shutil.which("redis-server")
    assert program is not None, "redis-server is not installed: make redis"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder: Path = tmp_path_factory.mktemp("redis")
    command = [
        program,
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        str(folder),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        wait_for(port)
        yield f"redis://127.0.0.1:{port}/0"
        server.terminate()


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError("redis-server does not listen")


@pytest.mark.parametrize("door", ["openai-chat", "anthropic-messages", "openai-responses"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_the_next_turn_may_come_to_another_gateway(redis: str, door: str, stream: bool) -> None:
    with scripted(*REPLIES) as (behind, model):
        upstream = Upstream(dialect="bedrock-converse", url=behind, key="k", retries=0)
        config = Config(log="none", upstreams={"up": upstream}, store=redis)
        with running(Gateway(config)) as one, running(Gateway(config)) as two:
            with TALKS[door](one, thinking=True) as first:
                heard = first.ask("How warm is it?", stream)
                assert heard.calls == (("look", {}),)
            with TALKS[door](two, thinking=True) as second:
                second.history, second.ids = first.history, first.ids
                assert second.results(["14"], stream).text == "Done."
        blocks = [block for m in model.asked[-1].messages for block in m.content]
        found = [b.signature.data for b in blocks if isinstance(b, Reasoning) and b.signature]
        assert found == ["c2ln"]


def test_a_store_that_is_gone_is_not_ready() -> None:
    import asyncio

    from dragoman.gateway.store import open_store

    async def ready() -> bool:
        store = open_store("redis://127.0.0.1:9/0")
        try:
            return await store.ready()
        finally:
            await store.close()

    assert not asyncio.run(ready())
