"""A request and its reply as one history: what is trained on, and what goes on."""

from __future__ import annotations

from msgspec.structs import replace

from .. import dialects
from ..convert import convert
from ..convert import join as join_documents
from ..core import duplicates
from ..core.reading import parse
from ..errors import DragomanError, Malformed
from ..ledger import Loss
from ..model import Json, Response
from .faults import MALFORMED, Fault
from .inputs import Document, Hint
from .sources import Source, identify

ANSWERS = ("response", "usage", "stop")
"""The codes of what only a response says begin with these."""


def response_source(document: Document, asked: Source) -> Source:
    """What the reply is: what it looks like, and where that is not clear, what was asked."""
    if document.hint is not None:
        return Source(document.hint.dialect, "response")
    try:
        return identify(document, None, "response")
    except Fault:
        return Source(asked.dialect, "response")


def joined(
    request: Document,
    response: Document,
    asked: Source | None = None,
    written: Source | None = None,
) -> Document:
    """The request with the reply appended, as one document; its losses point into both."""
    asked = asked or identify(request, None, "request")
    written = written or response_source(response, asked)
    data, losses = joined_data(request, response, asked, written)
    return Document(
        request.input,
        data,
        request.line,
        hint=Hint(
            asked.dialect,
            "request",
            f"{asked.why or 'a request'}; with its response",
            is_joined=True,
        ),
        outer=request.outer,
        label=request.label,
        notes=(*request.notes, *response.notes, *losses),
        place=Placing(request, response, data, asked.dialect),
    )


def joined_data(
    request: Document, response: Document, asked: Source, written: Source
) -> tuple[bytes, tuple[Loss, ...]]:
    """The document and what was lost on the way to it, by its place in the file."""
    losses: tuple[Loss, ...] = ()
    data = response.data
    try:
        value = parse(request.data)
        dialects.get(asked.dialect).read(value, "request")
    except Malformed as problem:
        raise Malformed(problem.what, request.place(problem.at)) from None
    if response.hint is not None and response.hint.facet == "error":
        raise Fault(
            "the reply is an error, which cannot be part of a history",
            MALFORMED,
            where=response.name,
            hint="--facet request uses the request alone",
        )
    try:
        if written.dialect != asked.dialect:
            result = convert(
                data, source=written.dialect, target=asked.dialect, facet="response", limit=None
            )
            data, losses = result.to_json(), result.losses
        joint = join_documents(value, data, dialect=asked.dialect)
    except Malformed as problem:
        raise Malformed(problem.what, response.place(problem.at)) from None
    # What only a response says is no part of a history, whether it was lost before or not.
    losses = tuple(x for x in losses if x.what.partition(".")[0] not in ANSWERS)
    found = [replace(loss, path=response.place(loss.path)) for loss in (*losses, *joint.losses)]
    twice = duplicates.losses(request.data, value)
    asked_twice = (replace(loss, path=request.place(loss.path)) for loss in twice)
    return joint.to_json(), (*asked_twice, *found)


class Placing:
    """Where something of the joined history stands in the file: in the request, or in the reply."""

    def __init__(self, request: Document, response: Document, data: bytes, dialect: str) -> None:
        self.request, self.response, self.dialect = request, response, dialect
        self.key = dialects.get(dialect).history or "messages"
        self.data = data
        self.count: int | None = None
        self.reply: Json = None
        self.root = ""

    def __call__(self, path: str) -> str:
        if self.count is None:
            self.look()
        start = f"/{self.key}/"
        if not path.startswith(start):
            return self.request.place(path)
        index, slash, rest = path[len(start) :].partition("/")
        if not index.isdecimal() or int(index) < (self.count or 0):
            return self.request.place(path)
        for place in (f"{self.root}{slash}{rest}", f"/output/{int(index) - (self.count or 0)}"):
            if _is_in(self.reply, place):
                return self.response.place(place)
        return self.response.place("")

    def look(self) -> None:
        before = parse(self.request.data)
        history = before.get(self.key) if before.__class__ is dict else None
        self.count = len(history) if history.__class__ is list else 0
        self.reply = parse(self.response.data)
        try:
            tree = dialects.get(self.dialect).read(self.reply, "response")
            self.root = tree.candidates[0].message.at if isinstance(tree, Response) else ""
        except (DragomanError, IndexError):
            self.root = ""


def _is_in(value: Json, pointer: str) -> bool:
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if value.__class__ is dict and token in value:
            value = value[token]
        elif value.__class__ is list and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return False
    return True
