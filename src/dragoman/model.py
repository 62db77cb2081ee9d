"""The canonical tree: one conversation, in vendor-neutral names.

Every dialect reads into this tree and writes from it. It is a superset: it can hold what *any*
dialect can express. What the tree has no name for is kept verbatim in ``extras`` (unknown fields)
or ``Raw`` (unknown blocks), with the name of the dialect that it comes from.

    Request ─┬─ messages: Message ── content: Block ...
             ├─ tools: Tool
             ├─ tool_choice: ToolChoice
             └─ params: Params
    Response ── candidates: Candidate ── message: Message
    History, Toolbox, Failure: the messages, the tools, an error, each on its own

Normal form, which every reader produces and every writer may rely on:

- the system prompt is a leading message with role ``system``, wherever the dialect keeps it;
- each tool result is a message of its own, with role ``tool`` and exactly one ``ToolResult``;
- all content of one model turn (reasoning, text, calls) is one ``assistant`` message;
- tool arguments are the text the model wrote; empty and ``{}`` are the same.

``at`` is the JSON pointer of a node in the document it was read from; it is where losses point.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

Json: TypeAlias = Any
"""A plain JSON value: dict, list, str, int, float, bool or None."""

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
MediaKind: TypeAlias = Literal["image", "audio", "video", "document"]
ToolKind: TypeAlias = Literal[
    "function",
    "custom",  # freeform: its input is text
    "search",  # a search for tools that the client runs
    "hosted",  # defined by the provider
]
StopReason: TypeAlias = Literal[
    "end",  # the model had said all it wanted to say
    "stop-sequence",  # one of the caller's stop strings came up
    "length",  # the output limit was reached
    "context",  # the context window was full
    "tool-call",  # the model waits for tool results
    "filter",  # refused or filtered
    "pause",  # send the turn back and the model goes on
    "compaction",  # the provider compacted the conversation
    "cancelled",  # stopped from outside
    "error",  # failed; what was written until then is incomplete
    "unfinished",  # still running when this was recorded
    "other",
]
ErrorKind: TypeAlias = Literal[
    "invalid-request",
    "authentication",
    "billing",
    "permission",
    "not-found",
    "conflict",
    "too-large",
    "rate-limit",
    "server",
    "overloaded",
    "timeout",
    "other",
]


class Leaf(
    Struct,
    frozen=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
):
    """A value of the tree. Trees have no cycles, so the collector need not look at them."""


class Extras(Leaf, frozen=True):
    """What the tree has no name for: verbatim in the same dialect, a loss in others.

    ``fields`` are unknown keys; each is a loss in other dialects. ``spelling`` tells which of
    several equivalent places the source used, where its servers want it back in the same place
    (``reasoning`` or ``reasoning_content``); it means nothing in other dialects. The form of a
    document is copied from the document itself (``core.source``). ``inner`` names the fields
    that are what is left of an object, so that a loss is one of its keys and not the whole of it.
    ``signature`` is what the provider signed of the node itself, a call or a text, and wants back
    with it. ``records``: the fields are lines of a stored session by their numbers, what is
    lost of a line is one loss, and ``spelling`` has the reasons of some; or they are what is left
    of one message of a session.
    """

    dialect: str
    fields: dict[str, Json] = {}
    spelling: dict[str, Json] = {}
    inner: tuple[str, ...] = ()
    signature: Signature | None = None
    records: bool = False


class Node(Leaf, frozen=True, kw_only=True):
    """What all nodes share: their place in the document, and their extras."""

    at: str = ""
    extras: Extras | None = None


class Original(Leaf, frozen=True):
    """The document that a tree was read from, and the tree as it was read (None: not known).

    Written in the same dialect, what was not edited is copied from it (``core.source``). It says
    nothing that the tree does not say, so it is no part of equality.
    """

    doc: Json
    tree: Any = None

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "Original(...)"


class Root(Node, frozen=True, kw_only=True):
    """The top of a tree, with the dialect and the document that it was read from."""

    dialect: str | None = None
    original: Original | None = None


class Cache(Node, frozen=True):
    """A cache breakpoint: the prefix up to and including this place may be cached."""

    ttl: str | None = None


class Signature(Leaf, frozen=True):
    """A signature or encrypted reasoning. Only its issuer can read it and may receive it."""

    data: str
    issuer: str
    kind: Literal["signature", "encrypted"] = "signature"


class Citation(Node, frozen=True):
    """The source of a statement. ``span`` is in the response, ``location`` in the source."""

    kind: Literal["url", "document", "file", "passage", "other"]
    url: str | None = None
    title: str | None = None
    quote: str | None = None
    span: tuple[int, int] | None = None
    document: int | None = None
    location: tuple[Literal["char", "page", "block"], int, int] | None = None
    file_id: str | None = None
    filename: str | None = None
    signature: Signature | None = None


class Source(Leaf, frozen=True):
    """Where the bytes of media are. A file id is valid for its issuer only."""

    kind: Literal["url", "base64", "file", "text", "blocks"]
    value: str = ""
    media_type: str | None = None
    issuer: str | None = None
    blocks: tuple[Block, ...] = ()


class Text(Node, frozen=True, tag="text", tag_field="block"):
    text: str
    citations: tuple[Citation, ...] = ()
    cache: Cache | None = None


class Media(Node, frozen=True, tag="media", tag_field="block"):
    """An image, audio, video or document."""

    kind: MediaKind
    source: Source
    detail: str | None = None
    title: str | None = None
    filename: str | None = None
    context: str | None = None
    citable: bool | None = None
    transcript: str | None = None
    cache: Cache | None = None


class Passage(Node, frozen=True, tag="passage", tag_field="block"):
    """A retrieved passage offered to the model as a citable source."""

    source: str
    title: str
    content: tuple[Block, ...] = ()
    citable: bool | None = None
    cache: Cache | None = None


class Reasoning(Node, frozen=True, tag="reasoning", tag_field="block"):
    """Reasoning of the model: in full, as a summary, signed or encrypted, or all of these."""

    content: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    signature: Signature | None = None
    id: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The text where reasoning is written once: the content, or else the summary."""
        blank = not any(map(str.strip, self.content))
        return self.summary if any(self.summary) and blank else self.content


class Refusal(Node, frozen=True, tag="refusal", tag_field="block"):
    text: str


class ToolCall(Node, frozen=True, tag="tool-call", tag_field="block"):
    """A call the client must execute. ``arguments`` is the text the model wrote.

    For kind ``function`` that text should be a JSON object; for ``custom`` it is free text.
    ``id`` is None where the dialect has no call ids. ``item_id`` is a second identity that some
    dialects give the call itself, beside the id that pairs it with its result. ``namespace`` is
    that of the tool, where tools have one.
    """

    id: str | None
    name: str
    arguments: str = ""
    kind: ToolKind = "function"
    item_id: str | None = None
    cache: Cache | None = None
    namespace: str | None = None


class ToolResult(Node, frozen=True, tag="tool-result", tag_field="block"):
    """The result of a client tool. ``is_error`` is None if the document does not tell."""

    call_id: str | None
    content: tuple[Block, ...] = ()
    is_error: bool | None = None
    name: str | None = None
    kind: ToolKind = "function"
    cache: Cache | None = None
    namespace: str | None = None


class Hosted(Node, frozen=True, tag="hosted", tag_field="block"):
    """A call or result of a hosted tool: web search, code execution, MCP, computer use.

    ``payload`` is the dialect's own block. ``executor`` tells who runs it: a ``provider`` call must
    never become a call for the client.
    """

    dialect: str
    service: str
    payload: dict[str, Json]
    phase: Literal["call", "result", "both"] = "both"
    executor: Literal["provider", "client"] = "provider"
    id: str | None = None


class Raw(Node, frozen=True, tag="raw", tag_field="block"):
    """A block the tree has no name for, verbatim.

    What other dialects need of it: ``text`` is the same as text, ``tools`` are the tools that it
    defines, ``code`` is the code of its loss in the ledger.
    """

    dialect: str
    payload: Json
    text: str | None = None
    tools: tuple[Tool, ...] = ()
    code: str | None = None


Block: TypeAlias = (
    Text | Media | Passage | Reasoning | Refusal | ToolCall | ToolResult | Hosted | Raw
)


class Message(Node, frozen=True):
    role: Role
    content: tuple[Block, ...] = ()
    name: str | None = None


class Grammar(Leaf, frozen=True):
    """The grammar of a custom (freeform) tool."""

    syntax: str
    definition: str


class Namespace(Node, frozen=True):
    """The description of a group of tools that share a namespace."""

    description: str | None = None


class Tool(Node, frozen=True):
    """A tool the model may use.

    ``schema`` (kind ``function``) is kept as it came, key order included; ``schema_at`` is where
    it stands below ``at``, if it stands there word for word. Kind ``hosted`` is a tool that the
    provider defines; ``service`` names it and ``payload`` is the dialect's own form.

    A tool in a ``namespace`` is known by both names; the first tool of each group has what is
    written about the ``group``. A ``deferred`` tool is loaded only when a tool search finds it.
    """

    name: str
    description: str | None = None
    schema: Json = None
    kind: ToolKind = "function"
    strict: bool | None = None
    grammar: Grammar | None = None
    cache: Cache | None = None
    service: str | None = None
    dialect: str | None = None
    payload: Json = None
    schema_at: str | None = None
    namespace: str | None = None
    group: Namespace | None = None
    deferred: bool | None = None


class ToolChoice(Root, frozen=True):
    """Whether and which tools must be used. ``mode`` None: not given (only ``parallel``)."""

    mode: Literal["auto", "none", "required", "named"] | None = None
    name: str | None = None
    kind: ToolKind = "function"
    allowed: tuple[str, ...] | None = None
    parallel: bool | None = None
    payload: Json = None


class OutputFormat(Node, frozen=True):
    """The output format; ``schema_at`` is the place of its schema below ``at``."""

    kind: Literal["text", "json", "schema"]
    name: str | None = None
    description: str | None = None
    schema: Json = None
    strict: bool | None = None
    schema_at: str | None = None


class Thinking(Node, frozen=True):
    """How much the model should reason, and how much of it is returned."""

    mode: Literal["on", "off", "adaptive", "between-tools"] | None = None
    effort: str | None = None
    budget: int | None = None
    display: str | None = None


class Params(Node, frozen=True):
    """Sampling, limits and all other parameters of a request.

    ``store`` is True or None: not storing is the default.
    ``ats`` has the place of a parameter in the source, if not at the top under its own name.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    candidates: int | None = None
    output: OutputFormat | None = None
    thinking: Thinking | None = None
    verbosity: str | None = None
    stream: bool | None = None
    metadata: dict[str, Json] | None = None
    user_id: str | None = None
    service_tier: str | None = None
    cache_key: str | None = None
    cache: Cache | None = None
    store: bool | None = None
    previous_id: str | None = None
    conversation_id: str | None = None
    truncation: str | None = None
    ats: dict[str, str] = {}

    def where(self, name: str) -> str:
        """The JSON pointer of a parameter in the source document."""
        return self.ats.get(name, f"{self.at}/{name}")


class Training(Node, frozen=True):
    """What a record of a training set tells beside the conversation.

    ``completion`` is how many of the last messages the model is trained on (None: not told).
    ``rejected`` are messages that are worse than these: a preference pair. ``label`` tells whether
    the completion is good, where each is judged alone.
    """

    completion: int | None = None
    rejected: tuple[Message, ...] | None = None
    label: bool | None = None


class Request(Root, frozen=True):
    model: str | None
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] | None = None
    tool_choice: ToolChoice | None = None
    params: Params = Params()
    prefill: bool | None = None
    """the last message is a prefill, which the model continues"""
    training: Training | None = None
    """what a training set tells of it"""


class History(Root, frozen=True):
    """The messages alone, as they are stored between two turns."""

    messages: tuple[Message, ...]


class Toolbox(Root, frozen=True):
    """The tool definitions alone."""

    tools: tuple[Tool, ...]


class Stop(Leaf, frozen=True):
    """The stop reason: neutral, and as the dialect wrote it."""

    reason: StopReason
    native: str | None = None
    dialect: str | None = None
    sequence: str | None = None
    detail: Json = None


class Usage(Node, frozen=True):
    """Tokens in disjoint buckets; totals are sums, so nothing can be counted twice.

    Input = ``input`` + ``cache_read`` + ``cache_write``; output = ``output`` + ``reasoning``.
    None: the dialect does not tell. ``unsaid`` names ``input`` or ``output`` if they were not
    counted; they are 0 then.
    """

    input: int = 0
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_ttl: dict[str, int] | None = None
    output: int = 0
    reasoning: int | None = None
    unsaid: tuple[str, ...] = ()

    @property
    def input_total(self) -> int:
        return self.input + (self.cache_read or 0) + (self.cache_write or 0)

    @property
    def output_total(self) -> int:
        return self.output + (self.reasoning or 0)


class Candidate(Node, frozen=True):
    message: Message
    stop: Stop | None = None
    logprobs: Json = None


class Response(Root, frozen=True):
    """``echo`` is what some dialects repeat of the request in the response, verbatim."""

    id: str | None
    model: str | None
    candidates: tuple[Candidate, ...]
    usage: Usage | None = None
    created: float | None = None
    failure: Failure | None = None
    service_tier: str | None = None
    echo: Extras | None = None


class Failure(Root, frozen=True):
    """An error document: ``kind`` is neutral, ``type`` and ``code`` are those of the source."""

    kind: ErrorKind
    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None
    request_id: str | None = None


Tree: TypeAlias = Request | Response | History | Toolbox | ToolChoice | Failure
