"""The normal form of the tree: what several readers must do alike."""

from __future__ import annotations

from msgspec.structs import replace

from .ledger import Ledger
from .model import Json, Message, Response, ToolCall, ToolResult
from .reading import maybe_bool


def mark_custom_results(messages: list[Message]) -> list[Message]:
    """Results of freeform calls are freeform results."""
    custom: set[str | None] = set()
    out: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            calls = (b for b in message.content if isinstance(b, ToolCall))
            custom |= {call.id for call in calls if call.kind == "custom"}
        elif message.role == "tool" and custom:
            block = message.content[0]
            if isinstance(block, ToolResult) and block.call_id in custom:
                message = replace(message, content=(replace(block, kind="custom"),))
        out.append(message)
    return out


# How many tokens of thought each effort stands for, about. No vendor says; these are the budgets
# that clients commonly send for the three words.
EFFORT_BUDGETS = ((4096, "low"), (16384, "medium"))


def effort_of(budget: int) -> str:
    """The effort that a thinking budget comes nearest to."""
    for limit, effort in EFFORT_BUDGETS:
        if budget < limit:
            return effort
    return "high"


def read_store(doc: dict[str, Json], spelling: dict[str, Json]) -> bool | None:
    """Whether the provider shall keep the answer. That it shall not is what silence means."""
    store = maybe_bool(doc, "store", "")
    if store is False:
        spelling["store"] = False
        return None
    return store


def lose_answer(tree: Response, log: Ledger) -> None:
    """What a failed answer says beside its error, where only the error is said."""
    for code, value in (
        ("response.id", tree.id),
        ("response.model", tree.model),
        ("response.created", tree.created),
        ("usage", tree.usage),
        ("service_tier", tree.service_tier),
        ("response.echo", tree.echo and tree.echo.fields),
    ):
        if value:
            log.dropped(code, tree.at, "only the error itself is said here")
    for candidate in tree.candidates:
        if candidate.stop is not None:
            log.dropped("stop.reason", candidate.at, "only the error itself is said here")
