"""Conversations that an API continues by an id: ``previous_response_id`` of Responses,
``previous_interaction_id`` of Gemini's interactions.

The upstream of another dialect knows no such id, so the gateway keeps what was written: of each
response the items that led to it and its own. A request that names an earlier response gets its
items in front of its own. ``store: false`` is respected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ..dialect import Dialect
from ..model import Json
from .clients import Refused
from .store import Owned, Store

Kept: TypeAlias = Owned | Store
"""Where responses are: in the store, or with the connection that asked for them."""


class Form(NamedTuple):
    """How an API continues a conversation, and shows what it has stored."""

    key: str
    """what the keys of the store begin with"""
    before: str
    """the field that names the response that went before"""
    output: str
    """the field of a response with what the model wrote"""
    says: Json
    """what a text alone is among the items of an input, but for the text"""
    path: re.Pattern[str]
    """where a stored response is shown"""


RESPONSES = Form(
    "response:",
    "previous_response_id",
    "output",
    {"type": "message", "role": "user"},
    re.compile(r".*/responses/([^/]+)(/input_items)?"),
)
INTERACTIONS = Form(
    "interaction:",
    "previous_interaction_id",
    "steps",
    {"type": "user_input"},
    re.compile(r".*/interactions/([^/]+)()"),
)
decode = msgspec.json.Decoder(dict[str, Any]).decode
encode = msgspec.json.Encoder().encode


def form_of(dialect: Dialect) -> Form | None:
    """How an API continues conversations; None: its clients send the whole history."""
    if not dialect.stores:
        return None
    return INTERACTIONS if dialect.name == "gemini-interactions" else RESPONSES


def listed(form: Form, value: Json) -> list[Json]:
    """The input of a request as a list of items."""
    if value is None:
        return []
    if isinstance(value, str):
        content = value if form is RESPONSES else [{"type": "text", "text": value}]
        return [{**form.says, "content": content}]
    return list(value) if isinstance(value, list) else [value]


async def continued(store: Kept, form: Form, document: dict[str, Json]) -> dict[str, Json]:
    """A request with all that was written before it."""
    if document.get("conversation") is not None:
        raise Refused("invalid-request", "this gateway keeps no conversations; send the history")
    before = document.get(form.before)
    if (
        isinstance(store, Owned)
        and not store.keeps
        and (before is not None or document.get("store") is True)
    ):
        raise Refused("invalid-request", "no store is configured: send the whole history")
    if before is None:
        return document
    kept = await load(store, form, before)
    items = [*kept["input"], *kept["response"].get(form.output, ())]
    rest = {k: v for k, v in document.items() if k != form.before}
    return {**rest, "input": [*items, *listed(form, document.get("input"))]}


async def load(store: Kept, form: Form, name: Json) -> dict[str, Any]:
    data = await store.get(f"{form.key}{name}") if isinstance(name, str) else None
    if data is None:
        raise Refused("not-found", f"{form.key[:-1]} {str(name)[:100]!r} is not stored")
    return decode(data)


async def keep(store: Kept, form: Form, document: dict[str, Json], response: Json) -> None:
    """Store a response and what led to it."""
    if isinstance(response, dict) and isinstance(response.get("id"), str):
        kept = {"input": listed(form, document.get("input")), "response": response}
        await store.put(f"{form.key}{response['id']}", encode(kept))


async def show(
    store: Kept, method: str, path: str, query: Mapping[str, str]
) -> tuple[int, Json] | None:
    """What is stored, for ``GET`` and ``DELETE`` of a response, and its input items."""
    for form in (RESPONSES, INTERACTIONS):
        if (found := form.path.fullmatch(path)) is not None:
            return await shown(store, form, method, found[1], bool(found[2]), query)
    return None


async def shown(
    store: Kept, form: Form, method: str, name: str, items: bool, query: Mapping[str, str]
) -> tuple[int, Json] | None:
    if method == "DELETE" and not items:
        await load(store, form, name)
        await store.delete(f"{form.key}{name}")
        told = {"id": name, "object": "response", "deleted": True}
        return 200, told if form is RESPONSES else {}
    if method != "GET":
        return None
    kept = await load(store, form, name)
    if query.get("stream") == "true":
        raise Refused("invalid-request", "what is stored is not streamed: leave stream out")
    if items:
        return 200, input_items(kept["input"], name)
    if form is INTERACTIONS and query.get("include_input") == "true":
        return 200, {**kept["response"], "input": kept["input"]}
    return 200, kept["response"]


def input_items(kept: list[Json], name: str) -> Json:
    items = [numbered(item, number, name) for number, item in enumerate(kept)]
    ends = {"first_id": None, "last_id": None}
    if items:
        ends = {"first_id": items[0].get("id"), "last_id": items[-1].get("id")}
    return {"object": "list", "data": items, "has_more": False, **ends}


def numbered(item: Json, number: int, name: str) -> Json:
    """An item of an input as the list has it: with a type and an id."""
    if not isinstance(item, dict):
        return item
    return {"type": "message", "id": f"item_{name}_{number}", **item}
