"""Which dialect a record is of: those that look alike are looked at once."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.datasets import detecting


def asked(name: str) -> dict[str, Any]:
    """A request whose history has a call of that id."""
    call = {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": name, "content": "ok"},
        ],
    }


def test_ids_of_one_form_are_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Any] = []
    found = detecting.detected

    def detected(value: Any, facet: str | None) -> detecting.Source:
        looks.append(value)
        return found(value, facet)

    monkeypatch.setattr(detecting, "detected", detected)
    detector = detecting.Detector(None)
    for letter in "abcXYZ019":
        assert detector.find(asked(f"call_{letter * 24}"), None, None).dialect == "openai-chat"
    assert len(looks) == 1
    detector.find(asked("D681PevKs"), None, None)  # as Mistral has them
    detector.find(asked("toolu_" + "a" * 24), None, None)
    assert len(looks) == 3
