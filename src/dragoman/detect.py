"""Detection of dialect and facet: every dialect rates a document; a tie has no result."""

from __future__ import annotations

from contextlib import suppress

from . import dialects
from .core import lines
from .core.reading import LIMIT, UNREADABLE, decode, is_longer, load
from .dialect import Dialect, Facet, Guess
from .errors import Malformed
from .model import Json

FLOOR = 0.1
"""Guesses below this confidence are omitted."""
MARGIN = 0.01
"""Two guesses closer than this are tied."""
BEGINNINGS = {b"{": "ndjson", b"[": "array", b"\0": "eventstream"}
"""The first byte of a stream -> its framing; the length of a binary frame begins with a zero."""
_SIGNIFICANT = 16
"""How many lines of a file of JSON lines are looked at."""
_LINE_KEYS = frozenset({"type", "kind", "sessionId", "payload"})
"""Of these, one is in each line of the sessions that are files of lines."""
FRAMES = 8
"""How many frames of a stream are read."""


class Guesses(tuple[Guess, ...]):
    """Guesses, best first; empty if no dialect is likely, or if the best are tied.

    ``tied`` tells these two apart: it has the guesses that are equally likely.
    """

    tied: tuple[Guess, ...] = ()

    @classmethod
    def of(cls, found: list[Guess]) -> Guesses:
        rivals = alike(found)
        guesses = cls(() if rivals else found)
        guesses.tied = tuple(rivals)
        return guesses


def detect(
    doc: Json | bytes, *, facet: Facet | str | None = None, limit: int | None = LIMIT
) -> Guesses:
    """The dialects and facets that match a document, best first, each with its evidence.

    Nothing, if there is no likely guess or if the best two are tied: ``detect(doc)[0]`` is never
    arbitrary. Those that are tied are in ``detect(doc).tied``. With ``facet``, only
    guesses of that facet count; with ``"stream"``, the bytes of a stream are looked at. ``limit``
    is how many bytes a document may have (None: any number).

    >>> detect({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]})[0].dialect
    'openai-chat'
    >>> detect([{"role": "user", "content": "Hi"}])  # valid in several dialects
    ()
    >>> [guess.dialect for guess in detect([{"role": "user", "content": "Hi"}]).tied]
    ['anthropic-messages', 'openai-chat', 'openai-responses']
    >>> detect({"greeting": "Hi"}).tied  # in none
    ()
    """
    if is_longer(doc, limit):
        raise Malformed(f"a document of more than {limit:,} bytes")
    if facet == "stream" and isinstance(doc, bytes | bytearray | memoryview):
        guess = detect_stream(bytes(doc))
        return Guesses.of([] if guess is None else [guess])
    if isinstance(doc, bytes | bytearray | memoryview):
        data = bytes(doc)
        from .core.surrogates import parse_leniently  # parsed values have no halves of characters

        return weigh(parse_leniently(as_lines(data) or data), facet)
    return weigh(load(doc), facet)


def as_lines(data: bytes) -> bytes | None:
    """The lines of a file as one JSON text, if they are of a dialect that has such files."""
    if not lines.are_several(data) or not begins_lines(_beginning(data)):
        return None
    return lines.as_list(data)


def begins_lines(data: bytes) -> bool:
    """Whether some lines are the beginning of a file of JSON lines that is one document."""
    from .core.surrogates import parse_leniently

    values = parse_leniently(lines.as_list(data))
    first = next((value for value in values if value.__class__ is dict), {})
    if _LINE_KEYS.isdisjoint(first):  # as with most files; no dialect is loaded for them
        return False
    found = weigh(values)
    return bool(found) and dialects.get(found[0].dialect).lines


def _beginning(data: bytes) -> bytes:
    """So many lines as tell what the others are."""
    end = -1
    for _ in range(_SIGNIFICANT):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return data
    return data[:end]


def weigh(value: Json, facet: str | None = None) -> Guesses:
    """``detect`` for a value that is already parsed and validated."""
    return Guesses.of(candidates(value, facet))


def candidates(value: Json, facet: str | None = None) -> list[Guess]:
    """Every guess, best first; the best may be tied."""
    try:
        guesses = [
            Guess(speaker.name, found, confidence, evidence)
            for speaker in _speakers()
            for found, confidence, evidence in speaker.sniff(value)
            if confidence >= FLOOR and facet in (None, found)
        ]
    except RecursionError:
        raise Malformed("nested too deeply") from None
    guesses.sort(key=lambda g: (-g.confidence, -_depth(g), g.dialect, g.facet))
    return guesses


def is_tied(guesses: list[Guess]) -> bool:
    """Whether the best two are too close to choose; a variant wins over its base."""
    return bool(alike(guesses))


def alike(guesses: list[Guess]) -> list[Guess]:
    """The best guesses, where there are several that are too near to each other to choose."""
    near = [g for g in guesses if guesses[0].confidence - g.confidence < MARGIN]
    rivals = [g for g in near[1:] if not _is_base(g, guesses[0])]
    return [guesses[0], *rivals] if rivals else []


def detect_stream(data: bytes) -> Guess | None:
    r"""The dialect of a stream by its first frames; None if they do not tell.

    >>> detect_stream(b'data: {"object": "chat.completion.chunk", "choices": []}\n\n').dialect
    'openai-chat'
    """
    from .streams.framing import framer  # only those who have a stream need it

    kind = BEGINNINGS.get(data.lstrip()[:1], "sse")
    speakers = _streamers(kind)
    if kind == "eventstream" and speakers:
        return _of_amazon(data, speakers)
    frames = framer(kind)
    first: dict[str, Json] | None = None
    for _, frame in [*frames.feed(data), *frames.close()][:FRAMES]:
        try:
            doc = decode(frame)
        except UNREADABLE:
            continue
        if doc.__class__ is not dict:
            continue
        first = first or doc
        for speaker in speakers:
            for key, sign in speaker.stream_signs:
                if key in doc and doc[key] == sign:
                    return Guess(speaker.name, "stream", 0.95, (f"a frame with {key} {sign!r}",))
                if key in doc and sign is None:
                    return Guess(speaker.name, "stream", 0.9, (f"a frame with the key {key!r}",))
    return None if first is None else _by_error(first, kind)


def _of_amazon(data: bytes, speakers: list[Dialect]) -> Guess:
    """Whose binary frames these are: of the one whose sign the first has, or that has none."""
    from .streams.framing import framer

    why = "binary frames, as Amazon sends them"
    with suppress(Malformed, IndexError, *UNREADABLE):
        doc = decode(framer("eventstream").feed(data)[0][1])
        for speaker in speakers:
            for key, _ in speaker.stream_signs:
                if doc.__class__ is dict and key in doc:
                    return Guess(speaker.name, "stream", 0.95, (why, f"a frame with {key!r}"))
    usual = next((s for s in speakers if not s.stream_signs), speakers[-1])
    return Guess(usual.name, "stream", 0.95, (why,))


def _by_error(doc: dict[str, Json], kind: str) -> Guess | None:
    """The dialect of a stream that begins with an error: whose error it is."""
    guesses = [g for g in candidates(doc, "error") if _is_frame(doc, dialects.get(g.dialect), kind)]
    if not guesses or is_tied(guesses):
        return None
    best = guesses[0]
    return Guess(
        best.dialect, "stream", best.confidence, ("an error as the first frame", *best.evidence)
    )


def _is_frame(doc: dict[str, Json], speaker: Dialect, kind: str) -> bool:
    """Whether a frame may be of a dialect: all frames have a type, where those that tell have."""
    if not hasattr(speaker, "read_stream") or kind not in _framings(speaker):
        return False
    return "type" in doc or all(key != "type" for key, _ in speaker.stream_signs)


def _framings(speaker: Dialect) -> tuple[str, ...]:
    return ("sse", "array") if speaker.framings == "either" else (speaker.framing,)


def _streamers(kind: str) -> list[Dialect]:
    """The dialects whose streams have evidence of their own; those that inherit it are omitted."""
    first: dict[object, Dialect] = {}
    for name in dialects.names():
        speaker = dialects.get(name)
        if (speaker.stream_signs or kind == "eventstream") and kind in _framings(speaker):
            known = first.get(speaker.stream_signs)
            if known is None or issubclass(type(known), type(speaker)):
                first[speaker.stream_signs] = speaker
    return list(first.values())


def _depth(guess: Guess) -> int:
    """Of how many dialects it is a variant."""
    bases = type(dialects.get(guess.dialect)).__mro__
    return len({vars(base).get("name") for base in bases})


def _is_base(guess: Guess, best: Guess) -> bool:
    """Whether a guess is the base of the best one, which is a variant of it."""
    base, variant = dialects.get(guess.dialect), dialects.get(best.dialect)
    inherits = base.name != variant.name and isinstance(variant, type(base))
    return inherits and guess.facet == best.facet


def _speakers() -> list[Dialect]:
    """The dialects that have evidence of their own.

    A variant that inherits its evidence would always be tied with its base, so it is omitted.
    """
    first: dict[object, Dialect] = {}
    for name in dialects.names():
        speaker = dialects.get(name)
        known = first.get(type(speaker).sniff)
        if known is None or issubclass(type(known), type(speaker)):
            first[type(speaker).sniff] = speaker
    return list(first.values())
