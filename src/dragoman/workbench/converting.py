"""What the page asks about documents: conversions with their links, checks, repairs, replays."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from .. import dialects
from ..check import check
from ..convert import convert
from ..core import lines
from ..core.reading import encode, load
from ..detect import candidates, detect, detect_stream
from ..dialect import Dialect, Problem
from ..errors import DragomanError, Undetected
from ..explain import explain
from ..ledger import CODES, KINDS, Loss
from ..lint.passes.table import PASSES
from ..model import Json, Tree
from ..repair import repair
from ..result import Result
from ..streams import events as pieces
from ..streams.framing import framer, write_frame
from ..streams.transcoder import Transcoder, collect
from ..views.links import Link, links, places

MOST_PROBLEMS = 1000


class Known(msgspec.Struct):
    """What a text is: its dialect and facet, told or detected."""

    dialect: str
    facet: str
    evidence: tuple[str, ...] = ()
    confidence: float = 1.0


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """What the page asks of a conversion: the options of the command line."""

    text: str
    targets: list[str] = []
    source: str | None = None
    facet: str | None = None
    model: str | None = None
    fail_on: list[str] = []
    carry: bool = False


class Side(msgspec.Struct, forbid_unknown_fields=True):
    """One document."""

    text: str
    dialect: str
    facet: str


class Pair(msgspec.Struct, forbid_unknown_fields=True):
    a: Side
    b: Side


class Repair(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    dialect: str
    facet: str
    passes: list[str] | None = None


class Replay(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    source: str
    target: str


# -- what there is -------------------------------------------------------------------------------


def about() -> dict[str, Json]:
    """The dialects, the codes of losses and the passes, for menus and explanations."""
    listed = [{"name": name, "facets": dialects.get(name).facets()} for name in dialects.names()]
    passes = {name: each.does for name, each in PASSES.items()}
    return {"dialects": listed, "codes": CODES, "kinds": list(KINDS), "passes": passes}


def explained(name: str) -> list[Json]:
    """What a code, a rule or a pass means."""
    return [msgspec.to_builtins(each) for each in explain(name)[:4]]


def identify(data: bytes, source: str | None, facet: str | None) -> Known:
    """What a text is. A dialect that is told is not doubted, and neither is a facet."""
    if source is not None and facet is not None:
        return Known(dialects.get(source).name, facet)
    if facet == "stream" or looks_like_stream(data):
        guess = detect_stream(data)
        if guess is not None or source is not None:
            found = (source or guess.dialect) if guess is not None else source
            assert found is not None
            return Known(dialects.get(found).name, "stream", guess.evidence if guess else ())
        raise Undetected("stream", ())
    if source is not None:
        speaker = dialects.get(source)
        sniffed = sorted(speaker.sniff(value_of(data, speaker)), key=lambda each: -each[1])
        if sniffed:
            return Known(speaker.name, sniffed[0][0], sniffed[0][2], sniffed[0][1])
        return Known(speaker.name, next(iter(speaker.facets())))
    guesses = detect(data, facet=facet)
    if not guesses:
        if guesses.tied:  # several dialects write it alike: any of them will do
            first = guesses.tied[0]
            others = ", ".join(guess.dialect for guess in guesses.tied[1:])
            return Known(first.dialect, first.facet, (f"the same in {others}",), first.confidence)
        raise Undetected(facet or "document", ())
    best = guesses[0]
    return Known(best.dialect, best.facet, best.evidence, best.confidence)


def looks_like_stream(data: bytes) -> bool:
    """Whether a text begins as event streams do, or has several lines that are one."""
    start = data.lstrip()[:64]
    if start.startswith((b"data:", b"event:", b"id:", b":")):
        return True
    if not lines.are_several(data):
        return False
    guess = detect_stream(data)
    return guess is not None and not any(
        each.confidence > guess.confidence for each in candidates_of_lines(data)
    )


def candidates_of_lines(data: bytes) -> Sequence[Any]:
    try:
        return candidates(load(lines.as_list(data), None))
    except DragomanError:
        return ()


def value_of(data: bytes, speaker: Dialect) -> Json:
    return load(lines.of(data, None) if speaker.lines else data, None)


# -- conversions ---------------------------------------------------------------------------------


def converted(asked: Options) -> dict[str, Json]:
    """A document in every dialect that is asked for, with its ledger, its links, its problems."""
    data = asked.text.encode("utf-8", "surrogatepass")
    try:
        known = identify(data, asked.source, asked.facet)
    except DragomanError as problem:
        return {"error": told(problem)}
    out: dict[str, Json] = {"source": msgspec.to_builtins(known)}
    out["lines"] = dialects.get(known.dialect).lines
    if known.facet != "stream":
        out["problems"] = problems(data, known.dialect, known.facet)
    out["targets"] = writable(known.facet)
    out["results"] = [result(data, known, target, asked) for target in asked.targets]
    return out


def writable(facet: str) -> list[str]:
    """The dialects that have a facet to write."""
    named = ((name, dialects.get(name).facets()) for name in dialects.names())
    return [name for name, facets in named if "write" in facets.get(facet, ())]


def told(problem: DragomanError) -> dict[str, Json]:
    """An error, with its place in the document if it has one."""
    at = getattr(problem, "at", None)
    what = getattr(problem, "what", None)
    return {"message": what if at and what else str(problem), "at": at}


def result(data: bytes, known: Known, target: str, asked: Options) -> dict[str, Json]:
    """One conversion, or why there is none."""
    shown: dict[str, Json] = {"target": target, **commands(known, target, asked)}
    try:
        shown["lines"] = dialects.get(target).lines
        made = convert(
            data,
            source=known.dialect,
            target=target,
            facet=known.facet,
            model=asked.model or None,
            carry=asked.carry and known.facet != "stream",
            limit=None,
        )
        losses = made.losses
        shown["text"] = text_of(made)
        shown["losses"] = [msgspec.to_builtins(loss) for loss in losses]
        shown["fails"] = [n for n, loss in enumerate(losses) if fails(loss, asked.fail_on)]
        if known.facet == "stream":
            shown |= at_rest(data, known.dialect)
        else:
            shown |= seen_together(data, known, target, made)
        if asked.carry and made.capsule is not None:
            shown["home"] = way_home(data, known, target, made)
    except DragomanError as problem:
        shown["error"] = told(problem)
    return shown


def fails(loss: Loss, codes: Sequence[str]) -> bool:
    """Whether ``--fail-on`` would refuse a conversion for it."""
    return loss.kind in codes or loss.what in codes


def text_of(made: Result) -> str:
    """A result for people: indented, but for files of lines and streams."""
    data = made.to_json()
    if made.document.__class__ is bytes or (data.count(b"\n") and data.endswith(b"\n")):
        return data.decode("utf-8", "replace")
    return pretty(data)


def pretty(data: bytes) -> str:
    try:
        return msgspec.json.format(data, indent=2).decode("utf-8", "replace")
    except msgspec.MsgspecError:
        import json  # lone surrogates stay the escapes that they are

        return json.dumps(json.loads(data), indent=2)


def seen_together(data: bytes, known: Known, target: str, made: Result) -> dict[str, Json]:
    """Where everything went, and what the target's API would reject of it."""
    reader, writer = dialects.get(known.dialect), dialects.get(target)
    value = value_of(data, reader)
    tree, facet = reader.read(value, known.facet), known.facet
    try:
        back: Tree = writer.read(made.document, facet)
    except DragomanError:
        facet = "error"  # a response that failed
        back = writer.read(made.document, facet)
    found = [located(each, reader, value, writer, made.document) for each in links(tree, back)]
    spots = places(made.losses, found, value)
    return {
        "links": [each._asdict() for each in found],
        "places": [each._asdict() for each in spots],
        "problems": problems(made.to_json(), target, facet),
    }


def located(link: Link, reader: Dialect, value: Json, writer: Dialect, written: Json) -> Link:
    """A link at places of the documents, where nodes say that they stood elsewhere."""
    a = None if link.a is None else reader.locate(value, link.a)
    b = None if link.b is None else writer.locate(written, link.b)
    return link._replace(a=a, b=b)


def at_rest(data: bytes, source: str) -> dict[str, Json]:
    """The losses of a stream point into its response at rest."""
    try:
        whole = collect(data, source).document
    except DragomanError:
        return {}
    return {"rest": pretty(encode(whole))}


def way_home(data: bytes, known: Known, target: str, made: Result) -> dict[str, Json]:
    """What the result becomes on the way back, with the capsule."""
    try:
        back = convert(
            made.document,
            source=target,
            target=known.dialect,
            facet=known.facet,
            capsule=made.capsule,
            limit=None,
        )
    except DragomanError as problem:
        return {"error": told(problem)}
    original = value_of(data, dialects.get(known.dialect))
    return {
        "text": text_of(back),
        "exact": back.document == original,
        "restored": [msgspec.to_builtins(each) for each in back.restored],
        "losses": [msgspec.to_builtins(each) for each in back.losses],
        "capsule": len(encode(made.capsule)),
    }


def linked(asked: Pair) -> dict[str, Json]:
    """Which places of two documents say the same, whoever wrote them."""
    sides = []
    for side in (asked.a, asked.b):
        speaker = dialects.get(side.dialect)
        value = value_of(side.text.encode("utf-8", "surrogatepass"), speaker)
        sides.append((speaker, value, speaker.read(value, side.facet)))
    (reader, value, tree), (writer, written, back) = sides
    found = [located(each, reader, value, writer, written) for each in links(tree, back)]
    return {"links": [each._asdict() for each in found]}


# -- checks and repairs --------------------------------------------------------------------------


def problems(data: bytes, dialect: str, facet: str) -> list[Json]:
    """What the API would reject, each with the passes that repair it."""
    try:
        found: Sequence[Problem] = check(data, dialect, facet=facet, limit=None)
    except DragomanError as problem:
        return [{"rule": "malformed", "path": told(problem)["at"] or "", "message": str(problem)}]
    can = facet in ("request", "messages")
    return [
        {**msgspec.to_builtins(each), "passes": repairs_of(each.rule) if can else []}
        for each in found[:MOST_PROBLEMS]
    ]


@cache
def repairs_of(rule: str) -> list[str]:
    return [name for name, each in PASSES.items() if rule in each.repairs]


def repaired(asked: Repair) -> dict[str, Json]:
    """The document after passes of repair, and what they changed."""
    data = asked.text.encode("utf-8", "surrogatepass")
    made = repair(data, asked.dialect, passes=asked.passes, facet=asked.facet, limit=None)
    value = value_of(data, dialects.get(asked.dialect))
    changed = made.document != value
    return {
        "text": text_of(made) if changed else asked.text,
        "changed": changed,
        "losses": [msgspec.to_builtins(loss) for loss in made.losses],
        "left": problems(made.to_json(), asked.dialect, asked.facet),
    }


# -- streams -------------------------------------------------------------------------------------


def replayed(asked: Replay) -> dict[str, Json]:
    """A stream frame by frame: what came, what could be written then, what the message gained."""
    data = asked.text.encode("utf-8", "surrogatepass")
    transcoder = Transcoder(asked.source, asked.target, duplicates=True)
    framing = transcoder.source.framings or transcoder.source.framing
    frames = framer(framing)
    reader = transcoder.source.stream_reader(True)
    steps: list[Json] = []
    kind = transcoder.source.framing
    for frame in (*frames.feed(data), *frames.close()):
        came = write_frame(kind, frame)
        wrote = transcoder.feed(came)
        try:
            gained = list(growth(reader.read(frame)))
        except DragomanError as problem:
            gained = [{"do": "fail", "text": str(problem)}]
        steps.append({"in": seen_as(came), "out": seen_as(wrote), "gained": gained})
    rest = transcoder.close()
    if rest:
        steps.append({"in": "", "out": seen_as(rest), "gained": []})
    losses = [msgspec.to_builtins(loss) for loss in transcoder.losses]
    return {"steps": steps, "losses": losses, "target": transcoder.target.name}


def seen_as(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip("\n")


def growth(found: Sequence[pieces.Event]) -> Iterator[dict[str, Json]]:
    """What events add to the message."""
    for event in found:
        match event:
            case pieces.Open():
                block = event.block
                name = getattr(block, "name", "")
                kind = str(type(block).__struct_config__.tag)
                text = getattr(block, "text", "") or getattr(block, "arguments", "") or ""
                yield {"do": "open", "index": event.index, "kind": kind, "name": name, "text": text}
            case pieces.Delta():
                yield {"do": "add", "index": event.index, "text": event.text}
            case pieces.Close():
                yield {"do": "close", "index": event.index}
            case pieces.End():
                stops = [c.stop.reason for c in event.response.candidates if c.stop is not None]
                yield {"do": "end", "text": ", ".join(stops)}
            case pieces.Fail():
                yield {"do": "fail", "text": event.failure.message}
            case _:
                pass


# -- commands ------------------------------------------------------------------------------------


def commands(known: Known, target: str, asked: Options) -> dict[str, Json]:
    """The same conversion on the command line, and in Python."""
    stream = known.facet == "stream"
    file = "stream.sse" if stream else "document.json"
    words = ["dragoman", "convert", "-f", known.dialect, "-t", target]
    words += ["--facet", known.facet] if known.facet != "request" else []
    words += ["--model", asked.model] if asked.model else []
    for each in asked.fail_on:
        words += ["--fail-on", each]
    words += ["--carry", "capsule.json"] if asked.carry and not stream else []
    told = {"source": known.dialect, "target": target}
    told |= {"facet": known.facet} if known.facet != "request" else {}
    told |= {"model": asked.model} if asked.model else {}
    code = [f"    {key}={value!r},\n" for key, value in told.items()]
    code += [f"    fail_on={tuple(asked.fail_on)!r},\n"] if asked.fail_on else []
    code += ["    carry=True,\n"] if asked.carry and not stream else []
    python = (
        "from pathlib import Path\n\nimport dragoman\n\n"
        f"result = dragoman.convert(\n    Path({file!r}).read_bytes(),\n{''.join(code)})\n"
        "for loss in result.losses:\n    print(loss)\n"
    )
    return {"command": shlex.join([*words, file]), "python": python}
