"""Which dialect a request speaks: by its path, as each dialect declares it in ``endpoints``.

    /v1/messages                                  anthropic-messages
    /v1/chat/completions                          openai-chat
    /v1/responses                                 openai-responses
    /v1beta/models/{model}:streamGenerateContent  gemini
    /v1beta/interactions                          gemini-interactions
    /model/{model}/converse-stream                bedrock-converse
    /model/{model}/invoke                         anthropic-bedrock
    /api/chat                                     ollama
    /v2/chat                                      cohere
    /groq/openai/v1/chat/completions              groq
    /ui/chat                                      vercel-ui, for pages

What stands before the path of an API does not matter, since base URLs of clients differ. Where two
dialects share a path, the first of ``FIRST`` has it; a dialect in front of the path chooses itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple
from urllib.parse import quote

from .. import dialects
from ..core.endpoint import Endpoint
from ..dialect import Dialect
from . import ui

SLASHED = re.compile(r"(.*/models/)(.*/[^/]*)(:[a-zA-Z]+)")
"""A name with slashes (``local/qwen3``) in a path of Gemini's, whose SDKs do not quote them."""
FIRST = (
    "anthropic-messages",
    "openai-responses",
    "openai-chat",
    "gemini",
    "gemini-interactions",
    "bedrock-converse",
    "anthropic-bedrock",
    "ollama",
    "cohere",
)
"""Dialects that have a path for themselves."""


class Door(NamedTuple):
    """What a path tells of a request."""

    dialect: Dialect
    row: Endpoint
    model: str | None = None
    """The model, where the path names it."""
    stream: bool | None = None
    """Whether a stream is asked for; None: the body tells."""
    array: bool = False
    """Whether the stream is an array of JSON documents, not of events."""


@lru_cache(maxsize=1024)
def find(path: str) -> Door | None:
    """The door that a path leads to; what is quoted in it stays so."""
    if path.endswith(ui.PATH):
        return Door(ui.DOOR, ui.ROW)
    head, _, rest = path.removeprefix("/").partition("/")
    if rest and head in serving():
        return first(f"/{rest}", (head,))
    if (door := first(path, FIRST)) is None and (found := SLASHED.fullmatch(path)) is not None:
        return first(found[1] + quote(found[2], safe="%") + found[3], FIRST)
    return door


def first(path: str, names: tuple[str, ...]) -> Door | None:
    for name in names:
        dialect = dialects.get(name)
        for row in dialect.endpoints:
            found = row.find(path)
            if found is not None and (not row.model_in_path or found.model):
                if row.stream_path is not None and found.stream is None:
                    continue  # up to the model only
                return Door(dialect, row, found.model, found.stream)
    return None


@cache
def serving() -> frozenset[str]:
    """The dialects that may stand in front of a path: all that have one."""
    return frozenset(name for name in dialects.names() if dialects.get(name).endpoints)


def key_of(headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
    """The key that a client sends, wherever its SDK puts it."""
    for name in ("x-api-key", "x-goog-api-key", "api-key"):
        if headers.get(name):
            return headers[name]
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return query.get("key")
