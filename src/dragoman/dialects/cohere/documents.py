"""Documents that the model may cite, both ways.

A document has data, and an id by which it is cited. It may stand beside the conversation, where it
belongs to the last question, or be a part of a tool's result. With an id it is a passage; without
one it is a document of plain text, or, in a result, simply what the tool said: the API itself takes
a text that is a JSON object for the data of a document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

from msgspec.structs import replace

from ...core.reading import as_dict, as_list, compact, expected, maybe_str
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Block, Extras, Json, Media, Message, Passage, Raw, Source, Text

if TYPE_CHECKING:
    from . import Cohere


# What documents call their text; the first is written.
TEXTS = ("text", "snippet", "content")
PLAIN = "text/plain"
ANYTHING = (r"[\s\S]", 10_000)
# "tool names can only contain certain characters (A-Za-z0-9_) and can't begin with a digit"
NAMES = (r"(?:[A-Za-z_]|(?!^)[0-9])", 10_000)


class CohereWriting(Writing):
    """One conversion into Cohere's dialect: it knows where documents may stand, and their ids."""

    def __init__(self, log: Ledger, same: bool, reply: bool = False) -> None:
        super().__init__(log, ANYTHING, NAMES, same, reply)
        self.beside = False  # whether documents may stand beside the conversation
        self.documents: list[Json] = []
        self.hoisted: list[Json] = []  # images of results, for a turn of the user after them
        self.known: set[str] = set()

    def lowered(self) -> list[Json]:
        """The turn of the user that holds what was hoisted, if anything was."""
        parts, self.hoisted = self.hoisted, []
        return [{"role": "user", "content": parts}] if parts else []

    def document_id(self, passage: Passage) -> str:
        """ "duplicate document ID adfasd at index 1 and 0", says the API otherwise."""
        given, number = passage.source, 1
        while given in self.known and not self.same:
            number += 1
            given = f"{passage.source}#{number}"
        self.known.add(given)
        if number > 1:
            why = f"cohere requires unique document ids; written as {given!r}"
            self.log.approximated("passage", passage.at, why)
        return given


def read_documents(d: Cohere, docs: Json, messages: list[Message]) -> list[Message]:
    """The documents of a request belong to its last question: there they stand first."""
    blocks = tuple(
        read_beside(d, doc, f"/documents/{index}")
        for index, doc in enumerate(as_list(docs, "/documents"))
    )
    place = last_question(messages)
    assert place is not None
    asked = messages[place]
    asked = replace(asked, content=(*blocks, *asked.content))
    return [*messages[:place], asked, *messages[place + 1 :]]


def read_beside(d: Cohere, doc: Json, at: str) -> Block:
    if doc.__class__ is str:
        doc = {"data": doc}
    doc = as_dict(doc, at)
    if not is_data(doc.get("data")):
        expected("an object or a string", doc.get("data"), f"{at}/data")
    name, extras = maybe_str(doc, "id", at), d.keep(doc, ("id", "data"))
    return document_of(name, *read_data(doc["data"]), at, extras)


def write_beside(d: Cohere, block: Passage | Media, w: CohereWriting) -> Json:
    return d.emit(write_document(d, block, w), block, w.log)


def document_of(
    name: str | None, text: str, title: str | None, at: str, extras: Extras | None
) -> Block:
    """A document with an id is a passage."""
    if name:
        words = (Text(text, at=at),)
        return Passage(name, title or "", words, True, at=at, extras=extras)
    source = Source("text", text, PLAIN)
    return Media("document", source, title=title, citable=True, at=at, extras=extras)


def read_part_document(d: Cohere, part: dict[str, Json], at: str, result: bool) -> Block:
    """``{"type": "document", "document": {...}}``, in a result, or tolerated in a question."""
    doc = part.get("document")
    if doc.__class__ is not dict or not is_data(doc.get("data")):
        return Raw(d.name, part, at=at)
    text, title = read_data(doc["data"])
    name = maybe_str(doc, "id", f"{at}/document")
    extras = d.keep(part, ("type",), partly={"document": ("id", "data")})
    if result and title is None and not name:
        return Text(text, at=at, extras=extras)
    return document_of(name, text, title, at, extras)


def write_part_document(d: Cohere, block: Passage | Media, w: CohereWriting) -> Json:
    doc = write_document(d, block, w)
    return d.emit({"type": "document", "document": doc}, block, w.log)


def write_document(d: Cohere, block: Passage | Media, w: CohereWriting) -> dict[str, Json]:
    out: dict[str, Json] = {}
    text, title = text_of(d, block, w), block.title
    if isinstance(block, Passage):
        if block.source or w.same:
            out["id"] = w.document_id(block)
        else:
            w.log.approximated(
                "passage", block.at, f"{d.name} writes a document without an id as a plain object"
            )
    titled = title is not None if w.same else bool(title)
    out["data"] = {"title": title, "text": text} if titled else {"text": text}
    return out


def text_of(d: Cohere, block: Passage | Media, w: CohereWriting) -> str:
    """The text of a document, as one."""
    if block.citable is not True and not w.same:
        w.log.approximated("media.citable", block.at, f"every document may be cited in {d.name}")
    return "\n\n".join(texts_of(d, block, w))


def texts_of(d: Cohere, block: Passage | Media, w: CohereWriting) -> list[str]:
    """The texts of a document; what is no text in it is lost."""
    if isinstance(block, Media):
        return [block.source.value]
    texts: list[str] = []
    for part in block.content:
        if not isinstance(part, Text):
            w.log.dropped("passage", part.at, f"a passage is text alone in {d.name}")
            continue
        if texts:
            d.join_text(part.at, w.log)
        d.lose(part.extras, part.at, w.log)
        texts.append(part.text)
    return texts


def read_data(data: Json) -> tuple[str, str | None]:
    """The text and the title of a document.

    Data that say more than these are a JSON text, so that nothing that the model was given is lost.

    >>> read_data({"title": "Penguins", "snippet": "They swim."})
    ('They swim.', 'Penguins')
    >>> read_data({"text": "Hi", "author": "me"})[0]
    '{"text":"Hi","author":"me"}'
    """
    if data.__class__ is str:
        return data, None
    title = data.get("title")
    if title.__class__ is not str:
        title = None
    key = next((key for key in TEXTS if data.get(key).__class__ is str), None)
    stated = {key, "title"} if title is not None else {key}
    return (compact(data) if key is None or data.keys() != stated else data[key]), title


def is_data(value: Json) -> bool:
    return value.__class__ is dict or value.__class__ is str


def is_document(block: Block) -> TypeGuard[Passage | Media]:
    """Whether a block is a document of text, as documents are here."""
    if isinstance(block, Media):
        return block.kind == "document" and block.source.kind in ("text", "blocks")
    return isinstance(block, Passage)


def last_question(messages: Sequence[Message]) -> int | None:
    """The place of the last message of a user."""
    places = (i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "user")
    return next(places, None)
