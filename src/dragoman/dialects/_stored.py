"""What frameworks' stored messages have in common: the list that holds them, and names of files.

A framework's history is no API's: it takes any identifier, and files of any provider.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ..core.reading import as_dict, need_list
from ..core.writing import Rule, joined
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import Block, Extras, History, Json, Media, Message, Reasoning, Signature

FREE: Rule = (r"[\s\S]", 1 << 20)
"""Any string is an identifier here."""

FILE_IDS = {"file-": "openai", "file_": "anthropic", "files/": "google"}
"""How the ids of files begin, and whose they are."""


def issuer_of_file(file_id: str) -> str | None:
    """Who stores a file, where only its id is told."""
    return next((who for start, who in FILE_IDS.items() if file_id.startswith(start)), None)


def note_owner(d: Dialect, block: Media, log: Ledger) -> None:
    """Report a stored file of which the id alone does not tell whose it is."""
    owner = block.source.issuer
    if owner is not None and not d.is_same(owner) and issuer_of_file(block.source.value) != owner:
        log.approximated("media", block.at, f"{d.name} does not tell that {owner} stores the file")


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


def sign(d: Dialect, extras: Extras | None, signature: Signature) -> Extras:
    """What was kept of a call or a text, with what its provider signed of it."""
    return replace(extras or Extras(d.name), signature=signature)


def add(out: list[Block], block: Block) -> None:
    """A block; the parts of a summary are blocks of one id, of which the first says the rest."""
    last = out[-1] if out else None
    if (
        isinstance(block, Reasoning)
        and isinstance(last, Reasoning)
        and block.id is not None
        and block.id == last.id
        and block.extras is None
        and block.signature is None
        and block.summary
    ):
        out[-1] = replace(last, summary=(*last.summary, *block.summary))
    else:
        out.append(block)


def texts_of(d: Dialect, block: Reasoning, log: Ledger) -> list[str]:
    """The texts of a reasoning, each for a block of its own; without an id they become one."""
    words = list(block.words)
    if len(words) > 1 and block.id is None:  # nothing tells that several blocks are one
        log.approximated("text.boundary", block.at, f"{d.name} has one text per reasoning block")
        words = [joined(words)]
    return words
