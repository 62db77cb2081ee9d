"""A session: the requests of one conversation, each of which costs only what is new in it.

An agent sends its whole history again each turn. ``convert`` works all of it through each time, so
that a conversation of n turns costs as much as n²/2 of them. A session remembers the last turn:

    bytes ── Parsed ──> value ── reader ──> tree ── writer ──> document ── Printed ──> bytes
             |                                                             |
             the last request                                              the last document

- *Parsed* (``core.parsed``): messages that have the same bytes as in the last request are not
  parsed again; they are the same objects.
- *Printed* (``core.printed``): items of the history that are the same as in the last document are
  not encoded again.
- *Reader and writer* (``core.resuming``): copies of the two dialects that go on where they were, at
  a place where nothing waits for what comes next. Those that cannot begin with the first message.
- Tools are read and written once, and arguments of calls that become objects are parsed once.

The law: ``session.convert(data)`` is ``convert(data)`` with the same arguments, in its bytes, its
losses and its errors, whatever was converted before. Nothing is assumed of a conversation: one that
was cut, edited or replaced costs more, and gives the same. There is no key but the content, so
nothing can be mistaken for something else, and a session holds no more than its last turn.

Not remembered, and converted as by ``convert``: requests that are no bytes, as their owner may
change them at any time; requests with lone surrogates; and those with capsules (``carry``,
``capsule``), which are made of both documents as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any

from msgspec import Struct

from . import capsule as capsules
from . import dialects
from .convert import convert, detected, place_losses, read_for
from .core.models import Models, given
from .core.parsed import Parsed
from .core.printed import MOVES, Printed
from .core.reading import LIMIT, decode, encode
from .core.resuming import Reads, Writes
from .dialect import Dialect
from .errors import Malformed
from .ledger import Ledger, Loss, Objects
from .model import Json, Tree
from .result import Result

BUDGET = 64 * 1024 * 1024
"""How many bytes the sessions of a pool may hold by default."""


class Turn(Struct, frozen=True):
    """A request, what was read, the bytes that were written, and the ledger."""

    value: Json
    tree: Tree
    data: bytes
    log: Ledger


class Session:
    """The requests of one conversation, converted one after the other.

    >>> session = Session(source="openai-chat", target="anthropic-messages", model="m")
    >>> for turns in (b'{"role":"user","content":"Hi"}',
    ...               b'{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."}'):
    ...     result = session.convert(b'{"messages":[' + turns + b'],"max_completion_tokens":9}')
    >>> result.to_json()[-57:]
    b'"content":"Hi"},{"role":"assistant","content":"Hello."}]}'

    The arguments are those of ``convert``, and so is what comes out, whatever was converted before.
    A session is for one conversation and one thread at a time; ``Sessions`` is for several
    conversations.
    """

    def __init__(
        self,
        *,
        source: str | None = None,
        target: str,
        fail_on: Iterable[str] = (),
        now: float | None = None,
        ids: Callable[[str], str] | None = None,
        carry: bool = False,
        model: str | None = None,
        models: Models | Mapping[str, Any] | None = None,
        key: bytes | None = None,
        capsule_limit: int = capsules.LIMIT,
        limit: int | None = LIMIT,
    ) -> None:
        self._source = None if source is None else own(dialects.get(source))
        self._writer = own(dialects.get(target))
        if ids is None:  # who makes ids is asked for all of them, each time
            self._writer.writes = Writes()
        self._fail_on = fail_on if isinstance(fail_on, str) else tuple(fail_on)
        self._models = given(models)
        self._options: dict[str, Any] = {"now": now, "ids": ids, "model": model}
        self._capsules: dict[str, Any] = {
            "carry": carry,
            "key": key,
            "capsule_limit": capsule_limit,
        }
        placed = self._writer.placed or (self._source is not None and self._source.placed)
        self._plainly = carry or placed  # each request is converted as by ``convert``
        self._limit = limit
        self._parsed = Parsed(None if self._source is None else self._source.history)
        self._printed = Printed(self._writer.history)
        self._objects = Objects()
        self._last_reader = self._source
        self._known = 0  # messages that are the same in all requests since the last one printed
        self._exact = True

    def __repr__(self) -> str:
        source = "any" if self._source is None else self._source.name
        return f"<Session: {source} to {self._writer.name}>"

    @property
    def source(self) -> str | None:
        """The dialect of the requests; None: to be found out."""
        return None if self._source is None else self._source.name

    @property
    def target(self) -> str:
        """The dialect that is written."""
        return self._writer.name

    @property
    def model(self) -> str | None:
        """The model that requests name in the target, if it is another one."""
        model: str | None = self._options["model"]
        return model

    @property
    def models(self) -> Models:
        """What is known of models."""
        return self._models

    @property
    def fail_on(self) -> str | tuple[str, ...]:
        """Losses that raise ``Lossy``."""
        return self._fail_on

    @property
    def size(self) -> int:
        """About how many bytes of memory the session holds."""
        read, written = self._parsed.data, self._printed.data
        # A text that is not ASCII has two bytes for each character, or four; each value has a head.
        return len(read) * (2 if read.isascii() else 4) + len(written) + 500 * self._parsed.count

    def shared(self, data: bytes) -> int:
        """How many bytes of its messages a request repeats, if it is half of them at least."""
        shared, of = self._parsed.shares(data)
        return shared if shared * 2 >= of else 0

    def forget(self) -> None:
        """Begin again, with nothing remembered."""
        self._parsed.forget()
        self._printed.forget()
        self._objects = Objects()
        self._known, self._exact = 0, True
        if self._last_reader is not None:
            self._last_reader.reads = Reads()
        if self._writer.writes is not None:
            self._writer.writes = Writes()

    def convert(self, doc: Json | bytes, *, capsule: Json | None = None) -> Result:
        """The next request of the conversation, in the target's dialect."""
        if doc.__class__ is not bytes and isinstance(doc, bytearray | memoryview):
            doc = bytes(doc)
        plain = self._plainly or doc.__class__ is not bytes or capsule is not None
        turn = None if plain else self.turn(doc)
        if turn is None:
            return self._plain(doc, capsule)
        return Again(turn.data, tuple(turn.log.losses), self._later(doc, turn.value))

    def turn(self, doc: bytes, change: Callable[[Tree], Tree] | None = None) -> Turn | None:
        """A request and what became of it; None where it can only be converted for itself.

        ``change`` is applied to what was read, before it is written. For ``Exchange``; nothing of
        it may be changed, and the losses do not have keys that stand twice, but for ``fail_on``.
        """
        try:
            value = self._load(doc)
        except Malformed:  # it must be repaired, or told what is wrong with it
            return None
        log = Ledger(self._options["now"], self._options["ids"], self._models, self._writer.name)
        reader, writer = self._reader(doc, value), self._writer
        tree = read_for(writer, value, reader, "request", self._options["model"])
        if change is not None:
            tree = change(tree)
        if self._fail_on != ():  # keys that stand twice may be refused
            log.losses += self._parsed.duplicates(doc, value, writer.name)
        log.objects = self._objects = Objects(self._objects)
        document = writer.write(tree, log)
        if change is None:
            place_losses(log, reader, value)
        log.enforce(self._fail_on)
        try:
            data = self._print(document, log)
        except Malformed:  # it cannot be written as JSON, which is for its reader to find out
            self.forget()
            return None
        return Turn(value, tree, data, log)

    def duplicates(self, doc: bytes, value: Json) -> tuple[Loss, ...]:
        """The losses of a request by keys that stand twice, if they are not in its ledger."""
        later = self._later(doc, value)
        return () if later is None else later()

    def _plain(self, doc: Json | bytes, capsule: Json | None = None) -> Result:
        source = None if self._source is None else self._source.name
        return convert(
            doc,
            source=source,
            target=self._writer.name,
            fail_on=self._fail_on,
            capsule=capsule,
            models=self._models,
            limit=self._limit,
            **self._options,
            **self._capsules,
        )

    def _load(self, doc: bytes) -> Json:
        parsed = self._parsed
        value = parsed.load(doc, self._limit)
        self._known = min(self._known, parsed.known)
        self._exact = self._exact or not parsed.steady
        if self._last_reader is not None:
            self._last_reader.reads.expect(parsed.history, parsed.known, parsed.grows)
        writes = self._writer.writes
        if writes is not None:
            writes.expect(parsed.grows, parsed.steady)
        return value

    def _reader(self, doc: bytes, value: Json) -> Dialect:
        """Whose request it is; where that is to be found out, it may be another's each time."""
        if self._source is not None:
            return self._source
        reader = detected(value, "request")
        last = self._last_reader
        if last is None or reader.name != last.name:
            last, self._parsed = own(reader), Parsed(reader.history)
            self._last_reader = last
            self._parsed.take(doc, value)
            self._known, self._exact = 0, True
        return last

    def _later(self, doc: bytes, value: Json) -> Callable[[], tuple[Loss, ...]] | None:
        """The keys that stand twice, if nobody has looked for them yet."""
        if self._fail_on != ():
            return None
        parsed, name = self._parsed, self._writer.name
        return lambda: parsed.duplicates(doc, value, name)

    def _print(self, document: Json, log: Ledger) -> bytes:
        count = self._parsed.count
        exact = self._exact or any(loss.what in MOVES for loss in log.losses)
        printed, writes = self._printed, self._writer.writes
        kept = len(printed.items) if writes is None else writes.kept
        data = printed.dump(document, self._known, count, exact, kept)
        if writes is not None:
            writes.items, writes.kept = printed.items, len(printed.items)
        self._known, self._exact = count, False
        return data


def own(dialect: Dialect) -> Dialect:
    """A dialect that remembers what it has read."""
    dialect = copy(dialect)
    dialect.reads = Reads()
    return dialect


class Again(Result):
    """A result whose document is parsed when somebody asks for it, so that it is theirs."""

    __slots__ = ("_data", "_document")

    def __init__(
        self,
        data: bytes,
        losses: tuple[Loss, ...],
        later: Callable[[], tuple[Loss, ...]] | None = None,
    ) -> None:
        self._data, self._losses = data, losses
        self._later = None if later is None else (later,)
        self._document = self._written = self.capsule = self.status = None
        self._embeds = self._lines = False
        self.restored = ()

    @property
    def document(self) -> Json:
        if self._document is None:
            self._document = decode(self._data)
        return self._document

    @document.setter
    def document(self, value: Json) -> None:
        self._document = value

    def to_json(self) -> bytes:
        """The document as compact JSON."""
        return self._data if self._document is None else encode(self._document)


class Sessions:
    """The requests of several conversations, in any order: each is continued where it was.

    Which conversation a request belongs to is found by its content: that whose last request has
    most of its messages at the beginning of the new one. A client that asks for a title in
    between, or lets several agents work, has several. A request that shares less than half of a
    conversation begins one of its own, and leaves that one as it is.

    ``budget`` is about how many bytes of memory all of them may hold; those that were not used for
    the longest time go first. The other arguments are those of ``Session``. A pool knows only what
    it was given: callers that must not share anything have a pool each. For one thread at a time.
    """

    def __init__(self, *, budget: int = BUDGET, **options: Any) -> None:
        self._options, self._budget = options, budget
        self._sessions: list[Session] = []  # the last used comes last

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def size(self) -> int:
        """About how many bytes of memory all sessions hold."""
        return sum(session.size for session in self._sessions)

    def convert(self, doc: Json | bytes, *, capsule: Json | None = None) -> Result:
        """The request of some conversation, in the target's dialect."""
        session = self.session_of(doc)
        try:
            return session.convert(doc, capsule=capsule)
        finally:
            self.shrink()

    def session_of(self, doc: Json | bytes) -> Session:
        """The session that a request continues, or a new one."""
        if doc.__class__ is not bytes:  # of which nothing is remembered
            return Session(**self._options)
        found, most = None, 0
        for session in self._sessions:
            if (shared := session.shared(doc)) > most:
                found, most = session, shared
        if found is None:
            found = Session(**self._options)
        else:
            self._sessions.remove(found)
        self._sessions.append(found)
        return found

    def shrink(self) -> None:
        """Let go of what was not used for the longest time, until the rest fits the budget."""
        sizes = [session.size for session in self._sessions]
        left = sum(sizes)
        while left > self._budget:
            left -= sizes.pop(0)
            del self._sessions[0]
