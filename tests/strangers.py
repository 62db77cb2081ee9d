"""Stranger's keys: an unknown key in every object, and every known key under another name.

A reader that takes a shape for another by the number of its keys loses what it did not look at.
So each object of a document gets a key that nobody knows, and each of its keys is renamed, one at
a time. The same dialect must give the same document, or refuse it. Another must carry the key
(inside free JSON: schemas, arguments, metadata) or report it, at its place. Whatever happens, each
loss and each refusal points at a place that exists, and what is written can be read.

A key is looked for in plain JSON: our readers are asked only whether they refuse a document.

The same holds for the events of a stream, one at a time: the bytes stay, or are refused; in another
dialect the key is in the bytes, or is reported, where it stands in the collected response or at
what the event is about.
"""

from __future__ import annotations

import json
import random
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import leaves
from dragoman import Malformed, Transcoder, Unsayable, convert, dialects, read
from dragoman.ledger import Ledger
from dragoman.streams.framing import Frame, framer, write_frame
from dragoman.testing import resolves

ADDED, MARK, VALUE = "zq_added", "zq_", "zq-stranger"

# Codes of losses by which all is lost that stands below their pointer.
WHOLE = frozenset(
    {
        "extras", "raw", "hosted", "media", "tool", "tool_result", "tool_result.content",
        "content.role", "reasoning", "reasoning.signature", "refusal", "candidates", "passage",
        "cache", "text.citations", "usage", "response.echo", "response.failure", "metadata",
        "output", "thinking", "logprobs", "logit_bias", "tool_choice", "stop.detail",
        "message.empty", "training.rejected", "training.unanswered", "compaction",
    }
)  # fmt: skip
# What is told in another way, as a whole: a schema as another schema, or JSON without a schema.
RETOLD = frozenset({"tool.schema", "output.schema", "output", "tool_call.arguments"})


class Stranger(NamedTuple):
    """A document with one strange key, the pointer of that key, and what stands under it."""

    document: Any
    path: tuple[Any, ...]
    key: str
    value: Any

    @property
    def pointer(self) -> str:
        steps = (*self.path, self.key)
        return "".join("/" + str(s).replace("~", "~0").replace("/", "~1") for s in steps)


def strangers(document: Any, seen: set[Any], about: tuple[str, ...]) -> Iterator[Stranger]:
    """One document per strange key; shapes that were ``seen`` are not tried again."""
    for path, holder in objects(document):
        shape = (*about, kinds_on(document, path), shape_of(holder))
        for key in (None, *holder):
            if (*shape, key) in seen:
                continue
            seen.add((*shape, key))
            if key is None:
                changed = holder | {ADDED: VALUE}
                yield Stranger(edited(document, path, changed), path, ADDED, VALUE)
            else:
                new = MARK + key
                changed = {new if k == key else k: v for k, v in holder.items()}
                yield Stranger(edited(document, path, changed), path, new, holder[key])


def borrowed(
    document: Any, keys: Sequence[tuple[str, Any]], seen: set[Any], about: tuple[str, ...]
) -> Iterator[Stranger]:
    """One document per object and key that has a meaning elsewhere, in its kin or other parts."""
    for path, holder in objects(document):
        shape = (*about, kinds_on(document, path), shape_of(holder))
        for number, (key, value) in enumerate(keys):
            if key in holder or (*shape, number) in seen:
                continue
            seen.add((*shape, number))
            yield Stranger(edited(document, path, holder | {key: value}), path, key, value)


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from objects(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from objects(item, (*path, index))


def edited(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = edited(value[path[0]], path[1:], new)
    return copy


def kinds_on(document: Any, path: tuple[Any, ...]) -> str:
    """The way to a place, by the kinds of the objects on it and not by their numbers."""
    steps: list[str] = []
    for step in path:
        document = document[step]
        kind = kind_of(document) if isinstance(document, dict) else ""
        steps.append(f"{'*' if isinstance(step, int) else step}<{kind}>")
    return "/".join(steps)


def shape_of(holder: dict[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((key, kind_of(value)) for key, value in holder.items())


def kind_of(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("type") or value.get("role") or sorted(value)[:1])
    if isinstance(value, list):
        return ",".join(sorted({kind_of(item) for item in value if isinstance(item, dict)}))
    return type(value).__name__ if value else "blank"


def sample(items: Sequence[Any], count: int, seed: str) -> list[Any]:
    """Some of the items, the same ones each time."""
    return random.Random(seed).sample(list(items), min(count, len(items)))


# -- the law ----------------------------------------------------------------------------------


def fault(stranger: Stranger, dialect: str, target: str, facet: str) -> str | None:
    """What is wrong with a conversion of a strange document; None if nothing is."""
    try:
        result = convert(stranger.document, source=dialect, target=target, facet=facet, now=0)
    except Malformed as problem:
        lost = not resolves(stranger.document, problem.at)
        return f"{problem}, which is nowhere" if lost else None
    except Unsayable:
        return None
    for loss in result.losses:
        if not resolves(stranger.document, loss.path):
            return f"{loss}, which is nowhere"
    if target == dialect:
        if text(result.document) != text(stranger.document):
            return f"{stranger.pointer} does not come back"
        if result.losses:
            return f"a loss at home: {result.losses[0]}"
        speaker = dialects.get(dialect)
        back = speaker.write(speaker.read(stranger.document, facet), Ledger())
        if speaker.keeps_source:
            there = text(back) == text(stranger.document)
        else:
            there = stranger.value in (None, "", [], {}) or travels(stranger, back)
        return None if there else f"{stranger.pointer} does not come back without its source"
    try:
        read(result.document, target, facet=facet)
    except Malformed as problem:
        return f"{stranger.pointer} makes a document that cannot be read: {problem}"
    if stranger.value in (None, "", [], {}) or travels(stranger, result.document):
        return None
    if any(reports(loss, stranger.pointer) for loss in result.losses):
        return None
    return f"{stranger.pointer} vanishes"


# -- the law for streams ----------------------------------------------------------------------


def frames_of(data: bytes, dialect: str) -> list[Frame]:
    frames = framer(dialects.get(dialect).framings or dialects.get(dialect).framing)
    return [*frames.feed(data), *frames.close()]


def written(frames: Sequence[Frame], dialect: str) -> bytes:
    return b"".join(write_frame(dialects.get(dialect).framing, frame) for frame in frames)


def strange_streams(
    frames: Sequence[Frame], dialect: str, seen: set[Any]
) -> Iterator[tuple[str, Stranger, bytes]]:
    """Streams with a strange key in one event: which event it is, what it became, and the bytes."""
    for number, (name, data) in enumerate(frames):
        before, after = frames[:number], frames[number + 1 :]
        for kind, stranger in strange_events(name, data, seen):
            frame = (name, json.dumps(stranger.document).encode())
            yield kind, stranger, written([*before, frame, *after], dialect)
        if is_packed(dialect):
            for kind, stranger in strange_events(name, unpacked(data), seen):
                event = b64encode(json.dumps(stranger.document).encode()).decode()
                frame = (name, json.dumps(json.loads(data) | {"bytes": event}).encode())
                yield kind, stranger, written([*before, frame, *after], dialect)


def strange_events(name: str | None, data: bytes, seen: set[Any]) -> Iterator[tuple[str, Stranger]]:
    try:
        event = json.loads(data)
    except ValueError:
        return  # [DONE]
    kind = f"{name or (event.get('type') if isinstance(event, dict) else '')}"
    for stranger in strangers(event, seen, (kind,)):
        yield kind, stranger


def is_packed(dialect: str) -> bool:
    """Whether its frames hold the events of another vendor in base64, as Amazon's do."""
    return ("bytes", None) in dialects.get(dialect).stream_signs


def unpacked(data: bytes) -> bytes:
    """The event that a frame holds, if it holds one."""
    return b64decode(json.loads(data).get("bytes") or "")


def stream_fault(stranger: Stranger, data: bytes, source: str, target: str) -> str | None:
    """What is wrong with a stream of another dialect, made of one with a strange key."""
    transcoder = Transcoder(source, target, now=0)
    spelled = transcoder.feed(data) + transcoder.close()
    if transcoder.problem is not None or transcoder.reader.truncated:
        return None  # refused, or no end in sight: the target fails, and says so
    if source == target:
        return None if spelled == data else f"{stranger.pointer} does not pass"
    if transcoder.reader.failure is not None:
        return None  # an error is a document of its own, for which the law at rest holds
    document, losses = transcoder.reader.document(), transcoder.losses
    for loss in losses:
        if not resolves(document, loss.path):
            return f"{loss}, which is nowhere"
    if stranger.value in (None, "", [], {}) or stranger.key.encode() in plain(spelled, target):
        return None
    if any(repr(stranger.key) in loss.why or loss.what == "stream.event" for loss in losses):
        return None
    places = [(*path, stranger.key) for path, item in objects(document) if stranger.key in item]
    pointers = [Stranger(None, place[:-1], place[-1], None).pointer for place in places]
    if any(tells(loss, at) for loss in losses for at in pointers):  # LiteLLM says some of it twice
        return None
    return f"{stranger.pointer} vanishes"


def plain(data: bytes, dialect: str) -> bytes:
    """The bytes of a stream, and what its frames hold."""
    if not is_packed(dialect):
        return data
    return data + b"".join(unpacked(frame) for _, frame in frames_of(data, dialect))


ABOUT_A_KEY = (" of the event ", "which one event has")


def tells(loss: Any, pointer: str) -> bool:
    """As ``reports``; and that what came bit by bit is another text in the end.

    A loss of another key stands at what that key belongs to, and tells of that key alone.
    """
    if any(words in loss.why for words in ABOUT_A_KEY):
        return False
    return reports(loss, pointer) or (
        loss.what == "stream.text" and f"{pointer}/".startswith(f"{loss.path}/")
    )


def reports(loss: Any, pointer: str) -> bool:
    """Whether a loss tells of a key: at its place, by its name (of who stores a file, for one), or
    of something dropped with all it held."""
    if loss.path == pointer:
        return True
    if not pointer.startswith(loss.path + "/"):
        return False
    if names(loss, pointer):
        return True
    if loss.what == "session.line":
        return leaves.covers(loss, pointer[len(loss.path) + 1 :].split("/"))
    if loss.what in RETOLD and loss.kind != "invented":
        return True
    return loss.kind == "dropped" and loss.what in WHOLE


def names(loss: Any, pointer: str) -> bool:
    """Whether a loss names a key of what it points at, in quotes: a word of its reason may be a
    common key by chance."""
    key = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return repr(key) in loss.why


def travels(stranger: Stranger, output: Any) -> bool:
    """Whether the key stands in the output, as a key or in a text; an added one with its value."""
    spelled = text(output)
    if stranger.key not in spelled:  # JSON that became data
        strings = (leaf.value for leaf in leaves.walk(output) if isinstance(leaf.value, str))
        data = (string.rpartition(";base64,")[2] for string in strings)
        spelled = "".join(filter(None, map(leaves.decoded, data)))
    return stranger.key in spelled and (stranger.key != ADDED or VALUE in spelled)


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
