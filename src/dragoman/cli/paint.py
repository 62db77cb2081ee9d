"""A portrait as lines for the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple, assert_never

from ..model import Json, Tool
from ..views.portrait import (
    Call,
    Fact,
    Item,
    Note,
    Odd,
    Portrait,
    ReasoningText,
    Refused,
    Reply,
    Thing,
    Turn,
    Words,
    brief,
    full_name,
    is_long,
    many,
    signature,
)
from .images import image_lines
from .lines import Line, Span, clip, height, measure, paragraphs, width, wrap

BRIEF = 12
"""How many lines of a result, reasoning, a system prompt or an argument are shown, if not all."""


class Brush(NamedTuple):
    """How to paint: how wide, whether all of it, with images by which protocol, with pointers."""

    columns: int = 80
    full: bool = False
    images: str = ""
    pointers: bool = False
    colour: bool = True

    def inside(self, margin: int) -> Brush:
        return self._replace(columns=max(self.columns - margin, 8))


BAR = "┃"


def paint(portrait: Portrait, brush: Brush) -> Iterator[Line]:
    """A whole conversation, with a blank line between its turns and none at the end."""
    yield from heading(portrait, brush)
    for turn in portrait.turns:
        yield ()
        yield from painted(turn, brush)
    if portrait.failure:
        yield ()
        yield from prefixed(
            "✗ ", "error title", written(portrait.failure, "error", brush.inside(2))
        )
    if portrait.end:
        yield ()
        yield from facts(portrait.end, brush)


def heading(portrait: Portrait, brush: Brush) -> Iterator[Line]:
    model = dict(portrait.facts).get("model", "")
    title = [Span(portrait.title, "title")]
    if model:
        title += [Span(" · ", "dim"), Span(model, "title")]
    yield from wrap(title, brush.columns)
    rest = [fact for fact in portrait.facts if fact[0] != "model"]
    yield from facts((*rest, *portrait.rest), brush)
    if portrait.tools:
        yield from tools(portrait.tools, not portrait.turns, brush)


def facts(known: Iterable[Fact], brush: Brush) -> Iterator[Line]:
    """Facts side by side, as many on a line as there is room for."""
    line: list[Span] = []
    for label, value in known:
        text = value if brush.full else clip(value, brush.columns - width(label) - 1)
        fact = [Span(f"{label} ", "dim"), Span(text)] if label else [Span(text)]
        if line and measure((*line, *fact)) + 3 > brush.columns:
            yield tuple(line)
            line = []
        if measure(tuple(fact)) > brush.columns:
            yield from wrap(fact, brush.columns)
            continue
        line += [Span(" · ", "dim"), *fact] if line else fact
    if line:
        yield tuple(line)


def tools(declared: Iterable[Tool], alone: bool, brush: Brush) -> Iterator[Line]:
    listed = list(declared)
    if not brush.full and not alone:
        names = ", ".join(map(full_name, listed))
        label = many(len(listed), "tool")
        yield from facts([(label, clip(names, brush.columns - width(label) - 1))], brush)
        return
    for tool in listed:
        spans = [Span(full_name(tool), "call"), Span(f"({signature(tool)})", "dim")]
        yield ()
        yield from wrap(spans, brush.columns)
        if tool.description:
            yield from prefixed("  ", "", written(tool.description, "", brush.inside(2)))


# -- turns ---------------------------------------------------------------------------------------


def painted(turn: Turn, brush: Brush) -> Iterator[Line]:
    """A turn after a bar in the colour of its role."""
    title: Line = (Span(turn.role, f"{turn.role} title"),)
    if turn.title:
        title += (Span(f" {clip(turn.title, brush.columns // 2)}", "dim"),)
    if brush.pointers:
        gap = brush.columns - measure(title) - width(turn.at) - 2
        title += (Span(" " * max(gap, 2)), Span(turn.at or "/", "dim"))
    inner = brush.inside(2)
    lines: list[Line] = []
    before: Item | None = None
    for item in seen(turn.items, brush):
        if before and not (isinstance(item, Note) or is_near(before, item)):
            lines.append(())
        lines += item_lines(item, turn.role, inner)
        before = item
    if turn.sources:
        lines.append(())
        for number, source in enumerate(turn.sources, 1):
            lines += wrap([Span(f"[{number}] ", "mark"), Span(source, "dim")], inner.columns)
    if turn.end:
        lines += [(), *facts(turn.end, inner)]
    bar = (Span(f"{BAR} ", turn.role),)
    yield bar + title
    for line in lines:
        yield bar + line


def seen(items: Iterable[Item], brush: Brush) -> Iterator[Item]:
    """Without minor notes, unless all is wanted."""
    return (i for i in items if brush.full or not (isinstance(i, Note) and i.minor))


def is_near(before: Item, item: Item) -> bool:
    """Calls stand together, and so do things."""
    return isinstance(before, Thing) and isinstance(item, Thing)


def item_lines(item: Item, role: str, brush: Brush) -> Iterator[Line]:
    match item:
        case Words():
            if role in ("system", "developer"):
                yield from shortened_words(item, brush)
            else:
                yield from words(item, brush)
        case Refused():
            yield from prefixed("refused ", "error title", written(item.text, "", brush.inside(8)))
        case ReasoningText():
            yield from reasoning(item, brush)
        case Thing():
            yield from things(item, brush)
        case Call():
            yield from calls(item, brush)
        case Reply():
            yield from replies(item, brush)
        case Odd():
            yield (Span("◇ ", "mark"), Span(clip(item.title, brush.columns - 2), "mark"))
            yield from prefixed("  ", "", briefly(brief(item.payload), "dim", brush, 2))
        case Note():
            yield from wrap([Span(clip(item.text, brush.columns), "dim")], brush.columns)
        case _:
            assert_never(item)


def words(item: Words, brush: Brush) -> Iterator[Line]:
    """Text with the marks of its sources; code, headings and emphasis stand out a little."""
    line: list[Span] = []
    fenced = False
    for index, (text, mark) in enumerate(item.pieces):
        text = text.rstrip("\r\n") if index == len(item.pieces) - 1 and not mark else text
        for number, part in enumerate(paragraphs(text)):
            if number:
                if len(line) == 1 and is_simple(line[0], fenced, brush):
                    yield (line[0],)
                else:
                    fenced = yield from one_line(line, fenced, brush)
                line = []
            line.append(Span(part))
        if mark:
            line.append(Span(mark, "mark"))
    yield from one_line(line, fenced, brush)


_MARKED = re.compile(r"[`~*#]|[^ -~]")


def is_simple(span: Span, fenced: bool, brush: Brush) -> bool:
    """Whether a line is shown as it is: short, and without any marks."""
    text = span.text
    return len(text) <= brush.columns and not (fenced or span.style or _MARKED.search(text))


def one_line(line: list[Span], fenced: bool, brush: Brush) -> Generator[Line, None, bool]:
    """One line; gives whether what follows stands between fences."""
    start = line[0].text.lstrip() if line else ""
    style = ""
    if start.startswith(("```", "~~~")):
        style, fenced = "fence", not fenced
    elif fenced:
        style = "code"
    elif start.startswith("#") and start.lstrip("#")[:1] == " ":
        style = "heading"
    spans = (Span(text, own or style) for text, own in line)
    if not style and brush.colour:
        spans = (part for span in spans for part in emphasized(span))
    yield from wrap(spans, brush.columns)
    return fenced


_EMPHASIS = re.compile(r"(\*\*[^*]+\*\*|`[^`]+`)")


def emphasized(span: Span) -> Iterator[Span]:
    """What Markdown would make bold or code, with its signs: nothing is taken away."""
    if span.style or ("`" not in span.text and "**" not in span.text):
        yield span
        return
    for index, part in enumerate(_EMPHASIS.split(span.text)):
        if part:
            yield Span(part, ("heading" if part[0] == "*" else "code") if index % 2 else "")


def written(text: str, style: str, brush: Brush) -> Iterator[Line]:
    for line in paragraphs(text):
        if len(line) <= brush.columns and line.isascii():
            yield (Span(line, style),)
        else:
            yield from wrap([Span(line, style)], brush.columns)


def briefly(text: str, style: str, brush: Brush, margin: int) -> Iterator[Line]:
    """The first lines of a text that stands so far to the right, and how many more there are."""
    inner = brush.inside(margin)
    return shortened(written(text, style, inner), brush, partial(height, text, inner.columns))


def shortened_words(item: Words, brush: Brush) -> Iterator[Line]:
    if len(item.pieces) == 1 and not item.pieces[0][1]:
        text = item.pieces[0][0].rstrip("\r\n")
        return shortened(words(item, brush), brush, partial(height, text, brush.columns))
    return shortened(words(item, brush), brush)


def shortened(
    lines: Iterable[Line], brush: Brush, count: Callable[[], int] | None = None
) -> Iterator[Line]:
    """The first lines, and how many more there are; ``count`` tells how many without painting."""
    if brush.full:
        yield from lines
        return
    rest = iter(lines)
    # To say that there are two more takes a line as well.
    listed = list(islice(rest, BRIEF + 3))
    if len(listed) <= BRIEF + 2:
        yield from listed
        return
    yield from listed[:BRIEF]
    total = count() if count is not None else len(listed) + sum(1 for _ in rest)
    yield (Span(f"… {many(total - BRIEF, 'more line')}", "dim"),)


def prefixed(sign: str, style: str, lines: Iterable[Line]) -> Iterator[Line]:
    """Lines after a sign, the others indented as far."""
    blank = Span(" " * width(sign))
    for index, line in enumerate(lines):
        yield (blank, *line) if index else (Span(sign, style), *line)


def reasoning(item: ReasoningText, brush: Brush) -> Iterator[Line]:
    inner = brush.inside(2)
    label = "reasoning summary" if item.summary else "reasoning"
    if item.signature:
        label += f" · {item.signature}"
    yield (Span("✻ ", "dim"), Span(clip(label, inner.columns), "dim"))
    if item.text:
        yield from prefixed("  ", "", briefly(item.text, "thought", brush, 2))


def things(item: Thing, brush: Brush) -> Iterator[Line]:
    facts = " · ".join(item.facts)
    room = brush.columns - width(item.kind) - 3
    facts = facts if brush.full else clip(facts, room)
    yield from wrap([Span("▣ ", "mark"), Span(item.kind, "mark"), Span(f" {facts}", "dim")],
                    brush.columns)  # fmt: skip
    if item.image is not None and brush.images:
        yield from image_lines(item.image, brush.images)
    if item.text:
        yield from prefixed("  ", "", briefly(item.text, "", brush, 2))


# -- calls ---------------------------------------------------------------------------------------


def calls(item: Call, brush: Brush) -> Iterator[Line]:
    yield from asked(item, brush)
    for reply in item.replies:
        yield from replies(reply, brush)


def asked(item: Call, brush: Brush) -> Iterator[Line]:
    name, inner = Span(item.name, "call"), brush.inside(2)
    number = (Span(f"  {item.id}", "dim"),) if brush.full and item.id else ()
    if not item.text and not any(is_longer(v, inner.columns) for _, v in item.arguments):
        line = (name, Span("("), *in_line(item.arguments), Span(")"), *number)
        if measure(line) <= inner.columns:
            yield (Span("→ ", "call"), *line)
            return
    fault = (Span(f"  {item.fault}", "error"),) if item.fault else ()
    yield from prefixed("→ ", "call", wrap((name, *fault, *number), inner.columns))
    if item.text:
        yield from prefixed("    ", "", briefly(item.text, "", brush, 4))
    for key, value in item.arguments:
        yield from argument(key, value, brush.inside(4))


def is_longer(value: Json, columns: int) -> bool:
    """Whether it shows without writing it that an argument is too long for a line."""
    return is_long(value) or (isinstance(value, str) and len(value) > 2 * columns)


def in_line(arguments: tuple[tuple[str, Json], ...]) -> Iterator[Span]:
    for index, (key, value) in enumerate(arguments):
        yield Span(f"{', ' if index else ''}{key}: ", "dim")
        yield Span(brief(value))


def argument(key: str, value: Json, brush: Brush) -> Iterator[Line]:
    label = Span(f"    {clip(key, brush.columns // 2)}: ", "dim")
    if is_long(value):
        yield (label,)
        yield from prefixed("      ", "", briefly(value, "", brush, 2))
        return
    room = max(brush.columns - width(label.text) + 4, 16)
    text = brief(value)
    lines = shortened(wrap([Span(text)], room), brush, partial(height, text, room))
    yield from prefixed(label.text, "dim", lines)


def replies(item: Reply, brush: Brush) -> Iterator[Line]:
    sign, style = ("✗ ", "error title") if item.failed else ("← ", "good")
    inner = brush.inside(2)
    lines: list[Line] = []
    if item.of:
        lines.append((Span(clip(item.of, inner.columns), "dim"),))
    for part in seen(item.items, brush):
        if isinstance(part, Words):
            lines += shortened_words(part, inner)
        else:
            lines += item_lines(part, "tool", inner)
    if not lines:
        lines = [(Span("nothing", "dim"),)]
    yield from prefixed(sign, style, lines)
