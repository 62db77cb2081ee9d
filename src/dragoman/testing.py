"""The laws of the corpus, for our own tests and for dialects that live in other packages.

Each law is a function that raises ``AssertionError`` with a reason. A corpus is a folder of cases;
a case is a folder in which every file says exactly the same thing:

    tests/corpus/tool-call/
        case.toml                                  title, and what is lost where
        anthropic-messages.request.json            <dialect>.<facet>.json
        openai-chat.request.json
        openai-chat~legacy.request.json            another spelling: read, never written
        openai-responses.request.degraded.json     what comes out where it cannot be said whole
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import dialects
from .auditing import faults
from .comparing import Change, changes
from .convert import convert
from .dialect import FACETS
from .errors import DragomanError, Malformed, Unsayable
from .framing import framer, write_frame
from .ledger import CODES, KINDS, Ledger, Loss
from .model import Json
from .probing import is_lossy as is_lossy
from .probing import speaks as speaks
from .result import Result
from .transcoder import Transcoder, collect, decompose
from .walk import meaning


class Document(NamedTuple):
    """One file of a case."""

    case: str
    dialect: str
    spelling: str
    facet: str
    degraded: bool
    body: Json

    @property
    def name(self) -> str:
        return f"{self.case}/{self.dialect}{self.spelling and '~' + self.spelling}.{self.facet}"


class Case(NamedTuple):
    name: str
    title: str
    documents: tuple[Document, ...]
    unofficial: tuple[str, ...]
    """dialects whose file here the vendor's own types refuse, on purpose"""
    degrades: dict[str, dict[str, list[str]]]
    """facet -> ``"source > target"`` -> the losses, as ``"kind code"``"""

    def losses(self, source: Document, target: str) -> list[str]:
        said = f"{source.dialect}{source.spelling and '~' + source.spelling} > {target}"
        return sorted(self.degrades.get(source.facet, {}).get(said, []))

    def expected(self, target: str, facet: str) -> Document | None:
        """The file that a conversion to a dialect must give."""
        for document in self.documents:
            if (document.dialect, document.facet, document.spelling) == (target, facet, ""):
                return document
        return None


def load_case(folder: Path) -> Case:
    settings = tomllib.loads((folder / "case.toml").read_text("utf-8"))
    documents = tuple(
        document
        for path in sorted(folder.glob("*.json"))
        if (document := _load_document(folder.name, path)) is not None
    )
    unofficial = tuple(settings.get("unofficial", ()))
    degrades = settings.get("degrades", {})
    return Case(folder.name, settings["title"], documents, unofficial, degrades)


def load_corpus(root: Path) -> tuple[Case, ...]:
    return tuple(load_case(path.parent) for path in sorted(root.glob("*/case.toml")))


def _load_document(case: str, path: Path) -> Document:
    who, facet, *rest = path.name.removesuffix(".json").split(".")
    dialect, _, spelling = who.partition("~")
    if facet not in FACETS or rest not in ([], ["degraded"]):
        raise ValueError(f"{path.name} is not <dialect>[~spelling].<facet>[.degraded].json")
    body = json.loads(path.read_text("utf-8"))
    return Document(case, dialect, spelling, facet, bool(rest), body)


WRONG: tuple[Json, ...] = (None, 0, 1.5, True, "", "x", [], {}, [None], {"type": 1}, [[]])

# -- the laws -------------------------------------------------------------------------------


def identity(document: Document) -> None:
    """``write(read(x)) == x``, unknown keys and spellings included, and an empty ledger."""
    speaker, log = dialects.get(document.dialect), Ledger()
    back = speaker.write(speaker.read(document.body, document.facet), log)
    assert _text(back) == _text(document.body), _difference(back, document.body)
    assert not log.losses, _said(log.losses)


def pair(case: Case, source: Document, target: str) -> bool:
    """One file becomes the other, with exactly the declared losses. False: nothing declared."""
    if target == source.dialect:
        return True  # that is identity
    wanted = case.expected(target, source.facet)
    if wanted is None or source.degraded:
        return False
    result = _convert(source, target)
    assert _text(result.document) == _text(wanted.body), _difference(result.document, wanted.body)
    said = sorted(f"{loss.kind} {loss.what}" for loss in result.losses)
    declared = case.losses(source, target)
    assert said == declared, f"losses {said}, declared {declared}\n{_said(result.losses)}"
    if not wanted.degraded:  # every whole file says the same: things may move, no more
        assert not any(map(is_lossy, result.losses)), _said(result.losses)
    return True


def audit(document: Document, target: str) -> None:
    """What was written and is read back has changed just where the ledger says so, node by node.

    Each node whose meaning changed has a loss at its own place, under a code that speaks of it;
    each loss points at something that changed.
    """
    found = audited(document, target)
    told = "\n".join(f"  {kind}: {what}" for kind, what in found)
    assert not found, f"the ledger does not tell what happened:\n{told}"


def audited(document: Document, target: str) -> list[tuple[str, Change | Loss]]:
    """Changes that no loss tells of (``silent``), and losses of what has not changed (``bogus``).

    A document that is itself the result of a conversion may hold by chance what would be made up
    anew: of one that is degraded, only what is silent counts.
    """
    tree = dialects.get(document.dialect).read(document.body, document.facet)
    log, writer = Ledger(now=0), dialects.get(target)
    back = writer.read(writer.write(tree, log), document.facet)
    kin = target != document.dialect and writer.knows(document.dialect)
    found = faults(changes(tree, back), filter(is_lossy, log.losses), kin)
    return [fault for fault in found if fault[0] == "silent" or not document.degraded]


def home(document: Document, target: str) -> None:
    """There and back again with the capsule: the original, exactly, key order included."""
    there = _convert(document, target, carry=True)
    capsule = json.loads(json.dumps(there.capsule))
    back = convert(
        there.document, source=target, target=document.dialect, facet=document.facet,
        capsule=capsule,
    )  # fmt: skip
    assert json.dumps(back.document) == json.dumps(document.body), _difference(
        back.document, document.body
    )
    assert not back.losses, _said(back.losses)


def determinism(document: Document, target: str) -> None:
    """The same input gives the same bytes and the same ledger."""
    first, second = _convert(document, target), _convert(document, target)
    assert first.to_json() == second.to_json()
    assert first.losses == second.losses


def pointers(document: Document, target: str) -> None:
    """Every loss has a documented name and points into the source document."""
    for loss in _convert(document, target).losses:
        assert loss.kind in KINDS, loss
        assert loss.what in CODES, loss
        assert loss.why, loss
        assert resolves(document.body, loss.path), f"{loss} points nowhere"


def malformed_or_answer(dialect: str, facet: str, body: Json) -> None:
    """Any JSON gives a tree or ``Malformed``, never another exception."""
    try:
        tree = dialects.get(dialect).read(body, facet)
    except Malformed:
        return
    for target in dialects.names():
        try:
            dialects.get(target).write(tree, Ledger())
        except DragomanError:
            continue


# -- the laws of streams --------------------------------------------------------------------


def flies(document: Document) -> None:
    """An answer that is taken apart into a stream and collected again is the same answer."""
    data = decompose(document.body, document.dialect)
    got = collect(data, document.dialect).document
    assert _text(got) == _text(document.body), _difference(got, document.body)


def rest_is_flight(data: bytes, source: str, target: str) -> None:
    """What a stream becomes in flight is what the answer becomes at rest, losses included."""
    transcoder = Transcoder(source, target, now=0)
    said = transcoder.feed(data) + transcoder.close()
    log = Ledger(now=0)
    writer = dialects.get(target)
    wanted = writer.write(transcoder.response, log)
    got = collect(said, target).document
    lost, declared = _flight_losses(transcoder.losses), _flight_losses(log.losses)
    if said == data:
        declared = []  # what passes as it came loses nothing
    assert lost == declared, f"in flight {lost}\nat rest {declared}"
    if any(loss.what in ("stream.order", "stream.text") for loss in transcoder.losses):
        return  # it came in another order or another form than at rest, and the ledger says so
    same = meaning(writer.read(got, "response")) == meaning(writer.read(wanted, "response"))
    assert same, _difference(got, wanted)


def chunks_do_not_matter(data: bytes, source: str, target: str, size: int) -> None:
    """Any split of the bytes gives the same bytes."""
    whole, pieces = Transcoder(source, target), Transcoder(source, target)
    wanted = whole.feed(data) + whole.close()
    parts = [pieces.feed(data[i : i + size]) for i in range(0, len(data), size)]
    assert b"".join(parts) + pieces.close() == wanted
    assert pieces.losses == whole.losses


def never_a_false_success(data: bytes, source: str, target: str) -> None:
    """A stream that breaks off, wherever it does, ends in an error."""
    whole = Transcoder(source, target)
    whole.feed(data)
    whole.close()
    frames = framer(dialects.get(source).framing).feed(data)
    for count in range(len(frames)):
        cut = Transcoder(source, target)
        said = b"".join(
            cut.feed(write_frame(cut.source.framing, frame)) for frame in frames[:count]
        )
        if cut.ended:
            break  # it was whole, and what follows only says so
        ending = cut.close()
        if cut.response.failure is None:
            said_so_far = meaning(cut.response).candidates
            assert said_so_far == meaning(whole.response).candidates[: len(said_so_far)], (
                "a part passes for the whole"
            )
            continue
        again = Transcoder(target, target)
        again.feed(said + ending)
        again.close()
        assert again.response.failure is not None, f"cut after {count} frames: {ending!r}"


def _flight_losses(losses: Iterable[Loss]) -> list[str]:
    said = (loss for loss in losses if not loss.what.startswith("stream."))
    return sorted(f"{loss.kind} {loss.what} at {loss.path}" for loss in said)


def resolves(doc: Json, pointer: str) -> bool:
    """Whether a JSON pointer names a place in a document."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(doc, dict) and token in doc:
            doc = doc[token]
        elif isinstance(doc, list) and token.isdigit() and int(token) < len(doc):
            doc = doc[int(token)]
        else:
            return False
    return True


def broken(body: Json) -> Iterator[Json]:
    """The document with each of its values replaced by something that does not belong there."""
    for path in _paths(body):
        for wrong in WRONG:
            yield _replaced(body, path, wrong)
        yield _removed(body, path)


def for_all(law: Callable[[Document, str], None], document: Document) -> None:
    """A law over every dialect that can write the document; all that break it are named.

    A dialect may refuse a conversation that it has no form for, if it says where.
    """
    broken: list[str] = []
    for target in dialects.names():
        if not speaks(target, document.facet):
            continue
        try:
            law(document, target)
        except Unsayable as refusal:
            if not resolves(document.body, refusal.at):
                broken.append(f"{target}: {refusal} points nowhere")
        except AssertionError as problem:
            broken.append(f"{target}: {problem}")
    assert not broken, "\n".join(broken)


# -- helpers --------------------------------------------------------------------------------


def _convert(document: Document, target: str, **options: Any) -> Result:
    return convert(
        document.body,
        source=document.dialect,
        target=target,
        facet=document.facet,
        now=0,
        **options,
    )


def _paths(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, (*path, index))


def _replaced(value: Json, path: tuple[Any, ...], new: Json) -> Json:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def _removed(value: Json, path: tuple[Any, ...]) -> Json:
    if not path:
        return None
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = _removed(value[path[0]], path[1:])
    return copy


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _said(losses: list[Loss] | tuple[Loss, ...]) -> str:
    return "\n".join(f"  {loss}" for loss in losses)


def _difference(got: Json, wanted: Json) -> str:
    import difflib

    a = json.dumps(wanted, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
    b = json.dumps(got, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
    return "\n".join(difflib.unified_diff(a, b, "wanted", "got", lineterm="", n=4))
