"""Keys that an object has twice: no parser keeps both values, so each one is in the ledger."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dragoman
from choosing import examples
from dragoman.core import duplicates
from dragoman.core.reading import decode
from dragoman.exchange import Exchange
from dragoman.streams.transcoder import Transcoder, collect
from transcripts import dragoman as command_line

TWICE = (
    b'{"model":"m","messages":[{"role":"user","content":"A"}],'
    b'"messages":[{"role":"user","content":"B","content":"C"}]}'
)
PLACES = ["/messages", "/messages/0/content"]
STREAM = (
    b'data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"Hi","content":"Ho"}}]}'
    b'\n\ndata: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
    b"\n\ndata: [DONE]\n\n"
)


class Done(NamedTuple):
    out: bytes
    err: str
    code: int


def run(*arguments: str) -> Done:
    return Done(*command_line(list(arguments)))


def told(losses: Any) -> list[str]:
    return [loss.path for loss in losses if loss.what == duplicates.CODE]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('{"a":1,"a":1}', ["/a"]),
        ('{"a":1,"\\u0061":2}', ["/a"]),
        ('{"a/b":[{"c":1,"c":2,"c":3}]}', ["/a~1b/0/c"]),
        ('{"a":{"b":1,"b":2},"a":{"b":3}}', ["/a"]),  # what is inside of a lost value has no place
        ('{"a":"\\u0022:","b":1,"b":2}', ["/b"]),  # an escape that hides one in the count
        ('{"a":"\\u003A\\u0022\\u003a","a":2}', ["/a"]),
        ('{"a" : 1,\n "a"\t:2}', ["/a"]),
        ('{"a":"\\":","b":":x","c\\\\":1}', []),
        ('[{"a":1},{"a":1}]', []),
        ('{"a":1e5,"b":"\\u00e9\\/","c":1.0}', []),
        ('{"n":' + "9" * 5000 + ',"n":1}', ["/n"]),
    ],
)
def test_keys_that_stand_twice_are_found(text: str, places: list[str]) -> None:
    data = text.encode()
    try:
        value = decode(data)
    except ValueError:
        value = None  # a number that this version of the parser does not take
    assert duplicates.pointers(data, value) == places


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('a":\\é\U0001f600/', max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.lists(st.tuples(st.text('ab":\\é', max_size=2), inner), max_size=4).map(tuple),
    max_leaves=12,
)  # fmt: skip
"""JSON in which an object is a tuple of pairs."""


def spelled(value: Any, chance: random.Random) -> str:
    """JSON text, with white space and escapes as they come."""
    if isinstance(value, tuple):
        items = (f"{spelled(k, chance)}{blank(chance)}:{spelled(v, chance)}" for k, v in value)
        return "{" + f"{blank(chance)},".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(spelled(item, chance) for item in value) + blank(chance) + "]"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=chance.random() < 0.5)
        return text.replace(":", "\\u003A") if chance.random() < 0.2 else text
    return json.dumps(value)


def blank(chance: random.Random) -> str:
    return chance.choice(["", "", "", " ", "\n"])


def expected(value: Any, at: str = "") -> set[str]:
    """The places of keys that stand twice, by the pairs themselves."""
    if isinstance(value, list):
        return {place for i, item in enumerate(value) for place in expected(item, f"{at}/{i}")}
    if not isinstance(value, tuple):
        return set()
    keys = [key for key, _ in value]
    places = {f"{at}/{key}" for key in keys if keys.count(key) > 1}
    for key, item in dict(value).items():
        places |= expected(item, f"{at}/{key}")
    return places


@given(values, st.integers(0, 9999), st.booleans())
@settings(max_examples=examples(300))
def test_none_is_missed_and_none_made_up(value: Any, seed: int, plain: bool) -> None:
    chance = random.Random(seed)
    text = spelled(value, chance) if not plain else spelled(value, random.Random(0))
    data = text.encode()
    assert set(duplicates.pointers(data, decode(data))) == expected(value)


def test_a_conversion_tells_of_them() -> None:
    result = dragoman.convert(TWICE, source="openai-chat", target="anthropic")
    assert told(result.losses) == PLACES
    assert result.losses is result.losses, "they are looked for once"
    assert told(dragoman.convert(bytearray(TWICE), source="chat", target="chat").losses) == PLACES
    with pytest.raises(dragoman.Lossy):
        dragoman.convert(TWICE, source="chat", target="chat", fail_on="document.key")
    half = TWICE.replace(b'"C"', b'"\\ud83d"')
    assert told(dragoman.convert(half, source="chat", target="anthropic").losses) == PLACES


def test_so_does_everything_else_that_has_a_ledger() -> None:
    assert told(dragoman.repair(TWICE, "openai-chat").losses) == PLACES
    assert told(Exchange(client="chat", upstream="anthropic").request(TWICE).losses) == PLACES
    assert told(Exchange(client="chat", upstream="chat").request(TWICE).losses) == PLACES
    written = (
        b'{"choices":[{"index":0,"message":{"role":"assistant","content":"x","content":"y"}}]}'
    )
    place = "/choices/0/message/content"
    assert told(Exchange(client="anthropic", upstream="chat").response(written).losses) == [place]
    joined = dragoman.join(TWICE, written, dialect="chat", target="anthropic")
    assert set(told(joined.losses)) == {f"/response{place}", *(f"/request{at}" for at in PLACES)}


def test_so_do_streams() -> None:
    for losses in (
        dragoman.convert(STREAM, source="chat", target="anthropic", facet="stream").losses,
        collect(STREAM, "openai-chat").losses,
    ):
        (loss,) = (loss for loss in losses if loss.what == duplicates.CODE)
        assert loss.why.startswith("/choices/0/delta/content of frame 1 is a duplicate key")
    same = Transcoder("openai-chat", "openai-chat", duplicates=True)
    assert same.feed(STREAM) + same.close() == STREAM
    assert not same.losses, "what passes as it is has lost nothing"


@pytest.mark.parametrize("options", [["--compact"], ["--compact", "--jsonl"]])
def test_the_command_tells_of_them(tmp_path: Path, options: list[str]) -> None:
    file, report = tmp_path / "twice.json", tmp_path / "report.json"
    file.write_bytes(TWICE)
    line = ["convert", "-f", "chat", "-t", "anthropic", str(file), "--report", str(report)]
    assert run(*line, *options).code == 0
    (entry,) = json.loads(report.read_bytes())["documents"]
    assert [loss["path"] for loss in entry["losses"] if loss["what"] == "document.key"] == PLACES
    assert run(*line, *options, "--fail-on", "document.key").code == 3


@pytest.mark.parametrize("command", ["show", "detect", "check", "diff"])
def test_commands_without_a_ledger_say_so(tmp_path: Path, command: str) -> None:
    file = tmp_path / "twice.json"
    file.write_bytes(TWICE)
    files = [str(file)] * (1 + (command == "diff"))
    assert "duplicate key, the last value is read" in run(command, *files).err
    file.with_suffix(".sse").write_bytes(STREAM)
    if command == "show":
        assert "duplicate key" in run("show", "-f", "chat", str(file.with_suffix(".sse"))).err


def test_a_file_is_not_migrated_that_could_not_come_back(tmp_path: Path) -> None:
    file = tmp_path / "twice.json"
    file.write_bytes(TWICE)
    done = run("migrate", "-f", "chat", "-t", "anthropic", str(file))
    assert (done.code, file.read_bytes()) == (4, TWICE)
    assert "/messages" in done.err


def test_the_bodies_of_captures_are_looked_at(tmp_path: Path) -> None:
    entry = {
        "request": {
            "method": "POST",
            "url": "https://api.openai.com/v1/chat/completions",
            "postData": {"text": TWICE.decode()},
        },
        "response": {},
    }
    har = json.dumps({"log": {"entries": [entry]}}).replace('"response": {}', '"a": 1, "a": 2')
    file, report = tmp_path / "a.har", tmp_path / "report.json"
    file.write_text(har)
    assert run("convert", "-t", "anthropic", str(file), "--report", str(report)).code == 0
    (told_of,) = json.loads(report.read_bytes())["documents"]
    places = [loss["path"] for loss in told_of["losses"] if loss["what"] == "document.key"]
    text = "/log/entries/0/request/postData/text"
    assert places == ["/log/entries/0/a", *(text + at for at in PLACES)]
