"""What must hold of any input, whatever was done to it.

An oracle raises ``AssertionError``; any other exception that reaches it is a fault as well. Most
are the laws of the corpus (``dragoman.testing``, ``leaves``), asked of inputs that nobody wrote.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from msgspec.structs import replace

import dragoman
import leaves
from dragoman import DragomanError, Malformed, Result, Transcoder, Unsayable, dialects, testing
from dragoman.core.surrogates import well_formed
from dragoman.core.walk import meaning, rebuild
from dragoman.ledger import CODES, KINDS
from dragoman.model import (
    Reasoning,
    Refusal,
    Request,
    Response,
    Source,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Tree,
)
from dragoman.testing import Document, difference
from dragoman.tools.results import NO_RESULT

Json: TypeAlias = Any


@dataclass
class Talk:
    """A document of a dialect, and the dialect that it shall become."""

    dialect: str
    facet: str
    target: str
    document: Json
    tame: bool = True
    """Whether all that is odd in it are keys: then each value must be there, or be reported."""
    results: dict[str, Result | DragomanError] = field(default_factory=dict, repr=False)

    kind: ClassVar[str] = "document"

    def turned(self, target: str) -> Result:
        """What a dialect makes of the document; asked twice, it is not made again."""
        found = self.results.get(target)
        if found is None:
            try:
                found = dragoman.convert(
                    self.document, source=self.dialect, target=target, facet=self.facet, now=0,
                    model=self.model if target == self.target else None,
                )  # fmt: skip
            except DragomanError as refusal:
                found = refusal
            self.results[target] = found
        if isinstance(found, DragomanError):
            raise found
        return found

    @property
    def model(self) -> str | None:
        """The model that must be named, where the document names none and the target needs one."""
        if self.facet != "request" or self.dialect == self.target:
            return None
        try:
            tree = dragoman.read(whole(self.document), self.dialect)
        except DragomanError:
            return None
        return "m" if testing.needs_a_model(tree, self.target) else None

    def as_document(self) -> Document:
        return Document("", self.dialect, "", self.facet, False, self.document)

    def without_surrogates(self) -> Document:
        """As readers see it, where nothing stands between them and the document.

        Seeds are also what conversions gave, and may hold by chance what is made up anew.
        """
        return self.as_document()._replace(body=whole(self.document), degraded=True)

    def stored(self) -> dict[str, Json]:
        return {
            "dialect": self.dialect,
            "facet": self.facet,
            "target": self.target,
            "tame": self.tame,
            "document": self.document,
        }


@dataclass
class Stream:
    """The bytes of a stream, where they are cut, and the dialect that they shall become."""

    dialect: str
    target: str
    data: bytes
    cuts: list[int] = field(default_factory=list)
    tame: bool = True
    """Whether a provider could send it: all that is odd in it are keys."""

    kind: ClassVar[str] = "stream"

    def stored(self) -> dict[str, Json]:
        try:
            data = {"text": self.data.decode()}
        except UnicodeDecodeError:
            data = {"base64": base64.b64encode(self.data).decode()}
        about = {"dialect": self.dialect, "target": self.target, "tame": self.tame}
        return {**about, "cuts": self.cuts, **data}


Case: TypeAlias = Talk | Stream


def loaded(stored: dict[str, Json]) -> Case:
    """A case as it was stored."""
    if "document" in stored:
        names = ("dialect", "facet", "target", "document", "tame")
        return Talk(**{name: stored[name] for name in names})
    data = stored["text"].encode() if "text" in stored else base64.b64decode(stored["base64"])
    return Stream(stored["dialect"], stored["target"], data, stored["cuts"], stored["tame"])


def resolves(document: Json, pointer: str) -> bool:
    """Whether a pointer names a place; in keys, U+FFFD stands for half of a surrogate pair."""
    return testing.resolves(document, pointer) or testing.resolves(whole(document), pointer)


def whole(document: Json) -> Json:
    """The document with U+FFFD for each lone surrogate."""
    found = well_formed(document)
    return document if found is None else found.value


def digest(case: Case) -> str:
    return hashlib.sha256(json.dumps(case.stored(), sort_keys=True).encode()).hexdigest()[:10]


# -- documents ---------------------------------------------------------------------------------


def refusals(case: Talk) -> None:
    """The document is read, or refused with one of our errors, at a place that exists."""
    for target in (case.dialect, case.target):
        refusal = refused(case, target)
        if isinstance(refusal, Malformed | Unsayable):
            assert resolves(case.document, refusal.at), f"{refusal}: which is nowhere"


def refused(case: Talk, target: str) -> DragomanError | None:
    """The error of a conversion, if it is one of ours."""
    try:
        case.turned(target)
    except DragomanError as refusal:
        return refusal
    return None


def unchanged(case: Talk) -> None:
    """The input is not changed: by conversion, check, repair or detection."""
    given = json.loads(json.dumps(case.document))
    for way in (tried, checked, repaired, detected, carried):
        way(Talk(case.dialect, case.facet, case.target, given))
        assert text(given) == text(case.document), f"{way.__name__}: " + difference(
            given, case.document
        )


def tried(case: Talk) -> Result | None:
    try:
        return case.turned(case.target)
    except DragomanError:
        return None


def checked(case: Talk) -> list[dragoman.Problem]:
    try:
        return dragoman.check(case.document, case.dialect, facet=case.facet)
    except DragomanError:
        return []


def repaired(case: Talk) -> Result | None:
    try:
        return dragoman.repair(case.document, case.dialect, facet=case.facet)
    except DragomanError:
        return None


def detected(case: Talk) -> tuple[dragoman.Guess, ...]:
    try:
        return dragoman.detect(case.document)
    except Malformed:
        return ()


def carried(case: Talk) -> Result | None:
    try:
        return dragoman.convert(
            case.document, source=case.dialect, target=case.target, facet=case.facet, now=0,
            model=case.model, carry=True,
        )  # fmt: skip
    except DragomanError:
        return None


def is_refused(case: Talk) -> bool:
    """Whether the reader refuses the document."""
    try:
        case.turned(case.dialect)
    except Exception:  # one that is not ours is a fault, which the oracles report
        return True
    return False


def same_dialect(case: Talk) -> None:
    """In its own dialect a document comes back exactly, and nothing is lost."""
    try:
        result = case.turned(case.dialect)
    except Malformed:
        return
    if case.dialect == "native":  # what is blank may be written or not, and whole numbers be floats
        read = dialects.get("native").read
        back = read(whole(result.document), case.facet)
        assert back == read(whole(case.document), case.facet), "another tree"
        return
    assert text(result.document) == text(case.document), difference(result.document, case.document)
    assert not result.losses, result.losses[0]


def rewritten(case: Talk) -> None:
    """Written without its source, a document means the same in its own dialect."""
    if case.dialect == "native":
        return
    try:
        case.turned(case.dialect)
    except Malformed:
        return
    testing.identity(case.without_surrogates())


def determinism(case: Talk) -> None:
    """The same input gives the same bytes and the same ledger, from bytes as from a value."""
    first = tried(case)
    if first is None:
        return
    testing.determinism(case.as_document(), case.target)
    if json.loads(json.dumps(case.document)) != case.document:
        return  # two halves that are a character in JSON
    parsed = dragoman.convert(
        json.dumps(case.document).encode(), source=case.dialect, target=case.target,
        facet=case.facet, now=0, model=case.model,
    )  # fmt: skip
    assert first.to_json() == parsed.to_json(), difference(parsed.document, first.document)
    assert first.losses == parsed.losses, difference(parsed.losses, first.losses)


def ledger(case: Talk) -> None:
    """Every loss has a documented name, a reason, and a place in the source."""
    result = tried(case)
    for loss in result.losses if result is not None else ():
        assert loss.kind in KINDS, loss
        assert loss.what in CODES, loss
        assert loss.why, loss
        assert resolves(case.document, loss.path), f"{loss}, which is nowhere"


def readable(case: Talk) -> None:
    """What is written can be read in the target, and comes back exactly from there."""
    result = tried(case)
    if result is None or is_error(case, result):
        return
    dragoman.read(whole(result.document), case.target, facet=case.facet)
    same_dialect(Talk(case.target, case.facet, case.target, result.document))


def is_error(case: Talk, result: Result) -> bool:
    """Whether a failed response has become an error, which is another facet."""
    return case.facet == "response" and any(x.what == "response.failure" for x in result.losses)


def audit_by_node(case: Talk) -> None:
    """Each node whose meaning changed has a loss, and each loss tells of a change.

    Where nodes have doubles, nobody can tell which of them is meant: then no loss is no change.
    """
    result = tried(case)
    if result is None or not is_audited(case) or is_error(case, result) or case.dialect == "native":
        return
    document = case.without_surrogates()
    tree = dragoman.read(document.body, case.dialect, facet=case.facet)
    if isinstance(tree, ToolChoice) and tree.mode is None:
        return  # nothing is written, which is "auto" where a choice stands alone
    if not has_doubles(tree):
        testing.audit(document, case.target)
    elif not any(map(is_change, result.losses)) and not is_kin(case):
        if isinstance(tree, Request) and case.model is not None:
            tree = replace(tree, model=case.model)
        back = dragoman.read(whole(result.document), case.target, facet=case.facet)
        written, got = meaning(without_names(tree)), meaning(without_names(back))
        assert got == written, difference(got, written)


def is_change(loss: dragoman.Loss) -> bool:
    """Whether a loss tells of what comes back otherwise; what a result held may stand after it."""
    return testing.is_lossy(loss) or loss.what == "tool_result.content"


def is_kin(case: Talk) -> bool:
    """Whether a dialect passes on what it does not know, and the target may understand it."""
    return dialects.get(case.target).knows(case.dialect)


def without_names(tree: Tree) -> Tree:
    """The tree without what results tell of their calls, which tell it as well."""
    calls = {call.id: call for call in calls_of(tree)}

    def look(node: Any, at: str) -> Any:
        call = calls.get(node.call_id) if isinstance(node, ToolResult) else None
        if call is None:
            return node
        return replace(node, name=None if node.name == call.name else node.name, kind=call.kind)

    return rebuild(tree, look)


def is_audited(case: Talk) -> bool:
    """Whether the audits understand a document: not what only looks as if we had written it."""
    written = text(case.document)
    return case.tame and not any(mark in written for mark in LOOKALIKES)


LOOKALIKES = (
    "[freeform tool]",  # a freeform tool that has become a function: who reads it, sees the former
    NO_RESULT,  # the result that is made up for a call without one
    "[No response generated]",  # the text of a response without output
    "[content of tool result ",  # media of a result that stand beside it
)
"""What we write instead of something else: in a source, nobody can tell it from ours."""
MADE_UP = re.compile(r"call_\d+")
"""An id like those that calls without one get."""


def has_doubles(tree: Tree) -> bool:
    """Whether a text of a tree is inside of another one, or an id or a name stands twice.

    So may what has none: a result without an id may be that of any call.
    """
    names = names_of(tree)
    if len(set(names)) < len(names):
        return True
    written = sorted(words_of(tree), key=len)
    if any(one in other for n, one in enumerate(written) for other in written[n + 1 :]):
        return True
    ids = [call.id for call in calls_of(tree)]
    if ("result", None) in names and ids and None not in ids:
        return True  # a result of no call, or of one that has an id
    if None in ids and any(kind == "result" and name not in ids for kind, name in names):
        return True  # the other way about
    return None in ids and any(MADE_UP.fullmatch(one) for one in ids if one is not None)


def calls_of(tree: Tree) -> list[ToolCall]:
    found: list[ToolCall] = []

    def look(node: Any, at: str) -> Any:
        if isinstance(node, ToolCall):
            found.append(node)
        return node

    rebuild(tree, look)
    return found


def words_of(tree: Tree) -> list[str]:
    """The texts and the data of a tree, each without white space."""
    found: list[str] = []

    def look(node: Any, at: str) -> Any:
        if isinstance(node, Text | Refusal):
            found.append(node.text)
        elif isinstance(node, Source):
            found.append(node.value)
            found.extend(filter(None, [leaves.decoded(node.value)]))
        elif isinstance(node, Reasoning):
            found.extend((*node.content, *node.summary))
            found.extend([node.signature.data] if node.signature is not None else ())
        return node

    rebuild(tree, look)
    return ["".join(written.split()) for written in found]


def names_of(tree: Tree) -> list[tuple[str, str | None]]:
    """The calls, the results and the tools of a tree, by what each is known by."""
    found: list[tuple[str, str | None]] = []

    def look(node: Any, at: str) -> Any:
        if isinstance(node, ToolCall):
            found.append(("call", node.id))
        elif isinstance(node, ToolResult):
            found.append(("result", node.call_id))
        elif isinstance(node, Tool):
            found.append(("tool", node.name))
        return node

    rebuild(tree, look)
    return found


def audit_by_leaf(case: Talk) -> None:
    """Each scalar of the document is in what it became, or a loss tells of it."""
    result = tried(case)
    if result is None or not is_audited(case) or case.dialect == case.target:
        return
    if "native" in (case.dialect, case.target):
        return
    missed = leaves.unaccounted(whole(case.document), result.document, result.losses)
    assert not missed, f"{missed[0].pointer}: {missed[0].value!r} is not there, and not reported"


def way_home(case: Talk) -> None:
    """With the capsule, the document comes back exactly.

    Not asked: a tree with its source, of which the capsule restores more than it reports; and what
    only looks as if we had written it, where a turn may count as changed, and be reported.
    """
    if case.dialect == "native" and isinstance(case.document, dict) and "source" in case.document:
        return
    if any(mark in text(case.document) for mark in LOOKALIKES):
        return
    if tried(case) is not None:
        found = well_formed(case.document)
        # A key with a lone surrogate comes back, and what stood for it is a key that nobody knows.
        odd = found is not None and bool(found.keys)
        testing.same(case.without_surrogates() if odd else case.as_document(), case.target)


def checks(case: Talk) -> None:
    """What ``check`` complains of is in the document."""
    for problem in checked(case):
        assert resolves(case.document, problem.path), f"{problem}, which is nowhere"


def repairs(case: Talk) -> None:
    """What was repaired needs no more repair, and every change is reported where it happened."""
    result = repaired(case)
    if result is None:
        return
    for loss in result.losses:
        assert resolves(case.document, loss.path), f"{loss}, which is nowhere"
    if not result.losses:
        assert text(result.document) == text(case.document), "changed, and not reported"
    again = dragoman.repair(result.document, case.dialect, facet=case.facet)
    assert text(again.document) == text(result.document), difference(
        again.document, result.document
    )
    assert not again.losses, again.losses[0]


def detection(case: Talk) -> None:
    """``detect`` gives guesses of dialects and facets that exist."""
    for guess in detected(case):
        assert guess.facet in dialects.get(guess.dialect).facets(), guess
        assert 0 <= guess.confidence <= 1, guess


# -- streams -----------------------------------------------------------------------------------


def cuts(case: Stream) -> None:
    """However the bytes are cut, the result is the same; a second ``close`` adds nothing."""
    testing.cut_alike(case.data, case.dialect, case.target, case.cuts)


def endings(case: Stream) -> None:
    """What fails in the source fails in the target, seen by the target's own reader."""
    transcoder = Transcoder(case.dialect, case.target, now=0)
    written = transcoder.feed(case.data)
    assert isinstance(transcoder.response, Response)
    written += transcoder.close()
    again = Transcoder(case.target, case.target)
    again.feed(written)
    again.close()
    failed, heard = transcoder.response.failure, again.response.failure
    assert (failed is None) == (heard is None), f"{failed} is read as {heard}: {written[-300:]!r}"
    assert transcoder.feed(case.data) == b"" or case.dialect == case.target, "it goes on"


def truncation(case: Stream) -> None:
    """A stream that breaks off never passes for a whole one."""
    if not case.tame:
        return  # it may say that it has ended, and go on
    whole = Transcoder(case.dialect, case.target)
    whole.feed(case.data)
    whole.close()
    for cut in case.cuts:
        testing.breaks_off(case.data[:cut], whole.response, case.dialect, case.target)


def flight(case: Stream) -> None:
    """What is collected from the bytes is the conversion of what is collected from the source."""
    if case.tame:
        testing.streaming_equals_batch(case.data, case.dialect, case.target)


def memory(case: Stream) -> None:
    """Whether texts are kept or not, the same is written, or what needs them is reported."""
    kept, flat = (
        Transcoder(case.dialect, case.target, now=0, collect=collect) for collect in (True, False)
    )
    wanted, got = (x.feed(case.data) + x.close() for x in (kept, flat))
    if kept.response.failure is not None:
        assert flat.response.failure is not None, "a failure passes for a response"
        return  # in other words, perhaps
    if {"text.citations", "extras"} & {loss.what for loss in flat.losses}:
        return  # where it stands in a text is not known
    assert got == wanted, testing.frames_difference(got, wanted, case.target)


def stream_ledger(case: Stream) -> None:
    """Every loss has a documented name, and a place in the collected response."""
    transcoder = Transcoder(case.dialect, case.target, now=0)
    transcoder.feed(case.data)
    transcoder.close()
    if transcoder.response.failure is not None:
        return
    document = transcoder.reader.document()
    for loss in transcoder.losses:
        assert loss.kind in KINDS, loss
        assert loss.what in CODES, loss
        assert resolves(document, loss.path), f"{loss}, which is nowhere"


DOCUMENTS: tuple[Callable[[Talk], None], ...] = (
    refusals, unchanged, same_dialect, rewritten, determinism, ledger, readable, audit_by_node,
    audit_by_leaf, way_home, checks, repairs, detection,
)  # fmt: skip
STREAMS: tuple[Callable[[Stream], None], ...] = (
    cuts, endings, truncation, flight, memory, stream_ledger,
)  # fmt: skip


def faults(case: Case, only: str | None = None) -> Iterator[tuple[str, BaseException]]:
    """The oracles that a case breaks, each with the exception that tells how."""
    oracles: Any = DOCUMENTS if isinstance(case, Talk) else STREAMS
    for oracle in oracles:
        name = oracle.__name__
        if only not in (None, name):
            continue
        try:
            oracle(case)
        except Exception as problem:
            yield oracle.__name__, problem


def text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
