"""The proxy of the documentation, asked by Anthropic's own client."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

import anthropic
import pytest

import dragoman
import places
from upstream import Say, Tell, Upstream, awkward

PATH = places.ROOT / "examples" / "proxy.py"
NAME = "files.read"
ASKED: Any = {
    "model": "gpt-6",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Read it."}],
    "tools": [{"name": NAME, "description": "Reads.", "input_schema": {"type": "object"}}],
}


def load() -> Any:
    spec = importlib.util.spec_from_file_location("proxy", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def proxy(upstream: Upstream) -> Iterator[anthropic.Anthropic]:
    class Proxy(load().Proxy):  # type: ignore[misc]
        pass

    Proxy.upstream = f"{upstream.url}/v1/chat/completions"
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            with anthropic.Anthropic(
                base_url=f"http://127.0.0.1:{server.server_port}", api_key="k", max_retries=0
            ) as client:
                yield client
        finally:
            server.shutdown()
            thread.join()


def reply_to(seen: Any) -> dict[str, Any]:
    """A reply that calls the tool by the name that it was given."""
    name = seen.document["tools"][0]["function"]["name"]
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": '{"a":1}'}}
    message = {"role": "assistant", "content": "Wait.", "tool_calls": [call]}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-6",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
    }  # fmt: skip


def written(message: Any) -> list[Any]:
    return [
        block.text if block.type == "text" else (block.name, block.input)
        for block in message.content
    ]


def test_a_whole_reply() -> None:
    with Upstream(reply_to) as upstream, proxy(upstream) as client:
        message = client.messages.create(**ASKED)
    assert written(message) == ["Wait.", (NAME, {"a": 1})]
    assert message.usage.input_tokens == 9


def test_a_stream() -> None:
    def tell(seen: Any) -> Any:
        return Tell(awkward(dragoman.decompose(reply_to(seen), "openai-chat")))

    with (
        Upstream(tell) as upstream,
        proxy(upstream) as client,
        client.messages.stream(**ASKED) as stream,
    ):
        message = stream.get_final_message()
    assert written(message) == ["Wait.", (NAME, {"a": 1})]
    assert message.stop_reason == "tool_use"


def test_an_error_has_the_status_of_the_clients_api() -> None:
    busy = {"error": {"message": "Busy.", "type": "server_error", "code": None, "param": None}}
    refused = pytest.raises(anthropic.APIStatusError)
    with Upstream(Say(503, busy)) as upstream, proxy(upstream) as client, refused as caught:
        client.messages.create(**ASKED)
    assert caught.value.status_code == 529
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["type"] == "overloaded_error"


def test_a_request_that_makes_no_sense() -> None:
    nonsense = ASKED | {"messages": [{"role": "user", "content": 7}]}
    refused = pytest.raises(anthropic.BadRequestError)
    with Upstream() as upstream, proxy(upstream) as client, refused:
        client.messages.create(**nonsense)
