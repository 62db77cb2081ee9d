"""Small conversions that are kept: each tells a faulty core from a right one.

``python tests/kept.py`` writes what the conversions of ``tests/kept`` give now; read the diff as
you would read code. ``python -m mutants --tell`` finds new ones (see CONTRIBUTING.md).

A file holds the documents of one dialect, one to a line after their facet, and below each what
other dialects make of it: the document, or ``!`` and the error; then the losses, and the capsule
where one is carried. A line with ``+`` is the capsule that comes with the document above:

    request {"messages":[{"role":"user","content":"Hi"}]}
      > gemini {"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}
          dropped params.user at /user
      > cohere carry {"messages":[{"role":"user","content":"Hi"}]}
          capsule {"dragoman":2}
    + {"dragoman":2}
      > anthropic-messages ! Unsayable at /messages

A stream is a string of its bytes; what is no UTF-8 is an object, ``{"base64": "..."}``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dragoman import DragomanError, Transcoder, check, convert, dialects, errors
from dragoman.convert import with_model
from dragoman.ledger import Ledger, Loss
from dragoman.model import Request
from dragoman.testing import breaks_no_rule, needs_a_model
from fuzz import oracles

ROOT = Path(__file__).parent / "kept"
STREAM = "stream"
BECOMES, INNER = "  > ", "      "
CARRY, CAPSULE = "carry ", "capsule "

Json: TypeAlias = Any


class Case(NamedTuple):
    """What is converted, and how."""

    dialect: str
    facet: str
    document: Json
    """of a stream its bytes"""
    target: str
    carry: bool = False
    """whether a capsule is asked for"""
    capsule: Json = None
    """the one that comes with the document"""

    @property
    def name(self) -> str:
        carry = " carry" if self.carry else ""
        return f"{self.dialect} {self.facet} > {self.target}{carry}: {text(self.document)[:80]}"


class Outcome(NamedTuple):
    """What became of it: a document or an error, the ledger, and a capsule."""

    written: str
    losses: tuple[str, ...] = ()
    capsule: str = ""

    def lines(self) -> Iterator[str]:
        yield from (f"{INNER}{loss}" for loss in self.losses)
        if self.capsule:
            yield f"{INNER}{CAPSULE}{self.capsule}"


def outcome(case: Case) -> Outcome:
    """What a conversion gives. An error that is none of ours has no place."""
    document, losses, capsule = given(case)
    written = document if isinstance(document, Failed) else text(document)
    return Outcome(written, ledger(losses), text(capsule) if case.carry else "")


class Failed(str):
    """An error instead of a document."""


Given: TypeAlias = tuple[Json, Iterable[Loss], Json]
"""A document or the bytes of a stream, the losses, and a capsule."""


def given(case: Case) -> Given:
    try:
        return streamed(case) if case.facet == STREAM else converted(case)
    except DragomanError as error:
        return Failed(f"! {type(error).__name__} at {getattr(error, 'at', '')}".rstrip()), (), None
    except Exception as error:
        return Failed(f"! {type(error).__name__}"), (), None


def converted(case: Case) -> Given:
    if case.dialect == case.target and not case.carry and case.capsule is None:
        log, speaker = Ledger(now=0), dialects.get(case.dialect)  # ``convert`` would not write it
        return speaker.write(speaker.read(case.document, case.facet), log), log.losses, None
    result = convert(
        case.document, source=case.dialect, target=case.target, facet=case.facet, now=0,
        carry=case.carry, capsule=case.capsule, model=model_of(case),
    )  # fmt: skip
    return result.document, result.losses, result.capsule


def model_of(case: Case) -> str | None:
    """The model that must be named, where the document names none and the target needs one."""
    if case.facet != "request" or case.dialect == case.target or case.capsule is not None:
        return None
    if isinstance(case.document, dict) and case.document.get("model") == "m":
        return None
    tree = dialects.get(case.dialect).read(case.document, case.facet)
    return "m" if needs_a_model(tree, case.target) else None


PIECES = 100
"""In so many pieces a stream is fed the second time; a short one byte by byte."""


def streamed(case: Case) -> Given:
    """A stream in one piece; if it gives something else in small ones, that is an error."""
    size = len(case.document)
    whole, parts = fed(case, size or 1), fed(case, size // PIECES + 1)
    return whole if parts == whole else (Failed("! cuts matter"), (), None)


def fed(case: Case, size: int) -> Given:
    transcoder, data = Transcoder(case.dialect, case.target, now=0), case.document
    written = [transcoder.feed(data[n : n + size]) for n in range(0, len(data), size)]
    return b"".join([*written, transcoder.close()]), transcoder.losses, None


def ledger(losses: Iterable[Loss]) -> tuple[str, ...]:
    """Kind, code and place; the reason may be worded otherwise."""
    return tuple(sorted(f"{loss.kind} {loss.what} at {loss.path or '(root)'}" for loss in losses))


def text(value: Json) -> str:
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            value = {"base64": base64.b64encode(value).decode()}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=not is_plain(value))


def is_plain(value: Json) -> bool:
    """Whether a value is as readable without escapes: no controls, no halves of characters."""
    written = json.dumps(value, ensure_ascii=False)
    return all(sign == " " or sign.isprintable() for sign in written)


def same(one: str, other: str) -> bool:
    """Whether two results say the same: the order of keys may be another one."""
    if one == other:
        return True
    try:
        return sorted_text(one) == sorted_text(other)
    except ValueError:
        return False


def sorted_text(written: str) -> str:
    return json.dumps(json.loads(written), sort_keys=True)


def alike(one: Outcome, other: Outcome) -> bool:
    if one.losses != other.losses or not same(one.written, other.written):
        return False
    return same(one.capsule or "0", other.capsule or "0")


# -- laws --------------------------------------------------------------------------------------


def laws(case: Case) -> Iterator[str]:
    """The laws that a case breaks: what is kept is judged, and not merely what came out once."""
    if case.capsule is not None:
        return  # an edit, or a stranger's: test_edits and test_forged say what must hold
    if case.facet == STREAM:
        size = len(case.document)
        asked: Any = oracles.Stream(case.dialect, case.target, case.document, [size // 3, size - 1])
    else:
        asked = oracles.Talk(case.dialect, case.facet, case.target, case.document)
    for name, problem in oracles.faults(asked):
        yield f"{name}: {type(problem).__name__} {problem}"
    yield from accepted(case)


def accepted(case: Case) -> Iterator[str]:
    """What the API of the source accepts is written as what that of the target accepts."""
    if case.facet != "request" or case.dialect == "native":
        return  # that is nobody's API
    try:
        if check(case.document, case.dialect):
            return
        tree, model = dialects.get(case.dialect).read(case.document, "request"), model_of(case)
        assert isinstance(tree, Request)
        breaks_no_rule(with_model(tree, model) if model else tree, case.target)
    except AssertionError as problem:
        yield f"accepted: {problem}"
    except DragomanError:
        return  # refused


# -- files -------------------------------------------------------------------------------------


def load(root: Path = ROOT) -> list[tuple[Case, Outcome]]:
    """All cases, and what each of them must give."""
    found: list[tuple[Case, Outcome]] = []
    for path in sorted(root.glob("*.txt")):
        found += parsed(path.stem, path.read_text("utf-8").split("\n"))
    return found


def parsed(dialect: str, lines: Iterable[str]) -> Iterator[tuple[Case, Outcome]]:
    given = Case(dialect, "", None, "")
    block: list[str] = []
    for line in [*lines, ""]:
        if line.startswith(INNER):
            block.append(line.removeprefix(INNER))
            continue
        if block:
            yield taken(given, block)
        block = []
        head, _, rest = line.partition(" ")
        if line.startswith(BECOMES):
            block = [line.removeprefix(BECOMES)]
        elif head == "+":
            given = given._replace(capsule=json.loads(rest))
        elif rest:
            document = json.loads(rest)
            document = encoded(document) if head == STREAM else document
            given = Case(dialect, head, document, "")


def taken(given: Case, block: list[str]) -> tuple[Case, Outcome]:
    """A case and its outcome, from the line of a target and those below it."""
    target, _, stated = block[0].partition(" ")
    carry = stated.startswith(CARRY)
    losses = tuple(line for line in block[1:] if not line.startswith(CAPSULE))
    capsules = [line.removeprefix(CAPSULE) for line in block if line.startswith(CAPSULE)]
    wanted = Outcome(stated.removeprefix(CARRY), losses, "".join(capsules))
    return given._replace(target=target, carry=carry), wanted


def encoded(document: Json) -> bytes:
    if isinstance(document, str):
        return document.encode()
    return base64.b64decode(document["base64"])


def save(cases: Iterable[tuple[Case, Outcome]], root: Path = ROOT) -> None:
    """Write all files anew: sorted, each document once."""
    files: dict[str, dict[tuple[str, str], dict[str, dict[str, str]]]] = {}
    for case, wanted in cases:
        carry = CARRY if case.carry else ""
        lines = [f"{BECOMES}{case.target} {carry}{wanted.written}", *wanted.lines()]
        place = files.setdefault(case.dialect, {})
        given = place.setdefault((case.facet, text(case.document)), {})
        capsule = "" if case.capsule is None else text(case.capsule)
        given.setdefault(capsule, {})[f"{case.target} {carry}"] = "\n".join(lines)
    for path in root.glob("*.txt"):
        path.unlink()
    for dialect, documents in sorted(files.items()):
        lines = []
        for (facet, document), capsules in sorted(documents.items(), key=by_size):
            lines.append(f"{facet} {document}")
            for capsule, targets in sorted(capsules.items()):
                lines += [f"+ {capsule}"] if capsule else []
                lines += [written for _, written in sorted(targets.items())]
        (root / f"{dialect}.txt").write_text("\n".join(lines) + "\n", "utf-8")


def by_size(entry: tuple[tuple[str, str], object]) -> tuple[str, int, str]:
    (facet, document), _ = entry
    return facet, len(document), document


def anew(case: Case) -> tuple[Case, Outcome]:
    """A case with what it gives now; an error that is none of ours is not written down."""
    found = outcome(case)
    if found.written.startswith("! ") and not hasattr(errors, found.written.split()[1]):
        raise SystemExit(f"{case.name}\n{found.written}")
    return case, found


if __name__ == "__main__":
    save([anew(case) for case, _ in load()])
