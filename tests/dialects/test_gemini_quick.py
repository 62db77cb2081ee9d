"""The quick ways of the Gemini dialect say what its careful ways say, of every document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from msgspec.structs import replace

import places
from dragoman import Transcoder, decompose, dialects
from dragoman.core.reading import as_dict
from dragoman.core.resuming import Going
from dragoman.core.turns import mark_custom_results
from dragoman.core.writing import Writing
from dragoman.dialects.gemini import DIALECT, Gemini, parts, request, response, stream, tools, turns
from dragoman.dialects.gemini.parts import NOBODY, Called
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
MODULES = (parts, request, response, tools, turns)


def read_contents(
    d: Gemini, docs: list[Json], at: str, custom: frozenset[str] = NOBODY
) -> list[Message]:
    out: list[Message] = []
    called: Called = {}
    odd = [
        turns.read_turn(d, doc, f"{at}/{index}", called, custom, out)
        for index, doc in enumerate(docs)
    ]
    if any(odd):
        out = turns.paired(out)
    return mark_custom_results(out) if custom else out


def read_parts(
    d: Gemini, docs: list[Json], at: str, called: Called, custom: frozenset[str] = NOBODY
) -> list[Block]:
    out: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        out.append(parts.read_part(d, as_dict(doc, where), where, called, custom))
    return out


def read_usual_params(doc: dict[str, Json]) -> None:
    return None


def write_turns(
    d: Gemini, messages: Sequence[Message], w: Saying, go: Going, leading: int
) -> list[Json]:
    out: list[Json] = []
    called: Called = {}
    results = False
    for message in messages:
        if message.role != "tool":
            turns.say_hoisted(out, w)
        results = turns.write_turn(d, message, out, results, called, w)
    turns.say_hoisted(out, w)
    return out


def write_parts(
    d: Gemini, blocks: Sequence[Block], w: Writing, called: Called, role: Role | None = None
) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        out += parts.write_part(d, block, w, called)
    return out


CAREFUL = (read_contents, read_parts, read_usual_params, write_turns, write_parts)


@pytest.fixture
def careful(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Gemini without its quick ways: every turn, every part and every parameter one by one."""

    def patch() -> None:
        for function in CAREFUL:
            places = [module for module in MODULES if hasattr(module, function.__name__)]
            assert places, function
            for module in places:
                monkeypatch.setattr(module, function.__name__, function)

    return patch


def grown(body: Json) -> Iterator[Json]:
    """The document with something unknown in each of its objects."""
    if isinstance(body, dict):
        yield {**body, "unknown": 1}
        for key, value in body.items():
            yield from ({**body, key: new} for new in grown(value))
    elif isinstance(body, list):
        for index, value in enumerate(body):
            yield from ([*body[:index], new, *body[index + 1 :]] for new in grown(value))


def read(facet: str, body: Json) -> Tree | str:
    """The tree, or why there is none."""
    try:
        tree = DIALECT.read(body, facet)
    except Malformed as problem:
        return str(problem)
    if not isinstance(tree, Request):
        return tree
    params = tree.params  # only places of what is there mean something
    ats = {name: at for name, at in params.ats.items() if getattr(params, name) is not None}
    return replace(tree, params=replace(params, ats=ats))


def write(tree: Tree) -> tuple[str, list[str]]:
    log = Ledger()
    return str(DIALECT.write(tree, log)), [str(loss) for loss in log.losses]


@pytest.mark.parametrize("document", OWN, ids=lambda d: d.name)
def test_reading(document: Document, careful: Callable[[], None]) -> None:
    bodies = [document.body, *broken(document.body), *grown(document.body)]
    quick = [read(document.facet, body) for body in bodies]
    careful()
    assert quick == [read(document.facet, body) for body in bodies]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_writing(
    document: Document, careful: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = dialects.get(document.dialect).read(document.body, document.facet)
    quick = write(tree)
    careful()
    monkeypatch.setattr(turns, "is_plain_text", lambda block: False)
    assert quick == write(tree)


@pytest.mark.parametrize(
    "document", [each for each in OWN if each.facet == "response"], ids=lambda d: d.name
)
def test_streams(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = decompose(document.body, "gemini").split(b"\n\n")
    data = b"\n\n".join([frame for frame in frames for _ in range(3)])  # so that texts go on
    quick = transcoded(data)

    def refuse(frame: bytes) -> None:
        raise UnicodeError

    monkeypatch.setattr(stream, "decode_usual", refuse)
    assert quick == transcoded(data)


def transcoded(stream: bytes) -> tuple[bytes, list[str]]:
    transcoder = Transcoder("gemini", "openai-chat")
    written = transcoder.feed(stream) + transcoder.close()
    return written, [str(loss) for loss in transcoder.losses]
