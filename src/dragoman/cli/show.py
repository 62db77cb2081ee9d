"""``dragoman show``: a conversation in readable form."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..views.portrait import Portrait, draw
from . import options
from .app import command as make_command
from .batch import Batch
from .faults import FOUND
from .images import protocol
from .inputs import Input, expand, form_of
from .lines import Line, Span, width
from .outputs import Discard, Plan, Sink
from .paint import Brush, paint
from .screen import Screen
from .selecting import Numbers, NumbersType, PatternType, filtered, selected
from .trees import Shown, each
from .wrapped import View


class Look(NamedTuple):
    """How to show: as a page or as lines, and how much of it."""

    html: bool
    full: bool
    pointers: bool
    images: bool
    columns: int | None
    numbers: Numbers | None = None
    wanted: re.Pattern[str] | None = None
    counted: list[int] | None = None  # how many turns were shown, of each conversation

    @property
    def is_partial(self) -> bool:
        return self.numbers is not None or self.wanted is not None


@make_command(
    "show",
    "dragoman show request.json",
    "dragoman show --full --pointers request.json",
    "dragoman show --messages 2-3 request.json",
    "dragoman show --grep weather request.json",
    "dragoman show answer.sse",
    "dragoman show --html request.json -o page.html",
)
@options.files()
@options.source_option
@options.facet_option
@options.old_jsonl_option
@options.at_option
@click.option("--html", is_flag=True, help="Write one self-contained HTML page.")
@click.option("--full", is_flag=True, help="Shorten nothing; show ids and tool descriptions.")
@click.option("--pointers", is_flag=True, help="Show the JSON pointer of each message.")
@click.option(
    "--messages",
    "numbers",
    type=NumbersType(),
    metavar="RANGE",
    help="Only these messages, counted from 1: 7, 3-7, 3- or -5 (the last five).",
)
@click.option(
    "--grep",
    "wanted",
    type=PatternType(),
    metavar="PATTERN",
    help="Only turns that match a regular expression; exit 1 if none does.",
)
@click.option(
    "--images/--no-images", default=True, help="Show images, if the terminal supports them."
)
@click.option("--width", "columns", type=click.IntRange(20), metavar="N", help="Wrap at N columns.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE|DIR",
    help="Write to a file, or one file per input.",
)
def command(
    files: tuple[str, ...],
    source: str | None,
    facet: str | None,
    lines: bool | None,
    at: tuple[str, ...],
    output: str | None,
    **look: Any,
) -> int:
    """Show a conversation in readable form.

    Roles, reasoning, each tool call with its result, images and documents as placeholders (or
    inline, in kitty, Ghostty, iTerm2 and WezTerm), sources, token counts and the stop reason.
    Control characters in the conversation are made visible. Several documents are shown one after
    the other; a stream is collected first.
    """
    inputs = expand(files)
    batch = Batch(inputs, view=View(at, facet if facet in ("request", "response") else None))
    manner = Look(**look, counted=[])
    if manner.is_partial:
        manner = manner._replace(pointers=True)
    plan = Plan(inputs, output, suffix=".html" if manner.html else ".txt")
    for group, place in plan.groups():
        with plan.writing(place, group, harmless=True) as sink:
            found = conversations(batch, group, source, facet, lines)
            first = next(found, None)
            if first is None:
                raise Discard
            write = write_page if manner.html else write_lines
            write(chained(first, found), sink, place, manner)
    batch.progress.clear()
    if manner.wanted is not None and not any(manner.counted or ()):
        return batch.exit_code or FOUND
    return batch.exit_code


def conversations(
    batch: Batch, inputs: list[Input], source: str | None, facet: str | None, lines: bool | None
) -> Iterator[Shown]:
    for reading in batch.readings(form_of(lines, source, facet), inputs):
        yield from each(batch, reading, source, facet)


def chained(first: Shown, rest: Iterator[Shown]) -> Iterator[Shown]:
    yield first
    yield from rest


# -- a page --------------------------------------------------------------------------------------


def write_page(found: Iterator[Shown], sink: Sink, place: Path | None, look: Look) -> None:
    from .page import page

    first = next(found)
    portraits = (drawn(shown, look) for shown in chained(first, found))
    for piece in page(first.name, portraits):
        sink.write(piece.encode("utf-8", "backslashreplace"))


# -- lines ---------------------------------------------------------------------------------------


def write_lines(found: Iterator[Shown], sink: Sink, place: Path | None, look: Look) -> None:
    with Screen(sink, place) as screen:
        images = protocol(os.environ) if screen.is_live and look.images else ""
        columns = look.columns or screen.columns
        brush = Brush(columns, look.full, images, look.pointers, screen.colour)
        for line in album(found, brush, look):
            screen.write(line)


def album(found: Iterator[Shown], brush: Brush, look: Look) -> Iterator[Line]:
    """One conversation after the other, each under its name where there are several."""
    first, second = next(found), next(found, None)
    if second is None:
        yield from paint(drawn(first, look), brush)
        return
    first_one = True
    for shown in chained(first, chained(second, found)):
        portrait = drawn(shown, look)
        if look.wanted is not None and not portrait.turns:
            continue  # it says nothing of what is looked for
        if not first_one:
            yield ()
            yield ()
        first_one = False
        yield titled(shown, brush)
        yield from paint(portrait, brush)


def titled(shown: Shown, brush: Brush) -> Line:
    rule = "─" * max(brush.columns - width(shown.name) - 4, 3)
    return (Span("── ", "dim"), Span(shown.name, "title"), Span(f" {rule}", "dim"))


def drawn(shown: Shown, look: Look) -> Portrait:
    """What is to be seen of a conversation."""
    portrait = draw(selected(shown.tree, look.numbers), shown.source.facet)
    if look.is_partial:
        count = len(getattr(shown.tree, "messages", ())) or len(portrait.turns)
        portrait = filtered(portrait, count, look.numbers, look.wanted)
    if look.pointers and shown.place is not str:
        turns = tuple(turn._replace(at=shown.place(turn.at)) for turn in portrait.turns)
        portrait = portrait._replace(turns=turns)
    if look.counted is not None:
        look.counted.append(len(portrait.turns))
    return portrait
