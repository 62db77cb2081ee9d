"""The way back: what a target could not hold, and its exact return.

Theory of operation. When a document of dialect A has become one of dialect B, the plain way back
(read as B, written as A) gives A again, less what B could not hold. The capsule is what is missing
there. It is made by going that way once, so it needs no knowledge of any dialect, it is empty where
nothing is lost, and with an unchanged document it is exact by construction, key order included.

Clients do not echo bytes: they spell arguments anew, move cache marks, replace ids, leave reasoning
out, remove turns. So the conversation is restored **turn by turn, each whole or not at all**, and
turns are compared by what they mean:

- A *unit* is what stands or falls together: the run of items in the document that one message of
  the tree was read from, or all messages that one item holds. ``Message.at`` tells. The system
  prompt is a unit too, wherever the dialect keeps it, and so is each definition of a tool.
- The *gist* of a unit is what it says: role, texts, calls with their arguments as JSON values,
  results, media. Ids, cache marks, citations, unknown fields and the spelling are no part of it;
  neither is reasoning, unless a unit says nothing else.
- Where each turn came back in its place (nearly always), nobody reads the way back: items are
  compared as they are, and the gist is that of the client's document (``echo``). Where turns came
  back in another number or order, the way back is read, and the gist is what it says.
- For each unit of the way back that is not the original, an *entry* holds its number, the digest
  of its gist, and the original items. A unit that comes back by itself has no entry.
- On the way back, an entry is put where its unit stands now: at the old number, or moved as far as
  its neighbours have moved, or wherever else its gist stands alone. A short text ("OK.") may stand
  anywhere, so it needs the ids of its calls as they were, or a neighbour as before. An entry
  that finds no unit is left out, and reported as ``dropped capsule`` at the place of the changed
  turn.
- Where units came back in another number or order, those between two that correspond are one
  entry. Entries that exchanged a text or a call are restored together or not at all: otherwise it
  would stand twice.
- A turn keeps its own signatures when an earlier turn changes: a signature covers the reasoning
  that it stands with, not the conversation before it, and it is needed as long as the turn is
  there. It never comes without the whole turn, and never with another.

Original items of long units are written with references instead of the long texts that their unit
has anyway, each referred to once, so an entry weighs little more than what was lost. What follows
the last unit is new, and stays as it is; a last item that has grown (some APIs want one item where
two turns of a role follow each other) keeps what was added. Ids: a restored turn has its original
ids, and where the client replaced them, those of its calls and results in other turns follow. Cache
marks: where B holds them too, they stand where the client has put them last.

The model: where A requires one and B has no field for it, the capsule names it (``model``), so that
the way back can be written at all.

Everything that is not a turn or a tool (settings, and documents without turns, such as responses)
is restored by a structural patch, part by part, where the part is still what it was:

    {"=": value, "was": digest}                                     the value, instead of another
    {"set": {k: v}, "del": {k: digest}, "in": {k: patch}, "order": [k, ...]}           an object
    {"items": [op, ...], "length": n}                                                  a list
    {"wrap": {...}, "key": k} / {"unwrap": k}         a text that was the only block of a list

where an op of a list is ``{"keep": n, "was": digest}`` (so many items stay as they are),
``[digest, patch]`` (the next item changes), ``{"skip": digest}`` (the next item goes) or
``{"put": value}`` (an item comes). Version 1 had nothing but such a patch of the whole document;
its capsules are still opened, with that version's limits.

The keys of a capsule: ``count`` (of units, and of tools where these are units), ``turns`` and
``tools`` (entries), ``patch`` and ``order`` (settings), ``repaired`` (losses of the way back that
it makes up for), ``echo`` (whose gist the digests are of), ``wrap`` or ``bare`` (a list of turns in
an object, or without it), ``typed`` (the client writes a type that may be left out: ``types``),
``model`` (where the target has none), ``unfit`` (the original broke a rule itself), ``mac``
(``signing``). Those of an entry: ``at`` and ``is`` (the numbers and digests of its units), ``put``
(the original), ``cuts`` (how long texts were that may be joined or split now), ``ids`` or ``by``
(what else tells where it belongs), ``strict``, ``with``, ``size``, ``marks``, ``reused``.

A capsule is plain JSON and comes from outside. It is looked at whole before it is used
(``validating``), and whatever is wrong with it is ``CapsuleError``. What it puts is named in
``Ledger.restored``; what it claims to make up for is tried (``proof.Proof``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .making import make as make
    from .modelled import named as named
    from .opening import open_ as open_
    from .opening import refit as refit
    from .validating import check as check

LIMIT = 64 << 20
"""How many bytes of JSON a capsule may have by default."""
MODULES = {
    "make": "making",
    "named": "modelled",
    "open_": "opening",
    "refit": "opening",
    "check": "validating",
}


def __getattr__(name: str) -> Any:
    """Most conversions have no capsule: what makes and opens one is loaded when it is needed."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    globals()[name] = found
    return found
