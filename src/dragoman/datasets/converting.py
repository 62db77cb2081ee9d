"""One record: from what was read to the lines that a trainer reads.

``Converter`` is the whole of it, without files: given a record, it gives lines, or the reason why
there are none. It is made from the options alone, so every worker has the same.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .. import dialects
from ..core.reading import encode
from ..core.source import with_source
from ..core.walk import below
from ..dialect import Dialect
from ..errors import DragomanError, Lossy, Malformed, MissingExtra, Unsayable, Unsupported
from ..ledger import Ledger, Loss
from ..model import History, Json, Request, Response
from . import editing
from .detecting import Detector, response_source
from .likeness import Likeness
from .noting import Note, beginning, measure, text_of
from .options import Options, writer_of
from .records import Part, Record
from .redacting import Redactor
from .tokens import counter_of

CARRIED = "source_{}"
"""What a carried column is called whose name the target has itself."""


PROMPTS = frozenset(("system", "instructions", "systemInstruction"))
"""Where a system prompt stands that is no message."""


class Refused(Exception):
    """A record of which no line is made. ``code`` says why in a word."""

    def __init__(self, code: str, why: str, at: str = "") -> None:
        super().__init__(why)
        self.code, self.at = code, at


class Filtered(Exception):
    """A record that is not wanted, by the name of the filter."""


Ready: TypeAlias = tuple[Request, str, bytes, dict[str, Json], list[Loss]]
"""A conversation, its dialect, the digest of how it begins, its columns, what was lost so far."""


class Written(Struct, frozen=True):
    """A line, what it is, and what was lost."""

    data: bytes
    """without a line break"""
    note: Note
    losses: list[Loss]
    document: Json


class Converter:
    """Makes lines of records."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.writer: Dialect = writer_of(options.target)
        self.detector = Detector(options.source and writer_of(options.source).name)
        self.redactor = Redactor(options.redact, options.redact_patterns)
        self.redacts = bool(self.redactor)
        self.looks = options.valid or self.redacts or self.writer.keeps_source
        self.looks |= options.tokenizer is not None
        """Whether somebody looks into what was written, before it is bytes."""
        self.formats = frozenset(writer_of(name).name for name in options.formats)
        self.filters = options.tool_calls is not None
        self.filters |= options.min_chars is not None or options.max_chars is not None
        self.count_tokens: Callable[[str], int] | None = counter_of(options.tokenizer)
        self.likeness = Likeness(options.threshold) if options.dedup == "near" else None
        self.redacted: Counter[str] = Counter()
        self.edits: Counter[str] = Counter()
        self.filtered: Counter[str] = Counter()
        self.renamed: dict[str, str] = {}

    def begin(self) -> None:
        """A new chunk: what was counted and seen is forgotten."""
        self.detector.forget()
        for counts in (self.redacted, self.edits, self.filtered):
            counts.clear()
        self.renamed.clear()

    def clean(self, text: str) -> str:
        """A place or a reason without what is redacted."""
        return self.redactor.text(text, Counter()) if self.redacts else text

    def lines(self, record: Record) -> Iterable[Written | Refused]:
        """The lines of a record, or why there are none. What is not wanted is counted."""
        if record.problem is not None:
            return (refused(record.problem),)
        if self.options.cut is not None:
            return self._turns(record)
        try:
            return (self.write(*self._read(record)),)
        except Filtered as filtered:
            self.filtered[str(filtered)] += 1
        except Exception as problem:  # whatever it is, the others go on
            return (refused(problem),)
        return ()

    def _turns(self, record: Record) -> Iterator[Written | Refused]:
        """A line for each turn, one at a time: together they are as long as the square of it."""
        try:
            tree, *_ = ready = self._read(record)
            for each in self._cut(tree):
                try:
                    yield self.write(each, *ready[1:])
                except Filtered as filtered:
                    self.filtered[str(filtered)] += 1
                except Exception as problem:  # of one turn; the others go on
                    yield refused(problem)
        except Filtered as filtered:
            self.filtered[str(filtered)] += 1
        except Exception as problem:  # whatever it is, the others go on
            yield refused(problem)

    def _read(self, record: Record) -> Ready:
        """A record as it is written."""
        assert record.asked is not None
        source, tree, losses = self.read(record, record.asked)
        if self.formats and source not in self.formats:
            raise Filtered("format")
        conversation = self._conversation(record, tree) if self.options.split else b""
        if self.options.reasoning == "drop":
            tree, count = editing.without_reasoning(tree)
            self.edits["reasoning blocks left out"] += count
        carried = record.carried
        if self.redacts and carried:
            carried = self.redactor.apply(carried, self.redacted)
        return tree, source, conversation, carried, losses

    def _cut(self, tree: Request) -> Iterator[Request]:
        count = end = 0
        for each in editing.turns(tree):
            count, end = count + 1, len(each.messages)
            yield each
        if not count:
            raise Filtered("no turn of the assistant")
        if left := len(tree.messages) - end:
            self.edits["messages after the last turn left out"] += left

    def _conversation(self, record: Record, tree: Request) -> bytes:
        """What decides about the split."""
        name = self.options.conversation
        if name is None:
            return beginning(tree.messages)
        if record.conversation is None:
            raise Refused("column", f"no column {name!r}, which names the conversation")
        return hashlib.blake2b(encode(record.conversation), digest_size=8).digest()

    # -- reading -----------------------------------------------------------------------------------

    def read(self, record: Record, part: Part) -> tuple[str, Request, list[Loss]]:
        """The conversation of a record, its dialect, and what was lost before it was written."""
        value = part.value
        if self.redacts:
            value = self.redactor.apply(value, self.redacted)
        dialect, facet = self.detector.find(value, part.dialect, part.facet)
        if facet not in ("request", "messages"):
            raise Refused(facet, f"{article(facet)} alone is no conversation")
        reader = dialects.get(dialect)
        tree = reader.read(value, facet)
        if isinstance(tree, History):
            tree = Request(None, tree.messages, at=tree.at, extras=tree.extras, dialect=dialect)
        elif reader.name == self.writer.name or self.writer.keeps_source:
            tree = with_source(tree, value, reader)
        assert isinstance(tree, Request)
        if self.options.model is not None:
            tree = replace(tree, model=self.options.model)
        losses = list(record.notes)
        if record.reply is not None:
            tree = self.joined(tree, reader, record.reply, losses)
        elif tree.prefill and reader.name != self.writer.name:
            tree = replace(tree, prefill=None)  # it is what the model said, and is not continued
        return dialect, tree, losses

    def joined(self, tree: Request, reader: Dialect, reply: Part, losses: list[Loss]) -> Request:
        """A request with its reply appended."""
        value = reply.value
        if self.redacts:
            value = self.redactor.apply(value, self.redacted)
        if reply.facet not in (None, "response"):
            raise Refused("error", "the reply is an error, which is no part of a conversation")
        name = reply.dialect or response_source(value, reader.name)
        response = dialects.get(name).read(value, "response")
        assert isinstance(response, Response)
        if response.failure is not None or not response.candidates:
            raise Refused("error", "the reply failed, so it is no part of a conversation")
        log = Ledger(target=self.writer.name)
        for other in response.candidates[1:]:
            log.dropped("candidates", f"/response{other.at}", "a history holds one candidate")
        message = below(response.candidates[0].message, "/response")
        message = dialects.get(name).settle(message, log)
        if not message.content:
            why = "a response without content is not appended to the history"
            log.dropped("message.empty", "/response", why)
        losses += log.losses
        return replace(tree, messages=(*tree.messages, message)) if message.content else tree

    # -- writing -----------------------------------------------------------------------------------

    def write(
        self,
        tree: Request,
        source: str,
        conversation: bytes,
        carried: dict[str, Json],
        before: list[Loss],
    ) -> Written:
        """A conversation as a line."""
        options = self.options
        chars, roles, tools = measure(tree)
        if self.filters:
            if options.tool_calls is not None and bool(tools) is not options.tool_calls:
                raise Filtered("tool calls" if tools else "no tool calls")
            within(chars, options.min_chars, options.max_chars, "characters")
        log = Ledger(target=self.writer.name)
        log.embeds = not (carried or self.looks or source == self.writer.name)
        document = self.writer.write(tree, log)
        if document.__class__ is dict and self.is_empty(document):
            raise Unsayable("there is no message in it, or none that is left", tree.at)
        losses = [*before, *log.losses] if before else log.losses
        if options.fail_on:
            after = Ledger()
            after.losses = losses
            after.enforce(options.fail_on)
        if options.valid and self.problem(document):
            raise Filtered("not valid")
        if self.redacts and (left := self.redactor.finds(document)):
            raise Refused("redaction", f"{left}: still found in what was written")
        tokens = None
        if self.count_tokens is not None:
            tokens = self.count_tokens(spoken(document, tree))
            within(tokens, options.min_tokens, options.max_tokens, "tokens")
        data = encode(document)
        count = len(tree.messages)
        note = Note(0, conversation, source, chars, count, tokens, roles, tools)
        if options.dedup is not None:
            note.content = hashlib.blake2b(data, digest_size=16).digest()
            if self.likeness is not None:
                note.signature = self.likeness.signature(text_of(tree))
        if carried:
            document = self.carry(document, carried)
            data = encode(document)
        note.length = len(data) + 1
        return Written(data, note, losses, document)

    def is_empty(self, document: dict[str, Json]) -> bool:
        """Whether nothing is said in a document: trainers fail on such a record."""
        key = self.writer.history
        return key is not None and document.get(key) == [] and PROMPTS.isdisjoint(document)

    def problem(self, document: Json) -> bool:
        """Whether ``check`` finds anything in a document of the target."""
        return next(iter(self.writer.check(document, "request")), None) is not None

    def carry(self, document: Json, carried: dict[str, Json]) -> Json:
        """A document with the other columns beside it."""
        if document.__class__ is not dict:
            raise Unsupported(f"a document of {self.writer.name} has no fields for other columns")
        out = dict(document)
        for name, value in carried.items():
            if name in out:
                self.renamed[name] = CARRIED.format(name)
                name = CARRIED.format(name)
            out[name] = value
        return out


def within(size: int, least: int | None, most: int | None, what: str) -> None:
    if least is not None and size < least:
        raise Filtered(f"fewer than {least:,} {what}")
    if most is not None and size > most:
        raise Filtered(f"more than {most:,} {what}")


TEXTS = ({"text"}, {"prompt", "completion"})


def spoken(document: Json, tree: Request) -> str:
    """What a tokenizer counts: the text that is trained on, or all that is said."""
    if document.__class__ is dict:
        texts = {key: value for key, value in document.items() if value.__class__ is str}
        if texts.keys() in TEXTS:
            return "".join(texts.values())
    return text_of(tree)


def article(facet: str) -> str:
    return f"{'an' if facet[0] in 'aeiou' else 'a'} {facet.replace('-', ' ')}"


def refused(problem: Exception) -> Refused:
    """Why a record was not converted, without anything that it says."""
    match problem:
        case Refused():
            return problem
        case Unsayable():
            return Refused("unsayable", problem.what, problem.at)
        case Malformed():
            return Refused("malformed", problem.what, problem.at)
        case Lossy():
            codes = dict.fromkeys(f"{loss.kind} {loss.what}" for loss in problem.losses)
            return Refused("loss", f"refused: {', '.join(codes)}")
        case MissingExtra():
            return Refused("extra", str(problem))
        case gzip.BadGzipFile():
            return Refused("damaged", f"damaged: {problem}")
        case OSError():
            return Refused("file", problem.strerror or problem.__class__.__name__)
        case DragomanError():
            return Refused("unknown", str(problem))
        case EOFError() | zlib.error():
            return Refused("damaged", f"damaged: {problem}")
        case RecursionError():
            return Refused("malformed", "nested too deeply")
    return Refused("bug", f"{type(problem).__name__}; please report it")
