"""Exports of Langfuse: observations as JSON or JSON Lines, and downloads of a trace.

    {"id": "...", "traceId": "...", "type": "GENERATION", "model": "...", "modelParameters": {...},
     "input": ..., "output": ...}

https://langfuse.com/docs/api-and-data-platform/features/export-from-ui; input and output are what
the application has logged, as values or as JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import Json
from . import _traces
from ._kinds import Container, Found


class Langfuse(Container):
    name = "langfuse"
    title = "an export of Langfuse"
    spec = "https://langfuse.com/docs/api-and-data-platform/features/export-from-ui"
    signs = ((b'"traceId"', b'"type"'), (b'"trace_id"', b'"type"'), (b'"observations"',))
    rank = 4

    def claims(self, value: Json) -> bool:
        return next(_observations(value, ""), None) is not None

    def documents(self, value: Json, limit: int | None) -> Iterator[Found]:
        for at, each in _observations(value, ""):
            if str(each.get("type")).upper() == "GENERATION":
                yield _generation(each, at)


def _is_observation(value: Json) -> bool:
    return (
        value.__class__ is dict
        and value.get("type").__class__ is str
        and ("traceId" in value or "trace_id" in value)
        and "run_type" not in value
    )


def _observations(value: Json, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The observations of a file: a list, a page of the API, a trace, or one of them."""
    if value.__class__ is list:
        if value and _is_observation(value[0]):
            for index, each in enumerate(value):
                if _is_observation(each):
                    yield f"{at}/{index}", each
    elif _is_observation(value):
        yield at, value
    elif value.__class__ is dict:
        for key in ("observations", "data"):
            if value.get(key).__class__ is list:
                yield from _observations(value[key], f"{at}/{key}")
                return
        if value.get("trace").__class__ is dict:
            yield from _observations(value["trace"].get("observations"), f"{at}/trace/observations")


def _generation(each: dict[str, Any], at: str) -> Found:
    model: Json = each.get("model") or each.get("providedModelName")
    given = _traces.parsed(each.get("modelParameters") or each.get("model_parameters"))
    return _traces.call(
        at, each.get("input"), f"{at}/input", each.get("output"), f"{at}/output", model, given,
        "an export of Langfuse",
    )  # fmt: skip


CONTAINER = Langfuse()
