"""Batch files of Gemini: of its own API, with keys, and of Vertex, whose results repeat requests.

    {"key": "a", "request": {"contents": [...]}}
    {"key": "a", "response": {"candidates": [...]}}         {"key": "a", "error": {"code": 3, ...}}
    {"status": "", "processed_time": "...", "request": {...}, "response": {...}}

https://ai.google.dev/gemini-api/docs/batch-api and
https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/batch-prediction-from-cloud-storage
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ledger import Loss
from ..model import Json
from ._batches import failure, rest_of, without_model
from ._kinds import Line, Records

DIALECT = "gemini"
KNOWN = frozenset({"key", "request", "response", "error", "status"})
RPC = {3: 400, 5: 404, 7: 403, 8: 429, 16: 401, 4: 504, 14: 503}
"""Codes of google.rpc as statuses of HTTP."""


class GeminiBatch(Records):
    name = "gemini-batch"
    title = "a batch file of Gemini"
    spec = "https://ai.google.dev/gemini-api/docs/batch-api"
    signs = (
        (b'"request"', b'"contents"'),
        (b'"key"', b'"response"'),
        (b'"key"', b'"error"'),
        (b'"processed_time"',),
    )

    def claims(self, value: Json) -> bool:
        if value.__class__ is not dict or "method" in value:
            return False
        request, response = value.get("request"), value.get("response")
        asks = request.__class__ is dict and "contents" in request
        if asks and "response" not in value and "error" not in value:
            return "body" not in value and "text" not in value
        if "processed_time" in value:
            return asks
        if value.get("key").__class__ is not str:
            return False
        replies = response.__class__ is dict and (
            "candidates" in response or "promptFeedback" in response
        )
        return replies or (value.get("error").__class__ is dict and not request)

    def lines(self, value: Json) -> Iterator[Line]:
        id = value.get("key")
        id = id if id.__class__ is str else None
        rest = rest_of(value, KNOWN)
        response, error, asked = value.get("response"), value.get("error"), value.get("request")
        status = value.get("status")
        if response.__class__ is dict and response:
            yield Line(
                id, "response", response, DIALECT, "/response", "/key", 200, rest, asked, "/request"
            )
        elif error.__class__ is dict:
            code = error.get("code")
            code = code if code.__class__ is int else 500
            code = RPC.get(code, code if code >= 400 else 500)
            document = {"error": {**error, "code": code}}
            yield Line(id, "error", document, DIALECT, "", "/key", code, rest, asked, "/request")
        elif status.__class__ is str and status:
            document = {"error": {"code": 500, "message": status, "status": "UNKNOWN"}}
            yield Line(id, "error", document, DIALECT, "", "/key", 500, rest, asked, "/request")
        elif "response" in value or "error" in value:
            document = failure("canceled", DIALECT)
            yield Line(id, "canceled", document, DIALECT, "", "/key", 500, rest, asked, "/request")
        else:
            yield Line(id, "request", asked, DIALECT, "/request", "/key", 200, rest)

    def serves(self, dialect: str) -> bool:
        return dialect == DIALECT

    def write(self, line: Line, dialect: str) -> tuple[Json, tuple[Loss, ...]]:
        if line.kind == "request":
            request, losses = without_model(line.document, "model", line.at, self.title, dialect)
            return {"key": line.id, "request": request}, losses
        if line.kind == "response":
            return {"key": line.id, "response": line.document}, ()
        error = line.document.get("error", line.document)
        return {"key": line.id, "error": error}, ()


CONTAINER = GeminiBatch()
