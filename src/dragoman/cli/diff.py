"""``dragoman diff``: two conversations, in any two dialects, compared by meaning."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import NamedTuple

import click

from ..core.reading import encode
from ..model import Json
from ..views.compare import IGNORABLE, Difference, Side, compare, excerpts
from . import options, printing, terminal
from .app import command as make_command
from .batch import Batch
from .faults import DONE, FOUND, usage
from .inputs import Input, form_of
from .lines import Line, Span, clip, width, wrap
from .outputs import write_to
from .screen import Screen
from .trees import Shown, each

_IGNORABLE = options.Words("part", IGNORABLE.items)


@make_command(
    "diff",
    "dragoman diff one.json two.json",
    "dragoman diff --ignore model,params one.json two.json",
    "dragoman convert -q -t responses request.json | dragoman diff --json request.json -",
)
@click.argument("a", type=options.PATH)
@click.argument("b", type=options.PATH)
@options.max_size_option
@click.option(
    "-f", "--from", "both", type=options.DIALECT, help="The dialect of A and B, if not detected."
)
@click.option("--a-from", "from_a", type=options.DIALECT, help="The dialect of A, if not detected.")
@click.option("--b-from", "from_b", type=options.DIALECT, help="The dialect of B, if not detected.")
@options.facet_option
@click.option(
    "--ignore",
    type=_IGNORABLE,
    default=(),
    metavar="LIST",
    help="Ignore these differences: " + ", ".join(IGNORABLE) + ".",
)
@click.option("--json", "as_json", is_flag=True, help="Print the differences as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; only set the exit code.")
def command(
    a: str,
    b: str,
    both: str | None,
    from_a: str | None,
    from_b: str | None,
    facet: str | None,
    ignore: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int:
    """Compare two conversations by meaning.

    Exit code 0: no differences; 1: there are some. The dialect, the spelling of arguments and the
    places of fields do not count. Roles, texts, reasoning, calls, results, ids, tools, parameters
    and fields of one dialect do; --ignore leaves some of them out. JSON Lines files are compared
    line by line.
    """
    if a == b == "-":
        raise usage("standard input cannot be both A and B")
    ones, twos = conversations(a, from_a or both, facet), conversations(b, from_b or both, facet)
    found = pairs(ones, twos, frozenset(ignore))
    if quiet:
        return FOUND if any(pair.differences for pair in found) else DONE
    return report(found) if as_json else tell(found)


class Pair(NamedTuple):
    a: Shown | None
    b: Shown | None
    differences: tuple[Difference, ...]


def conversations(path: str, dialect: str | None, facet: str | None) -> Iterator[Shown]:
    batch = Batch([Input(path)], stop=True)
    for reading in batch.readings(form_of(None, dialect, facet)):
        yield from each(batch, reading, dialect, facet)


def pairs(a: Iterator[Shown], b: Iterator[Shown], ignore: frozenset[str]) -> Iterator[Pair]:
    for one, two in zip_longest(a, b):
        if one is None:
            yield Pair(None, two, (Difference("only in B", ("document",), None, whole(two)),))
        elif two is None:
            yield Pair(one, None, (Difference("only in A", ("document",), whole(one), None),))
        else:
            check_facets(one, two)
            found = compare(one.tree, two.tree, ignore, (one.value, two.value))
            yield Pair(one, two, tuple(found))


def whole(shown: Shown) -> Side:
    return Side("", shown.value)


def check_facets(a: Shown, b: Shown) -> None:
    """A request and a response cannot be compared; a stream counts as a response."""
    if type(a.tree) is not type(b.tree):
        kinds = f"{a.name} ({a.source.facet}) and {b.name} ({b.source.facet})"
        what = f"{kinds} have different facets and cannot be compared"
        raise usage(what, "compare two documents of one facet, or set it: --facet FACET")


# -- for programs --------------------------------------------------------------------------------


def report(found: Iterator[Pair]) -> int:
    """One document; one per line, if there are several pairs to compare."""
    first, second = next(found, None), next(found, None)
    code = DONE
    with write_to(None) as sink:
        for pair in chain(filter(None, (first, second)), found):
            data = encode(reported(pair))
            sink.write(printing.json_text(data, on_a_line=second is not None))
            code = FOUND if pair.differences else code
    return code


def reported(pair: Pair) -> Json:
    return {
        "same": not pair.differences,
        "a": named(pair.a),
        "b": named(pair.b),
        "differences": [difference.to_json() for difference in pair.differences],
    }


def named(shown: Shown | None) -> Json:
    if shown is None:
        return None
    dialect, facet, _ = shown.source
    return {"name": shown.name, "dialect": dialect or None, "facet": facet}


# -- for people ----------------------------------------------------------------------------------


def tell(found: Iterator[Pair]) -> int:
    with Screen() as screen:
        return tell_on(screen, found)


def tell_on(screen: Screen, found: Iterator[Pair]) -> int:
    documents = differing = count = 0
    for pair in found:
        documents += 1
        if not pair.differences:
            continue
        differing, count = differing + 1, count + len(pair.differences)
        for line in described(pair, screen.columns):
            screen.write(line)
    many = f" in {differing} of {terminal.plural(documents, 'document')}" if documents > 1 else ""
    if count:
        screen.write((Span(terminal.plural(count, "difference") + many, "dim"),))
        return FOUND
    written = f"{terminal.plural(documents, 'document')}: " if documents > 1 else ""
    screen.write((Span(f"{written}no differences", "good"),))
    return DONE


def described(pair: Pair, columns: int) -> Iterator[Line]:
    for sign, shown in (("a", pair.a), ("b", pair.b)):
        if shown is not None:
            title = Span(f"{sign.upper()} ", f"{sign} title"), Span(shown.name, "title")
            yield (*title, Span(f"  {shown.what}", "dim"))
    yield ()
    for difference in pair.differences:
        yield from told(difference, columns)
        yield ()


def told(difference: Difference, columns: int) -> Iterator[Line]:
    """What differs, then the value and place on each side."""
    head = Span(difference.kind, "title"), Span(f"  {' · '.join(difference.trail)}")
    yield from wrap(head, columns)
    texts = excerpts(difference, columns - 4)
    for sign, side, text in zip("ab", (difference.a, difference.b), texts, strict=True):
        if side is None:
            continue
        place, mark = side.at or "/", Span(f"  {sign.upper()} ", f"{sign} title")
        room = columns - width(place) - 6
        if room < min(width(text), 30):  # they have a line each
            yield (mark, Span(clip(place, columns - 4), "dim"))
            yield (Span("    "), Span(clip(text, columns - 4), sign))
        else:
            yield (mark, Span(clip(text, room), sign), Span(f"  {place}", "dim"))
