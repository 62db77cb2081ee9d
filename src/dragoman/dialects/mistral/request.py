"""Requests of Mistral, both ways."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Json, Message, Params, Request, ToolCall
from ...reading import maybe_int
from ...writing import Writing, leave_out
from .messages import Messages

UNSAID = {
    "logit_bias": "tokens have no biases here",
    "verbosity": "how long the answer should be is not said here",
    "user_id": "the end user is not named here",
    "store": "answers are not kept here",
}


HOTTEST = 1.5


class Requests(Messages):
    """Reading and writing requests."""

    limit_key = "max_tokens"
    tiers: ClassVar[tuple[str, ...]] = ("auto", "standard_only")
    most_stops = 1000
    asks_for_usage = False
    limits_labels = False
    shared: ClassVar[dict[str, frozenset[str]]] = {}

    def read_request(self, doc: Json) -> Request:
        tree = super().read_request(doc)
        last = tree.messages[-1] if tree.messages else None
        if last is None or last.extras is None or last.extras.fields.get("prefix") is not True:
            return tree
        rest = {k: v for k, v in last.extras.fields.items() if k != "prefix"}
        extras = self.respell(replace(last.extras, fields=rest), prefix=True)
        messages = (*tree.messages[:-1], replace(last, extras=extras))
        return replace(tree, messages=messages, prefill=True)

    def read_params(
        self, doc: dict[str, Json], taken: set[str], spelling: dict[str, Json]
    ) -> Params:
        params = super().read_params(doc, taken, spelling)
        if (top_k := maybe_int(doc, "top_k", "")) is not None:
            taken.add("top_k")
            params = replace(params, top_k=top_k)
        if params.seed is not None:  # as OpenAI calls it
            spelling["seed"] = params.seed
        if (seed := maybe_int(doc, "random_seed", "")) is not None:
            taken.add("random_seed")
            ats = params.ats | {"seed": "/random_seed"}
            params = replace(params, seed=seed, ats=ats)
            spelling["random_seed"] = True
        return params

    def write_request(self, tree: Request, log: Ledger) -> Json:
        home = self.is_home(tree.dialect)
        last = tree.messages[-1] if tree.messages else None
        if last is not None and last.role == "system" and not home:
            # "Expected last role User or Tool (or Assistant with prefix True) for serving"
            log.approximated("message.role", last.at, "a user speaks last here")
            last = replace(last, role="user")
            tree = replace(tree, messages=(*tree.messages[:-1], last))
        out: Json = super().write_request(replace(tree, prefill=None), log)
        if last is None or home:
            return out
        if last.role != "assistant":
            self.note_left_out(out["messages"], last, log)
            return out
        if not begins_answer(last):
            return out
        if out["messages"] and out["messages"][-1]["role"] == "assistant":
            out["messages"][-1]["prefix"] = True
            if not tree.prefill:
                why = "the model goes on with this turn here, and does not answer anew"
                log.approximated("prefill", last.at, why)
        elif tree.prefill:
            log.dropped("prefill", last.at, "nothing is left to go on with")
        return out

    def note_left_out(self, messages: list[Json], last: Message, log: Ledger) -> None:
        """A last message that is not written leaves the conversation to the turn before it."""
        if messages and messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]:
            messages[-1]["prefix"] = True
            why = "the last message is not written, and the model goes on with the turn before it"
            log.approximated("prefill", last.at, why)

    def write_params(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        params, spelling = tree.params, self.spelling(tree)
        if not w.home:
            params = self.cooled(leave_out(params, UNSAID, w.log), w)
        super().write_params(out, replace(tree, params=replace(params, top_k=None, seed=None)), w)
        if params.top_k is not None:
            out["top_k"] = params.top_k
        if params.seed is not None and (not w.home or "random_seed" in spelling):
            out["random_seed"] = params.seed
        if "seed" in spelling:
            out["seed"] = spelling["seed"]

    def cooled(self, params: Params, w: Writing) -> Params:
        """ "Input should be less than or equal to 1.5", says the API of a temperature."""
        if params.temperature is None or params.temperature <= HOTTEST:
            return params
        why = f"{HOTTEST} is the highest here"
        w.log.approximated("temperature", params.where("temperature"), why)
        return replace(params, temperature=HOTTEST)


def begins_answer(message: Message) -> bool:
    """Whether a last message is the beginning of the answer: the assistant's, and no call."""
    return message.role == "assistant" and not any(
        isinstance(block, ToolCall) for block in message.content
    )
