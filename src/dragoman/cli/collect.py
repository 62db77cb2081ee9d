"""``dragoman collect``: a stream as the response that it contains."""

from __future__ import annotations

from collections.abc import Iterable

from ..ledger import Loss
from ..streams.transcoder import Transcoder, collected
from . import ledger, options, printing
from .app import command as make_command
from .batch import Batch
from .inputs import Reading, expand, limit
from .outputs import Plan, Sink
from .sources import Teller, identify_stream
from .streams import ending, transcoded


@make_command(
    "collect",
    "dragoman collect answer.sse",
    "dragoman convert -f chat -t anthropic answer.sse | dragoman collect",
)
@options.files()
@options.source_option
@options.new_output_options
@options.quiet_option
def command(
    files: tuple[str, ...], source: str | None, output: str | None, compact: bool, quiet: bool
) -> int:
    """Collect a stream into the response that it contains.

    The response has the same dialect. A stream that ends in an error gives the error; a truncated
    one gives nothing (exit 4).
    """
    inputs = expand(files)
    batch, teller = Batch(inputs), Teller(quiet)
    plan = Plan(inputs, output, suffix=".json")
    on_a_line = compact or (len(inputs) > 1 and plan.together)

    def each(reading: Reading, sink: Sink) -> int:
        name = reading.input.name
        with batch.attempt(name):
            found, chunks = identify_stream(reading, source)
            document, note, losses = collect(found.dialect, chunks, name)
            for written in (teller.tell(reading, found), note):
                if written and not quiet:
                    batch.say(written)
            if not quiet:
                ledger.show(losses)
            sink.write(printing.json_text(document, on_a_line))
        return int(batch.fault is None)

    return batch.write(plan, "stream", each)


def collect(
    dialect: str, chunks: Iterable[bytes], name: str
) -> tuple[bytes, str, tuple[Loss, ...]]:
    """The reply as JSON, a word on how it ended, and what it has lost of its stream."""
    most = limit()
    transcoder = Transcoder(dialect, dialect, duplicates=True, limit=most, total=most)
    for _ in transcoded(transcoder, chunks):
        pass
    note = ending(transcoder, name)
    result = collected(transcoder)
    return result.to_json(), note, result.losses
