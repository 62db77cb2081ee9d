"""Where the choices of a fuzzer come from: a generator with a seed, or the bytes of an input."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Dice(Protocol):
    """A source of choices."""

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1; 0 where there is no other."""


class Seeded:
    """Choices that are the same in every run with the same seed."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def below(self, limit: int) -> int:
        return self.random.randrange(limit) if limit > 1 else 0


class Bytes:
    """Bytes as choices, so that a guided fuzzer can learn which of them matter."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def below(self, limit: int) -> int:
        if limit <= 1:
            return 0
        width = 1 if limit <= 256 else 2
        taken = self.data[self.place : self.place + width]
        self.place += width
        return int.from_bytes(taken, "big") % limit


def one_of(dice: Dice, items: Sequence[T]) -> T:
    return items[dice.below(len(items))]
