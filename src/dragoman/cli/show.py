"""``dragoman show``: a conversation as people read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from . import options
from .app import command as make_command
from .batch import Batch
from .images import protocol
from .inputs import Input, expand
from .lines import Line, Span, width
from .outputs import Discard, Plan, Sink, write_to
from .paint import Brush, paint
from .portrait import draw
from .screen import Screen
from .trees import Shown, each, form_of
from .wrapped import View


class Look(NamedTuple):
    """How to show: as a page or as lines, and how much of it."""

    html: bool
    full: bool
    pointers: bool
    images: bool
    columns: int | None


@make_command(
    "show",
    "dragoman show request.json",
    "dragoman show --full --pointers request.json",
    "dragoman show answer.sse",
    "dragoman show --html request.json -o page.html",
)
@options.files()
@options.source_option
@options.facet_option
@options.old_jsonl_option
@options.at_option
@click.option("--html", is_flag=True, help="Write one page that needs nothing else.")
@click.option("--full", is_flag=True, help="Shorten nothing; say ids and what tools are for.")
@click.option("--pointers", is_flag=True, help="Say where in its document each message stands.")
@click.option("--images/--no-images", default=True, help="Show images, where the terminal can.")
@click.option("--width", "columns", type=click.IntRange(20), metavar="N", help="Wrap at N columns.")
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE|DIR", help="Write to a file, or one each."
)
def command(
    files: tuple[str, ...],
    source: str | None,
    facet: str | None,
    lines: bool | None,
    at: tuple[str, ...],
    output: str | None,
    **look: bool,
) -> int:
    """Show a conversation as people read it.

    Who speaks, what the model thought, each tool call with its result, images and documents as
    placeholders (or inline, in kitty, Ghostty, iTerm2 and WezTerm), sources, token counts and why
    the answer ended. Control characters of the conversation are shown, never obeyed. Several
    documents are shown one after the other; a stream is collected first.
    """
    inputs = expand(files)
    batch = Batch(inputs, view=View(at, facet if facet in ("request", "response") else None))
    manner = Look(**look)
    for group, place in Plan(inputs, output, suffix=".html" if manner.html else ".txt").groups():
        with write_to(place) as sink:
            found = conversations(batch, group, source, facet, lines)
            first = next(found, None)
            if first is None:
                raise Discard
            write = write_page if manner.html else write_lines
            write(chained(first, found), sink, place, manner)
    batch.progress.clear()
    return batch.exit_code


def conversations(
    batch: Batch, inputs: list[Input], source: str | None, facet: str | None, lines: bool | None
) -> Iterator[Shown]:
    for reading in batch.readings(form_of(lines, facet), inputs):
        yield from each(batch, reading, source, facet)


def chained(first: Shown, rest: Iterator[Shown]) -> Iterator[Shown]:
    yield first
    yield from rest


# -- a page --------------------------------------------------------------------------------------


def write_page(found: Iterator[Shown], sink: Sink, place: Path | None, look: Look) -> None:
    from .page import page

    first = next(found)
    portraits = (draw(shown.tree, shown.source.facet) for shown in chained(first, found))
    for piece in page(first.name, portraits):
        sink.write(piece.encode("utf-8", "backslashreplace"))


# -- lines ---------------------------------------------------------------------------------------


def write_lines(found: Iterator[Shown], sink: Sink, place: Path | None, look: Look) -> None:
    screen = Screen(sink, place)
    images = protocol(os.environ) if screen.is_live and look.images else ""
    brush = Brush(look.columns or screen.columns, look.full, images, look.pointers)
    for line in album(found, brush):
        screen.write(line)


def album(found: Iterator[Shown], brush: Brush) -> Iterator[Line]:
    """One conversation after the other, each under its name where there are several."""
    first, second = next(found), next(found, None)
    if second is None:
        yield from portrayed(first, brush)
        return
    yield from titled(first, brush)
    for shown in chained(second, found):
        yield ()
        yield ()
        yield from titled(shown, brush)


def titled(shown: Shown, brush: Brush) -> Iterator[Line]:
    rule = "─" * max(brush.columns - width(shown.name) - 4, 3)
    yield (Span("── ", "dim"), Span(shown.name, "title"), Span(f" {rule}", "dim"))
    yield from portrayed(shown, brush)


def portrayed(shown: Shown, brush: Brush) -> Iterator[Line]:
    return paint(draw(shown.tree, shown.source.facet), brush)
