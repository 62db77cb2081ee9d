"""The public verbs: convert, read, write, join.

All of them are pure functions: no clock, no randomness, no file, no socket. What a target requires
and a pure function cannot know (a time, a new id) is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from msgspec.structs import replace

from . import capsule as capsules
from . import dialects
from .core import duplicates, lines
from .core.models import DEFAULT, Models, given
from .core.plain import Unusual, is_fit, is_plain_reply
from .core.reading import BYTES, LIMIT, is_longer, load
from .core.source import with_source
from .core.walk import below
from .dialect import Dialect, Facet
from .errors import DragomanError, Malformed, Undetected, Unsupported
from .ledger import Ledger, Loss, Restored
from .model import (
    Failure,
    History,
    Json,
    Message,
    Request,
    Response,
    Text,
    Toolbox,
    ToolChoice,
    Tree,
)
from .result import Result

if TYPE_CHECKING:
    from .core.surrogates import Whole


def convert(
    doc: Json | bytes,
    *,
    source: str | None = None,
    target: str,
    facet: Facet | str = "request",
    fail_on: Iterable[str] = (),
    now: float | None = None,
    ids: Callable[[str], str] | None = None,
    carry: bool = False,
    capsule: Json | None = None,
    model: str | None = None,
    models: Models | Mapping[str, Any] | None = None,
    key: bytes | None = None,
    capsule_limit: int = capsules.LIMIT,
    limit: int | None = LIMIT,
) -> Result:
    """A document of one dialect as a document of another.

    >>> result = convert(
    ...     {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    ...     source="openai-chat",
    ...     target="anthropic-messages",
    ... )
    >>> result.document["messages"]
    [{'role': 'user', 'content': 'Hi'}]
    >>> print(result.losses[0])
    invented max_tokens at / (anthropic-messages requires max_tokens; 8192 is written)

    ``fail_on`` names kinds or codes of losses that raise ``Lossy``. ``now`` (seconds since 1970)
    and ``ids`` (a function from a prefix such as ``"call"`` to a fresh id) supply what a target
    may demand. With ``carry``, ``result.capsule`` holds what the target could not; given back as
    ``capsule`` on the way back, it restores the original exactly, and ``result.restored`` names
    what came from it. ``key`` signs the capsule, and refuses one that it did not sign;
    ``capsule_limit`` is how many bytes of JSON a capsule may have. ``model`` is the model that a
    request names in the target. ``models`` has rows of the caller's own for the table of what
    depends on the model (``dragoman.models``). ``limit`` is how many bytes a document may have
    (None: any number). The input is not changed; the result may share parts with it.
    """
    if facet == "stream":
        if model is not None:
            raise Unsupported("model= applies to the facet request, not to stream")
        if carry or capsule is not None:
            raise Unsupported("a stream has no capsule; collect it, and convert the response")
        if is_longer(doc, limit):
            raise Malformed(f"a stream of more than {limit:,} bytes")
        return _convert_stream(doc, source, target, fail_on, Ledger(now, ids, given(models)))
    reader = None if source is None else dialects.get(source)
    if reader is None or reader.lines:
        doc = _as_one(doc, source, limit)
    halves: Whole | None = None
    try:
        value = load(doc, limit)
    except Malformed:
        if is_longer(doc, limit):
            raise
        from .core import surrogates  # nearly no document has halves of characters

        halves = surrogates.well_formed(doc)
        if halves is None:
            raise
        value = halves.value
    if reader is None:
        reader = detected(value, facet)
    writer = dialects.get(target)
    log = Ledger(now, ids, DEFAULT if models is None else given(models), writer.name)
    in_bytes = doc.__class__ is bytes and halves is None and fail_on == () and capsule is None
    if (
        in_bytes
        and writer.takes_plain
        and reader.takes_plain
        and reader is not writer
        and not carry
    ):
        plain: Result | None = None
        if facet == "request":
            plain = _from_turns(doc, value, reader, writer, log, model)
        elif facet == "response" and ids is None and model is None:
            plain = _from_reply(doc, value, reader, writer, log)
        if plain is not None:
            return plain
        log = Ledger(now, ids, log.models, writer.name)
    tree = read_for(writer, value, reader, facet, model)
    if in_bytes:
        # Nobody looks into what was written: bytes came, and bytes are wanted.
        log.embeds = not (carry or writer.keeps_source or reader.name == writer.name)
        document, carried = writer.write(tree, log), None
        if carry:
            carried = capsules.make(
                value, document, reader, writer, facet, tree, log.models, key=key
            )
        later = (_losses, doc, value, reader, log)
        return Result(document, (), carried, later=later, embeds=log.embedded, lines=writer.lines)
    duplicates.note(doc, value, log)
    if capsule is not None:
        capsules.check(capsule, writer, facet, key, capsule_limit)
        asked, tree = tree, capsules.named(capsule, tree, writer)
        log.restores = True
    document = writer.write(tree, log)
    if halves is not None:
        if carry:
            value = halves.restored(value)[0]
        document = with_halves(document, halves, reader.name == writer.name, log)
    if capsule is not None:
        document = capsules.open_(capsule, document, writer, facet, log, tree, reader, value)
        if tree is not asked:
            _note_model(writer, log)
        changed = any(loss.what == "capsule" for loss in log.losses)
        if changed or not capsule.get("unfit"):  # else it is as it was
            document = capsules.refit(document, writer, tree, log)
    carried = None
    if carry:
        carried = capsules.make(value, document, reader, writer, facet, tree, log.models, key=key)
    place_losses(log, reader, value)
    log.enforce(fail_on)
    return Result(
        document,
        tuple(log.losses),
        carried,
        None,
        tuple(log.restored),
        lines=writer.lines,
    )


def _from_turns(
    doc: bytes, value: Json, reader: Dialect, writer: Dialect, log: Ledger, model: str | None
) -> Result | None:
    """A request whose conversation is plain; None where nodes are needed, or there is an error."""
    try:
        if (found := reader.read_plain(value)) is None:
            return None
        tree, turns = found
        if not is_fit(tree):
            return None
        if model is not None:
            tree = with_model(tree, model)
        log.embeds = True
        document = writer.write_plain(tree, turns, log)
    except (Unusual, DragomanError, RecursionError):
        return None
    return Result(document, (), later=(_losses, doc, value, reader, log), embeds=log.embedded)


def _from_reply(
    doc: bytes, value: Json, reader: Dialect, writer: Dialect, log: Ledger
) -> Result | None:
    """A response that is plain; None where nodes are needed."""
    if (reply := reader.read_plain_reply(value)) is None or not is_plain_reply(reply):
        return None
    log.embeds = True
    try:
        document = writer.write_plain_reply(reply, log)
    except Unusual:
        return None
    later = (_losses_with_nodes, doc, reader, writer, log)
    return Result(document, (), later=later, embeds=log.embedded)


def _losses_with_nodes(
    doc: bytes, reader: Dialect, writer: Dialect, log: Ledger
) -> tuple[Loss, ...]:
    """The losses of a plain response: those of the same conversion with nodes.

    The bytes are read again: the document may share parts with what was read, and be the caller's.
    """
    log, value = Ledger(log.now, None, log.models, writer.name), load(doc, None)
    writer.write(read_for(writer, value, reader, "response", None), log)
    return _losses(doc, value, reader, log)


def _losses(doc: bytes, value: Json, reader: Dialect, log: Ledger) -> tuple[Loss, ...]:
    """The losses of a conversion, with the keys that stand twice in what was read."""
    place_losses(log, reader, value)
    return (*duplicates.losses(doc, value, log.target), *log.losses)


def read_for(writer: Dialect, value: Json, reader: Dialect, facet: str, model: str | None) -> Tree:
    """What a document says, as a writer needs it."""
    tree = reader.read(value, facet)
    if reader.name == writer.name or writer.keeps_source:
        tree = with_source(tree, value, reader)
    return tree if model is None else with_model(tree, model, facet)


def place_losses(log: Ledger, reader: Dialect, value: Json) -> None:
    """Losses at places of the document, where nodes say that they stood elsewhere."""
    if type(reader).locate is not Dialect.locate:
        log.losses = [replace(loss, path=reader.locate(value, loss.path)) for loss in log.losses]


def _note_model(writer: Dialect, log: Ledger) -> None:
    """The model came from the capsule, unless the capsule removed it."""
    field = Restored("field", f"/{writer.model_key}")
    if replace(field, removed=True) not in log.restored:
        log.restored.append(field)


def with_halves(document: Json, halves: Whole, same_dialect: bool, log: Ledger) -> Json:
    """Lone surrogates are restored in the same dialect; in others U+FFFD is written for each."""
    lost = halves.places
    if same_dialect:
        document, lost = halves.restored(document)
    for at in lost:
        from .core.surrogates import WHY

        log.approximated("text.surrogate", at, WHY)
    return document


def with_model(tree: Tree, model: str, facet: str = "request") -> Request:
    """A request for another model."""
    if not isinstance(tree, Request):
        raise Unsupported(f"model= applies to the facet request, not to {facet}")
    if not model.strip():
        raise Unsupported("model= is empty: name a model of the target")
    # It has no place in the source, and whether the target serves it is for the caller to know.
    params = replace(tree.params, ats=tree.params.ats | {"model": ""})
    return replace(tree, model=model, params=params)


@overload
def read(
    doc: Json | bytes, dialect: str, *, facet: Literal["request"] = ..., limit: int | None = ...
) -> Request: ...
@overload
def read(
    doc: Json | bytes, dialect: str, *, facet: Literal["messages"], limit: int | None = ...
) -> History: ...
@overload
def read(
    doc: Json | bytes, dialect: str, *, facet: Literal["tools"], limit: int | None = ...
) -> Toolbox: ...
@overload
def read(
    doc: Json | bytes, dialect: str, *, facet: Literal["tool-choice"], limit: int | None = ...
) -> ToolChoice: ...
@overload
def read(
    doc: Json | bytes, dialect: str, *, facet: Literal["response"], limit: int | None = ...
) -> Response: ...
@overload
def read(
    doc: Json | bytes, dialect: str, *, facet: Literal["error"], limit: int | None = ...
) -> Failure: ...
@overload
def read(doc: Json | bytes, dialect: str, *, facet: str, limit: int | None = ...) -> Tree: ...
def read(
    doc: Json | bytes,
    dialect: str,
    *,
    facet: Facet | str = "request",
    limit: int | None = LIMIT,
) -> Tree:
    """A document as a canonical tree; which one it is, the facet tells.

    The tree keeps the document: written in the same dialect, what was not edited is the same as in
    the document (``tree.original``). ``limit`` is how many bytes it may have (None: any number).

    >>> read({"model": "m", "messages": []}, "openai-chat").model
    'm'
    """
    reader = dialects.get(dialect)
    value = load(lines.of(doc, limit) if reader.lines else doc, limit)
    return with_source(reader.read(value, facet), value, reader)


def write(
    tree: Tree,
    dialect: str,
    *,
    fail_on: Iterable[str] = (),
    now: float | None = None,
    ids: Callable[[str], str] | None = None,
    models: Models | Mapping[str, Any] | None = None,
) -> Result:
    """A canonical tree as a document. The facet is the kind of tree."""
    log = Ledger(now, ids, given(models))
    writer = dialects.get(dialect)
    document = writer.write(tree, log)
    log.enforce(fail_on)
    return Result(document, tuple(log.losses), lines=writer.lines)


def join(
    request: Json | bytes,
    response: Json | bytes,
    *,
    dialect: str,
    target: str | None = None,
    fail_on: Iterable[str] = (),
    limit: int | None = LIMIT,
) -> Result:
    """The request with the response appended to its history, ready for the next turn.

    Only the history changes, not the parameters. The first candidate is appended; the others are
    dropped, and so is what only a response can hold. The paths of these losses point into the
    response. A request that is a string is the text of one user message. With
    ``target``, the history is written in that dialect at once, such as a line of training text,
    and all paths begin with ``/request`` or ``/response``. ``limit`` is how many bytes each of the
    two may have (None: any number).

    >>> said = {"content": [{"type": "text", "text": "Hello."}], "model": "m"}
    >>> join("Hi", said, dialect="anthropic", target="functiongemma").document["text"]
    '<bos><start_of_turn>user\\nHi<end_of_turn>\\n<start_of_turn>model\\nHello.<end_of_turn>\\n'
    """
    speaker, writer = dialects.get(dialect), dialects.get(target or dialect)
    log = Ledger(target=writer.name)
    value = load(response, limit)
    duplicates.note(response, value, log, "/response" if target else "")
    reply = speaker.read(value, "response")
    assert isinstance(reply, Response)
    if reply.failure is not None or not reply.candidates:
        raise Malformed("a failed response cannot be appended to a history")
    if request.__class__ is str:
        asked = Request(reply.model, (Message("user", (Text(request),)),))
    else:
        value = load(request, limit)
        duplicates.note(request, value, log, "/request" if target else "")
        read = speaker.read(value, "request")
        assert isinstance(read, Request)
        asked = read
    if target is not None:
        asked, reply = below(asked, "/request"), below(reply, "/response")
    if request.__class__ is not str:
        asked = with_source(asked, value, speaker)
    for other in reply.candidates[1:]:
        log.dropped("candidates", other.at, "a history holds one candidate")
    message = speaker.settle(reply.candidates[0].message, log)
    if message.content:
        asked = replace(asked, messages=(*asked.messages, message))
    else:
        why = "a response without content is not appended to the history"
        log.dropped("message.empty", reply.at, why)
    document = writer.write(asked, log)
    log.enforce(fail_on)
    return Result(document, tuple(log.losses), lines=writer.lines)


def _convert_stream(
    data: bytes,
    source: str | None,
    target: str,
    fail_on: Iterable[str],
    log: Ledger,
) -> Result:
    """A whole stream at once; ``result.document`` is its bytes."""
    from .streams.transcoder import Transcoder  # not needed by those who convert documents

    if not isinstance(data, bytes | bytearray | memoryview):
        raise Unsupported("a stream is given as bytes; use dragoman.transcode for parsed events")
    if source is None:
        from .detect import detect_stream

        guess = detect_stream(bytes(data))
        if guess is None:
            raise Undetected("stream", ())
        source = guess.dialect
    transcoder = Transcoder(
        source, target, now=log.now, ids=log.ids, models=log.models, duplicates=True
    )
    written = transcoder.feed(bytes(data)) + transcoder.close()
    transcoder.log.enforce(fail_on)
    return Result(written, transcoder.losses)


def _as_one(doc: Json | bytes, source: str | None, limit: int | None) -> Json | bytes:
    """The bytes of a file of JSON lines as one JSON text: the list of their values.

    Where no ``source`` is named, the lines must be those of a dialect that has such files.
    """
    if source is not None:
        return lines.of(doc, limit)
    if not isinstance(doc, BYTES) or is_longer(doc, limit):
        return doc
    from .detect import as_lines  # needed only here

    return as_lines(bytes(doc)) or doc


def detected(doc: Json, facet: str) -> Dialect:
    """The dialect of a document, by the look of it."""
    from .detect import detect

    guesses = detect(doc, facet=facet)
    if not guesses:
        raise Undetected(facet, guesses.tied)
    return dialects.get(guesses[0].dialect)
