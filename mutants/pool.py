"""Inputs that go different ways through the core: where the search for a telling one begins.

Documents and streams are drawn at random, always the same ones (``fuzz`` changes them so that most
can still be read); an input is in the pool if it goes a way through some file that none before it
went.
"""

from __future__ import annotations

import json
import os
import pickle
from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import kept
import seeds
from dragoman import DragomanError, convert
from dragoman.laws.edited import applies
from dragoman.laws.edits import OTHER, SAME
from dragoman.laws.wire import turns_in, with_turns
from fuzz import mutations, run, streams
from fuzz.dice import Dice, Seeded, one_of
from kept import STREAM, Case

from . import trees
from .checks import Check, Reach
from .judging import Map, in_a_child

EACH = 3
"""In so many other dialects each document of the corpus is tried."""
DRAWN = 12_000
"""So many inputs are drawn; about a third of them go new ways."""
TREES = 8_000
"""And so many conversations that are put together block by block."""
EDITS = list((SAME | OTHER).values())


class Pool:
    """The inputs, what each of them gives, and which lines it reaches."""

    def __init__(self, cases: list[Case], digests: list[bytes], reach: Map) -> None:
        self.cases, self.digests, self.reach = cases, digests, reach


def digest(case: Case) -> bytes:
    """Of the document, the ledger and the capsule; the order of keys does not matter."""
    document, losses, capsule = kept.given(case)
    written = (
        repr(document) if isinstance(document, bytes) else json.dumps(document, sort_keys=True)
    )
    lines = (written, *kept.ledger(losses), json.dumps(capsule, sort_keys=True))
    return blake2b("\n".join(lines).encode(), digest_size=8).digest()


def drawn(dice: Dice) -> Case:
    """Any input; one in four is a stream or has to do with a capsule."""
    match dice.below(8):
        case 0:
            dialect, target = one_of(dice, seeds.STREAMS), one_of(dice, seeds.STREAMS)
            return Case(dialect, STREAM, a_stream(dialect, dice), target)
        case 1:
            return carried(plain(dice), dice)
        case _:
            return plain(dice)


def a_stream(dialect: str, dice: Dice) -> bytes:
    if dice.below(3):
        return streams.unusual(dialect, dice)
    return (
        streams.mangled(dialect, dice) if dice.below(2) else one_of(dice, seeds.recorded(dialect))
    )


def plain(dice: Dice) -> Case:
    dialect, facet = one_of(dice, seeds.FACES)
    case = Case(dialect, facet, one_of(dice, seeds.documents(dialect, facet)), "")
    target = one_of(dice, run.targets(facet)) if dice.below(7) else dialect
    return varied(case._replace(target=target), dice)


def carried(case: Case, dice: Dice) -> Case:
    """The document with a capsule: the way there, or back after an edit or a forgery."""
    if dice.below(3) == 0 or not applies(case.dialect, case.target, case.facet):
        return case._replace(carry=True)
    try:
        there = convert(
            case.document, source=case.dialect, target=case.target, facet=case.facet, now=0,
            carry=True, model=kept.model_of(case),
        )  # fmt: skip
        capsule = json.loads(json.dumps(there.capsule))
        document = edited(there.document, case.target, dice)
    except DragomanError:
        return case._replace(carry=True)
    if not dice.below(3):
        capsule = mutations.mutated(capsule, dice)
    return Case(case.target, case.facet, document, case.dialect, False, capsule)


def edited(document: Any, dialect: str, dice: Dice) -> Any:
    turns = turns_in(document, dialect)
    if turns is None or not dice.below(8):
        return document
    changed = one_of(dice, EDITS)(json.loads(json.dumps(turns)), dialect)
    return document if changed is None else with_turns(document, dialect, changed)


def varied(case: Case, dice: Dice, words: Sequence[str] = ()) -> Case:
    """A case with another document, which most likely can be read, too.

    ``words`` are those of the code that is looked at: they stand somewhere in the document then.
    """
    if case.facet == STREAM:
        data = a_stream(case.dialect, dice) if dice.below(2) else cut(case, dice)
        return case._replace(document=data)
    if case.capsule is not None:
        if dice.below(2):
            return case._replace(capsule=mutations.mutated(case.capsule, dice))
        return case._replace(document=edited(case.document, case.dialect, dice))
    document = mutations.copied(case.document)
    if dice.below(8) < 5:
        document = mutations.recombined(document, case.dialect, case.facet, dice)
    if words and dice.below(2):
        document = worded(document, words, dice)
    match dice.below(8):
        case 0:
            known = seeds.keys(case.dialect, case.facet)
            document = mutations.with_keys(document, known, dice)
        case 1 | 2:
            document = mutations.delete(document, dice)
        case 3:
            document = one_of(dice, CHANGES)(document, dice)
        case _:
            pass
    return case._replace(document=document)


CHANGES = (
    mutations.duplicate, mutations.swap, mutations.text, mutations.number, mutations.retype,
    mutations.rename, mutations.move,
)  # fmt: skip


KINDS = ("type", "block", "kind", "role", "mimeType", "mediaType", "media_type", "format")
"""Keys whose values are words of the dialect."""


def worded(document: Any, words: Sequence[str], dice: Dice) -> Any:
    """A word becomes a value, the end of one, or a key."""
    word = one_of(dice, words)
    way = dice.below(4)
    path = mutations.choose(document, dice, dict if way == 3 else str)
    if way == 0:  # of which kind something is
        kinds = [place for place, _ in seeds.nodes(document) if place and place[-1] in KINDS]
        path = one_of(dice, kinds) if kinds else path
    if path is None:
        return document
    value = seeds.at(document, path)
    if way == 3:
        value[word] = mutations.copied(one_of(dice, seeds.vocabulary().get(word, ("x", None, []))))
        return document
    return mutations.put(
        document, path, f"{value}{'.' * dice.below(2)}{word}" if way == 2 else word
    )


def as_tree(case: Case) -> Case:
    """The same as a tree: there, parts that come from all dialects are put together.

    It has no source, so that the writer of its own dialect writes it instead of copying it.
    """
    if case.facet == STREAM or case.capsule is not None or case.dialect == "native":
        return case
    try:
        tree = convert(case.document, source=case.dialect, target="native", facet=case.facet, now=0)
    except DragomanError:
        return case
    document = {key: value for key, value in tree.document.items() if key != "source"}
    return case._replace(dialect="native", document=document)


def to_tree(case: Case) -> Case:
    """The same with the tree as its target, which shows all that a reader has read."""
    if case.facet == STREAM or case.capsule is not None:
        return case
    return case._replace(target="native")


def cut(case: Case, dice: Dice) -> bytes:
    frames = streams.split(case.document, case.dialect)
    if frames:
        frames = one_of(dice, streams.CHANGES)(frames, case.dialect, dice)
    return streams.joined(frames, case.dialect)


def gathered(files: Sequence[Path], store: Path) -> Pool:
    """The pool, from the store if it is there."""
    if not store.exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        in_a_child(lambda: _gather(files, store), "the pool cannot be made")
    cases, digests, lines = pickle.loads(store.read_bytes())
    reach = Map(files)
    for number, each in enumerate(lines):
        reach.add(number, pairs(each))
    return Pool(cases, digests, reach)


def _gather(files: Sequence[Path], store: Path) -> None:
    reach = Reach(files)
    seen: set[tuple[int, tuple[int, ...]]] = set()
    cases, digests, lines = [], [], []
    some = map(drawn, (Seeded(f"pool/{n}") for n in range(DRAWN)))
    built = map(trees.drawn, (Seeded(f"tree/{n}") for n in range(TREES)))
    for case in chain(corpus(), some, built):
        try:
            hit = reached(reach, case)
        except RecursionError:
            continue
        ways = {(file, tuple(line for other, line in hit if other == file)) for file, _ in hit}
        if ways - seen:
            seen |= ways
            cases.append(case)
            digests.append(digest(case))
            lines.append(array("H", chain.from_iterable(hit)).tobytes())
    part = store.with_suffix(".part")
    part.write_bytes(pickle.dumps((cases, digests, lines)))
    os.rename(part, store)


def corpus() -> Iterator[Case]:
    """Each document of the corpus, in its own dialect and in some others; streams likewise."""
    for (dialect, facet), documents in seeds.corpus().items():
        for document in documents:
            dice = Seeded(f"{document.name}/{document.degraded}")
            others = [one_of(dice, run.targets(facet)) for _ in range(EACH)]
            for target in dict.fromkeys([dialect, *others]):
                yield Case(dialect, facet, document.body, target)
    for dialect in seeds.STREAMS:
        for data in seeds.recorded(dialect):
            dice = Seeded(f"{dialect} {len(data)}")
            yield Case(dialect, STREAM, data, one_of(dice, seeds.STREAMS))


def reached(reach: Reach, case: Case) -> list[tuple[int, int]]:
    return sorted(reach.lines(Check(case.name, "kept", 0, lambda: kept.given(case))))


def pairs(lines: bytes) -> list[tuple[int, int]]:
    flat = array("H", lines)
    return list(zip(flat[::2], flat[1::2], strict=True))
