"""Tuning lines of Gemini at Vertex AI: contents, a system instruction and tools.

What it does differently from the API: calls have no ids and no signatures, and pair with their
results by name and order; there is no reasoning and there are no settings; schemas stand in
``parameters``, in the API's own form; a line ends in what the model says. A preference pair has two
``completions``, with a score of 1 and of 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.endpoint import Endpoint
from ..core.fields import Fields
from ..core.models import DEFAULT, Models
from ..core.reading import as_dict
from ..core.turns import results_in_place
from ..core.walk import rebuild
from ..core.writing import Writing
from ..dialect import Problem
from ..errors import Unsayable
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict, objects
from ..model import (
    Extras,
    Json,
    Message,
    Node,
    Params,
    Request,
    ToolCall,
    ToolResult,
    Training,
    Tree,
)
from ._sessions import ABSENT
from ._training import answered, up_to_the_reply
from .gemini import Gemini, turns

AS_IF = "gemini-2.0-flash"
"""A model whose schemas are written in the API's own form, as they are in tuning lines."""
NO_FIELDS = Fields()
PAIR = "completions"
ONE = "a preference pair of {} has one turn of the model on each side"


class VertexTuning(Gemini):
    name = "vertex-tuning"
    spec = "https://cloud.google.com/vertex-ai/generative-ai/docs/models/gemini-supervised-tuning-prepare"
    aliases: ClassVar[tuple[str, ...]] = ("gemini-tuning",)
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()
    serves = ()  # type: ignore[assignment]
    model_key = ""
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = ()
    rules: ClassVar[dict[str, str]] = {}
    fields = NO_FIELDS
    history: ClassVar[str | None] = None  # a result is named after its call
    can = replace(
        Gemini.can,
        choices=cap.NO_CHOICE,
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        thinking=None,
        # a result that cannot be named cannot hold them
        media=replace(Gemini.can.media, roles=frozenset({"user", "assistant"})),
        prefill="never",
        training=frozenset({"rejected"}),
    )
    read_messages = write_messages = ABSENT
    read_tools = write_tools = ABSENT
    read_tool_choice = write_tool_choice = ABSENT
    read_response = write_response = ABSENT
    read_error = write_error = ABSENT
    read_stream = write_stream = ABSENT

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        pair = doc.get(PAIR)
        if not is_pair(pair):
            return Gemini.read_request(self, doc)
        tree = Gemini.read_request(self, {key: doc[key] for key in doc if key != PAIR})
        sides: dict[bool, list[Message]] = {True: [], False: []}
        kept: dict[str, Json] = {}
        for index, item in enumerate(pair):
            at = f"/{PAIR}/{index}"
            content = as_dict(item.get("completion"), f"{at}/completion")
            if (extras := self.keep(item, ("score", "completion"))) is not None:
                kept[str(index)] = extras.fields
            read = turns.read_contents(self, [content], at)
            sides[bool(item.get("score"))] += [
                moved(m, f"{at}/0", f"{at}/completion") for m in read
            ]
        extras = Extras(self.name, kept, inner=tuple(kept)) if kept else None
        told = Training(len(sides[True]), tuple(sides[False]), at=f"/{PAIR}", extras=extras)
        return replace(tree, messages=(*tree.messages, *sides[True]), training=told)

    def write(self, tree: Tree, log: Ledger) -> Json:
        return super().write(up_to_the_reply(self, tree, log), log)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        same = self.is_same(tree.dialect)
        told = tree.training
        chosen: tuple[Message, ...] = ()
        messages = tree.messages
        if told is not None and told.rejected is not None:
            cut = max(len(messages) - (told.completion or 0), 0)
            messages, chosen = messages[:cut], messages[cut:]
        elif not (same or log.restores):
            messages = answered(self, messages, log)
        if not same:
            self.lose_settings(tree, log)
            nameless = Unnamed(self, log)
            messages, chosen = nameless.all(messages), nameless.all(chosen)
            tree = replace(tree, model=AS_IF, params=Params())
        out: dict[str, Json] = Gemini.write_request(
            self, replace(tree, messages=messages, training=None), log
        )
        if not same:
            out.pop("model", None)
            if "systemInstruction" in out:
                out["systemInstruction"] = {"role": "system", **out["systemInstruction"]}
        if told is not None and told.rejected is not None:
            rejected = told.rejected if same else nameless.all(told.rejected)
            self.lose(told.extras, told.at, log)
            kept = {} if told.extras is None or not same else told.extras.fields
            out[PAIR] = [
                {"score": 1, "completion": self.write_side(chosen, told.at, same, log)},
                {"score": 0, "completion": self.write_side(rejected, told.at, same, log)},
            ]
            for index, side in enumerate(out[PAIR]):
                side |= kept.get(str(index), {})
        return out

    def write_side(self, messages: Sequence[Message], at: str, same: bool, log: Ledger) -> Json:
        w: Any = turns.writing(self, log, self.name if same else None)
        _, contents = turns.write_conversation(self, messages, w)
        if not same and (len(contents) != 1 or contents[0].get("role") != "model"):
            raise Unsayable(ONE.format(self.name), at)
        return contents[0] if contents else {"role": "model", "parts": []}

    def lose_settings(self, tree: Request, log: Ledger) -> None:
        if tree.model is not None:
            log.dropped("model", tree.at, f"{self.name} has no field for the model")
        w = Writing(log, (".", 1), (".", 1), False)
        NO_FIELDS.write({}, tree.params, w, self.name)
        self.lose(tree.params.extras, tree.params.at, log)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if doc.__class__ is not dict or doc.get("contents").__class__ is not list:
            return
        e = Evidence("request")
        for item in objects(doc.get(PAIR), 3):
            if item.get("completion").__class__ is dict and "score" in item:
                e.speaks_for("completions with scores", 0.99)
        if e.signs:
            yield e.verdict()


def is_pair(docs: Json) -> bool:
    """Whether there is one reply of each score: the one that is preferred, and the other."""
    if docs.__class__ is not list or any(doc.__class__ is not dict for doc in docs):
        return False
    scores = [doc.get("score", 0) for doc in docs]
    return scores in ([0, 1], [1, 0]) and not any(score.__class__ is bool for score in scores)


class Unnamed:
    """Calls without ids, and results that name their tool instead."""

    def __init__(self, d: VertexTuning, log: Ledger) -> None:
        self.d, self.log = d, log
        self.names: dict[str, str] = {}

    def all(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        found = results_in_place(messages, self.log)
        return tuple(replace(m, content=tuple(self.block(b) for b in m.content)) for m in found)

    def block(self, block: Any) -> Any:
        if isinstance(block, ToolCall) and block.id is not None:
            self.names[block.id] = block.name
            why = f"{self.d.name} has no field for tool call ids"
            self.log.dropped("tool_call.id", block.at, why)
            return replace(block, id=None)
        if isinstance(block, ToolResult) and block.call_id is not None:
            why = f"{self.d.name} has no field for call ids; results match calls by name and order"
            self.log.dropped("tool_call.id", block.at, why)
            name = block.name or self.names.get(block.call_id)
            return replace(block, call_id=None, name=name)
        return block


def moved(message: Message, old: str, new: str) -> Message:
    """A message with its places below another pointer."""

    def change(node: Any, _: str) -> Any:
        if isinstance(node, Node) and node.at.startswith(old):
            return replace(node, at=new + node.at[len(old) :])
        return node

    return rebuild(message, change)


DIALECT = VertexTuning()
