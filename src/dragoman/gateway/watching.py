"""What operators see: a line for each exchange, and metrics. Never contents, never keys."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, TextIO

import msgspec

from ..ledger import Loss
from .config import Config

MEANINGLESS = frozenset({"stream"})
"""Losses that mean nothing in a gateway: whether a stream is asked for is told otherwise."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Seen:
    """What is known of one exchange when it ends."""

    __slots__ = (
        "began", "client", "contents", "dialect", "error", "first", "input_tokens", "losses",
        "model", "output_tokens", "received", "sent", "status", "stream", "upstream",
        "upstream_model",
    )  # fmt: skip

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.client = self.dialect = self.model = self.upstream = self.upstream_model = ""
        self.error = ""
        self.status = 0
        self.stream = False
        self.first: float | None = None
        self.received = self.sent = 0
        self.input_tokens = self.output_tokens = 0
        self.losses: list[Loss] = []
        self.contents: dict[str, Any] = {}
        """Documents, only where the operator wants them logged."""

    def note(self, losses: Iterable[Loss]) -> None:
        self.losses += (loss for loss in losses if loss.what not in MEANINGLESS)

    def codes(self) -> dict[str, int]:
        """Losses by kind and code."""
        return dict(Counter(f"{loss.kind} {loss.what}" for loss in self.losses))

    def line(self) -> dict[str, Any]:
        now = time.monotonic()
        line: dict[str, Any] = {
            "status": self.status,
            "client": self.client,
            "dialect": self.dialect,
            "model": self.model,
            "upstream": self.upstream,
            "upstream_model": self.upstream_model,
            "stream": self.stream,
            "ms": round((now - self.began) * 1000, 1),
            "first_ms": None if self.first is None else round((self.first - self.began) * 1000, 1),
            "bytes_in": self.received,
            "bytes_out": self.sent,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "losses": self.codes(),
            "error": self.error,
            **self.contents,
        }
        return {key: value for key, value in line.items() if value not in ("", None, {}, False)}


class Log:
    """One line for each exchange."""

    def __init__(self, config: Config, out: TextIO | None = None) -> None:
        self._form, self._out = config.log, out or sys.stderr

    def __call__(self, seen: Seen) -> None:
        if self._form == "none":
            return
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = {"time": stamp, **seen.line()}
        if self._form == "text":
            text = plain(line)
        else:
            ledger = {"ledger": seen.losses} if seen.losses else {}
            text = printable(msgspec.json.encode({**line, **ledger}).decode())
        print(text, file=self._out, flush=True)


def plain(line: dict[str, Any]) -> str:
    """The line for people: what was asked, how it ended, what was lost."""
    way = line.get("dialect", "-")
    if "upstream" in line:
        way += f" > {line['upstream']}"
    parts = [line["time"][11:19], str(line.get("status", "-")), f"{line['ms']:8.1f} ms", way]
    parts.append(safe(line.get("model", "")))
    if "losses" in line:
        parts.append("lost: " + ", ".join(f"{n}x {code}" for code, n in line["losses"].items()))
    if "error" in line:
        parts.append(safe(line["error"]))
    return "  ".join(part for part in parts if part)


def printable(text: str) -> str:
    r"""JSON of the same meaning for a terminal: what would act on it or hide is escaped.

    >>> printable('{"model": "a\u202eb"}')
    '{"model": "a\\u202eb"}'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def safe(text: str) -> str:
    """A text from outside, for a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)[:200]


class Metrics:
    """Counts and times for Prometheus; nothing where its client is not installed."""

    def __init__(self) -> None:
        try:
            import prometheus_client as prometheus
        except ModuleNotFoundError:
            self.registry = None
            return
        self._latest = prometheus.generate_latest
        self.registry = registry = prometheus.CollectorRegistry()
        labels = ("dialect", "upstream", "status")
        self._requests = prometheus.Counter(
            "dragoman_requests", "Exchanges", labels, registry=registry
        )
        self._seconds = prometheus.Histogram(
            "dragoman_seconds", "Time of exchanges", labels[:2], buckets=BUCKETS, registry=registry
        )
        self._tokens = prometheus.Counter(
            "dragoman_tokens", "Tokens", ("upstream", "kind"), registry=registry
        )
        self._losses = prometheus.Counter(
            "dragoman_losses", "Losses", ("kind", "code"), registry=registry
        )
        self._open = prometheus.Gauge("dragoman_open", "Open exchanges", registry=registry)

    def opened(self) -> None:
        if self.registry is not None:
            self._open.inc()

    def ended(self, seen: Seen) -> None:
        if self.registry is None:
            return
        self._open.dec()
        self._requests.labels(seen.dialect, seen.upstream, str(seen.status)).inc()
        self._seconds.labels(seen.dialect, seen.upstream).observe(time.monotonic() - seen.began)
        self._tokens.labels(seen.upstream, "input").inc(seen.input_tokens)
        self._tokens.labels(seen.upstream, "output").inc(seen.output_tokens)
        for loss in seen.losses:
            self._losses.labels(loss.kind, loss.what).inc()

    def page(self) -> bytes | None:
        return None if self.registry is None else self._latest(self.registry)
