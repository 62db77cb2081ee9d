"""Data that are what they claim, and data that are not."""

from __future__ import annotations

import base64

import pytest

from dragoman.core.media import KNOWN, MAGIC, is_base64, lies, plain_type, sniff

WEBP = b"RIFF\x24\x00\x00\x00WEBPVP8 "


def data(content: bytes) -> str:
    return base64.b64encode(content).decode()


BEGINNINGS = [
    (magic, media_type) if not offset else (WEBP, media_type) for magic, offset, media_type in MAGIC
]


@pytest.mark.parametrize(("head", "media_type"), BEGINNINGS)
def test_a_type_is_known_by_its_beginning(head: bytes, media_type: str) -> None:
    assert sniff(data(head + b"the rest of it, whatever it is")) == media_type
    assert sniff(data(head)) == media_type
    assert sniff(data(b"x" + head)) is None


def test_a_riff_file_is_not_an_image() -> None:
    assert sniff(data(b"RIFF\x24\x00\x00\x00WAVEfmt ")) is None
    assert sniff(data(b"XXXX\x24\x00\x00\x00WEBPVP8 ")) is None


@pytest.mark.parametrize("text", ["", "aGk=", "aGVsbG8h", "+/+/"])
def test_base64(text: str) -> None:
    assert is_base64(text)


@pytest.mark.parametrize("text", ["a", "aGk", "aG k", "aGk=\n", "a===", "_-_-", "é===", "=aGk"])
def test_not_base64(text: str) -> None:
    assert not is_base64(text)
    assert lies(text, None) == "the data is not base64"


def test_only_known_types_are_doubted() -> None:
    text = data(b"plain words")
    assert lies(text, "text/plain") is None
    assert lies(text, None) is None
    for media_type in KNOWN:
        assert (
            lies(text, f"{media_type.upper()}; q=1") == f"the data does not begin like {media_type}"
        )


def test_what_begins_like_another_type_is_no_lie_but_a_correction() -> None:
    assert lies(data(b"\xff\xd8\xff\xe0"), "image/png") is None
    assert sniff(data(b"\xff\xd8\xff\xe0")) == "image/jpeg"


def test_parameters_are_no_part_of_a_type() -> None:
    assert plain_type(" Image/PNG ; charset=x") == "image/png"


@pytest.mark.parametrize("text", ["\ud800", "é" * 40, "%%%%"])
def test_strange_data_tell_nothing(text: str) -> None:
    assert sniff(text) is None
