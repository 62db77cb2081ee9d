"""The real vcrpy plays what was written to the official SDK of the other vendor.

No cassette may record anything here: a request that it does not know is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
import vcr
import yaml
from google import genai
from google.genai import errors as google_errors
from google.genai import types as google_types

import recordings
from dragoman import containers

CASSETTES = [
    ("yaml", yaml.safe_dump(recordings.vcr()).encode()),
    ("yaml", yaml.safe_dump(recordings.vcr(packs=True)).encode()),
    ("json", json.dumps(recordings.vcr()).encode()),
]
cassettes = pytest.mark.parametrize(("form", "data"), CASSETTES, ids=["yaml", "packed", "json"])


@contextmanager
def playing(
    folder: Path, form: str, data: bytes, target: str, model: str, url: str | None = None
) -> Iterator[Any]:
    made = containers.convert(data, target=target, name=f"x.{form}", model=model, url=url)
    assert not made.problems
    file = folder / f"talk.{form}"
    file.write_bytes(made.data)
    player = vcr.VCR(
        serializer=form,
        record_mode=vcr.mode.NONE,
        match_on=["method", "scheme", "host", "port", "path", "query"],
    )
    with player.use_cassette(str(file)) as cassette:
        yield cassette
        assert cassette.play_count == 3
    assert file.read_bytes() == made.data


@cassettes
def test_anthropic(form: str, data: bytes, tmp_path: Path) -> None:
    model = "claude-opus-5-5"
    with (
        playing(tmp_path, form, data, "anthropic", model),
        anthropic.Anthropic(api_key="k", max_retries=0) as client,
    ):
        hi: Any = [{"role": "user", "content": "Hi"}]
        reply = client.messages.create(model=model, max_tokens=9, messages=hi)
        (call,) = reply.content
        assert isinstance(call, anthropic.types.ToolUseBlock)
        assert (call.name, call.input) == ("get_weather", {"city": "Pera"})
        assert (reply.model, reply.stop_reason) == (model, "tool_use")
        with client.messages.stream(model=model, max_tokens=9, messages=hi) as stream:
            assert "".join(stream.text_stream) == "Hello"
            assert stream.get_final_message().model == model
        with pytest.raises(anthropic.RateLimitError, match="slow down"):
            client.messages.create(model=model, max_tokens=9, messages=hi)


@cassettes
def test_responses(form: str, data: bytes, tmp_path: Path) -> None:
    with (
        playing(tmp_path, form, data, "responses", "gpt-6"),
        openai.OpenAI(api_key="k", max_retries=0) as client,
    ):
        reply = client.responses.create(model="gpt-6", input="Hi")
        (call,) = reply.output
        assert call.type == "function_call"
        assert json.loads(call.arguments) == {"city": "Pera"}
        with client.responses.stream(model="gpt-6", input="Hi") as stream:
            assert stream.get_final_response().output_text == "Hello"
        with pytest.raises(openai.RateLimitError, match="slow down"):
            client.responses.create(model="gpt-6", input="Hi")


@cassettes
def test_gemini(form: str, data: bytes, tmp_path: Path) -> None:
    model = "gemini-3-pro"
    base = "https://generativelanguage.googleapis.com/v1"  # as this SDK asks by default
    with playing(tmp_path, form, data, "gemini", model, base):
        client = genai.Client(api_key="k")
        asked: Any = google_types.Part.from_text(text="Hi")
        reply = client.models.generate_content(model=model, contents=asked)
        assert reply.function_calls is not None
        (call,) = reply.function_calls
        assert (call.name, call.args) == ("get_weather", {"city": "Pera"})
        parts = client.models.generate_content_stream(model=model, contents=asked)
        assert "".join(part.text or "" for part in parts) == "Hello"
        with pytest.raises(google_errors.ClientError, match="slow down"):
            client.models.generate_content(model=model, contents=asked)
        client.close()


def test_and_back(tmp_path: Path) -> None:
    there = containers.convert(CASSETTES[0][1], target="anthropic", name="x.yaml")
    with (
        playing(tmp_path, "yaml", there.data, "chat", "gpt-6"),
        openai.OpenAI(api_key="k", max_retries=0) as client,
    ):
        hi: Any = [{"role": "user", "content": "Hi"}]
        reply = client.chat.completions.create(model="gpt-6", messages=hi)
        calls = reply.choices[0].message.tool_calls
        assert calls is not None
        (call,) = calls
        assert call.type == "function"
        assert json.loads(call.function.arguments) == {"city": "Pera"}
        chunks = client.chat.completions.create(model="gpt-6", messages=hi, stream=True)
        texts = [c.delta.content or "" for chunk in chunks for c in chunk.choices]
        assert "".join(texts) == "Hello"
        with pytest.raises(openai.RateLimitError, match="slow down"):
            client.chat.completions.create(model="gpt-6", messages=hi)
