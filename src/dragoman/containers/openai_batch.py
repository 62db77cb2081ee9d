"""Batch files of OpenAI, which Groq, Azure, Mistral and others have as well.

    {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {...}}
    {"id": "batch_req_1", "custom_id": "a", "response": {"status_code": 200, "request_id": "...",
     "body": {...}}, "error": null}

https://platform.openai.com/docs/guides/batch; lines of Mistral have neither method nor url.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from .. import dialects
from ..detect import candidates
from ..ledger import Loss
from ..model import Json
from ._batches import WORDS, failure, rest_of, row_of
from ._kinds import Line, LineKind, Records
from ._wire import dialect_of, variant_of

CODES: dict[str, LineKind] = {
    "batch_expired": "expired",
    "batch_cancelled": "canceled",
    "batch_canceled": "canceled",
}
SPELLED = {"expired": "batch_expired", "canceled": "batch_cancelled"}
# https://docs.mistral.ai/capabilities/batch/: the endpoint is named when the job is created.
WITHOUT_URL = frozenset({"mistral"})
# https://learn.microsoft.com/azure/ai-foundry/openai/how-to/batch
URLS = {"azure-openai": "/chat/completions", "openai-responses": "/v1/responses"}
VENDORS = frozenset({"openai-chat", "openai-responses", "azure-openai", "groq", "mistral"})


class OpenAIBatch(Records):
    name = "openai-batch"
    title = "a batch file of OpenAI"
    spec = "https://platform.openai.com/docs/guides/batch"
    signs = ((b'"custom_id"', b'"body"'), (b'"custom_id"', b'"error"'))

    def claims(self, value: Json) -> bool:
        if value.__class__ is not dict or "custom_id" not in value:
            return False
        if value.get("body").__class__ is dict:
            return True
        return "response" in value and ("error" in value or "id" in value)

    def lines(self, value: Json) -> Iterator[Line]:
        id = value["custom_id"]
        id = id if id.__class__ is str else None
        if value.get("body").__class__ is dict:
            yield _request(value, id)
        else:
            yield _result(value, id)

    def serves(self, dialect: str) -> bool:
        return dialect in VENDORS

    def write(self, line: Line, dialect: str) -> tuple[Json, tuple[Loss, ...]]:
        if line.kind == "request":
            if dialect in WITHOUT_URL:
                return {"custom_id": line.id, "body": line.document}, ()
            row = row_of(dialect)
            url = URLS.get(dialect) or f"/v1{row.path if row else ''}"
            head = {"custom_id": line.id, "method": "POST", "url": url}
            return {**head, "body": line.document}, ()
        digest = hashlib.sha256(str(line.id).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        head = {"id": f"batch_req_{digest}", "custom_id": line.id}
        why = f"{self.title} has an id for each result"
        losses = (Loss("invented", "container.id", line.id_at, why, dialect),)
        if line.kind in SPELLED:
            error = {"code": SPELLED[line.kind], "message": WORDS[line.kind]}
            return {**head, "response": None, "error": error}, losses
        status = line.status if line.kind == "error" else 200
        reply = {"status_code": status, "request_id": "", "body": line.document}
        return {**head, "response": reply, "error": None}, losses


def _request(value: dict[str, Json], id: str | None) -> Line:
    body, url = value["body"], value.get("url")
    dialect: str | None = "mistral"
    if url.__class__ is str:
        address = dialect_of(url if url.startswith(("/", "http")) else f"/{url}", "")
        dialect = None if address is None else variant_of(address.dialect, body, "request")
    rest = rest_of(value, frozenset({"custom_id", "method", "url", "body"}))
    return Line(id, "request", body, dialect, "/body", "/custom_id", rest=rest)


def _result(value: dict[str, Json], id: str | None) -> Line:
    response, error = value.get("response"), value.get("error")
    rest = rest_of(value, frozenset({"custom_id", "response", "error"}))
    if response.__class__ is dict and "body" in response:
        inner = rest_of(response, frozenset({"status_code", "body"}), "/response")
        status = response.get("status_code")
        status = status if status.__class__ is int else 200
        body, at = response["body"], "/response/body"
        kind: LineKind = "error" if status >= 400 else "response"
        return Line(id, kind, body, _dialect(body, kind), at, "/custom_id", status, (*rest, *inner))
    code = error.get("code") if error.__class__ is dict else None
    kind = CODES.get(code, "error") if code.__class__ is str else "error"
    if kind != "error":
        document = failure(kind, "openai-chat")
        return Line(id, kind, document, "openai-chat", "/error", "/custom_id", 500, rest)
    document = {"error": error}
    return Line(id, "error", document, "openai-chat", "", "/custom_id", 500, rest)


def _dialect(body: Json, kind: str) -> str | None:
    """Whose reply it is; errors of Chat and Responses are the same."""
    guesses = candidates(body, kind)
    if not guesses:
        return "openai-chat" if kind == "error" else None
    known = guesses[0].dialect
    if kind == "error" and dialects.get(known).name not in VENDORS:
        return "openai-chat"
    return known


CONTAINER = OpenAIBatch()
