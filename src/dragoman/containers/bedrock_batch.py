"""Batch inference of Bedrock: what a model takes, or Converse.

    {"recordId": "a", "modelInput": {...}}
    {"recordId": "a", "modelInput": {...}, "modelOutput": {...}}

https://docs.aws.amazon.com/bedrock/latest/userguide/batch-inference-data.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ..detect import candidates
from ..ledger import Loss
from ..model import Json
from ._batches import rest_of, without_model
from ._kinds import Line, Records

DIALECT = "bedrock-converse"
KNOWN = frozenset({"recordId", "modelInput", "modelOutput", "error"})


class BedrockBatch(Records):
    name = "bedrock-batch"
    title = "a batch file of Bedrock"
    spec = "https://docs.aws.amazon.com/bedrock/latest/userguide/batch-inference-data.html"
    signs = ((b'"modelInput"',),)

    def claims(self, value: Json) -> bool:
        return value.__class__ is dict and value.get("modelInput").__class__ is dict

    def lines(self, value: Json) -> Iterator[Line]:
        id = value.get("recordId")
        id = id if id.__class__ is str else None
        asked, out, error = value["modelInput"], value.get("modelOutput"), value.get("error")
        dialect = _dialect(asked)
        rest = rest_of(value, KNOWN)
        if out.__class__ is dict:
            yield Line(
                id, "response", out, dialect, "/modelOutput", "/recordId", 200, rest, asked,
                "/modelInput",
            )  # fmt: skip
        elif error.__class__ is dict:
            status = error.get("errorCode")
            status = status if status.__class__ is int and status >= 400 else 500
            document = {"message": str(error.get("errorMessage", ""))}
            yield Line(
                id, "error", document, DIALECT, "/error", "/recordId", status, rest, asked,
                "/modelInput",
            )  # fmt: skip
        else:
            yield Line(id, "request", asked, dialect, "/modelInput", "/recordId", 200, rest)

    def serves(self, dialect: str) -> bool:
        return dialect == DIALECT

    def write(self, line: Line, dialect: str) -> tuple[Json, tuple[Loss, ...]]:
        if line.kind == "request":
            body, losses = without_model(line.document, "modelId", line.at, self.title, dialect)
            return {"recordId": line.id, "modelInput": body}, losses
        why = f"the results of {self.title} repeat the request, which is not known"
        losses = (Loss("invented", "container.field", line.at, why, dialect),)
        head: dict[str, Json] = {"recordId": line.id, "modelInput": {}}
        if line.kind == "response":
            return {**head, "modelOutput": line.document}, losses
        message = str(line.document.get("message", "")) if line.document else ""
        error = {"errorCode": line.status, "errorMessage": message}
        return {**head, "error": error}, losses


def _dialect(body: Json) -> str | None:
    """Whose format a model takes: the version of Anthropic's API is required in its bodies."""
    if "anthropic_version" in body:
        return "anthropic-messages"
    guesses = candidates(body, "request")
    known = [g.dialect for g in guesses if g.dialect in (DIALECT, "anthropic-messages")]
    return known[0] if known else DIALECT


CONTAINER = BedrockBatch()
