"""One document: converted, edited by a client, and converted back with its capsule and without."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .. import dialects
from ..convert import convert
from ..errors import DragomanError, Unsayable
from ..model import Json, Request
from ..result import Result
from .documents import needs_a_model
from .edits import OTHER, SAME
from .wire import (
    REASONING,
    TURNS,
    as_text,
    has_items,
    kind,
    names_ids,
    turns_in,
    type_of,
    with_turns,
)


class Edited(NamedTuple):
    """One document on its ways: as it was, there and back plainly, and after an edit."""

    source: str
    target: str
    facet: str
    edit: str
    original: Json
    back: Result
    echoed: Json
    plain: Result
    result: Result

    def items(self, document: Json) -> list[Json]:
        """The items of a document, and before them the system prompt that stands elsewhere."""
        found = turns_in(document, self.source)
        out = [document] if found is None else found
        top = document if isinstance(document, dict) else {}
        apart = [
            {"role": "system", "in": key, "content": top[key]}
            for key in PROMPTS
            if is_stated(top.get(key))
        ]
        return apart + out

    def turns(self, document: Json) -> list[list[Json]]:
        """The turns of a document; in Responses, all items of one reply are one, and reasoning is
        part of the message after it."""
        out: list[list[Json]] = []
        for item in self.items(document):
            goes_on = out and kind(item) == kind(out[-1][-1]) == "assistant"
            if goes_on and (has_items(self.source) or type_of(out[-1][-1]) in REASONING):
                out[-1].append(item)
            else:
                out.append([item])
        return out

    @property
    def loses_prompts(self) -> bool:
        """Whether the target stores no system prompt: none of it comes back."""
        return not any(kind(item) == "system" for item in self.items(self.back.document))

    def without_prompts(self, document: Json) -> Json:
        """A document of the source without what is said by the system."""
        said = [item for item in turns_in(document, self.source) or [] if kind(item) != "system"]
        rest = with_turns(document, self.source, said)
        return {k: v for k, v in rest.items() if k not in PROMPTS} if rest is not said else said

    @property
    def means_the_same(self) -> bool:
        """Whether the edit changed nothing.

        A text that names an id introduces the content of that call's result. A client that gives
        other ids, or joins texts, does not know: it introduces another one then, or none. And
        where a message is one text, several are written with a blank line between them, so that
        a text in two parts says something else.
        """
        if self.edit in ("ids replaced", "ids dropped", "texts joined", "texts split"):
            there = turns_in(self.echoed, self.target) or []
            if names_ids([*there, *self.items(self.plain.document)]):
                return False
            if self.edit.startswith("texts"):
                losses = (*self.back.losses, *self.plain.losses)
                return not any(loss.what == "text.boundary" for loss in losses)
        return self.edit in SAME


PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction")
"""Keys of system prompts that are no items."""


def applies(source: str, target: str, facet: str) -> bool:
    return facet in ("request", "messages") and source != target and {source, target} <= {*TURNS}


def ways(
    body: Json,
    source: str,
    target: str,
    tamper: Callable[[Json], Json] = lambda capsule: capsule,
    facet: str = "request",
) -> Iterator[Edited]:
    """A document after each edit; ``tamper`` changes the capsule, to see that the law sees it."""
    try:
        there = convert(body, source=source, target=target, facet=facet, now=0, carry=True)
    except Unsayable:
        return
    capsule = tamper(json.loads(json.dumps(there.capsule)))
    turns = turns_in(there.document, target)
    if turns is None or turns_in(body, source) is None:
        return
    back = _plainly(there.document, source, target, facet, body)
    for name, edit in (SAME | OTHER).items():
        try:
            edited = edit(json.loads(json.dumps(turns)), target)  # which shares no objects
            if edited is None or as_text(edited) == as_text(turns):
                continue
            echoed = with_turns(there.document, target, edited)
            plain = _plainly(echoed, source, target, facet, body)
        except DragomanError:
            continue  # such a conversation cannot be expressed there
        result = convert(echoed, source=target, target=source, facet=facet, capsule=capsule)
        yield Edited(source, target, facet, name, body, back, echoed, plain, result)


def _plainly(echoed: Json, source: str, target: str, facet: str, original: Json) -> Result:
    """The conversion without a capsule, with messages spelled as those of the original."""
    model = None
    if needs_a_model(dialects.get(target).read(echoed, facet), source):
        # What a model takes decides about turns: some go on with no reply, and are told to.
        tree = dialects.get(source).read(original, facet)
        model = (isinstance(tree, Request) and tree.model) or "m"
    result = convert(echoed, source=target, target=source, facet=facet, model=model)
    turns = turns_in(result.document, source)
    if turns is None:
        return result
    turns = with_types(turns, original, source)
    return Result(with_turns(result.document, source, turns), result.losses)


def with_types(items: list[Json], original: Json, source: str) -> list[Json]:
    """Items of Responses with the type that a message may go without, if the original has it.

    Where each message of a request has it, so may those that the client has added or changed.
    """
    written = dialects.get(source).implied_type
    known = turns_in(original, source) or []
    models = [item for item in known if written and item.get("type") == written]
    if not models or not isinstance(original, dict) or not all("type" in item for item in known):
        return items
    spelled = {"type": written}
    if next(iter(models[0])) == "type":
        return [spelled | item if "role" in item and "type" not in item else item for item in items]
    return [item | spelled if "role" in item and "type" not in item else item for item in items]


def is_stated(prompt: Json) -> bool:
    """Whether there is a word in it; a role and a type are none."""
    if isinstance(prompt, dict):
        return any(is_stated(value) for key, value in prompt.items() if key not in ("role", "type"))
    return any(map(is_stated, prompt)) if isinstance(prompt, list) else bool(prompt)
