"""What a dialect can express, as data. ``lowering`` makes a tree fit it before a writer sees it.

A *place* is where something stands: in the history of a request, or in a response. Many formats
return more in a response than they accept in a history.

The defaults are what the tree can hold, so a dialect that declares nothing receives everything and
its writer looks after it; only of tools the default is what nearly all have. A variant replaces
what differs: ``can = replace(OpenAIChat.can, names=NOWHERE)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from .model import Role

Place: TypeAlias = Literal["history", "response"]
Places: TypeAlias = frozenset[Place]

NOWHERE: Places = frozenset()
HISTORY: Places = frozenset({"history"})
RESPONSE: Places = frozenset({"response"})
EVERYWHERE: Places = HISTORY | RESPONSE


class Citations(Struct, frozen=True, kw_only=True):
    """Which texts may bear citations, of what, and what is told of it."""

    places: Places = EVERYWHERE
    everyone: bool = True
    """Whether texts of others than the assistant may bear them, those of results too."""
    forms: tuple[str, ...] | None = None
    """What may be cited (``CITED``); None: anything."""
    lacks: tuple[str, ...] = ()
    """What is not told of it, by the fields of ``Citation``."""
    spans: bool = False
    """Whether a citation must say to which part of the text it belongs."""
    joined: bool = False
    """Whether texts become one, and where they were cited says how: a citation that has no form
    is left as one that tells nothing."""


CITED = {
    "url": "web pages",
    "signed": "web pages with its own signature",
    "place": "places in documents of the request",
    "document": "documents",
    "bare": "web pages, each with a span and without a quote,",
}
"""Forms of citations, and what they are called in the ledger."""

ALL_CITATIONS = Citations()
NO_CITATIONS = Citations(places=NOWHERE)


class Caching(Struct, frozen=True, kw_only=True):
    """What may bear a prompt-cache mark, and how long a cache lives."""

    on: frozenset[str]
    """What may bear one (``MARKED``)."""
    places: Places = HISTORY
    ttls: tuple[str, ...] | None = None
    """The lifetimes that a mark can ask for; None: any."""
    longest: str | None = None
    """What is written for others; None: nothing, and the default holds."""


MARKED = {
    "text": "texts of a system or a user",
    "reply": "texts of the assistant",
    "media": "media",
    "passage": "retrieved passages",
    "document text": "texts inside of documents",
    "call": "calls",
    "result": "results",
    "result part": "parts of a result",
    "tool": "tools",
    "request": "requests as a whole",
}
"""What may bear a cache mark, and what it is called in the ledger."""

ALL_MARKS = Caching(on=frozenset(MARKED), places=EVERYWHERE)
NO_MARKS = Caching(on=frozenset())


class Form(Struct, frozen=True, kw_only=True):
    """How one kind of media is taken."""

    sources: frozenset[str]
    """From where: ``url``, ``base64``, ``file``, ``text``, ``blocks``."""
    labels: frozenset[str] = frozenset()
    """What can be told of it, by the fields of ``Media``; a file name may stand for a title."""
    titled: frozenset[str] = frozenset()
    """Sources with which a title is told in the place of a file name."""
    extended: bool = True
    """Whether the name of a file ends with its type."""
    typed: bool = False
    """Whether an address or a stored file has a type."""
    usual: str | None = None
    """The type of data that must have one, and come without; None: it depends."""
    types: frozenset[str] | None = None
    """Types of data that are taken, beside documents that are text; None: any."""
    scheme: str = ""
    """How an address must begin."""
    any_data: bool = True
    """Whether data that are not base64 may stand in an address."""
    any_file: bool = False
    """Whether files may be named that others store."""


class MediaForms(Struct, frozen=True, kw_only=True):
    """Which media are taken, and from whom."""

    kinds: Mapping[str, Form] = {}
    roles: frozenset[Role] = frozenset({"user", "tool"})
    """Who may send them; ``tool``: they may be in a result, or follow it. All others lose theirs
    because of their role."""
    spoken: frozenset[str] = frozenset()
    """The kinds that the assistant may send, if it is among them."""
    results: Mapping[str, Form] | None = None
    """How they are taken in results, where that is otherwise."""
    code: str = "media"
    """What the loss of one in a result is called."""
    texts: frozenset[str] = frozenset()
    """Sources of documents that are written as text: ``text``, ``blocks``."""


ALL_MEDIA = MediaForms()
"""Any media, by anyone."""
NO_MEDIA = MediaForms(
    roles=frozenset({"system", "user", "assistant"}),
    spoken=frozenset({"image", "audio", "video", "document"}),
)

POINTED = frozenset({"url", "base64", "file"})
"""Sources of media that are not text."""
WORDS = frozenset({"text", "blocks"})
"""Sources of documents that are text."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a dialect can express."""

    tools: frozenset[str] = frozenset()
    """What most cannot: ``namespace``, ``deferred`` tools, a ``search`` that the client runs."""

    names: Places = EVERYWHERE
    """Names of speakers."""
    developer: bool = True
    """The ``developer`` role; elsewhere it is written as ``system``."""

    citations: Citations = ALL_CITATIONS
    caching: Caching = ALL_MARKS
    media: MediaForms = ALL_MEDIA

    candidates: int | None = None
    """How many candidates a response may have; None: any number."""
    failed: bool = False
    """Whether a response may hold the error that ended it; elsewhere the error is all there is."""
    lacks: frozenset[str] = frozenset()
    """Fields of a response that it does not have, by the codes of their losses (``LACKED``)."""


LACKED = {
    "response.id": "the id of a response",
    "response.model": "the model of a response",
    "response.created": "the date of a response",
    "response.echo": "the settings of the request",
    "service_tier": "the service tier of a response",
    "logprobs": "token probabilities beside the message",
    "stop.sequence": "the stop sequence that was generated",
    "stop.detail": "details of the end from another dialect",
}
"""What a response may lack, and what it is called in the ledger."""

RARE = frozenset({"response.echo", "service_tier", "logprobs", "stop.sequence", "stop.detail"})
"""Fields of a response that few have."""
