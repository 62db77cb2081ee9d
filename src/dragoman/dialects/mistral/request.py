"""Requests of Mistral, both ways."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core.fields import Field, number, text, whole
from ...core.lowering.prefill import is_begun
from ...ledger import Ledger
from ...model import Json, Message, Request
from ..openai_chat.request import FIELDS, OLD_LIMIT
from ..openai_chat.variant import continues
from .messages import Messages


class Requests(Messages):
    """Reading and writing requests."""

    fields = (
        FIELDS.without_limits()
        .but(
            OLD_LIMIT,
            # "Input should be less than or equal to 1.5"
            Field("temperature", number, most=1.5),
            Field("top_k", whole),
            Field("seed", whole, "random_seed", also=("seed",)),
            Field("service_tier", text, among=("auto", "standard_only")),
        )
        .refusing("logit_bias", "verbosity", "user_id", "store")
    )
    asks_for_usage = False
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

    def write_request(self, tree: Request, log: Ledger) -> Json:
        home = self.is_home(tree.dialect)
        last = tree.messages[-1] if tree.messages else None
        if last is not None and last.role == "system" and not home:
            # "Expected last role User or Tool (or Assistant with prefix True) for serving"
            log.approximated(
                "message.role",
                last.at,
                f"`system` role written as `user`: {self.name} requires a "
                "user or tool turn at the end",
            )
            last = replace(last, role="user")
            tree = replace(tree, messages=(*tree.messages[:-1], last))
        out: Json = super().write_request(replace(tree, prefill=None), log)
        if last is None or home:
            return out
        if last.role != "assistant":
            self.note_left_out(out["messages"], last, log)
            return out
        messages = out["messages"]
        begun = bool(messages) and messages[-1]["role"] == "assistant"
        if is_begun(last):
            continues(self, tree, begun, True, log)
            if begun:
                messages[-1]["prefix"] = True
        return out

    def note_left_out(self, messages: list[Json], last: Message, log: Ledger) -> None:
        """A last message that is not written leaves the conversation to the turn before it."""
        if messages and messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]:
            messages[-1]["prefix"] = True
            why = "the last message is omitted; the model continues the turn before it"
            log.approximated("prefill", last.at, why)
