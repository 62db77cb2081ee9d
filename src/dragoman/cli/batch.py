"""Going through many documents: what fails is said and counted, and the others go on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from ..errors import DragomanError
from . import terminal
from .faults import Fault, explain
from .inputs import Document, Form, Input, Reading
from .ledger import Tally
from .outputs import Discard, Plan, Sink, write_to
from .progress import Progress


class Batch:
    """The documents of the inputs, one after the other.

    Every document is worked on inside of ``attempt``: a failure there is said on stderr, remembered
    for the exit code (the gravest counts) and handed to nobody. With ``stop`` the first one ends it
    all.
    """

    def __init__(
        self, inputs: list[Input], *, stop: bool = False, tally: Tally | None = None
    ) -> None:
        self.inputs = inputs
        self.tally = tally
        self.stop = stop
        self.exit_code = 0
        self.fault: Fault | None = None
        """The failure of the last attempt, if it failed."""
        self.failures = 0
        self.progress = Progress(inputs)

    def readings(
        self, form: Form | None = None, inputs: list[Input] | None = None
    ) -> Iterator[Reading]:
        """The inputs, or these of them, each opened. Where that fails, it is a failed attempt."""
        for input in self.inputs if inputs is None else inputs:
            reading = None
            with self.attempt(input.name):
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
            with self.attempt(reading.input.name):
                document = next(found, None)
            if document is None:
                if self.fault is not None:
                    self.missed(reading.input)
                return
            yield document
            self.progress.step()

    def missed(self, input: Input) -> None:
        """What could not be read, or not to its end, counts as one document that failed."""
        if self.tally is not None:
            self.tally.add((), self.fault, input=input.name, line=None)

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
            with write_to(place) as sink:
                failed, written = self.failures, 0
                for reading in self.readings(form, inputs):
                    written += each(reading, sink)
                if self.failures > failed and (plan.in_place or not written):
                    if plan.in_place and written:
                        self.say(f"{terminal.bold(inputs[0].name)}: left as it was")
                    raise Discard
        self.progress.clear()
        return self.exit_code

    @contextlib.contextmanager
    def attempt(self, what: Document | str) -> Iterator[None]:
        """Work on one document; ``self.fault`` tells afterwards whether it failed."""
        self.fault = None
        try:
            yield
        except (DragomanError, Fault) as problem:
            if isinstance(what, str):
                fault = explain(problem, name=what)
            else:
                fault = explain(problem, name=what.input.name, data=what.data, line=what.line)
            self.note(fault)

    def note(self, fault: Fault) -> None:
        """A failure: said, and counted."""
        self.fault = fault
        self.failures += 1
        self.exit_code = max(self.exit_code, fault.exit_code)
        self.progress.clear()
        if self.stop:
            raise fault
        fault.show()

    def say(self, line: str) -> None:
        """A line for people, not into the progress."""
        self.progress.clear()
        terminal.say(line)
