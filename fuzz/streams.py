"""Streams with something wrong in them: in an event, in the order of frames, or in the bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import seeds
from dragoman import DragomanError, decompose, dialects
from dragoman.streams.framing import Frame, framer, write_frame
from dragoman.testing import STRAY

from .dice import Dice, one_of
from .mutations import mutated, recombined, with_keys

MOST = 3
"""So many frames of a stream are changed at most."""
Frames: TypeAlias = list[Frame]


@cache
def recorded(dialect: str) -> tuple[tuple[Frame, ...], ...]:
    """The seeds of a dialect, as frames."""
    return tuple(tuple(split(data, dialect)) for data in seeds.recorded(dialect))


def mangled(dialect: str, dice: Dice) -> bytes:
    """A stream of a dialect after a few accidents."""
    frames = list(one_of(dice, recorded(dialect)))
    for _ in range(dice.below(MOST + 1)):
        if frames:
            frames = one_of(dice, CHANGES)(frames, dialect, dice)
    data = joined(frames, dialect)
    return data if dice.below(3) else damaged(data, dice)


def unusual(dialect: str, dice: Dice) -> bytes:
    """The stream of a response that nobody gave, with unknown keys in some of its events."""
    document = one_of(dice, seeds.documents(dialect, "response"))
    document = recombined(document, dialect, "response", dice)
    try:
        data = decompose(document, dialect)
    except DragomanError:
        data = one_of(dice, seeds.recorded(dialect))
    frames = split(data, dialect)
    for _ in range(dice.below(3)):
        place = dice.below(len(frames))
        name, inner = frames[place]
        if inner.startswith(b"{"):
            event = with_keys(json.loads(inner), set(seeds.vocabulary()), dice, rename=False)
            frames[place] = (name, json.dumps(event).encode())
    return joined(frames, dialect)


def split(data: bytes, dialect: str) -> Frames:
    speaker = dialects.get(dialect)
    frames = framer(speaker.framings or speaker.framing)
    return [*frames.feed(data), *frames.close()]


def joined(frames: Frames, dialect: str) -> bytes:
    return b"".join(write_frame(dialects.get(dialect).framing, frame) for frame in frames)


def drop(frames: Frames, dialect: str, dice: Dice) -> Frames:
    del frames[dice.below(len(frames))]
    return frames


def double(frames: Frames, dialect: str, dice: Dice) -> Frames:
    frames.insert(dice.below(len(frames) + 1), one_of(dice, frames))
    return frames


def swap(frames: Frames, dialect: str, dice: Dice) -> Frames:
    one, other = dice.below(len(frames)), dice.below(len(frames))
    frames[one], frames[other] = frames[other], frames[one]
    return frames


def splice(frames: Frames, dialect: str, dice: Dice) -> Frames:
    """The stream goes on as another one does, of this dialect or of any."""
    other = dialect if dice.below(4) else one_of(dice, seeds.STREAMS)
    tail = one_of(dice, recorded(other))
    return frames[: dice.below(len(frames)) + 1] + list(tail[dice.below(len(tail)) :])


def alter(frames: Frames, dialect: str, dice: Dice) -> Frames:
    """The document of one frame is changed as documents are."""
    place = dice.below(len(frames))
    name, data = frames[place]
    try:
        document = json.loads(data)
    except ValueError:
        return frames
    frames[place] = (name, json.dumps(mutated(document, dice)).encode())
    return frames


def rename(frames: Frames, dialect: str, dice: Dice) -> Frames:
    """A frame bears the name of another, or none."""
    place = dice.below(len(frames))
    name = one_of(dice, frames)[0] if dice.below(3) else ""
    frames[place] = (name, frames[place][1])
    return frames


CHANGES: tuple[Callable[[Frames, str, Dice], Frames], ...] = (
    drop, double, swap, splice, alter, alter, alter, rename,
)  # fmt: skip


def damaged(data: bytes, dice: Dice) -> bytes:
    """Bytes that are changed, inserted, gone, or that break off."""
    place = dice.below(len(data) + 1)
    match dice.below(6):
        case 0:
            return data[:place]
        case 1:
            return data + one_of(dice, STRAY)
        case 2:
            return data[:place] + one_of(dice, STRAY) + data[place:]
        case 3:
            return data[:place] + bytes((dice.below(256),)) + data[place + 1 :]
        case 4:
            return data[:place] + data[place + 1 + dice.below(20) :]
        case _:
            return data.replace(b"\n", one_of(dice, (b"\r\n", b"\r", b"\n\n")))
