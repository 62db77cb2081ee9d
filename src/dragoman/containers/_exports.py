"""Exports of chats: conversations by their places, trees of messages as their current path."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..core.reading import encode, escape
from ..errors import DragomanError, Malformed
from ..ledger import Loss
from ..model import Json
from ._archives import Members
from ._documents import Document
from ._kinds import Found


class Written:
    """The messages of one conversation while they are written, and where each of them stood."""

    def __init__(self, at: str) -> None:
        self.at = at
        self.messages: list[Json] = []
        self.places: list[str] = []
        self.losses: list[Loss] = []

    def add(self, message: Json, at: str) -> None:
        self.messages.append(message)
        self.places.append(at)

    def lose(self, what: str, at: str, why: str) -> None:
        self.losses.append(Loss("dropped", what, at, why))

    def invent(self, what: str, at: str, why: str) -> None:
        self.losses.append(Loss("invented", what, at, why))

    def place(self, path: str) -> str:
        """Where a message of the document stood; what is inside of it has no other place."""
        index = path.split("/")[1] if path else ""
        if index.isdecimal() and int(index) < len(self.places):
            return self.places[int(index)]
        return self.at


def conversations(value: Json, is_one: Callable[[Json], bool]) -> Iterator[tuple[str, Json]]:
    """The conversations of a file or of the files of an archive, with their places."""
    if isinstance(value, Members):
        for name, inner in value.items():
            for at, one in conversations(inner, is_one):
                yield f"/{escape(name)}{at}", one
    elif value.__class__ is list:
        for index, one in enumerate(value):
            yield f"/{index}", one
    else:
        yield "", value


def claims(value: Json, is_one: Callable[[Json], bool]) -> bool:
    """Whether a file, or an archive of files, has conversations of a kind."""
    if isinstance(value, Members):
        return bool(value) and all(claims(inner, is_one) for inner in value.values())
    if value.__class__ is list:
        return bool(value) and is_one(value[0])
    return is_one(value)


def found(
    at: str,
    conversation: Json,
    dialect: str,
    title: str,
    read: Callable[[Json, Written], None],
) -> Found:
    """One conversation as messages of a dialect."""
    written = Written(at)
    try:
        read(conversation, written)
        if not written.messages:
            raise Malformed("no messages in this conversation", at)
    except DragomanError as problem:
        return Found(at, (), problem)
    document = Document(
        encode(written.messages),
        dialect,
        "messages",
        at=at,
        why=f"a conversation of {title}",
        notes=tuple(written.losses),
        place=written.place,
    )
    return Found(at, (document,))


def path_to(leaf: Json, parent_of: Callable[[str], Json], count: int) -> list[str]:
    """The ids from the root to a leaf; a loop, or a parent that is missing, ends it."""
    path: list[str] = []
    seen: set[str] = set()
    node = leaf
    while node.__class__ is str and node not in seen and len(path) <= count:
        seen.add(node)
        path.append(node)
        node = parent_of(node)
    return path[::-1]
