"""Message Batches of Anthropic: the requests of one call, or a line each; results, a line each.

    {"custom_id": "a", "params": {...}}
    {"custom_id": "a", "result": {"type": "succeeded", "message": {...}}}

https://platform.claude.com/docs/en/build-with-claude/batch-processing; Claude on Vertex has
``request`` instead of ``params``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ledger import Loss
from ..model import Json
from ._batches import failure, named, rest_of
from ._kinds import Line, LineKind, Records

DIALECT = "anthropic-messages"
IDS = r"[A-Za-z0-9_-]{1,64}"
RESULTS: dict[str, LineKind] = {
    "succeeded": "response",
    "errored": "error",
    "expired": "expired",
    "canceled": "canceled",
}


class AnthropicBatch(Records):
    name = "anthropic-batch"
    title = "a batch file of Anthropic"
    spec = "https://platform.claude.com/docs/en/api/creating-message-batches"
    signs = (
        (b'"custom_id"', b'"params"'),
        (b'"custom_id"', b'"request"'),
        (b'"custom_id"', b'"result"'),
    )

    def claims(self, value: Json) -> bool:
        if _is_line(value):
            return True
        if value.__class__ is not dict or value.get("requests").__class__ is not list:
            return False
        return bool(value["requests"]) and all(map(_is_line, value["requests"]))

    def lines(self, value: Json) -> Iterator[Line]:
        if "requests" in value and not _is_line(value):
            for index, each in enumerate(value["requests"]):
                yield _line(each, f"/requests/{index}")
        else:
            yield _line(value, "")

    def serves(self, dialect: str) -> bool:
        return dialect == DIALECT

    def write(self, line: Line, dialect: str) -> tuple[Json, tuple[Loss, ...]]:
        why = "Anthropic accepts 64 letters, digits, _ and - in an id"
        id, losses = named(str(line.id), IDS, line.id_at, why, dialect)
        match line.kind:
            case "request":
                return {"custom_id": id, "params": line.document}, losses
            case "response":
                result: Json = {"type": "succeeded", "message": line.document}
            case "error":
                result = {"type": "errored", "error": line.document}
            case _:
                result = {"type": line.kind}
        return {"custom_id": id, "result": result}, losses


def _is_line(value: Json) -> bool:
    if value.__class__ is not dict or "custom_id" not in value:
        return False
    if value.get("params").__class__ is dict:
        return True
    request, result = value.get("request"), value.get("result")
    if request.__class__ is dict and "messages" in request:
        return True
    kind = result.get("type") if result.__class__ is dict else None
    return kind.__class__ is str and kind in RESULTS


def _line(value: dict[str, Json], at: str) -> Line:
    id = value["custom_id"]
    id = id if id.__class__ is str else None
    id_at = f"{at}/custom_id"
    rest = rest_of(value, frozenset({"custom_id", "params", "request", "result"}), at)
    for key in ("params", "request"):
        if key in value:
            return Line(id, "request", value[key], DIALECT, f"{at}/{key}", id_at, 200, rest)
    result = value["result"]
    kind = RESULTS[result["type"]]
    if kind == "response":
        place = f"{at}/result/message"
        return Line(id, kind, result.get("message"), DIALECT, place, id_at, 200, rest)
    if kind == "error":
        error = result.get("error")
        return Line(id, kind, error, DIALECT, f"{at}/result/error", id_at, 500, rest)
    return Line(id, kind, failure(kind, DIALECT), DIALECT, f"{at}/result", id_at, 500, rest)


CONTAINER = AnthropicBatch()
