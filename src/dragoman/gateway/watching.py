"""What operators see: a line for each exchange, and metrics. Never contents, never keys."""

from __future__ import annotations

import json
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, TextIO

import msgspec

from ..dialect import Dialect
from ..errors import DragomanError
from ..ledger import Loss
from ..model import Json, Usage
from .config import Config

MEANINGLESS = frozenset({"stream"})
"""Losses that mean nothing in a gateway: whether a stream is asked for is told otherwise."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


CONTENTS: dict[str, tuple[str, type, str]] = {
    "anthropic-messages": ("content", list, "usage"),
    "bedrock-converse": ("output", dict, "usage"),
    "openai-chat": ("choices", list, "usage"),
    "openai-responses": ("output", list, "usage"),
}
"""Where the contents and the counts stand in a response, for a cheap look."""


def usage_of(value: dict[str, Json], dialect: Dialect) -> Usage | None:
    """The counts of a response that passes as it is; None: it must be looked at more closely."""
    if (row := CONTENTS.get(dialect.name)) is None:
        return None
    contents, kind, counts = row
    usage = value.get(counts)
    if value.get(contents).__class__ is not kind or usage.__class__ is not dict:
        return None
    try:
        return dialect.counts.read(dialect, usage, f"/{counts}")
    except DragomanError:
        return None


class Seen:
    """What is known of one exchange when it ends."""

    client = dialect = model = upstream = upstream_model = error = ""
    status = 0
    stream = False
    first: float | None = None
    received = sent = input_tokens = output_tokens = 0
    contents: Mapping[str, Any] = {}
    """Documents, only where the operator wants them logged."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.losses: list[Loss] = []

    def note(self, losses: Sequence[Loss]) -> None:
        if losses:
            self.losses += [loss for loss in losses if loss.what not in MEANINGLESS]

    def codes(self) -> dict[str, int]:
        """Losses by kind and code."""
        found: dict[str, int] = {}
        for loss in self.losses:
            code = f"{loss.kind} {loss.what}"
            found[code] = found.get(code, 0) + 1
        return found

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
    """Counts and times for Prometheus: kept in plain numbers, since every exchange adds to them;
    its client, where it is installed, writes the page.
    """

    def __init__(self) -> None:
        self._open = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], Times] = {}
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._losses: Counter[tuple[str, str]] = Counter()

    def opened(self) -> None:
        self._open += 1

    def ended(self, seen: Seen) -> None:
        self._open -= 1
        dialect, upstream = seen.dialect, seen.upstream
        self._requests[dialect, upstream, seen.status] += 1
        if (times := self._seconds.get((dialect, upstream))) is None:
            times = self._seconds[dialect, upstream] = Times()
        times.add(time.monotonic() - seen.began)
        if seen.input_tokens or seen.output_tokens:
            self._tokens[upstream, "input"] += seen.input_tokens
            self._tokens[upstream, "output"] += seen.output_tokens
        for loss in seen.losses:
            self._losses[loss.kind, loss.what] += 1

    def page(self) -> bytes | None:
        """The page that Prometheus reads; None where its client is not installed."""
        try:
            from prometheus_client import CollectorRegistry, generate_latest
        except ModuleNotFoundError:
            return None
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Any]:
        """What Prometheus' client asks for."""
        from prometheus_client import core

        counters: tuple[tuple[str, str, tuple[str, ...], Mapping[Any, int]], ...] = (
            ("requests", "Exchanges", ("dialect", "upstream", "status"), self._requests),
            ("tokens", "Tokens", ("upstream", "kind"), self._tokens),
            ("losses", "Losses", ("kind", "code"), self._losses),
        )
        for name, told, labels, counts in counters:
            counter = core.CounterMetricFamily(f"dragoman_{name}", told, labels=labels)
            for values, count in counts.items():
                counter.add_metric([str(value) for value in values], count)
            yield counter
        labels = ("dialect", "upstream")
        seconds = core.HistogramMetricFamily("dragoman_seconds", "Time of exchanges", labels=labels)
        for values, times in self._seconds.items():
            seconds.add_metric(values, times.buckets(), times.total)
        yield seconds
        yield core.GaugeMetricFamily("dragoman_open", "Open exchanges", self._open)


class Times:
    """A histogram."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Bounds, and how many took no longer than each."""
        bounds = [str(float(bound)) for bound in BUCKETS] + ["+Inf"]
        return list(zip(bounds, accumulate(self.counts), strict=True))
