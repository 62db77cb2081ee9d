"""Neither the ledger nor an error repeats who somebody is, or which device: both are shown.

Every place that may hold such a value gets one that stands out, in every dialect, and goes to every
other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman import DragomanError, check, convert, dialects
from transcripts import dragoman

SECRET = "Zq7-PERSON-91x"
NUMBER = 90210733
# Too long for some, with characters that others refuse, and no text at all.
VALUES: tuple[Any, ...] = (SECRET + "y" * 80, f"\u00e9 {SECRET}", [SECRET])
PLACES = (
    "user", "user_id", "safety_identifier", "prompt_cache_key", "name", "email",
    "metadata", "metadata/user_id", "metadata/session", "client_metadata/device_id",
    "labels/user_id", "requestMetadata/user_id",
)  # fmt: skip
PLAIN = {
    "model": "gpt-5",
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Bye"},
    ],
}


def requests(dialect: str) -> Iterator[Any]:
    """A request of the dialect with somebody in it, place by place."""
    try:
        plain = convert(PLAIN, source="openai-chat", target=dialect).to_json()
    except DragomanError:  # it has no requests, or none of this kind
        return
    if dialects.get(dialect).lines or not isinstance(json.loads(plain), dict):
        return
    for value in VALUES:
        for place in PLACES:
            key, _, inner = place.partition("/")
            yield json.loads(plain) | {key: {inner: value} if inner else value}
        written = json.loads(plain)
        for key in ("messages", "input", "contents"):
            if isinstance(written.get(key), list):
                written[key][0]["name"] = value
                yield written


def reasons(request: Any, source: str, target: str) -> list[str]:
    """All that is written of a conversion: its losses, or why there is none."""
    try:
        return list(map(str, convert(request, source=source, target=target).losses))
    except DragomanError as problem:
        return [str(problem)]


@pytest.mark.parametrize("source", dialects.names())
def test_no_reason_and_no_error_repeats_who_somebody_is(source: str) -> None:
    for request in requests(source):
        for problem in check(request, source):
            assert SECRET not in problem.message
        for target in dialects.names():
            assert not [
                written for written in reasons(request, source, target) if SECRET in written
            ]


def test_no_excerpt_does(tmp_path: Path) -> None:
    inner = json.dumps({"device_id": SECRET, "session_id": SECRET})
    for personal in (
        {"user": SECRET}, {"metadata": {"user_id": inner}}, {"email": SECRET},
        {"session_id": [SECRET, SECRET]}, {"device_id": {"a": SECRET}}, {"account_id": NUMBER},
    ):  # fmt: skip
        broken = {"model": "m", **personal, "messages": [{"role": "user", "content": 7}]}
        file = tmp_path / "broken.json"
        file.write_text(json.dumps(broken))
        _, written, code = dragoman(["convert", "-f", "chat", "-t", "anthropic", str(file)])
        assert code == 4
        assert SECRET not in written
        assert str(NUMBER) not in written
        caret = next(line for line in written.splitlines() if line.strip() == "^")
        shown = written.splitlines()[written.splitlines().index(caret) - 1]
        assert shown[len(caret) - 1] == "7"  # what is masked does not move what is shown
