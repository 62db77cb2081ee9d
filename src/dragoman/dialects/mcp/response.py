"""The result of ``sampling/createMessage``, and errors of JSON-RPC, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import heads
from ...core.reading import as_dict, expected, maybe_str, need_str
from ...core.turns import note_error_type
from ...core.words import Stops
from ...ledger import Ledger
from ...model import Candidate, ErrorKind, Failure, Json, Message, Response
from . import blocks

if TYPE_CHECKING:
    from . import MCP

STOPS = Stops(
    {
        "endTurn": "end",
        "stopSequence": "stop-sequence",
        "maxTokens": "length",
        "toolUse": "tool-call",
    }
)
# https://www.jsonrpc.org/specification#error_object; -1 is what the protocol's page has for a user
# who rejects the request.
ERRORS: dict[int, ErrorKind] = {
    -32600: "invalid-request",
    -32602: "invalid-request",
    -32601: "not-found",
    -32603: "server",
    -1: "permission",
}
CODES: dict[str, int] = {
    "invalid-request": -32602, "not-found": -32601, "server": -32603, "permission": -1,
}  # fmt: skip
KEYS = ("role", "content", "model", "stopReason")


def read_response(d: MCP, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if "content" not in doc and "code" in doc:
        return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
    content = tuple(blocks.read_content(d, doc.get("content"), "/content"))
    message = Message("assistant", content, at="/content")
    taken = KEYS if doc.get("role") == "assistant" else KEYS[1:]
    if doc.get("resultType") == "complete":
        taken = (*taken, "resultType")
    stop = d.stop_of(maybe_str(doc, "stopReason", ""), message)
    return Response(
        None,
        maybe_str(doc, "model", ""),
        (Candidate(message, stop, at=""),),
        dialect=d.name,
        extras=d.keep(doc, taken),
    )


def write_response(d: MCP, tree: Response, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect, reply=True)
    candidate = heads.only_candidate(d, tree, log)
    out: dict[str, Json] = {"role": "assistant"}
    out["content"] = blocks.write_content(d, candidate.message.content, w)
    heads.put_model(d, out, tree, w)
    if (word := d.stop_word(candidate, w)) is not None:
        out["stopReason"] = word
    if tree.usage is not None:
        d.lack("usage", tree.usage.at, log)
        d.lose(tree.usage.extras, tree.usage.at, log)
    d.lose(candidate.extras, candidate.at, log)
    d.lose(candidate.message.extras, candidate.message.at, log)
    return d.emit(out, tree, log)


def read_error(d: MCP, doc: Json) -> Failure:
    """The error object; the message of JSON-RPC around it may stand there, too."""
    doc = as_dict(doc, "")
    inner, at = doc, ""
    if doc.get("error").__class__ is dict:
        inner, at = doc["error"], "/error"
    code = inner.get("code")
    if code.__class__ is not int:
        expected("a number", code, f"{at}/code")
    text = need_str(inner, "message", at)
    taken = ("code", "message")
    if at:
        extras = d.keep(doc, ("jsonrpc",), {"whole": True}, partly={"error": taken})
    else:
        extras = d.keep(doc, taken)
    return Failure(ERRORS.get(code, "other"), text, str(code), dialect=d.name, extras=extras)


def write_error(d: MCP, tree: Failure, log: Ledger) -> Json:
    same = d.is_same(tree.dialect)
    code = CODES.get(tree.kind, -32603)
    if same and tree.type is not None:
        code = int(tree.type)
    elif tree.kind not in CODES:
        note_error_type(tree, str(code), log)
    d.note_error(tree, log)
    out: dict[str, Json] = {"code": code, "message": tree.message}
    if d.spelling(tree).get("whole"):
        return d.emit({"jsonrpc": "2.0", "error": out}, tree, log)
    return d.emit(out, tree, log)
