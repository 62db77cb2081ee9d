"""The canonical tree itself, as JSON: ``{"dragoman": 1, "facet": "request", "tree": {...}}``.

It can say all that any dialect can say, extras included. A document that goes through it comes back
to its own dialect exactly: where the dialect's writer would make another document of the tree, the
one that it was read from stands beside the tree, under ``source``. ``docs/model.md`` describes the
tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.reading import as_dict, encode, escape, nearest, parse
from ..core.surrogates import parse_exactly
from ..core.walk import placed, unplaced
from ..dialect import FACETS, Dialect
from ..errors import DragomanError, Malformed
from ..ledger import Ledger
from ..model import History, Json, Message, Original, Raw, Request, Response, Root, Tree

if TYPE_CHECKING:
    from ..streams.base import StreamReader, StreamWriter

VERSION = 1
ROOTS = ("tool_choice", "failure")  # those inside of others


class Native(Dialect):
    name = "native"
    spec = "docs/model.md"
    framing = "ndjson"
    stream_signs = (("event", "begin"),)
    stream_headers: ClassVar[dict[str, str]] = {"content-type": "application/x-ndjson"}
    history = None
    model_key = "tree/model"
    lowers = False
    keeps_source = True
    can = cap.Capabilities(failed=True)
    has_null_choice = False  # the tree says it

    def read_native(self, doc: Json, facet: str) -> Tree:
        doc = as_dict(doc, "")
        if doc.get("dragoman") != VERSION:
            raise Malformed(f"not a native document of version {VERSION}", "/dragoman")
        if doc.get("facet") != facet:
            raise Malformed(f"expected a {facet}, got {doc.get('facet')!r}", "/facet")
        for key in doc.keys() - {"dragoman", "facet", "tree", "source"}:
            raise Malformed(f"a native document has no field {key!r}", f"/{escape(key)}")
        try:
            tree = msgspec.convert(doc.get("tree"), FACETS[facet])
        except msgspec.ValidationError as problem:
            raise malformed(problem) from None
        except RecursionError:
            raise Malformed("nested too deeply", "/tree") from None
        for at, root in (("", tree), *((f"/{key}", getattr(tree, key, None)) for key in ROOTS)):
            if isinstance(root, Root) and root.original is not None:
                raise Malformed("object contains unknown field original", f"/tree{at}")
        located: Any = placed(tree, "/tree")
        verify_payloads(located)
        if "source" in doc:
            if located.dialect is None:
                raise Malformed("a source needs the dialect of its tree", "/source")
            located = replace(located, original=Original(doc["source"]))
        return located  # type: ignore[no-any-return]

    def locate(self, doc: Json, at: str) -> str:
        """What a node says beyond the tree stands among its extras, which readers know nothing of.

        A parameter that is not one of ``params`` stands beside them.
        """
        where, left = nearest(doc, at)
        if not left:
            return where
        rest = "".join(f"/{escape(step)}" for step in left)
        for found in (f"{where}/extras/fields{rest}", at.replace("/params/", "/", 1)):
            if not nearest(doc, found)[1]:
                return found
        return where

    def write_native(self, tree: Tree, facet: str, log: Ledger) -> Json:
        out = {"dragoman": VERSION, "facet": facet, "tree": plain(unplaced(tree))}
        original = tree.original
        if original is not None and (original.tree is None or is_spelled(tree, original.doc)):
            out["source"] = original.doc
        return out

    def read_stream(self, whole: bool) -> StreamReader:
        from ._native_stream import NativeReader

        return NativeReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from ._native_stream import NativeWriter

        return NativeWriter(self, same, log)

    def sniff(self, doc: Json) -> Iterable[tuple[str, float, tuple[str, ...]]]:
        if isinstance(doc, dict) and doc.get("dragoman") == VERSION:
            facet = doc.get("facet")
            if isinstance(facet, str) and facet in FACETS:
                yield facet, 1.0, ("the keys 'dragoman' and 'facet'",)


def verify_payloads(tree: Tree) -> None:
    """What stands in a turn is an object in every dialect, named by the tree or not."""
    turns: tuple[Message, ...] = ()
    if isinstance(tree, Request | History):
        turns = tree.messages
    elif isinstance(tree, Response):
        turns = tuple([candidate.message for candidate in tree.candidates])
    for turn in turns:
        for block in turn.content:
            if isinstance(block, Raw):
                as_dict(block.payload, f"{block.at}/payload")


def is_spelled(tree: Tree, doc: Json) -> bool:
    """Whether the writer of its dialect would make another document of a tree than it had been."""
    from . import get

    assert tree.dialect is not None
    if get(tree.dialect).placed:
        return True
    try:
        return bool(get(tree.dialect).write(replace(tree, original=None), Ledger()) != doc)
    except DragomanError:  # the tree was edited
        return True


def _add_facets() -> None:
    """Every facet there is, both ways: the tree knows no other."""
    for facet in FACETS:
        suffix = facet.replace("-", "_")

        def read(self: Native, doc: Json, facet: str = facet) -> Tree:
            return self.read_native(doc, facet)

        def write(self: Native, tree: Tree, log: Ledger, facet: str = facet) -> Json:
            return self.write_native(tree, facet, log)

        setattr(Native, f"read_{suffix}", read)
        setattr(Native, f"write_{suffix}", write)


def plain(tree: Tree) -> Json:
    """A tree as plain JSON."""
    try:
        return parse(msgspec.json.encode(tree))
    except UnicodeEncodeError:  # half of a surrogate pair
        return parse_exactly(encode(msgspec.to_builtins(tree)))


def malformed(problem: msgspec.ValidationError) -> Malformed:
    """msgspec says ``Expected `str`, got `int` - at `$.messages[0].role```; we use pointers."""
    text, _, place = str(problem).partition(" - at ")
    steps = re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", place.strip("`"))
    pointer = "".join(f"/{escape(a or b)}" for a, b in steps)
    return Malformed(text[:1].lower() + text[1:].replace("`", ""), f"/tree{pointer}")


_add_facets()
DIALECT = Native()
