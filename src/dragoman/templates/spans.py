"""Where the turns of the assistant stand in the text that a template printed.

A turn begins where the prompt for it ends, and ends with what the template prints after its last
value: the end of a call, the token that ends the turn. Neither is in the conversation, so both are
learned from the template: it prints the conversation up to the turn, with the prompt for it, and
the conversation that ends in the turn. What stands there after the last value before the turn, or
after the last one of it, is compared with the text. A template that has ``{% generation %}``
blocks says itself what the assistant generates, and is believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..errors import Unsayable
from .probes import BEGIN, Probes, unmarked
from .rendering import CLOSE, OPEN, Renderer

if TYPE_CHECKING:
    from ..model import Json

Span = tuple[int, int]
TOKEN = re.compile(r"<[^<>\s]{1,40}>")
"""What looks like a special token."""


def spans_of(
    render: Renderer, text: str, probes: Probes, messages: Sequence[Json], tools: list[Json]
) -> dict[int, list[Span]]:
    """The pieces of the text that each message of the assistant is, by its number."""
    speaking = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
    if render.marks:
        blocks = generated(render, text, messages, tools)
        if blocks is not None:
            return assigned(blocks, speaking, probes)
    out: dict[int, list[Span]] = {}
    reached = 0
    for number in range(len(messages)):
        bounds = probes.bounds(number)
        if number in speaking and bounds is not None:
            runs = probes.runs(number)
            begin = before(render, text, messages, tools, number, reached, bounds[0])
            end = after(render, text, messages, tools, number, bounds[1], probes)
            out[number] = [(begin, end)]
            if len(runs) > 1:  # the template prints something else in between
                inner = [inside(render, text, messages, tools, number, *r) for r in runs[:-1]]
                starts = [begin, *(start for start, _, _ in runs[1:])]
                out[number] = list(zip(starts, [*inner, end], strict=True))
        if bounds is not None:
            reached = max(reached, bounds[1])
    return out


def before(
    render: Renderer, text: str, messages: Sequence[Json], tools: list[Json], number: int,
    reached: int, first: int,
) -> int:  # fmt: skip
    """Where a turn begins: behind the prompt for it."""
    between = text[reached:first]
    tail = tail_of(lambda: render(list(messages[:number]), tools, prompt=True)) if number else None
    if tail is None:
        return first
    return reached + same(between, tail)


def after(
    render: Renderer, text: str, messages: Sequence[Json], tools: list[Json], number: int,
    last: int, probes: Probes,
) -> int:  # fmt: skip
    """Where a turn ends: behind what follows its last value."""
    following = [b for n in range(number + 1, len(messages)) if (b := probes.bounds(n))]
    rest = text[last : min((a for a, _ in following if a >= last), default=len(text))]
    if not following:
        return last + len(rest.rstrip())
    tail = tail_of(lambda: render(list(messages[: number + 1]), tools))
    if tail is None:
        return last
    common = same(rest, tail)
    if not common and TOKEN.match(tail) and (found := TOKEN.match(rest)):
        return last + found.end()  # the last turn ends in another token than those before it
    return last + len(rest[:common].rstrip())


def inside(
    render: Renderer, text: str, messages: Sequence[Json], tools: list[Json], number: int,
    start: int, end: int, until: int,
) -> int:  # fmt: skip
    """Where a part of a turn ends that is printed apart: the calls, before what was said."""
    alone = [*messages[:number], {**messages[number], "content": ""}]
    tail = tail_of(lambda: render(alone, tools))
    rest = text[end:until]
    return end if tail is None else end + len(rest[: same(rest, tail)].rstrip())


def tail_of(render: Callable[[], str]) -> str | None:
    """What a template prints after the last value; None where it refuses such a conversation."""
    try:
        marked = render()
    except Unsayable:
        return None
    place = max((i for i, sign in enumerate(marked) if ord(sign) >= BEGIN), default=-1)
    return marked[place + 1 :]


def same(a: str, b: str) -> int:
    """How many characters two texts begin with alike."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            return untorn(a[:count])
        count += 1
    return count


def untorn(text: str) -> int:
    """How long a text is without the beginning of a token that another token shares."""
    return text.rfind("<") if text.rfind("<") > text.rfind(">") else len(text)


def generated(
    render: Renderer, text: str, messages: Sequence[Json], tools: list[Json]
) -> list[Span] | None:
    """The ``{% generation %}`` blocks; None where they change what is printed."""
    plain = [strip_marks(message) for message in messages]
    marked = render(plain, [strip_marks(tool) for tool in tools], marking=True)
    out: list[Span] = []
    length, start, depth = 0, 0, 0
    for sign in marked:
        if sign == OPEN:
            if not depth:
                start = length
            depth += 1
        elif sign == CLOSE:
            depth -= 1
            if not depth and length > start:
                out.append((start, length))
        else:
            length += 1
    return out if marked.replace(OPEN, "").replace(CLOSE, "") == text else None


def assigned(blocks: list[Span], speaking: list[int], probes: Probes) -> dict[int, list[Span]]:
    """Which message each block belongs to: the one whose values stand in it, or else the next."""
    out: dict[int, list[Span]] = {number: [] for number in speaking}
    left = list(speaking)
    for a, b in blocks:
        own = [n for n in speaking if (s := probes.bounds(n)) and a <= s[0] < b]
        number = own[0] if own else (left[0] if left else speaking[-1])
        left = [n for n in left if n > number]
        out[number].append((a, b))
    return {number: pieces for number, pieces in out.items() if pieces}


def strip_marks(value: Json) -> Json:
    if value.__class__ is str:
        return unmarked(value)[0]
    if value.__class__ is list:
        return [strip_marks(item) for item in value]
    if value.__class__ is dict:
        return {key: strip_marks(item) for key, item in value.items()}
    return value
