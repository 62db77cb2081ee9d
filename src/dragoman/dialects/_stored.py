"""What frameworks' stored messages have in common: the list that holds them, and names of files.

A framework's history is no API's: it takes any identifier, and files of any provider.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.reading import as_dict, need_list
from ..core.writing import Rule
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import Extras, History, Json, Message, Node

FREE: Rule = (r"[\s\S]", 1 << 20)
"""Any string is an identifier here."""

FILE_IDS = {"file-": "openai", "file_": "anthropic", "files/": "google"}
"""How the ids of files begin, and whose they are."""


def issuer_of_file(file_id: str) -> str | None:
    """Who stores a file, where only its id is told."""
    return next((who for start, who in FILE_IDS.items() if file_id.startswith(start)), None)


def read_list(d: Dialect, doc: Json, read: Callable[[list[Json], str], list[Message]]) -> History:
    """A history is a bare list, or an object that holds one under ``history``."""
    if doc.__class__ is list:
        return History(tuple(read(doc, "")), dialect=d.name)
    key = d.history
    assert key is not None
    doc = as_dict(doc, "")
    messages = read(need_list(doc, key, ""), f"/{key}")
    return History(tuple(messages), dialect=d.name, extras=d.keep(doc, (key,)))


def write_list(
    d: Dialect, tree: History, write: Callable[[Sequence[Message]], list[Json]], log: Ledger
) -> Json:
    messages = write(tree.messages)
    if tree.extras is not None and d.is_same(tree.extras.dialect):
        return d.emit({d.history: messages}, tree, log)  # type: ignore[dict-item]
    d.lose(tree.extras, tree.at, log)
    return messages


def is_bare(node: Node) -> bool:
    """Whether nothing is kept of a node that only its dialect knows."""
    extras: Extras | None = node.extras
    return extras is None or not (extras.fields or extras.signature)
