"""The ledger: every deviation of a conversion, as a value.

``CODES`` lists the codes of losses; ``docs/ledger.md`` is generated from it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from .core.models import DEFAULT, Models
from .errors import Lossy, Unsupported

Kind: TypeAlias = Literal["dropped", "approximated", "invented", "moved", "renamed"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# code -> what it is about. Codes are stable: they are added, never renamed.
CODES: dict[str, str] = {
    "document.key": "a duplicate key in an object",
    "extras": "a field that only the source dialect knows",
    "session.line": "what stands in a line of a stored session beside the conversation",
    "system": "a system prompt, where the agent has its own",
    "raw": "a block that only the source dialect knows",
    "message.boundary": "where a message ends and the next begins",
    "message.position": "the place of a message in the conversation",
    "message.role": "the role of a message",
    "message.name": "the name of the speaker",
    "message.id": "the id of a message",
    "message.empty": "a message without content",
    "content.order": "the order of blocks inside a message",
    "content.role": "a block in a message whose role cannot hold it",
    "prefill": "whether the model continues the last message",
    "training.completion": "which part of a conversation a model is trained on",
    "training.rejected": "the worse reply of a preference pair",
    "training.unanswered": "what stands after the last reply of a record",
    "training.label": "whether a reply is one to learn from",
    "template": "what a chat template leaves out of a conversation",
    "text.empty": "a text block that is empty or only white space",
    "text.space": "white space at the end of a text",
    "text.control": "a control token of the target inside a text",
    "text.surrogate": "a lone surrogate, where a text was cut inside a surrogate pair",
    "text.boundary": "where a text block ends and the next begins",
    "text.citations": "citations of a text",
    "cache": "a cache breakpoint",
    "cache.ttl": "the lifetime of a cached prefix",
    "media": "an image, audio, video or document",
    "media.detail": "the resolution at which an image is read",
    "media.title": "the title of a document",
    "media.filename": "the file name of a document",
    "media.context": "the context given with a document",
    "media.citable": "whether a document may be cited",
    "media.transcript": "the transcript of audio",
    "media.type": "the media type",
    "passage": "a retrieved passage",
    "reasoning": "reasoning of the model",
    "reasoning.signature": "a signature or encrypted reasoning, which only its issuer may receive",
    "reasoning.summary": "that reasoning is a summary",
    "reasoning.id": "the id of a reasoning item",
    "refusal": "that a text is a refusal",
    "system.trigger": "the sentence that tells a model about its functions",
    "tool_call.id": "the id that pairs a call with its result",
    "tool_call.item_id": "the id of a call item, beside the id that pairs it with its result",
    "tool_call.arguments": "the argument text of a call",
    "tool_call.kind": "that a call is freeform, or a search for tools",
    "tool_result": "the result of a tool",
    "tool_result.error": "that a tool failed",
    "tool_result.content": "parts of a tool result that are not text",
    "tool_result.name": "the name of the tool in its result",
    "compaction": "the summary that stands for a compacted part of the conversation",
    "hosted": "a tool that the provider runs or defines, and its calls",
    "tool": "a tool definition",
    "tool.name": "the name of a tool",
    "tool.schema": "the parameters of a tool",
    "tool.strict": "whether a tool's schema is enforced",
    "tool.kind": "that a tool is freeform, or the client's search for tools",
    "tool.namespace": "the namespace of a tool",
    "tool.deferred": "that a tool is loaded only when a tool search finds it",
    "tool_choice": "whether and which tools must be used",
    "tool_choice.allowed": "the subset of tools that may be used",
    "tool_choice.parallel": "whether several calls may come at once",
    "model": "the model",
    "max_tokens": "the output limit",
    "temperature": "the temperature",
    "top_p": "nucleus sampling",
    "top_k": "top-k sampling",
    "stop": "the stop strings",
    "seed": "the random seed",
    "frequency_penalty": "the frequency penalty",
    "presence_penalty": "the presence penalty",
    "logit_bias": "the token biases",
    "logprobs": "token probabilities",
    "stream.end": "the end of a stream that gives no reason for it",
    "stream.event": "a stream event that only the source dialect knows",
    "stream.head": "id, model and date of a stream, known only at its end",
    "stream.order": "when a part of a stream is sent",
    "stream.text": "a text whose final form differs from its deltas",
    "stream.usage": "input tokens at the start of a stream, before they are known",
    "top_logprobs": "how many alternatives of each token are reported",
    "candidates": "several candidates in one response",
    "output": "the output format asked for",
    "output.schema": "the output schema asked for",
    "output.name": "the name of the output schema",
    "output.description": "the description of the output schema",
    "output.strict": "whether the output schema is enforced",
    "thinking": "how the model should reason",
    "thinking.effort": "the reasoning effort",
    "thinking.budget": "the token budget for reasoning",
    "thinking.display": "how much of the reasoning is returned",
    "verbosity": "how long the response should be",
    "stream": "whether the response is streamed",
    "metadata": "labels on the request",
    "user_id": "the end user",
    "service_tier": "the service tier",
    "cache_key": "the prompt-cache key",
    "store": "whether the provider stores the response",
    "previous_id": "the stored response that this request continues",
    "conversation_id": "the stored conversation that this request continues",
    "truncation": "what happens to a conversation that is too long",
    "stop.reason": "why the response ended",
    "stop.sequence": "the stop string that ended the response",
    "stop.detail": "details of why the response ended",
    "usage": "token counts",
    "usage.cache_ttl": "the lifetime of tokens written to the cache",
    "usage.inconsistent": "token counts that contradict each other",
    "response.id": "the id of the response",
    "response.model": "the model that generated the response",
    "response.created": "the date of the response",
    "response.latency": "how long the response took",
    "response.echo": "settings of the request that the response repeats",
    "response.failure": "the error inside a response",
    "error.type": "the kind of an error",
    "error.code": "the code of an error",
    "error.param": "the parameter that an error names",
    "error.request_id": "the id of a failed request",
    "container.id": "the id of a record in a batch file",
    "container.field": "a field of a record that only its own kind of file has",
    "container.branch": "a branch of an exported conversation that is not the current one",
    "http.header": "headers of a request or a response in a capture",
    "capsule": "what a capsule holds for a part of the document that has changed",
}


class Loss(Struct, frozen=True):
    """One deviation: what happened to what, where in the source document, and why.

    ``target`` is the dialect that was written; empty where nothing has been written yet.
    """

    kind: Kind
    what: str
    path: str
    why: str
    target: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.what} at {self.path or '/'} ({self.why})"


class Restored(Struct, frozen=True):
    """A place that came from a capsule.

    ``path`` is a JSON pointer into the result; for what was removed, into the result of the
    conversion without a capsule.
    """

    what: str
    """``turn``, ``tool``, ``id`` (of a turn that goes with one), ``field`` for anything else"""
    path: str
    removed: bool = False

    def __str__(self) -> str:
        return f"{'removed' if self.removed else 'restored'} {self.what} at {self.path or '/'}"


class Ids:
    """A generator of ids that remembers them, so that they can be given out again."""

    def __init__(self, make: Callable[[str], str]) -> None:
        self._make = make
        self._made: dict[str, list[str]] = {}

    def __call__(self, prefix: str) -> str:
        made = self._make(prefix)
        self._made.setdefault(prefix, []).append(made)
        return made

    def again(self) -> Callable[[str], str]:
        """The same ids in the same order, then new ones."""
        left = {prefix: iter(tuple(made)) for prefix, made in self._made.items()}
        return lambda prefix: next(left.get(prefix, iter(())), None) or self(prefix)


class Objects(dict[str, dict[str, Any]]):
    """Argument texts that are JSON objects without a loss, and these; and those of last time."""

    last: dict[str, dict[str, Any]]

    def __init__(self, last: Objects | None = None) -> None:
        self.last = {} if last is None else last
        if last is not None:
            last.last = {}  # what was not asked for since is forgotten


class Ledger(Struct, eq=False):
    """Collects losses in the order in which they happen; has the caller's clock and ids."""

    now: float | None = None
    ids: Callable[[str], str] | None = None
    models: Models = DEFAULT
    """what is known of the models that a request may go to"""
    target: str = ""
    """the dialect that is written; ``Dialect.write`` sets it, and each loss has it"""
    entries: list[Any] = []
    """the losses, or how to tell of them: see ``losses`` and ``later``"""
    owes: bool = False
    """whether there are such among them"""
    tool_names: dict[str, tuple[str | None, str]] = {}
    """written name of a tool -> its (namespace, name) in the source, where they differ"""
    taken: Container[str] = ()
    """ids of calls that the conversation already has: none of them is invented again"""
    own_names: Container[str] = ()
    """tool names that the target itself chose: each is written unchanged"""
    restores: bool = False
    """whether a capsule is opened after the writer: signed reasoning may be restored"""
    restored: list[Restored] = []
    """what came from a capsule"""
    objects: Objects | None = None
    """arguments of calls that are known as objects, in a session"""
    embeds: bool = False
    """whether JSON text may stand in the document (``msgspec.Raw``): its bytes are wanted"""
    embedded: bool = False
    """whether there is such a text in it"""
    plain: Any = None
    """the messages that are written, if ``turns`` say it all; a writer compares by identity"""
    turns: list[Any] = []
    """the plain turns of a conversation; see ``core.plain``"""
    usual: Any = None
    """the messages that are written, if nothing of them need be lowered or put in order"""
    marked: Sequence[int] = ()
    """those of them with cache marks, which may have to be lowered"""

    @property
    def losses(self) -> list[Loss]:
        """All losses so far, in the order in which they happened."""
        if self.owes:
            self._tell()
        return self.entries

    @losses.setter
    def losses(self, losses: list[Loss]) -> None:
        self.entries, self.owes = losses, False

    def later(self, tell: Callable[..., None], *about: Any) -> None:
        """Losses that ``tell(*about, ledger)`` notes when somebody asks for them.

        They stand where they would stand now. What is told about must not change until then.
        """
        self.entries.append((tell, about))
        self.owes = True

    def _tell(self) -> None:
        owed, told = self.entries[:], self.entries
        told.clear()
        self.owes = False
        for entry in owed:
            if entry.__class__ is tuple:
                tell, about = entry
                tell(*about, self)
            else:
                told.append(entry)

    def apart(self) -> Ledger:
        """A ledger of its own, empty, for the same conversion."""
        ledger = Ledger(self.now, self.ids, self.models, self.target)
        ledger.taken, ledger.own_names = self.taken, self.own_names
        ledger.restores = self.restores
        return ledger

    def dropped(self, what: str, path: str, why: str) -> None:
        """Not written: the target does not support it."""
        self.entries.append(Loss("dropped", what, path, why, self.target))

    def approximated(self, what: str, path: str, why: str) -> None:
        """Written with less precision."""
        self.entries.append(Loss("approximated", what, path, why, self.target))

    def invented(self, what: str, path: str, why: str) -> None:
        """Required by the target and absent from the source."""
        self.entries.append(Loss("invented", what, path, why, self.target))

    def moved(self, what: str, path: str, why: str) -> None:
        """Written whole, at another place."""
        self.entries.append(Loss("moved", what, path, why, self.target))

    def renamed(self, what: str, path: str, why: str) -> None:
        """Written differently with the same meaning; a capsule restores it."""
        self.entries.append(Loss("renamed", what, path, why, self.target))

    def enforce(self, fail_on: Iterable[str]) -> None:
        """Raise ``Lossy`` if a loss has a forbidden kind or code."""
        if fail_on == ():  # the default
            return
        forbidden = frozenset((fail_on,) if isinstance(fail_on, str) else fail_on)
        if not forbidden:
            return
        if unknown := forbidden - set(KINDS) - CODES.keys():
            known = ", ".join(KINDS)
            raise Unsupported(
                f"fail_on: unknown {sorted(unknown)}; known are {known} and the codes"
            )
        if hit := tuple(x for x in self.losses if x.kind in forbidden or x.what in forbidden):
            raise Lossy(hit)
