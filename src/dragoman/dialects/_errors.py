"""Errors of the shapes of clients: what a library throws, as JSON.

``{"error": {"message": ..., "statusCode": 429}}``: a message, the status of the response, and
around them what the dialect says of every error. What else stood there comes back in the same
dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..core.reading import as_dict, as_str, maybe_int, maybe_str
from ..core.statuses import kind_of, status_of
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import ErrorKind, Failure, Json

KINDS: tuple[ErrorKind, ...] = (
    "invalid-request", "authentication", "billing", "permission", "not-found", "conflict",
    "too-large", "rate-limit", "overloaded", "server", "timeout",
)  # fmt: skip


class ClientErrors(Dialect):
    error_head: ClassVar[Mapping[str, Json]] = {}
    """what stands beside ``error``"""
    error_words: ClassVar[Mapping[str, Json]] = {}
    """what stands in every error"""
    status_key: ClassVar[str | None] = None
    """where the status stands, if it does"""

    def read_error(self, doc: Json) -> Failure:
        if doc.__class__ is str:
            return Failure("other", doc, dialect=self.name, extras=self.respell(None, bare=True))
        doc = as_dict(doc, "")
        given, head = doc.get("error"), {k for k, v in self.error_head.items() if doc.get(k) == v}
        odd: dict[str, Json] = {k: None for k in self.error_head if k not in head}
        if given.__class__ is str:
            extras = self.keep(doc, {"error", *head}, odd | {"text": True})
            return Failure("other", given, dialect=self.name, extras=extras)
        inner = as_dict(given, "/error")
        message = as_str(inner.get("message", ""), "/error/message")
        known = {k for k, v in self.error_words.items() if inner.get(k) == v}
        known |= {"message"} & inner.keys()
        odd |= {k: None for k in (*self.error_words, "message") if k not in known}
        kind: ErrorKind = "other"
        if self.status_key is not None:
            status = maybe_int(inner, self.status_key, "/error")
            kind = "other" if status is None else kind_of("other", status)
            kind = next((k for k in KINDS if self.status(k) == status), kind)
            if status is not None and self.status(kind) == status:
                known.add(self.status_key)
        code = maybe_str(inner, "code", "/error") if inner.get("code").__class__ is str else None
        if code is not None:
            known.add("code")
        extras = self.keep(doc, {*head}, odd or None, partly={"error": known})
        return Failure(kind, message, code=code, dialect=self.name, extras=extras)

    def status(self, kind: ErrorKind) -> int:
        return status_of(kind, self.statuses)

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        same, spelling = self.is_same(tree.dialect), self.spelling(tree)
        if spelling.get("bare"):
            return tree.message
        out: dict[str, Json] = {k: v for k, v in self.error_head.items() if k not in spelling}
        if spelling.get("text"):
            return self.emit({**out, "error": tree.message}, tree, log)
        inner = {k: v for k, v in self.error_words.items() if k not in spelling}
        if "message" not in spelling:
            inner["message"] = tree.message
        if tree.code is not None:
            inner["code"] = tree.code
        if self.status_key is not None and tree.kind != "other":
            inner[self.status_key] = self.status(tree.kind)
        elif tree.kind != "other" and not same:
            self.lack("error.type", tree.at, log)
        if tree.type is not None and tree.kind == "other" and not same:
            self.lack("error.type", tree.at, log)  # of any other kind, the status tells it
        self.note_error(tree, log)
        return self.emit({**out, "error": inner}, tree, log)
