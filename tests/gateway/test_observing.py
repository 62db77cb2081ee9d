"""An observer is told of everything that passes, in order, and of no key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from dragoman.gateway import Config, Gateway, Upstream
from dragoman.gateway.watching import Seen
from gateways import post, running, scripted

CHAT = "/v1/chat/completions"
KEY = "sk-of-the-upstream"


class Noting:
    """An observer that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self.exchanges: list[Seen] = []

    def client_request(self, seen: Seen, headers: Mapping[str, str], body: bytes) -> None:
        self.told.append(("client_request", (dict(headers), body)))

    def upstream_request(self, seen: Seen, document: Any) -> None:
        self.told.append(("upstream_request", (seen.upstream, document, len(seen.losses))))

    def upstream_reply(self, seen: Seen, status: int, headers: Mapping[str, str]) -> None:
        self.told.append(("upstream_reply", status))

    def upstream_data(self, seen: Seen, data: bytes) -> None:
        self.told.append(("upstream_data", data))

    def client_data(self, seen: Seen, data: bytes) -> None:
        self.told.append(("client_data", (seen.status, data)))

    def ended(self, seen: Seen) -> None:
        self.told.append(("ended", seen.status))
        self.exchanges.append(seen)

    def kinds(self) -> list[str]:
        """What it was told, without repetition."""
        kinds = [kind for kind, _ in self.told]
        return [kind for before, kind in zip(["", *kinds], kinds, strict=False) if kind != before]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_exchange_from_its_request_to_its_end(stream: bool) -> None:
    observer = Noting()
    asked = {
        "model": "m", "seed": 7, "stream": stream, "messages": [{"role": "user", "content": "Hi"}],
    }  # fmt: skip
    with scripted({"text": f"Your key is {KEY}, hello."}) as (behind, _):
        up = Upstream(dialect="anthropic-messages", url=behind, key=KEY)
        gateway = Gateway(Config(log="none", upstreams={"up": up}), observer=observer)
        with running(gateway) as url:
            headers = {"authorization": "Bearer client-key", "x-about": "this"}
            reply = post(url, CHAT, json.dumps(asked).encode(), headers)
    first = ["client_request", "upstream_request", "upstream_reply", "upstream_data"]
    assert observer.kinds()[:5] == [*first, "client_data"]
    assert observer.kinds()[-1] == "ended"
    told = {
        kind: [what for each, what in observer.told if each == kind] for kind, _ in observer.told
    }
    ((shown, body),) = told["client_request"]
    assert shown["x-about"] == "this"
    assert json.loads(body) == asked
    ((name, document, losses),) = told["upstream_request"]
    assert name == "up"
    assert document["messages"] == [{"role": "user", "content": "Hi"}]
    assert losses > 0  # Anthropic has no seed
    assert told["upstream_reply"] == [200]
    assert b"".join(data for _, data in told["client_data"]) == reply.body
    assert {status for status, _ in told["client_data"]} == {200}
    if not stream:
        assert json.loads(b"".join(told["upstream_data"]))["type"] == "message"
    (seen,) = observer.exchanges
    assert (seen.model, seen.status, seen.stream) == ("m", 200, stream)
    assert KEY not in str(observer.told)
    assert "client-key" not in str(observer.told)


def test_a_refused_request_is_seen_as_well() -> None:
    observer = Noting()
    with running(Gateway(Config(log="none"), observer=observer)) as url:
        reply = post(url, CHAT, b"[")
    assert reply.status == 400
    assert observer.kinds() == ["client_request", "client_data", "ended"]
    assert observer.exchanges[0].error.startswith("invalid-request")
