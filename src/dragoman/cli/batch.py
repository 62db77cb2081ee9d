"""Going through many documents: what fails is written and counted, and the others go on."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator

from ..core import duplicates
from ..core.surrogates import ESCAPED, parse_leniently, well_formed
from ..errors import CapsuleError, DragomanError, Malformed, Unsayable
from ..ledger import Loss
from . import terminal
from .faults import IO, Fault, explain
from .inputs import Document, Form, Input, Nothing, Reading
from .ledger import Tally
from .outputs import Discard, Plan, Sink
from .progress import Progress
from .wrapped import View, may_wrap, unwrap

ALIKE = 3
"""How often the same failure is written of one file."""


class Batch:
    """The documents of the inputs, one after the other.

    Every document is worked on inside of ``attempt``: a failure is written on stderr, remembered
    for the exit code (the gravest counts) and handed to nobody. With ``stop`` the first one ends it
    all.
    """

    def __init__(
        self,
        inputs: list[Input],
        *,
        stop: bool = False,
        tally: Tally | None = None,
        view: View | None = None,
        quiet: bool = False,
    ) -> None:
        self.quiet = quiet
        self.inputs = inputs
        self.view = view or View()
        self.skipped = 0
        """How many documents of folders are no conversations."""
        self.tally = tally
        self.stop = stop
        self.code = 0
        self.good = 0
        self.fault: Fault | None = None
        """The failure of the last attempt, if it failed."""
        self.passed = False
        """Whether the last document was passed over."""
        self.failures = 0
        self.alike: Counter[str] = Counter()  # of one file: what went wrong, and how often
        self.progress = Progress(inputs)

    @property
    def exit_code(self) -> int:
        """The gravest; and where all that folders hold was passed over, nothing was done."""
        return IO if not self.code and self.skipped and not self.good else self.code

    def readings(
        self, form: Form | None = None, inputs: list[Input] | None = None
    ) -> Iterator[Reading]:
        """The inputs, or these of them, each opened. Where that fails, it is a failed attempt."""
        for input in self.inputs if inputs is None else inputs:
            reading = None
            with self.attempt(input.name, counts=False):
                reading = Reading(input, form)
            if reading is None:
                self.missed(input)
            else:
                with reading:
                    yield reading
                if reading.form == "stream":
                    self.progress.step()

    def documents(self, reading: Reading) -> Iterator[Document]:
        """The documents of one input. Where reading fails, that is a failed attempt."""
        found = reading.documents()
        while True:
            document = None
            with self.attempt(reading.input.name, counts=False):
                document = next(found, None)
            if document is None:
                if self.fault is not None:
                    self.missed(reading.input)
                self.tell_alike(reading.input)
                return
            yield from self.conversations(document)
            self.progress.step()

    def conversations(self, document: Document) -> Iterator[Document]:
        """What stands in a document: itself, or what it wraps. Where that fails, it is written."""
        if not self.quiet and not document.is_packed:
            self.tell_halves(document)
        wraps = bool(self.view.at) or document.is_packed or may_wrap(document.data)
        tells = (wraps or self.tally is None) and not document.is_packed
        twice = self.tell_twice(document) if tells else ()
        if not wraps:
            yield document
            return
        found = unwrap(document, self.view)
        while True:
            inner = None
            with self.attempt(document, counts=False):
                inner = next(found, None)
            if inner is None:
                if self.fault is not None:
                    self.missed(document.input)
                return
            if inner.problem is not None:  # of one record; the others go on
                with self.attempt(inner, counts=False):
                    raise inner.problem
                if self.fault is not None:
                    self.missed(inner.input, inner.line)
                continue
            if inner is not document:  # else its conversion tells of it
                inner.notes, twice = (*twice, *inner.notes), ()
            yield inner

    def tell_alike(self, input: Input) -> None:
        """How many lines have failed as others of the same file did; the report has them all."""
        for message, count in self.alike.items():
            if count > ALIKE:
                more = terminal.plural(count - ALIKE, "more line")
                name, spelled = terminal.bold(input.name), terminal.clean(message)
                self.say(f"{name}: {terminal.red('error')}: {more}: {spelled}")
        self.alike.clear()

    def tell_halves(self, document: Document) -> None:
        """Lone surrogates are reported where they are met; what became of them is in the ledger."""
        found = well_formed(document.data) if ESCAPED.search(document.data) else None
        if found is not None:
            places = ", ".join(found.places[:3]) + ", ..." * (len(found.places) > 3)
            count = terminal.plural(len(found.places), "text")
            self.say(f"{terminal.bold(document.name)}: lone surrogate in {count}: {places}")

    def tell_twice(self, document: Document) -> tuple[Loss, ...]:
        """Keys that an object has twice: of the values before the last, nothing is ever read."""
        try:
            losses = duplicates.losses(document.data, parse_leniently(document.data))
        except Malformed:
            return ()  # which is written when it is read
        if losses and self.tally is None and not self.quiet:
            places = ", ".join(terminal.clean(loss.path) for loss in losses[:3])
            places += ", ..." * (len(losses) > 3)
            name = terminal.bold(document.name)
            self.say(f"{name}: duplicate key, the last value is read: {places}")
        return losses

    def missed(self, input: Input, line: int | None = None) -> None:
        """What could not be read, or not to its end, counts as one document that failed."""
        if self.tally is not None:
            self.tally.add((), self.fault, input=input.name, line=line)

    def every(self, form: Form | None = None) -> Iterator[Document]:
        """The documents of all inputs."""
        for reading in self.readings(form):
            yield from self.documents(reading)

    def write(self, plan: Plan, form: Form | None, each: Callable[[Reading, Sink], int]) -> int:
        """Every input to its place: ``each`` writes one, and tells how many documents it wrote.

        Where nothing could be written there is no file; and no file is written over in its own
        place unless all of it could be. Gives the exit code.
        """
        for inputs, place in plan.groups():
            told = self.tally.documents if self.tally else 0
            attempt = self.attempt(inputs[0].name if inputs else "", counts=False)
            with attempt, plan.writing(place, inputs) as sink:
                failed, written = self.failures, 0
                for reading in self.readings(form, inputs):
                    written += each(reading, sink)
                if not written and self.skipped:
                    raise Discard
                if self.failures > failed and (plan.in_place or not written):
                    if plan.in_place and written:
                        self.say(f"{terminal.bold(inputs[0].name)}: unchanged")
                    raise Discard
            if self.fault is not None and self.tally and self.tally.documents == told:
                self.missed(inputs[0])  # there is no place for it
        self.progress.clear()
        return self.exit_code

    @contextlib.contextmanager
    def attempt(self, what: Document | str, *, counts: bool = True) -> Iterator[None]:
        """Work on one document; ``self.fault`` tells afterwards whether it failed."""
        self.fault, self.passed = None, False
        try:
            yield
            self.good += counts
        except (DragomanError, Fault) as problem:
            if isinstance(what, str):
                self.note(explain(problem, name=what))
            elif isinstance(problem, Nothing) and what.input.base is not None:
                self.skip(what, problem)
            else:
                self.note(explained(problem, what))

    def skip(self, document: Document, problem: Nothing) -> None:
        """A file of a folder that is no conversation: nobody has written that it is one."""
        self.skipped += 1
        self.passed = True
        if self.tally is not None:
            self.tally.skipped += 1
        if not self.quiet:
            self.say(terminal.dim(f"{document.name}: skipped, {problem.message}"))

    def note(self, fault: Fault) -> None:
        """A failure: said, and counted."""
        self.fault = fault
        self.failures += 1
        self.code = max(self.code, fault.exit_code)
        self.progress.clear()
        if self.stop:
            raise fault
        self.alike[fault.message] += 1
        if self.alike[fault.message] <= ALIKE:
            fault.show()

    def say(self, line: str) -> None:
        """A line for people, not into the progress."""
        self.progress.clear()
        terminal.say(line)


def explained(problem: Exception, document: Document) -> Fault:
    """What went wrong with a document, by its place in the text that people have."""
    if isinstance(problem, Malformed | Unsayable) and not isinstance(problem, CapsuleError):
        if document.place is not str:
            problem = type(problem)(problem.what, document.place(problem.at))
    line = document.line
    return explain(problem, name=document.input.name, data=document.text, line=line)
