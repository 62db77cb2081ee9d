"""Spans of OpenTelemetry, recorded by a tracer of the test's own: the SDK is the operator's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateways import chain, post

trace = pytest.importorskip("opentelemetry.trace")

REPLIES = (
    {"text": "Secret words.", "usage": {"input": 7, "output": 3}, "when": {"model": "m"}},
    {"error": {"kind": "rate-limit", "message": "slow down"}, "when": {"model": "limited"}},
    {"text": "one two three four", "fail_after": 3, "when": {"model": "failing"}},
)
PARENT = "0af7651916cd43dd8448eb211c80319c"


class Span:
    def __init__(self, name: str, told: dict[str, Any]) -> None:
        self.name, self.told = name, told
        self.status: Any = None
        self.end_time = 0

    def set_status(self, status: Any) -> None:
        self.status = status

    def end(self, end_time: int) -> None:
        self.end_time = end_time


class Tracer:
    def __init__(self) -> None:
        self.spans: list[Span] = []

    def start_span(self, name: str, **told: Any) -> Span:
        self.spans.append(Span(name, told))
        return self.spans[-1]


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Tracer:
    tracer = Tracer()
    monkeypatch.setattr(trace, "get_tracer", lambda name: tracer)
    return tracer


def asked(model: str, **more: Any) -> None:
    with chain("anthropic-messages", *REPLIES, traces=True) as (url, _):
        body = {"model": model, "messages": [{"role": "user", "content": "Secret"}], **more}
        headers = {"traceparent": f"00-{PARENT}-b7ad6b7169203331-01"}
        post(url, "/v1/chat/completions", json.dumps(body).encode(), headers)


@pytest.mark.parametrize("stream", [False, True])
def test_an_exchange_is_a_span(tracer: Tracer, stream: bool) -> None:
    asked("m", stream=stream)
    (span,) = tracer.spans
    told = span.told["attributes"]
    assert span.name == "chat m"
    assert span.told["kind"] is trace.SpanKind.CLIENT
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.provider.name"] == "anthropic"
    assert (told["gen_ai.request.model"], told["gen_ai.response.model"]) == ("m", "m")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (7, 3)
    assert told["dragoman.dialect"] == "openai-chat"
    assert "error.type" not in told
    assert span.status is None
    assert 0 < span.end_time - span.told["start_time"] < 60e9
    parent = trace.get_current_span(span.told["context"]).get_span_context()
    assert f"{parent.trace_id:032x}" == PARENT
    assert "Secret" not in str(told)


@pytest.mark.parametrize(("model", "kind"), [("limited", "429"), ("failing", "stream")])
def test_an_error_is_told(tracer: Tracer, model: str, kind: str) -> None:
    asked(model, stream=True)
    (span,) = tracer.spans
    assert span.told["attributes"]["error.type"] == kind
    assert span.status is trace.StatusCode.ERROR


def test_the_names_are_those_of_the_conventions(tracer: Tracer) -> None:
    path = "opentelemetry.semconv._incubating.attributes.gen_ai_attributes"
    values = vars(pytest.importorskip(path)).values()
    known = {value for value in values if isinstance(value, str)}
    asked("m", stream=True)
    told = [name for name in tracer.spans[0].told["attributes"] if name.startswith("gen_ai.")]
    assert len(told) == 8
    assert set(told) <= known
