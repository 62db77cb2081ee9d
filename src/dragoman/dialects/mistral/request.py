"""Requests of Mistral, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.lowering.prefill import is_begun
from ...ledger import Ledger
from ...model import Json, Message, Request
from ..openai_chat import request as chat_request
from ..openai_chat.variant import continues, prefixed

if TYPE_CHECKING:
    from . import Mistral


def read_request(d: Mistral, doc: Json) -> Request:
    return prefixed(chat_request.read_request(d, doc))


def write_request(d: Mistral, tree: Request, log: Ledger) -> Json:
    same = d.is_same(tree.dialect)
    last = tree.messages[-1] if tree.messages else None
    if last is not None and last.role == "system" and not same:
        # "Expected last role User or Tool (or Assistant with prefix True) for serving"
        log.approximated(
            "message.role",
            last.at,
            f"`system` role written as `user`: {d.name} requires a user or tool turn at the end",
        )
        last = replace(last, role="user")
        tree = replace(tree, messages=(*tree.messages[:-1], last))
    out: Json = chat_request.write_request(d, replace(tree, prefill=None), log)
    if last is None or (same and not tree.prefill):
        return out
    if last.role != "assistant":
        note_left_out(out["messages"], last, log)
        return out
    messages = out["messages"]
    begun = bool(messages) and messages[-1]["role"] == "assistant"
    if same and begun:
        messages[-1]["prefix"] = True
    elif is_begun(last):
        continues(d, tree, begun, True, log)
        if begun:
            messages[-1]["prefix"] = True
    return out


def note_left_out(messages: list[Json], last: Message, log: Ledger) -> None:
    """A last message that is not written leaves the conversation to the turn before it."""
    if messages and messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]:
        messages[-1]["prefix"] = True
        why = "the last message is omitted; the model continues the turn before it"
        log.approximated("prefill", last.at, why)
