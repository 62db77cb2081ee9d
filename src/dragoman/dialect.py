"""What a dialect is: a name, facets it reads and writes, and the rules of its API.

A facet is a kind of document. A dialect has a facet in a direction when it has the method:
``read_request(doc) -> Request``, ``write_request(tree, log) -> document``, and so on.
Nothing is registered anywhere else.

``keep`` and ``emit`` are the two halves of one promise: what a reader does not understand is kept
under the dialect's name, written back verbatim in the same dialect, and is a loss anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .core import source
from .core.capabilities import LACKED, Capabilities
from .core.counts import NO_COUNTS, Counts
from .core.declared import declared
from .core.endpoint import Endpoint
from .core.fields import Fields
from .core.lowering import are_special, lower, omit, plain_texts, roles, spell, usual_marks
from .core.models import DEFAULT, Facts, Models
from .core.plain import Reply, Turn, Unusual, is_free
from .core.reading import escape, nearest
from .core.resuming import NOTHING_READ, Reads, Writes
from .core.turns import lose_fields, lose_reply
from .core.words import NO_STOPS, TELLING, Stops
from .core.writing import Writing, wants_calls_run
from .errors import Malformed, Unsayable, Unsupported
from .ledger import Ledger
from .model import (
    Block,
    Candidate,
    ErrorKind,
    Extras,
    Failure,
    History,
    Json,
    Message,
    Node,
    Raw,
    Request,
    Response,
    Signature,
    Stop,
    Tool,
    Toolbox,
    ToolChoice,
    ToolResult,
    Tree,
    Usage,
)
from .tools.results import pair_up

if TYPE_CHECKING:
    from .streams.base import StreamReader, StreamWriter

Facet: TypeAlias = Literal[
    "request", "messages", "tools", "tool-choice", "response", "error", "stream"
]
"""What a document is. Functions that take one take any string too: it may come from a file."""

FACETS: dict[str, type[Node]] = {
    "request": Request,
    "messages": History,
    "tools": Toolbox,
    "tool-choice": ToolChoice,
    "response": Response,
    "error": Failure,
}
_FACET_OF = {tree: facet for facet, tree in FACETS.items()}
_READERS = {facet: f"read_{facet.replace('-', '_')}" for facet in FACETS}
_WRITERS = {tree: f"write_{facet.replace('-', '_')}" for facet, tree in FACETS.items()}

NOTHING: dict[str, Json] = {}


class Guess(Struct, frozen=True):
    """One reply to the question what a document is."""

    dialect: str
    facet: str
    confidence: float
    evidence: tuple[str, ...]


class Problem(Struct, frozen=True):
    """Something the real API would reject: the rule it breaks, where, and what the API says."""

    rule: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.path or '/'}: {self.message}"


class Dialect:
    """The base of all dialects. Subclass it, set the names, add ``read_*`` and ``write_*``."""

    name: ClassVar[str]
    spec: ClassVar[str]
    """Where the format is described."""
    issuer: ClassVar[str] = ""
    """Who issues (and alone accepts) the signatures and file ids of this dialect."""
    needs_model: ClassVar[bool] = False
    """Whether a request is refused without a model in it."""
    serves: ClassVar[tuple[str, ...]] = ()
    """Whose models the API serves, as ``models`` calls them; none: those of anybody."""
    vendor: ClassVar[str] = ""
    """Whose table in ``models`` says what depends on the model; none: nobody's."""
    aliases: ClassVar[tuple[str, ...]] = ()
    history: ClassVar[str | None] = "messages"
    """The key of a request under which the conversation stands; None: not at the top."""
    implied_type: ClassVar[str] = ""
    """The ``type`` of those items of a conversation that may go without one; empty: of none."""
    model_key: ClassVar[str] = "model"
    """The key of a request under which the model stands, also where only the address names it;
    ``resolved/model``: in an object of the request; empty: there is no place for it."""
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()
    """Where the API stands: the usual address first. A variant has its parent's path and manners,
    but neither address nor key, until it sets its own."""
    lines: ClassVar[bool] = False
    """Whether a document is a file of JSON lines: the list of their values; see ``core.lines``."""
    blank: ClassVar[frozenset[str]] = frozenset()
    """Keys whose empty list, empty object or empty string says the same as their absence."""

    pairs: ClassVar[bool] = False
    """Whether a request must have one result for each call, and one call for each result."""
    stores: ClassVar[bool] = False
    """Whether a request may continue a stored conversation, in which the calls stand."""
    kin: ClassVar[frozenset[str]] = frozenset()
    """Dialects of nearly the same API: what only they know is written here in the very same way."""
    has_null_choice: ClassVar[bool] = True
    """Whether no choice of a tool, as a document of its own, is null."""
    whole_events: ClassVar[bool] = False
    """Whether each event of a stream can be understood without those before it."""
    event_items: ClassVar[frozenset[str]] = frozenset()
    """Types of stream events that are items of a history, as they are."""
    framing: ClassVar[str] = "sse"
    """How the stream is framed: ``sse``, ``ndjson``, ``array`` or ``eventstream``."""
    framings: ClassVar[str | None] = None
    """How a stream that is read may be framed, where it may be otherwise than it is written."""
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = ()
    """Keys and values of a frame that show a stream to be of this dialect; None is any value."""
    stream_headers: ClassVar[dict[str, str]] = {"content-type": "text/event-stream"}
    """What a server says of the stream before it begins."""
    keep_alive: ClassVar[bytes] = b""
    """What a server may send in a silent stream between two frames; clients skip it. Empty:
    nothing."""
    takes_comments: ClassVar[bool] = False
    """Whether clients skip comments in a stream."""

    statuses: ClassVar[Mapping[ErrorKind, int]] = {}
    """HTTP statuses of this API for kinds of errors, where others reply with another one."""

    shared: ClassVar[dict[str, frozenset[str]]] = {}
    """Fields of a request that another dialect says in the very same way, by dialect."""

    fields: ClassVar[Fields | None] = None
    """The parameters of a request; None: it has no requests, or any parameter."""
    stops: ClassVar[Stops] = NO_STOPS
    """Words for the reasons to stop."""
    counts: ClassVar[Counts] = NO_COUNTS
    """Where the tokens of a response are counted."""
    can: ClassVar[Capabilities] = Capabilities()
    """What it can express. All else is lowered before it is written; see ``lowering``."""
    lowers: ClassVar[bool] = True
    """Whether there is anything that the tree can hold and this dialect cannot say."""
    has_tools: ClassVar[bool] = True
    """Whether a request can define tools; the session of an agent cannot."""
    windows: ClassVar[bool] = True
    """Whether some messages can be written and read without those around them."""
    placed: ClassVar[bool] = False
    """Whether its writer goes by the places of the nodes, which a tree as JSON does not have."""
    keeps_source: ClassVar[bool] = False
    """Whether what it writes holds the document that the tree was read from."""
    reads: Reads = NOTHING_READ
    """What is read already, in a session."""
    writes: Writes | None = None
    """What is written already, in a session."""
    takes_plain: ClassVar[bool] = False
    """Whether requests are read into plain turns, and written from them (``core.plain``). A variant
    says so itself."""
    tool_search: ClassVar[dict[str, Json] | None] = None
    """The definition of the provider's own search for deferred tools, if there is one."""

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        cls.takes_plain = cls.__dict__.get("takes_plain", False)

    def declared(self) -> dict[str, str]:
        """What it declares of codes of the ledger: ``yes``, ``no``, or what it is limited to."""
        return declared(self.can, self.fields)

    def facets(self) -> dict[str, tuple[str, ...]]:
        """The facets with their directions: ``{"request": ("read", "write"), ...}``."""
        found: dict[str, tuple[str, ...]] = {}
        for facet in (*FACETS, "stream"):
            suffix = facet.replace("-", "_")
            ways = tuple(w for w in ("read", "write") if hasattr(self, f"{w}_{suffix}"))
            if ways:
                found[facet] = ways
        return found

    def read(self, doc: Json, facet: str) -> Tree:
        """A document of this dialect as a canonical tree."""
        read = getattr(self, _READERS.get(facet, ""), None)
        if read is None:
            self._refuse("read", facet)
        if doc is None and facet == "tool-choice" and self.has_null_choice:
            return ToolChoice(dialect=self.name)
        try:
            tree: Tree = read(doc)
        except Malformed as problem:
            at, gone = nearest(doc, problem.at)
            if not gone:
                raise
            what = f"{gone[0]!r} is missing" if len(gone) == 1 else problem.what
            raise Malformed(what, at) from None  # a key that is not there has no place of its own
        except RecursionError:
            raise Malformed("nested too deeply") from None
        return tree

    def locate(self, doc: Json, at: str) -> str:
        """Where a loss is in the document, by where its node says that it stood."""
        return at

    def write(self, tree: Tree, log: Ledger) -> Json:
        """A canonical tree as a document of this dialect; what it cannot say goes to the log."""
        kind = tree.__class__
        write = getattr(self, _WRITERS.get(kind, ""), None)
        if write is None:
            facet = _FACET_OF.get(kind)
            if facet is None:
                raise Unsupported(f"not a canonical tree: {kind.__name__}")
            self._refuse("write", facet)
        log.target = self.name
        same = tree.dialect == self.name
        if same and tree.original is not None:
            return source.write(self, tree, _FACET_OF[kind], log)
        try:
            if tree.__class__ is Request and not same:
                self.judge_model(tree, log)
                scan = turns = None
                if self.writes is not None:  # each pass goes on where it was
                    scan = self.writes.usual
                    self.writes.stages.read.ask(tree.messages)
                else:
                    turns = plain_texts(tree.messages, self)
                if turns is not None:
                    log.plain = log.usual = tree.messages
                    log.turns, log.marked = turns, ()
                elif (marked := usual_marks(tree.messages, self, scan)) is not None:
                    log.usual, log.marked = tree.messages, marked
                elif self.pairs:
                    tree = self.pair_up(tree, log)
                return write(lower(tree, self, log) if self.lowers else tree, log)
            if (
                tree.__class__ is Response
                and tree.failure is not None
                and not self.holds_failure(tree)
            ):
                return self.write_as_error(tree, log)
            if same:
                tree = spell(tree, self, log)
            elif self.lowers:
                tree = lower(tree, self, log)
            if tree.__class__ is ToolChoice and self.has_null_choice and self.is_unsaid(tree):
                self.lose(tree.extras, tree.at, log)
                return None
            return write(tree, log)
        except RecursionError:
            raise Malformed("nested too deeply") from None

    def read_plain(self, doc: Json) -> tuple[Request, list[Turn]] | None:
        """A request without its messages, and these as plain turns; None if they are not plain."""
        return None

    def write_plain(self, tree: Request, turns: list[Turn], log: Ledger) -> Json:
        """What ``read_plain`` of another dialect gave; ``Unusual`` where nodes are needed."""
        log.target = self.name
        self.judge_model(tree, log)
        if not is_free(self.facts_of(tree.model, log)):
            raise Unusual
        if tree.tools and are_special(tree.tools, self.can):
            raise Unusual
        log.plain = log.usual = tree.messages
        log.turns = turns
        write: Callable[[Tree, Ledger], Json] = self.write_request  # type: ignore[attr-defined]
        # Nothing but the choice can be lowered: see ``is_fit``.
        return write(tree if tree.tool_choice is None else lower(tree, self, log), log)

    def read_plain_reply(self, doc: Json) -> Reply | None:
        """A response, if it is plain."""
        return None

    def write_plain_reply(self, reply: Reply, log: Ledger) -> Json:
        """A plain response of another dialect; ``Unusual`` where nodes are needed."""
        raise Unusual

    def holds_failure(self, tree: Response) -> bool:
        """Whether a response that failed is written as one, with its error in it."""
        return self.can.failed

    def write_as_error(self, tree: Response, log: Ledger) -> Json:
        """A response that failed, as the error that ended it; of the rest nothing is written."""
        failure = tree.failure
        assert failure is not None
        if not hasattr(self, "write_error"):
            raise Unsayable(f"{self.name} cannot hold a response that failed", failure.at)
        if tree.candidates or not self.is_same(tree.dialect):
            why = f"{self.name} writes a failed response as an error document"
            log.moved("response.failure", failure.at, why)
        lose_reply(tree, log)
        return self.write(failure, log)

    def is_unsaid(self, choice: ToolChoice) -> bool:
        """Whether a choice says nothing at all: what no choice at all is read as."""
        written = (choice.mode, choice.payload, choice.allowed, choice.parallel)
        if any(value is not None for value in written):
            return False
        return choice.extras is None or not self.is_same(choice.extras.dialect)

    def judge_model(self, tree: Request, log: Ledger) -> None:
        """A request must name a model; one that the API may not serve is passed on."""
        model = tree.model
        if not model or model.isspace():
            if self.needs_model:
                what = f"{self.name} requires a model, and the request names none: give model="
                raise Unsayable(what, tree.at)
            if model is not None and self.endpoints:  # it would be left out of the address
                raise Unsayable("the model is empty: give model=", tree.params.where("model"))
        elif self.serves and (maker := log.models.vendor_of(model)) not in (None, *self.serves):
            if tree.params.ats.get("model") != "":  # which the caller of ``convert`` has named
                why = f"{model!r} is a model of {maker}; {self.name} may not serve it"
                log.moved("model", tree.params.where("model"), why)

    def facts_of(self, model: str | None, log: Ledger) -> Facts:
        """What is known of the model that a request goes to."""
        return log.models.facts(self.vendor, model)

    def restored(self, document: Json, tree: Tree, log: Ledger) -> Json:
        """A document into which a capsule has put what it held; ``tree`` is what was written."""
        return document

    def pair_up(self, tree: Request, log: Ledger) -> Request:
        """The request with one result for each call, if what is not in it is not stored."""
        stored = tree.params.previous_id or tree.params.conversation_id
        return tree if stored and self.stores else pair_up(tree, self, log)

    def stream_reader(self, whole: bool = True) -> StreamReader:
        """A reader for one stream of this dialect; ``whole``: its texts are wanted in the end."""
        read = getattr(self, "read_stream", None)
        if read is None:
            self._refuse("read", "stream")
        reader: StreamReader = read(whole)
        return reader

    def stream_writer(self, log: Ledger, *, same: bool = False) -> StreamWriter:
        """A writer for one stream of this dialect."""
        write = getattr(self, "write_stream", None)
        if write is None:
            self._refuse("write", "stream")
        log.target = self.name
        writer: StreamWriter = write(log, same)
        return writer

    def sniff(self, doc: Json) -> Iterable[tuple[str, float, tuple[str, ...]]]:
        """How sure this dialect is that a document is its own: (facet, confidence, evidence)."""
        return ()

    def echo(self, request: Json) -> Extras | None:
        """What a reply repeats of its request in this dialect, if replies do."""
        return None

    def settle(self, message: Message, log: Ledger) -> Message:
        """A reply as it stands in a history: what only replies may say is lost."""
        return message

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        """What the real API would reject in a document of this dialect."""
        return iter(())

    def fit_model(self, tree: Request, log: Ledger) -> Request:
        """A request of this dialect without what its model refuses; ``repair`` asks for it."""
        return tree

    def _refuse(self, way: str, facet: str) -> NoReturn:
        have = [f for f, ways in self.facets().items() if way in ways]
        raise Unsupported(
            f"{self.name} has no {facet} to {way}; it has: {', '.join(have) or 'nothing'}"
        )

    # -- the two halves of one promise ------------------------------------------------------

    def keep(
        self,
        doc: dict[str, Json],
        taken: Iterable[str],
        spelling: dict[str, Json] | None = None,
        *,
        partly: Mapping[str, Iterable[str]] = NOTHING,
    ) -> Extras | None:
        """Everything in ``doc`` that was not taken, and what was noted of it.

        Null says nothing, and neither does an empty value of a key in ``blank``. ``partly`` names
        objects of which some keys were taken; what is left of them is kept under the same name. An
        object inside such an object is named by a mapping: ``{"custom": {"name": (), "format":
        {"type": ()}}}``.
        """
        if partly or taken.__class__ is not frozenset:
            fields, parts = self._rest(doc, taken, partly)
        elif taken.issuperset(doc):
            fields, parts = NOTHING, ()  # as usual
        else:
            fields, parts = _left(doc, taken, self.blank), ()
        if fields or spelling:
            return Extras(self.name, fields, spelling or NOTHING, parts)
        return None

    def _rest(
        self, doc: dict[str, Json], taken: Iterable[str], partly: Mapping[str, Iterable[str]]
    ) -> tuple[dict[str, Json], tuple[str, ...]]:
        """The fields that were not taken, and which of them are what is left of an object."""
        fields: dict[str, Json] = {}
        parts: tuple[str, ...] = ()
        blank = self.blank
        keys: Iterable[str] = doc
        if taken.__class__ is frozenset and taken.isdisjoint(partly):
            keys = filterfalse(taken.__contains__, doc)  # as usual
        for key in keys:
            value = doc[key]
            if value is None:
                continue
            if key in partly and value.__class__ is dict:
                some = partly[key]
                if some.__class__ is frozenset:
                    inner, deeper = _left(value, some, blank), parts[:0]
                else:
                    objects = _objects(some) if some.__class__ is dict else NOTHING
                    inner, deeper = self._rest(value, some, objects)
                if inner:
                    fields[key] = inner
                    parts += (key, *[f"{key}/{part}" for part in deeper]) if deeper else (key,)
            elif key not in taken and (value or not (key in blank and _is_empty(value))):
                fields[key] = value
        return fields, parts

    def emit(self, out: dict[str, Json], node: Node, log: Ledger) -> dict[str, Json]:
        """Add what was kept in the same dialect; elsewhere, say that it is lost."""
        extras = node.extras
        if extras is not None:
            if self.knows(extras.dialect):
                same = self.is_same(extras.dialect)
                for key, value in extras.fields.items():
                    own = out.get(key)
                    if own and not same and key not in extras.inner and _is_other(own, value):
                        why = f"{self.name} has another value for {key!r}"
                        log.dropped("extras", f"{node.at}/{escape(key)}", why)
                        continue
                    if key in extras.inner and own.__class__ is value.__class__ is dict:
                        value = merged(own, value)  # the rest of what was taken in part
                    out[key] = value
                if not same:
                    self.lose_signature(extras, node.at, log)
            elif node.__class__ is Request and (shared := self.shared.get(extras.dialect)):
                known = {k: v for k, v in extras.fields.items() if k in shared}
                rest = {k: v for k, v in extras.fields.items() if k not in shared}
                self.lose(replace(extras, fields=rest), node.at, log)
                return known | out
            else:
                self.lose(extras, node.at, log)
        return out

    def lose(self, extras: Extras | None, at: str, log: Ledger) -> None:
        """Every foreign field is a loss."""
        if extras is not None and extras.dialect != self.name:
            if extras.fields:
                log.later(lose_fields, extras, at)
            if extras.signature is not None:
                self.lose_signature(extras, at, log)

    def omit(self, block: Block, log: Ledger) -> None:
        """Report a block that is dropped as a whole, as there is no form for it."""
        omit(block, self, log)

    def omit_message(self, message: Message, log: Ledger) -> None:
        """Report a message of which nothing is left, and which is dropped."""
        roles.omit_message(message, self, log)

    def omit_prefill(self, message: Message, log: Ledger) -> None:
        """Report a prefill of which nothing is left."""
        roles.omit_prefill(message, self, log)

    def continue_message(self, message: Message, log: Ledger) -> None:
        """Report a last message that the model continues though nobody asked for it."""
        roles.continue_message(message, self, log)

    def merge_prompt(self, message: Message, log: Ledger) -> None:
        """Report a system message that becomes part of the one before it."""
        roles.merge_prompt(message, self, log)

    def note_prompt(self, message: Message, before: bool, written: bool, log: Ledger) -> None:
        """Report what becomes of a system message where there is one prompt."""
        roles.note_prompt(message, before, written, self, log)

    def join_text(self, at: str, log: Ledger) -> None:
        """Report a text that is joined with the one before it."""
        roles.join_text(at, self, log)

    def merge_message(self, message: Message, log: Ledger) -> None:
        """Report a message that becomes part of the one before it."""
        roles.merge_message(message, self, log)

    def omit_text(self, at: str, log: Ledger) -> None:
        """Report an empty text that is left out."""
        roles.omit_text(at, self, log)

    def add_text(self, at: str, log: Ledger) -> None:
        """Report an empty text that is made up."""
        roles.add_text(at, self, log)

    def add_user_turn(self, at: str, log: Ledger) -> None:
        """Report a turn of the user that is made up, as one must come first."""
        roles.add_user_turn(at, self, log)

    def lose_signature(self, extras: Extras, at: str, log: Ledger) -> None:
        """A signature that has no place here, or that another provider wants back."""
        if extras.signature is not None:
            issuer = extras.signature.issuer
            log.dropped(
                "reasoning.signature", at, f"a signature of {issuer} is valid for {issuer} only"
            )

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        """The tokens of a response, as the table has them."""
        return self.counts.read(self, doc, at)

    def put_usage(self, out: dict[str, Json], tree: Response, w: Writing) -> None:
        """The usage of a response; zeros, where one is required and nobody counted."""
        if tree.usage is not None:
            out["usage"] = self.write_usage(tree.usage, w)
        elif self.counts.required and not w.same:
            out["usage"] = self.counts.write(self, Usage(), w)
            w.log.invented("usage", "", f"required by {self.name}, not counted, and written as 0")

    def write_usage(self, usage: Usage, w: Writing) -> dict[str, Json]:
        """The counts of a response, with what else was kept of them."""
        return self.emit(self.counts.write(self, usage, w), usage, w.log)

    def lose_usage(self, usage: Usage, log: Ledger) -> None:
        """Report a usage in which nothing was counted, where that is no usage."""
        log.dropped("usage", usage.at, f"{self.name} has no form for a usage without counts")

    def lack(self, code: str, at: str, log: Ledger) -> None:
        """A field of a response or an error that this dialect does not have."""
        log.dropped(code, at, f"{self.name} has no field for {LACKED[code]}")

    def note_error(self, tree: Failure, log: Ledger) -> None:
        """The fields of an error from another dialect that this one does not have."""
        for key in ("code", "param", "request_id") if not self.is_same(tree.dialect) else ():
            if getattr(tree, key) is not None and f"error.{key}" in self.can.lacks:
                self.lack(f"error.{key}", tree.at, log)

    def stop_of(self, word: str | None, message: Message) -> Stop | None:
        """The reason to stop that a word stands for."""
        return None if word is None else Stop(self.stops.reason(word, message), word, self.name)

    def stop_word(self, candidate: Candidate, w: Writing) -> str | None:
        """What is written for the reason to stop; None: nothing."""
        stop = candidate.stop
        if stop is None:
            unended = None if w.same else self.stops.unended
            return None if unended is None else self.invent_stop(candidate, unended, w.log)
        if self.is_same(stop.dialect):
            return stop.native
        word = self.choose_stop(candidate, stop)
        if word is None:
            self.lose_stop(candidate, w.log)
            return None
        reason, stops = stop.reason, self.stops
        if word in stops.vague:
            understood = stops.reason(word, self.as_read(candidate))
        else:
            understood = stops.meanings.get(word, "other")
        if understood != reason or self.is_unnamed(stop, word):
            self.note_stop(candidate, word, w.log)
        return word

    def lose_stop(self, candidate: Candidate, log: Ledger) -> None:
        """A stop reason for which there is no word."""
        assert candidate.stop is not None
        written = candidate.stop.native or candidate.stop.reason
        log.dropped("stop.reason", candidate.at, f"{self.name} has no stop reason {written!r}")

    def choose_stop(self, candidate: Candidate, stop: Stop) -> str | None:
        """The word for a reason to stop, as the content allows it."""
        reason = stop.reason
        if reason == "other" and self.stops.calls and wants_calls_run(candidate):
            reason = "tool-call"
        return self.stops.word(reason)

    def as_read(self, candidate: Candidate) -> Message:
        """What a reader will find of a reply, as far as its calls and refusals are concerned."""
        return candidate.message

    def invent_stop(self, candidate: Candidate, word: str, log: Ledger) -> str:
        """The stop reason where none was given and this dialect requires one."""
        why = f"the source has no stop reason; {word!r} is written for {self.name}"
        log.invented("stop.reason", candidate.at, why)
        return word

    def note_ended(self, candidate: Candidate, called: bool, log: Ledger) -> None:
        """Where the content alone tells how a response ended: with its text, or with calls."""
        stop = candidate.stop
        if stop is None:
            why = f"a response of {self.name} has always ended"
            log.invented("stop.reason", candidate.at, why)
        elif stop.reason != ("tool-call" if called else "end"):
            why = f"{self.name} has no field for stop reasons"
            log.approximated("stop.reason", candidate.at, why)

    def is_unnamed(self, stop: Stop, word: str) -> bool:
        """Whether a stop reason that only its dialect knows is written as a word for all others."""
        if stop.native in TELLING:
            return stop.native != word
        if stop.reason != "other":
            return False
        known = (word.lower(), "other", "unknown", "incomplete")
        return (stop.native or "other").lower() not in known

    def note_stop(self, candidate: Candidate, word: str, log: Ledger) -> None:
        """A stop reason for which another one is written."""
        assert candidate.stop is not None
        written = candidate.stop.native or candidate.stop.reason
        why = f"{written!r} written as {word!r}, the nearest stop reason of {self.name}"
        log.approximated("stop.reason", candidate.at, why)

    def is_same(self, dialect: str | None) -> bool:
        """Whether what that dialect said may be written again here, word for word."""
        return dialect == self.name

    def knows(self, dialect: str | None) -> bool:
        """Whether what only that dialect knows may be written here: it is this one, or its kin."""
        return dialect == self.name or dialect in self.kin

    def accepts(self, block: Raw) -> bool:
        """Whether a block that only one dialect knows may be written here, as it is."""
        return self.knows(block.dialect)

    def opens(self, signature: Signature, model: str | None, log: Ledger) -> bool:
        """Whether a model accepts a signature that its API accepts."""
        return True

    def has_tool(self, node: Tool | ToolChoice) -> bool:
        """Whether a tool or a choice that only one dialect knows may be written here, as it is."""
        return self.is_same(node.dialect)

    def needs_text(self, result: ToolResult) -> bool:
        """Whether a result without content must have a text."""
        return ("error" if result.is_error else "result") in self.can.texts.needed

    def reference(self, name: str) -> dict[str, Json] | None:
        """A reference to a deferred tool that a search has found, where results may hold one."""
        return None

    def is_mute(self, extras: Extras) -> bool:
        """Whether extras have no say here: another dialect's, and nothing of them is lost."""
        if extras.fields or extras.signature is not None:
            return False
        return not self.is_same(extras.dialect)

    def spelling(self, node: Node) -> dict[str, Json]:
        """How this dialect spelled the node, when it was this dialect."""
        extras = node.extras
        if extras is None or not self.is_same(extras.dialect):
            return NOTHING
        return extras.spelling

    def respell(self, extras: Extras | None, **spelling: Json) -> Extras:
        """Extras that also tell how something was spelled."""
        if extras is None:
            return Extras(self.name, spelling=spelling)
        return replace(extras, spelling=extras.spelling | spelling)


def merged(own: dict[str, Json], rest: dict[str, Json]) -> dict[str, Json]:
    """An object with the rest of it, and of the objects inside."""
    out = own | rest
    for key in own.keys() & rest.keys():
        if own[key].__class__ is dict and rest[key].__class__ is dict:
            out[key] = merged(own[key], rest[key])
    return out


def _is_other(own: Json, kept: Json) -> bool:
    """Whether an object of kin is another than the one that is written under its name."""
    return own.__class__ is dict and kept.__class__ is dict and any(own.values()) and own != kept


def _left(doc: dict[str, Json], taken: frozenset[str], blank: frozenset[str]) -> dict[str, Json]:
    """The fields of an object that were not taken, and say something."""
    fields: dict[str, Json] = {}
    for key in filterfalse(taken.__contains__, doc):
        value = doc[key]
        if value is not None and (key not in blank or not _is_empty(value)):
            fields[key] = value
    return fields


def _objects(some: Mapping[str, Iterable[str]]) -> Mapping[str, Iterable[str]]:
    """The objects among the keys of an object that are taken in part as well."""
    return {k: v for k, v in some.items() if v}


def _is_empty(value: Json) -> bool:
    """An empty list, object or string."""
    return value.__class__ in (list, dict, str) and not value
