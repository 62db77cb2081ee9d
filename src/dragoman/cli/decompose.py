"""``dragoman decompose``: a response as a stream."""

from __future__ import annotations

from ..streams.transcoder import decompose
from . import options
from .app import command as make_command
from .batch import Batch
from .faults import usage
from .inputs import Reading, expand
from .outputs import Plan, Sink
from .sources import Teller, identify


@make_command(
    "decompose",
    "dragoman decompose response.json",
    "dragoman decompose -f anthropic response.json | dragoman convert -f anthropic -t chat",
)
@options.files()
@options.source_option
@options.to_option
@options.quiet_option
def command(files: tuple[str, ...], source: str | None, output: str | None, quiet: bool) -> int:
    """Write a response as a stream."""
    inputs = expand(files)
    batch, teller = Batch(inputs), Teller(quiet)
    plan = Plan(inputs, output, suffix=".sse")
    if len(inputs) > 1 and plan.together:
        raise usage(
            "several streams cannot be written to one output", "-o DIR/ writes one file per input"
        )

    def each(reading: Reading, sink: Sink) -> int:
        for document in batch.documents(reading):
            with batch.attempt(document):
                found = identify(document, source, "response")
                stream = decompose(document.data, found.dialect)
                if written := teller.tell(document, found):
                    batch.say(written)
                sink.write(stream)
        return int(batch.fault is None)

    return batch.write(plan, "json", each)
