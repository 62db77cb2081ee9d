"""Traces of OpenTelemetry: a span for each exchange, by the conventions for generative AI.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/

The operator brings the SDK and says where spans go (``opentelemetry-instrument dragoman serve``, or
a provider of the application that the gateway is mounted in); without one they go nowhere. A span
is a child of the client's, if the request has a ``traceparent``; upstreams are not sent one. There
are never contents in a span.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra

if TYPE_CHECKING:
    from .watching import Seen

PROVIDERS = {
    "anthropic": "anthropic",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "gemini": "gcp.gemini",
    "groq": "groq",
    "mistral": "mistral_ai",
    "openai": "openai",
    "xai": "x_ai",
}
"""The first word of a dialect, and what the conventions call its vendor."""


class Tracing:
    """Spans for exchanges; it needs the API of OpenTelemetry alone."""

    def __init__(self) -> None:
        try:
            from opentelemetry import propagate, trace
        except ModuleNotFoundError:
            raise MissingExtra("tracing", "otel") from None
        self._trace, self._extract = trace, propagate.extract

    def ended(self, seen: Seen, headers: Mapping[str, str], upstream: str) -> None:
        """An exchange with its whole time; ``upstream`` is the dialect of who was asked."""
        tracer = self._trace.get_tracer("dragoman")
        now = time.time_ns()
        began = now - int((time.monotonic() - seen.began) * 1e9)
        span = tracer.start_span(
            f"chat {seen.model}".strip(),
            context=self._extract(dict(headers)),
            kind=self._trace.SpanKind.CLIENT,
            attributes=attributes(seen, upstream),
            start_time=began,
        )
        if seen.error or seen.status >= 400:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(now)


def attributes(seen: Seen, upstream: str) -> dict[str, Any]:
    """What the conventions want to know of an exchange, and what was lost in it."""
    vendor = upstream.partition("-")[0]
    failed = seen.error or seen.status >= 400
    found: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(vendor, upstream),
        "gen_ai.request.model": seen.model,
        "gen_ai.request.stream": seen.stream,
        "gen_ai.response.model": seen.upstream_model,
        "gen_ai.response.time_to_first_chunk": None
        if seen.first is None
        else seen.first - seen.began,
        "gen_ai.usage.input_tokens": seen.input_tokens or None,
        "gen_ai.usage.output_tokens": seen.output_tokens or None,
        "error.type": (str(seen.status) if seen.status >= 400 else "stream") if failed else None,
        "http.response.status_code": seen.status or None,
        "dragoman.client": seen.client,
        "dragoman.dialect": seen.dialect,
        "dragoman.upstream": seen.upstream,
        "dragoman.losses": len(seen.losses),
    }
    return {key: value for key, value in found.items() if value not in ("", None)}
