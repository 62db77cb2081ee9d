"""The quick ways of the Gemini dialect say what its careful ways say, of every document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

import places
from dragoman import Transcoder, decompose, dialects
from dragoman.core.reading import as_dict
from dragoman.core.turns import mark_custom_results
from dragoman.core.writing import Writing
from dragoman.dialects.gemini import Gemini, read_stream, turns
from dragoman.dialects.gemini.read_parts import NOBODY, Called
from dragoman.dialects.gemini.schema import Saying
from dragoman.errors import Malformed
from dragoman.ledger import Ledger
from dragoman.model import (
    Block,
    Json,
    Message,
    Request,
    Role,
    Tree,
)
from dragoman.testing import Document, broken, load_corpus

FACETS = ("request", "messages", "response")
DOCUMENTS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet in FACETS
]
OWN = [document for document in DOCUMENTS if document.dialect == "gemini"]
QUICK = Gemini()


class Careful(Gemini):
    """Gemini without its quick ways: every turn, every part and every parameter one by one."""

    def read_contents(
        self, docs: list[Json], at: str, custom: frozenset[str] = NOBODY
    ) -> list[Message]:
        out: list[Message] = []
        called: Called = {}
        odd = [
            self.read_turn(doc, f"{at}/{index}", called, custom, out)
            for index, doc in enumerate(docs)
        ]
        if any(odd):
            out = self.paired(out)
        return mark_custom_results(out) if custom else out

    def read_parts(
        self, docs: list[Json], at: str, called: Called, custom: frozenset[str] = NOBODY
    ) -> list[Block]:
        out: list[Block] = []
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            out.append(self.read_part(as_dict(doc, where), where, called, custom))
        return out

    def read_usual_params(self, doc: dict[str, Json]) -> None:
        return None

    def write_turns(self, messages: Sequence[Message], w: Saying) -> list[Json]:
        out: list[Json] = []
        called: Called = {}
        results = False
        for message in messages:
            if message.role != "tool":
                self.say_hoisted(out, w)
            results = self.write_turn(message, out, results, called, w)
        self.say_hoisted(out, w)
        return out

    def write_parts(
        self, blocks: Sequence[Block], w: Writing, called: Called, role: Role | None = None
    ) -> list[Json]:
        out: list[Json] = []
        for block in blocks:
            out += self.write_part(block, w, called)
        return out


def grown(body: Json) -> Iterator[Json]:
    """The document with something unknown in each of its objects."""
    if isinstance(body, dict):
        yield {**body, "unknown": 1}
        for key, value in body.items():
            yield from ({**body, key: new} for new in grown(value))
    elif isinstance(body, list):
        for index, value in enumerate(body):
            yield from ([*body[:index], new, *body[index + 1 :]] for new in grown(value))


def read(dialect: Gemini, facet: str, body: Json) -> Tree | str:
    """The tree, or why there is none."""
    try:
        tree = dialect.read(body, facet)
    except Malformed as problem:
        return str(problem)
    if not isinstance(tree, Request):
        return tree
    params = tree.params  # only places of what is there mean something
    ats = {name: at for name, at in params.ats.items() if getattr(params, name) is not None}
    return replace(tree, params=replace(params, ats=ats))


def write(dialect: Gemini, tree: Tree) -> tuple[str, list[str]]:
    log = Ledger()
    return str(dialect.write(tree, log)), [str(loss) for loss in log.losses]


@pytest.mark.parametrize("document", OWN, ids=lambda d: d.name)
def test_reading(document: Document) -> None:
    for body in (document.body, *broken(document.body), *grown(document.body)):
        quick, careful = (read(each, document.facet, body) for each in (QUICK, Careful()))
        assert quick == careful


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_writing(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = dialects.get(document.dialect).read(document.body, document.facet)
    quick = write(QUICK, tree)
    monkeypatch.setattr(turns, "is_plain_text", lambda block: False)
    assert quick == write(Careful(), tree)


@pytest.mark.parametrize(
    "document", [each for each in OWN if each.facet == "response"], ids=lambda d: d.name
)
def test_streams(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = decompose(document.body, "gemini").split(b"\n\n")
    stream = b"\n\n".join([frame for frame in frames for _ in range(3)])  # so that texts go on
    quick = transcoded(stream)

    def refuse(data: bytes) -> None:
        raise UnicodeError

    monkeypatch.setattr(read_stream, "decode_usual", refuse)
    assert quick == transcoded(stream)


def transcoded(stream: bytes) -> tuple[bytes, list[str]]:
    transcoder = Transcoder("gemini", "openai-chat")
    said = transcoder.feed(stream) + transcoder.close()
    return said, [str(loss) for loss in transcoder.losses]
