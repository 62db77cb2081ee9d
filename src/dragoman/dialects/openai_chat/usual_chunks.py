"""Chunks in their usual form, which are decoded without a look at each key."""

from __future__ import annotations

from msgspec import Struct


class UsualFunction(Struct, forbid_unknown_fields=True):
    arguments: str
    name: None = None


class UsualCall(Struct, forbid_unknown_fields=True):
    index: int
    function: UsualFunction
    id: None = None
    type: str | None = None


class UsualDelta(Struct, forbid_unknown_fields=True):
    content: str | None = None
    role: str | None = None
    refusal: None = None
    tool_calls: list[UsualCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class UsualChoice(Struct, forbid_unknown_fields=True):
    index: int
    delta: UsualDelta
    finish_reason: None = None
    logprobs: None = None
    native_finish_reason: None = None


class ChatUsual(Struct, forbid_unknown_fields=True):
    """Nearly every chunk there is. Anything more in it, and it is read with care."""

    choices: list[UsualChoice]
    id: str | None = None
    object: str | None = None
    created: float | None = None
    model: str | None = None
    service_tier: str | None = None
    system_fingerprint: str | None = None
    provider: str | None = None
    usage: None = None
    obfuscation: str | None = None
