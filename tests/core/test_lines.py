"""Files of JSON lines that are one document."""

from __future__ import annotations

import json

import pytest

from dragoman import Malformed
from dragoman.core import lines

WHOLE = [{"type": "a", "text": "x\u2028y"}, {"type": "b", "n": [1, {"c": None}]}]
FILE = b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in WHOLE)


def values(data: bytes) -> list[object]:
    found = json.loads(lines.as_list(data))
    assert isinstance(found, list)
    return found


def test_the_lines_are_a_list() -> None:
    assert values(FILE) == WHOLE
    assert values(b"\xef\xbb\xbf" + FILE) == WHOLE
    assert values(FILE.replace(b"\n", b"\r\n")) == WHOLE
    assert values(json.dumps(WHOLE).encode()) == WHOLE  # as it may be stored


def test_a_line_keeps_its_number() -> None:
    """A pointer and the line of an error are those of the file."""
    assert lines.as_list(FILE).count(b"\n") == 1
    assert values(b"\n" + FILE)[0] == ""


@pytest.mark.parametrize(
    "line",
    [b'{"type": "us', b"garbage", b'"a string"', b'{"a": 1} {"b": 2}', b"", b"  "],
)
def test_a_line_that_is_no_object_is_its_text(line: bytes) -> None:
    data = FILE + line + b"\n" + FILE
    found = values(data)
    assert found[2] == line.decode()
    assert found[:2] == found[3:] == WHOLE
    assert lines.join(found).splitlines()[2] == line
    assert values(lines.join(found)) == found


def test_bytes_that_are_no_text_do_not_fail_the_file() -> None:
    found = values(FILE + b'{"cut": "\xe2\x82\n' + FILE)
    assert found[2] == '{"cut": "\ufffd'
    assert found[3:] == WHOLE


def test_half_of_a_character_stays_an_escape() -> None:
    line = b'{"text":"\\ud83d"}'
    assert lines.as_list(FILE + line).endswith(line + b"]")


@pytest.mark.parametrize("text", ['{"a": 1}', "a\nb", "a\rb", "12"])
def test_a_text_that_would_be_read_as_something_else_is_written_as_json(text: str) -> None:
    written = lines.join([{}, text])
    assert written.count(b"\n") == 2
    assert json.loads(written.splitlines()[1]) == text


def test_what_are_surely_several_objects() -> None:
    assert lines.are_several(b'{"a": 1}\n{"b": 2}')
    assert lines.are_several(b'{"a": 1}\r\n\r\n{"b": 2}')
    assert not lines.are_several(b'{"a": [{"b": 1},\n{"c": 2}]}')
    assert not lines.are_several(b'[{"a": 1}\n,{"b": 2}]')
    assert not lines.are_several(b'{"a": "}\\n{"}')


def test_a_file_without_an_object_is_malformed() -> None:
    for data in (b"", b"\n\n", b"nothing\nof this\n", b"1\n2\n"):
        with pytest.raises(Malformed):
            lines.values_of(values(data))
    with pytest.raises(Malformed):
        lines.values_of({"a": 1})
