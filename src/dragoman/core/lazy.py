"""Attributes that are made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """An attribute that most objects never need: made at the first look, then kept.

    Like ``functools.cached_property``, without its lock: what is made for one conversion is used
    by one thread.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: type) -> T:
        made: T = self.make(holder)
        holder.__dict__[self.name] = made
        return made
