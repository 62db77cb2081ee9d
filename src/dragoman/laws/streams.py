"""The laws of streams: streaming equals batch, however cut; what breaks off is no success."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from msgspec.structs import replace

from .. import dialects
from ..convert import convert
from ..core.walk import meaning
from ..ledger import Ledger, Loss
from ..model import Json, Response
from ..streams.framing import framer, write_frame
from ..streams.transcoder import Transcoder, collect, decompose
from .cases import Document
from .deviations import REPEATING, Excuse, frames_of
from .difference import difference, frames_difference


def stream_and_back(document: Document) -> None:
    """A response that is written as a stream and collected again means the same."""
    data, speaker = decompose(document.body, document.dialect), dialects.get(document.dialect)
    got = collect(data, document.dialect).document
    back, meant = (meaning(speaker.read(doc, "response")) for doc in (got, document.body))
    assert back == meant, difference(back, meant)


def streaming_equals_batch(data: bytes, source: str, target: str) -> None:
    """What is collected from the transcoded bytes is the conversion of the collected source.

    In meaning, in form and in the ledger. The bytes are read by the target's own reader, so that an
    event which its writer omits is noticed. Where the ledger has ``stream.order`` for a response,
    its blocks may have another order and other boundaries; where it has ``stream.text`` for a
    block, that block may have another text. Everything else is as in the conversion of the whole.
    """
    transcoder = Transcoder(source, target, now=0)
    written = transcoder.feed(data) + transcoder.close()
    assert {loss.target for loss in transcoder.losses} <= {transcoder.target.name}
    whole, got = collect(data, source), collect(written, target).document
    if transcoder.response.failure is not None:
        _fails_alike(transcoder, written == data, got)
        return
    batch = convert(whole.document, source=source, target=target, facet="response", now=0)
    if transcoder.target.keeps_source:  # of a stream there is no document yet
        batch.document.pop("source", None)
    lost, declared = _flight_losses(transcoder.losses), _flight_losses(batch.losses)
    if late := [at for at in _late(transcoder) if f"dropped extras at {at}" not in declared]:
        # A relative would have been passed on what came when its block had been written.
        rest = _without_places(whole.document, late)
        batch = convert(rest, source=source, target=target, facet="response", now=0)
        declared = _flight_losses(batch.losses) + [f"dropped extras at {at}" for at in late]
    # Text that is no JSON object is known as such to the stream alone: a document has it in one.
    declared += [loss for loss in _flight_losses(whole.losses) if loss in lost]
    if written == data:
        declared = lost  # what passes as it came loses nothing
    assert lost == sorted(declared), f"streamed: {lost}\nwhole: {declared}"
    excuse = Excuse(transcoder.losses, whole, source, data)
    excuse.compare(got, batch.document, target)
    if transcoder.document is not None and not late:
        excuse.compare(got, transcoder.document, target)
    if target in REPEATING and written != data:
        excuse.compare_pieces(frames_of(written, target), target)


def _late(transcoder: Transcoder) -> list[str]:
    """The fields that came too late, or that only a whole response holds, and that are reported."""
    lost = [loss for loss in transcoder.losses if loss.what == "extras"]
    reported = {loss.path for loss in lost}
    unheld = [loss.path for loss in lost if " stream has no field for it" in loss.why]
    return [*(at for at in transcoder.reader.late if at in reported), *unheld]


def _without_places(document: Json, pointers: Iterable[str]) -> Json:
    found = json.loads(json.dumps(document))
    for pointer in pointers:
        *way, last = pointer.replace("~1", "\0").split("/")[1:]
        holder = found
        for key in way:
            key = key.replace("\0", "/").replace("~0", "~")
            holder = holder[int(key) if isinstance(holder, list) else key]
        holder.pop(last.replace("\0", "/").replace("~0", "~"), None)
    return found


def _fails_alike(transcoder: Transcoder, passed: bool, got: Json) -> None:
    """A stream that failed fails in the target, with what the target writes for a failure."""
    log, writer, reader = Ledger(now=0), transcoder.target, transcoder.reader
    wanted = writer.write(transcoder.response, log)
    if not transcoder.same:  # what only the events said, and no response has a place for
        reader.note_halves(log)
        reader.note_unknown(log, f"only {reader.dialect.name} knows")
        document = reader.document()
        log.losses = [
            replace(loss, path=reader.dialect.locate(document, loss.path)) for loss in log.losses
        ]
    lost, declared = _flight_losses(transcoder.losses), _flight_losses(log.losses)
    assert passed or lost == declared, f"streamed: {lost}\nwhole: {declared}"
    failed, meant = writer.read(got, "response"), writer.read(wanted, "response")
    assert isinstance(failed, Response)
    assert isinstance(meant, Response)
    assert failed.failure is not None, "a failure passes for a response"
    assert meaning(failed) == meaning(meant), difference(got, wanted)


def chunks_do_not_matter(data: bytes, source: str, target: str, size: int) -> None:
    """Any split of the bytes gives the same bytes."""
    whole, pieces = Transcoder(source, target), Transcoder(source, target)
    wanted = whole.feed(data) + whole.close()
    parts = [pieces.feed(data[i : i + size]) for i in range(0, len(data), size)]
    written = b"".join(parts) + pieces.close()
    assert written == wanted, frames_difference(written, wanted, target)
    assert pieces.losses == whole.losses, difference(pieces.losses, whole.losses)


def splicing_changes_nothing(
    pieces: Sequence[bytes], source: str, target: str, **options: Any
) -> tuple[int, int]:
    """Frames that are spliced give what they give when each is read: bytes, losses, documents.

    Returns how many frames were spliced, and how many there were.
    """
    spliced, read = (Transcoder(source, target, **options) for _ in range(2))
    read._splicer.learn = lambda *_: None  # type: ignore[method-assign]
    for piece in pieces:
        written, wanted = spliced.feed(piece), read.feed(piece)
        assert written == wanted, frames_difference(written, wanted, target)
    written, wanted = spliced.close(), read.close()
    assert written == wanted, frames_difference(written, wanted, target)
    assert spliced.losses == read.losses, difference(spliced.losses, read.losses)
    for one, other in (
        (spliced.document, read.document),
        (spliced.reader.document(), read.reader.document()),
        (repr(spliced.response), repr(read.response)),
        (repr(spliced.problem), repr(read.problem)),
    ):
        assert one == other, difference(one, other)
    assert read.spliced == 0
    assert spliced._count + spliced.spliced == read._count, "not all frames were counted"
    return spliced.spliced, read._count


def cuts_do_not_matter(data: bytes, source: str, target: str, seed: str) -> None:
    """However the bytes are cut, whole or damaged, the result is the same, and it ends once."""
    rng = Random(seed)
    for damaged in _damaged(data, dialects.get(source).framing, rng):
        count = min(len(damaged), rng.choice((1, 2, 5, 20)))
        cut_alike(damaged, source, target, sorted(rng.sample(range(len(damaged) + 1), count)))


def cut_alike(data: bytes, source: str, target: str, cuts: list[int]) -> None:
    """Bytes in these pieces give the same result as in one, and it ends once."""
    wanted, got = _cut(data, source, target, []), _cut(data, source, target, cuts)
    assert got == wanted, f"cut at {cuts}: {data!r}"


def _damaged(data: bytes, framing: str, rng: Random) -> Iterator[bytes]:
    """A stream as it is; with stray bytes after it or inside; with a byte changed; cut short."""
    yield data
    yield data + rng.choice(STRAY)
    place = rng.randrange(len(data))
    yield data[:place] + bytes((data[place] ^ 0x5A,)) + data[place + 1 :]
    yield data[: rng.randrange(len(data))]
    place = rng.randrange(len(data))
    yield data[:place] + rng.choice(STRAY) + data[place:]
    if framing == "sse":
        yield data.replace(b"\n", b"\r\n")
        yield data.replace(b"\n", b"\r")


STRAY = (b"\x00\x01", b"{", b"data: {", b"data: {\n\n", b"junk\n\n", b"data:\n\n", b"]", b"}{")


def _cut(data: bytes, source: str, target: str, cuts: list[int]) -> tuple[Any, ...]:
    """All that a transcoder gives for a stream in these pieces."""
    transcoder = Transcoder(source, target, now=0)
    written = [transcoder.feed(data[a:b]) for a, b in pairwise((0, *cuts, len(data)))]
    written.append(transcoder.close())
    assert transcoder.close() == b"", "it ends twice"
    return b"".join(written), transcoder.losses, transcoder.response, transcoder.document


def never_a_false_success(data: bytes, source: str, target: str) -> None:
    """A stream that is truncated, at any place, ends with an error."""
    whole = _ended(data, source, target)
    framing = dialects.get(source).framing
    frames = framer(framing).feed(data)
    for count in range(len(frames)):
        begun = b"".join(write_frame(framing, frame) for frame in frames[:count])
        if not breaks_off(begun, whole, source, target):
            break  # it was whole, and what follows only says so


def breaks_off(begun: bytes, whole: Response, source: str, target: str) -> bool:
    """A part of a stream ends in an error, unless it says all; False where it had ended before."""
    cut = Transcoder(source, target)
    written = cut.feed(begun)
    if cut.ended:
        return False
    ending = cut.close()
    if cut.response.failure is None:
        said_so_far = meaning(cut.response).candidates
        assert said_so_far == meaning(whole).candidates[: len(said_so_far)], (
            "a part passes for the whole"
        )
        return True
    heard = _ended(written + ending, target, target)
    assert heard.failure is not None, f"cut after {len(begun)} bytes: {ending!r}"
    return True


def _ended(data: bytes, source: str, target: str) -> Response:
    """What a transcoder has read, once its source has ended."""
    transcoder = Transcoder(source, target)
    transcoder.feed(data)
    transcoder.close()
    return transcoder.response


def _flight_losses(losses: Iterable[Loss]) -> list[str]:
    written = (loss for loss in losses if not loss.what.startswith("stream."))
    return sorted(f"{loss.kind} {loss.what} at {loss.path}" for loss in written)
