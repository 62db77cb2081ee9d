"""Plots as SVG, for a page without scripts: bars, and histograms of lengths.

All texts of strangers go through ``text``. Colours are classes of the page, so they follow its
theme.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import NamedTuple

WIDTH = 640
LINE = 26
LABEL = 210
NUMBER = 96
BINS = 24
HEIGHT = 150
LONGEST = 26
ACTING = (
    range(32),
    range(0x7F, 0xA0),
    range(0x200E, 0x2010),
    range(0x202A, 0x202F),
    range(0x2066, 0x206A),
)
CONTROL = {code: "\ufffd" for codes in ACTING for code in codes}


class Part(NamedTuple):
    """A part of a bar, in the colour of its class."""

    name: str
    size: int


def text(value: object) -> str:
    """A stranger's text in a page: nothing of it acts, and nothing reorders what people read."""
    return html.escape(str(value).translate(CONTROL))


def short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def bars(rows: Sequence[tuple[str, Sequence[Part]]], unit: str) -> str:
    """A bar for each row, made of parts; the number stands behind it."""
    most = max((sum(part.size for part in parts) for _, parts in rows), default=0) or 1
    room = WIDTH - LABEL - NUMBER
    drawn = []
    for index, (name, parts) in enumerate(rows):
        y, x = index * LINE, float(LABEL)
        total = sum(part.size for part in parts)
        drawn.append(
            f'<text class="label" x="{LABEL - 10}" y="{y + 17}"><title>{text(name)}</title>'
            f"{text(short(name))}</text>"
        )
        for part in parts:
            size = max(part.size / most * room, 1.5 if part.size else 0)
            title = f"{name}: {part.size:,} {part.name or unit}"
            drawn.append(
                f'<rect class="bar {text(part.name)}" x="{x:.1f}" y="{y + 5}" '
                f'width="{size:.1f}" height="{LINE - 10}"><title>{text(title)}</title></rect>'
            )
            x += size
        drawn.append(f'<text class="value" x="{x + 8:.1f}" y="{y + 17}">{total:,}</text>')
    return _svg(len(rows) * LINE, "".join(drawn), f"{unit}: bars")


def histogram(counts: Mapping[int, int], unit: str) -> str:
    """How many records are how long; the axis doubles where lengths differ much."""
    edges = edges_of(max(counts, default=0))
    bins = [0] * (len(edges) - 1)
    for size, count in counts.items():
        bins[place(size, edges)] += count
    most = max(bins, default=0) or 1
    wide = (WIDTH - 60) / max(len(bins), 1)
    drawn = []
    for index, count in enumerate(bins):
        tall = count / most * (HEIGHT - 20)
        tall = max(tall, 1.5) if count else 0
        spell = f"{edges[index]:,} to {edges[index + 1] - 1:,} {unit}: {count:,} records"
        drawn.append(
            f'<rect class="bar" x="{50 + index * wide:.1f}" y="{HEIGHT - tall:.1f}" '
            f'width="{max(wide - 2, 1):.1f}" height="{tall:.1f}"><title>{spell}</title></rect>'
        )
    drawn.append(f'<line class="axis" x1="50" x2="{WIDTH - 10}" y1="{HEIGHT}" y2="{HEIGHT}"/>')
    drawn.append(f'<text class="value end" x="44" y="26">{most:,}</text>')
    step = max(len(bins) // 6, 1)
    for index in range(0, len(edges), step):
        x = 50 + index * wide
        label = spelled(edges[index])
        end = " end" * (index == len(edges) - 1)
        drawn.append(f'<text class="tick{end}" x="{x:.1f}" y="{HEIGHT + 18}">{label}</text>')
    return _svg(HEIGHT + 26, "".join(drawn), f"records by {unit}")


def edges_of(most: int) -> list[int]:
    """The edges of bins up to a size: equal ones for small sizes, else each longer than the last.

    >>> edges_of(5)
    [0, 1, 2, 3, 4, 5, 6]
    >>> edges_of(1000)[:4], edges_of(1000)[-1]
    ([1, 2, 3, 4], 1001)
    """
    if most <= BINS:
        return list(range(most + 2))
    factor = (most + 1) ** (1 / BINS)
    return sorted({max(round(factor**i), 1) for i in range(BINS)} | {most + 1})


def place(size: int, edges: Sequence[int]) -> int:
    """The bin of a size."""
    for index in range(len(edges) - 2, -1, -1):
        if size >= edges[index]:
            return index
    return 0


def spelled(number: int) -> str:
    """A number for an axis.

    >>> spelled(950), spelled(12_400), spelled(3_000_000)
    ('950', '12k', '3M')
    """
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.2g}{unit}" if number < 10 * size else f"{number // size}{unit}"
    return str(number)


def _svg(height: int, inner: str, name: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(name)}">{inner}</svg>'
