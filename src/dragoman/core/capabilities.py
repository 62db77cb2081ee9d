"""What a dialect can express, as data. ``lowering`` makes a tree fit it before a writer sees it.

A *place* is where something stands: in the history of a request, or in a response. Many formats
return more in a response than they accept in a history.

The defaults are what the tree can hold, so a dialect that declares nothing receives everything and
its writer looks after it; only of tools the default is what nearly all have. A variant replaces
what differs: ``can = replace(OpenAIChat.can, names=NOWHERE)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Literal, TypeAlias

from msgspec import Struct

from ..model import Block, Hosted, Media, Raw, Reasoning, Role, StopReason, ToolCall, ToolResult

Place: TypeAlias = Literal["history", "response"]
Places: TypeAlias = frozenset[Place]

NOWHERE: Places = frozenset()
HISTORY: Places = frozenset({"history"})
RESPONSE: Places = frozenset({"response"})
EVERYWHERE: Places = HISTORY | RESPONSE

RESULTS_APART: Mapping[str, frozenset[type[Block]]] = dict.fromkeys(
    ("system", "developer", "user", "assistant"), frozenset({ToolResult})
)
"""Where a tool result is always a message of its own."""
NOT_TEXT: frozenset[type[Block]] = frozenset({Media, Reasoning, ToolCall, ToolResult, Hosted, Raw})
"""What is no text, and is not written as one either."""


class Citations(Struct, frozen=True, kw_only=True):
    """Which texts may have citations, of what, and what is told of it."""

    places: Places = EVERYWHERE
    everyone: bool = True
    """Whether texts of others than the assistant may have them, those of results too."""
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

Mode: TypeAlias = Literal["auto", "none", "required", "named"]
Modes: TypeAlias = frozenset[Mode | None]
"""Modes of a tool choice; None is a choice without a mode."""

MODES: Modes = frozenset({"auto", "none", "required", "named"})
ANY_MODE: Modes = MODES | {None}
NO_MODE: Modes = frozenset()


class Choices(Struct, frozen=True, kw_only=True):
    """How a request can say which tools may or must be used."""

    modes: Modes = MODES
    """The modes there are; none at all: there is no tool choice."""
    alone: Modes = ANY_MODE
    """Modes that a request without tools may have."""
    subsets: Modes = ANY_MODE
    """Modes with which the tools that may be used can be listed."""
    parallel: Modes = ANY_MODE
    """Modes with which parallel calls can be switched off."""
    beside: frozenset[Literal["allowed", "parallel"]] = frozenset()
    """What are fields of a request, which a choice on its own does not have."""
    omits: Literal["never", "unused", "always"] = "never"
    """Whether tools are left out where none may be used and there is no mode ``none``; ``unused``:
    unless the conversation has used one."""


NO_CHOICE = Choices(modes=NO_MODE, subsets=NO_MODE, parallel=NO_MODE)
"""No tool choice: the model decides."""


class Outputs(Struct, frozen=True, kw_only=True):
    """The forms that a request can demand of a response."""

    json: Literal["written", "schema", "dropped"] = "written"
    """What becomes of JSON without a schema; ``schema``: one that takes any object."""
    schemas: frozenset[type] = frozenset({dict, bool, NoneType})
    """What a schema may be: an object, True or False, nothing at all."""
    labels: frozenset[str] = frozenset({"name", "description", "strict"})
    """What is told of a schema."""
    labelled: bool = False
    """Whether the same is told of JSON without a schema."""
    named: Literal["never", "labelled", "always"] = "never"
    """Whether a schema must have a name; ``labelled``: if it has a description or is strict."""
    alone: bool = False
    """Whether there is none beside tools."""


ANY_OUTPUT = Outputs()
UNLABELLED: frozenset[str] = frozenset()
OBJECTS: frozenset[type] = frozenset({dict})


class Texts(Struct, frozen=True, kw_only=True):
    """Which texts need not have words; elsewhere they are dropped."""

    empty: Places = EVERYWHERE
    """Texts of nothing."""
    blank: Places = EVERYWHERE
    """Texts of white space."""
    cited: bool = False
    """Whether an empty text stays that has citations."""
    results: Literal["any", "same", "string"] = "any"
    """Which a tool result may hold: any, the same as a message, or the same unless it is all that
    the result is and has white space at least."""
    needed: frozenset[Literal["result", "error"]] = frozenset()
    """Results that need a text; an empty one is made up for those that have no content."""


ANY_TEXT = Texts()


class Results(Struct, frozen=True, kw_only=True):
    """How the result of a tool is written."""

    errors: Literal["flag", "mark"] = "flag"
    """How it tells that the tool has failed; ``mark``: by how its text begins."""
    joint: str | None = None
    """What stands between its texts where they become one; None: they stay apart."""


FLAGGED = Results()
MARKED_ERRORS = Results(errors="mark")


class ReasoningForm(Struct, frozen=True, kw_only=True):
    """How reasoning is written."""

    places: Places = EVERYWHERE
    """Where there is a field for it."""
    signatures: frozenset[tuple[str, str]] = frozenset()
    """What is accepted: (who signed or encrypted it, ``signature`` or ``encrypted``)."""
    unsigned: Places = EVERYWHERE
    """Where it is accepted without any of these."""
    ids: Places = NOWHERE
    by_id: bool = False
    """Whether an id stands for reasoning that the provider has stored."""
    summaries: Places = NOWHERE
    """Where a summary is told from the reasoning itself."""
    parts: Places = NOWHERE
    """Where one block has several texts."""
    summary_parts: bool = True
    """Whether a summary may have several, where there are such."""
    summed: frozenset[tuple[str, str]] = frozenset()
    """Signatures with which its texts count as a summary, and with others as the reasoning."""
    summed_by_id: bool = False
    """Whether an id tells the same."""
    redacted: frozenset[tuple[str, str]] = frozenset()
    """Signatures that are all there is: neither a text nor an id stands beside them."""
    empty: Places = NOWHERE
    """Where it may have neither a text nor a signature."""
    by_model: bool = False
    """Whether it depends on the model what is accepted (``Dialect.opens``)."""


class ThinkingForm(Struct, frozen=True, kw_only=True):
    """How a request asks for reasoning."""

    modes: frozenset[str] = frozenset()
    """The modes that there are, beside a budget, by the words of ``Thinking``."""
    efforts: tuple[str, ...] = ()
    """The levels of effort, the least first."""
    budgets: bool = False
    """Whether a budget can be written; it turns reasoning on."""
    budgeted: bool = False
    """Whether reasoning that is ``on`` needs a budget."""
    least: int = 0
    """The least budget, where a budget counts as output and must leave room for more."""
    beside: bool = True
    """Whether an effort may stand beside a mode."""
    both: bool = True
    """Whether an effort may stand beside a budget."""
    idle: frozenset[Literal["effort", "display"]] = frozenset({"display"})
    """What may be written where reasoning is not turned on."""
    displays: tuple[str, ...] = ()
    """What can be expressed of how reasoning is returned."""
    shown: str | None = None
    """What is written for other displays; None: nothing."""


NO_THINKING = ThinkingForm()
BY_EFFORT = ThinkingForm(
    modes=frozenset({"off"}), efforts=("minimal", "low", "medium", "high", "xhigh", "max")
)
"""An effort, of which one level is none."""


class Caching(Struct, frozen=True, kw_only=True):
    """What may have a prompt-cache mark, and how long a cache lives."""

    on: frozenset[str]
    """What may have one (``MARKED``)."""
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
"""What may have a cache mark, and what it is called in the ledger."""

ALL_MARKS = Caching(on=frozenset(MARKED), places=EVERYWHERE)
NO_MARKS = Caching(on=frozenset())


class Form(Struct, frozen=True, kw_only=True):
    """How one kind of media is taken."""

    sources: frozenset[str]
    """From where: ``url``, ``base64``, ``file``, ``text``, ``blocks``. A document of blocks becomes
    one of text, and text becomes data, where that is taken instead."""

    labels: frozenset[str] = frozenset()
    """What can be told of it, by the fields of ``Media``; a file name may stand for a title."""
    unlabelled: frozenset[str] = frozenset()
    """Sources with which nothing is told of it all the same."""
    titled: frozenset[str] = frozenset()
    """Sources with which a title is told in the place of a file name."""
    extended: bool = True
    """Whether the name of a file ends with its type."""
    named: frozenset[str] = frozenset()
    """Sources that must have a file name; one is made up."""
    details: frozenset[str] | None = None
    """The detail levels that there are; None: any."""

    typed: bool = False
    """Whether an address or a stored file has a type."""
    untyped: bool = False
    """Whether data have none: what they are is told by their first bytes."""
    usual: str | None = None
    """The type of data that must have one, and come without; None: it depends."""
    pointed: Mapping[str, str] = {}
    """The same for addresses and stored files, where their ending tells nothing."""
    evident: tuple[str, ...] = ()
    """How addresses begin that need no type all the same."""
    types: frozenset[str] | None = None
    """Types of data that are taken; None: any. Documents that are text are taken as such."""
    families: tuple[str, ...] = ()
    """How types begin that are taken as well."""
    synonyms: Mapping[str, str] = {}
    """Types that are written otherwise."""
    checked: Places = EVERYWHERE
    """Where types matter."""
    plain: bool = False
    """Whether a document of text is ``text/plain`` and nothing else."""
    encoded: bool = False
    """Whether data that are text stay data."""
    verified: bool = False
    """Whether data must be base64, and of the type that they claim."""

    any_data: bool = True
    """Whether data that are not base64 may stand in an address."""
    absolute: bool = False
    """Whether an address must have a scheme, as anything else is taken for data."""
    schemes: tuple[str, ...] = ()
    """The schemes that an address may have; empty: any."""
    files: tuple[str, ...] = ()
    """How the addresses of stored files begin; empty: files have ids."""
    issuers: tuple[str, ...] = ()
    """Who stores the files that may be named; empty: the vendor itself."""
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
    spoken_in: Places = EVERYWHERE
    """Where it may."""
    results: Mapping[str, Form] | None = None
    """How they are taken in results, where that is otherwise."""
    code: str = "media"
    """What the loss of one in a result is called."""
    texts: frozenset[str] = frozenset()
    """Sources of documents that are written as text: ``text``, ``blocks``."""


ALL_MEDIA = MediaForms()
"""Any media, by anyone."""
NO_MEDIA = MediaForms(
    roles=frozenset({"system", "developer", "user", "assistant", "tool"}),
    spoken=frozenset({"image", "audio", "video", "document"}),
    code="tool_result.content",
)

JPEG = {"image/jpg": "image/jpeg"}
"""A frequent misspelling, which most reject."""
POINTED = frozenset({"url", "base64", "file"})
"""Sources of media that are not text."""
WORDS = frozenset({"text", "blocks"})
"""Sources of documents that are text."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a dialect can express."""

    tools: frozenset[str] = frozenset()
    """What most cannot: ``namespace``, ``deferred`` tools, a ``search`` that the client runs."""

    freeform: Literal["native", "wrapped", "function"] = "native"
    """Freeform tools; or functions that stand for them (see ``freeform``), which its reader knows
    again when they are ``wrapped``."""
    strict: bool = True
    """Whether a tool can have its schema enforced."""
    outputs: Outputs = ANY_OUTPUT
    """What form of the response a request can demand."""
    choices: Choices = Choices()
    """Which tools may or must be used."""

    names: Places = EVERYWHERE
    """Names of speakers."""
    developer: bool = True
    """The ``developer`` role; elsewhere it is written as ``system``."""
    systems: Literal["anywhere", "first", "by model", "asked"] = "anywhere"
    """Where a system message may stand; elsewhere it is written as one of the user. ``first``: at
    the beginning; ``by model``: there, and where the model takes it in a turn; ``asked``: there,
    and after a user turn."""
    texts: Texts = ANY_TEXT
    """Texts that have no words."""
    item_ids: Places = EVERYWHERE
    """A second id of a call, beside the one that pairs it with its result."""
    refusals: Places = EVERYWHERE
    """That a text is a refusal."""
    passages: Places = EVERYWHERE
    """Retrieved passages as blocks of their own; elsewhere they are the blocks that they hold."""

    reasoning: ReasoningForm | None = None
    """How reasoning is written; None: its writer looks after it."""
    replies: ReasoningForm | None = None
    """The same in a response, where that is otherwise."""
    thinking: ThinkingForm | None = None
    """How a request asks for reasoning; None: there is no parameter for it."""
    unfit: Mapping[str, frozenset[type[Block]]] = {}
    """Blocks that a message of a role cannot hold; they are dropped. Others: the writer knows."""
    order: Mapping[str, Mapping[str, int]] = {}
    """Ranks of blocks where they are written in a certain order, by the role of the message, or
    ``response``; ``tool``: inside of a result. Blocks are called as in ``lowering.order``."""
    emptied: bool = True
    """Whether a message stays of which nothing is left; elsewhere it is dropped as well."""

    citations: Citations = ALL_CITATIONS
    caching: Caching = ALL_MARKS
    media: MediaForms = ALL_MEDIA

    prefill: Literal["told", "never", "unknown"] = "told"
    """Whether the model continues a last message of the assistant: where a request can tell so (or
    the writer knows), never, or it depends on what cannot be known."""
    training: frozenset[str] = frozenset()
    """What a record can tell of training, by the fields of ``Training``."""
    results: Results = FLAGGED
    """How the texts and the errors of a result are written."""
    result_names: bool = True
    """Whether a result may name its tool; elsewhere it names its call alone."""

    candidates: int | None = None
    """How many candidates a response may have; None: any number."""
    refused: StopReason = "filter"
    """How a response ends that the model refused, where no refusal can be written."""
    failed: bool = False
    """Whether a response may hold the error that ended it; elsewhere the error is all there is."""
    lacks: frozenset[str] = frozenset()
    """Fields of a response or an error that it does not have, by the codes of their losses
    (``LACKED``)."""


LACKED = {
    "response.id": "the id of a response",
    "response.model": "the model of a response",
    "response.created": "the date of a response",
    "response.echo": "the settings of the request",
    "service_tier": "the service tier of a response",
    "logprobs": "token probabilities beside the message",
    "stop.sequence": "the stop sequence that was generated",
    "stop.detail": "details of the end from another dialect",
    "usage": "token counts",
    "usage.cache_ttl": "the lifetimes of these cached tokens",
    "error.type": "the type of an error",
    "error.code": "the code of an error",
    "error.param": "the parameter that an error names",
    "error.request_id": "the request id of an error",
}
"""What a response or an error may lack, and what it is called in the ledger."""

NO_ERROR_FIELDS = frozenset({"error.code", "error.param", "error.request_id"})
"""What an error has beside its type and its message."""

HEAD = frozenset({"response.id", "response.model", "response.created"})
"""What a response says of itself."""

RARE = frozenset({"response.echo", "service_tier", "logprobs", "stop.sequence", "stop.detail"})
"""Fields of a response that few have."""
