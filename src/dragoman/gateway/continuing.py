"""Conversations that the API of Responses continues by an id: ``previous_response_id``.

The upstream of another dialect knows no such id, so the gateway keeps what was written: of each
response the items that led to it and its own. A request that names an earlier response gets its
items in front of its own. ``store: false`` is respected.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from ..model import Json
from .clients import Refused
from .store import Owned, Store

Kept: TypeAlias = Owned | Store
"""Where responses are: in the store, or with the connection that asked for them."""
KEY = "response:"
decode = msgspec.json.Decoder(dict[str, Any]).decode
encode = msgspec.json.Encoder().encode


def listed(value: Json) -> list[Json]:
    """The input of a request as a list of items."""
    if value is None:
        return []
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return list(value) if isinstance(value, list) else [value]


async def continued(store: Kept, document: dict[str, Json]) -> dict[str, Json]:
    """A request with all that was written before it."""
    if document.get("conversation") is not None:
        raise Refused("invalid-request", "this gateway keeps no conversations; send the history")
    before = document.get("previous_response_id")
    if (
        isinstance(store, Owned)
        and not store.keeps
        and (before is not None or document.get("store") is True)
    ):
        raise Refused("invalid-request", "no store is configured: send the whole history")
    if before is None:
        return document
    kept = await load(store, before)
    items = [*kept["input"], *kept["response"].get("output", ()), *listed(document.get("input"))]
    rest = {k: v for k, v in document.items() if k != "previous_response_id"}
    return {**rest, "input": items}


async def load(store: Kept, name: Json) -> dict[str, Any]:
    data = await store.get(f"{KEY}{name}") if isinstance(name, str) else None
    if data is None:
        raise Refused("not-found", f"response {str(name)[:100]!r} is not stored")
    return decode(data)


async def keep(store: Kept, document: dict[str, Json], response: Json) -> None:
    """Store a response and what led to it."""
    if isinstance(response, dict) and isinstance(response.get("id"), str):
        kept = {"input": listed(document.get("input")), "response": response}
        await store.put(f"{KEY}{response['id']}", encode(kept))


async def show(store: Kept, method: str, path: str) -> tuple[int, Json] | None:
    """What is stored, for ``GET`` and ``DELETE /v1/responses/{id}`` and its input items."""
    name, _, rest = path.removeprefix("/v1/responses/").partition("/")
    if not path.startswith("/v1/responses/") or not name or rest not in ("", "input_items"):
        return None
    if method == "DELETE" and not rest:
        await load(store, name)
        await store.delete(f"{KEY}{name}")
        return 200, {"id": name, "object": "response", "deleted": True}
    if method != "GET":
        return None
    kept = await load(store, name)
    if not rest:
        return 200, kept["response"]
    items = [numbered(item, number, name) for number, item in enumerate(kept["input"])]
    ends = {"first_id": None, "last_id": None}
    if items:
        ends = {"first_id": items[0].get("id"), "last_id": items[-1].get("id")}
    return 200, {"object": "list", "data": items, "has_more": False, **ends}


def numbered(item: Json, number: int, name: str) -> Json:
    """An item of an input as the list has it: with a type and an id."""
    if not isinstance(item, dict):
        return item
    return {"type": "message", "id": f"item_{name}_{number}", **item}
