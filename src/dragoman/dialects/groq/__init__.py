"""Groq's chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning``, unless
``include_reasoning`` or ``reasoning_format`` hides them; there are service tiers of its own; no
token probabilities, no penalties, no second reply; no developer, and speakers have no names; a
stream counts tokens in ``x_groq``, and says there why it broke off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.fields import Field, text
from ...lint.evidence import Verdict, told_by
from ...model import ErrorKind, Json
from .._openai import ERRORS
from ..openai_chat.sniff import Marks
from ..openai_chat.variant import OMITTED, Compatible, compatible

if TYPE_CHECKING:
    from ...streams.base import StreamReader

MARKS = Marks(
    request={"compound_custom": 0.8, "search_settings": 0.5, "disable_tool_validation": 0.7},
    response={"x_groq": 0.95, "usage_breakdown": 0.5},
    usage={"queue_time": 0.6, "prompt_time": 0.5},
    message={"executed_tools": 0.7},
    error={"failed_generation": 0.8},
)
FORMATS = ("hidden", "raw", "parsed")


class Groq(Compatible):
    name = "groq"
    spec = "https://console.groq.com/docs/api-reference#chat-create"
    vendor = "groq"
    issuer = "groq"
    # groq (PyPI), _client.py; the address of the SDK is that of the host
    endpoints = compatible(
        "https://api.groq.com", "GROQ_API_KEY", prefix="/openai/v1", url_variable="GROQ_BASE_URL"
    )
    thinking_key = "reasoning"
    # groq 1.7 (PyPI), types/chat: completion_create_params.py, chat_completion_role.py
    hiding: ClassVar[dict[str, Json]] = {"include_reasoning": False, "reasoning_format": "hidden"}
    enforces = True  # https://console.groq.com/docs/structured-outputs#strict-mode-strict-true
    # There, and https://console.groq.com/docs/openai#currently-unsupported-openai-features
    can = replace(
        Compatible.can,
        names=cap.NOWHERE,
        developer=False,
        thinking=replace(
            cap.BY_EFFORT, efforts=("low", "medium", "high", "default"), displays=(OMITTED,)
        ),
    )
    fields = Compatible.fields.but(
        Field("service_tier", text, among=("auto", "on_demand", "flex", "performance")),
        methods={"thinking": ("reasoning_effort", *hiding)},
    ).refusing(
        "logit_bias", "logprobs", "top_logprobs", "candidates", "frequency_penalty",
        "presence_penalty", "verbosity", "store", "metadata", "cache_key",
    )  # fmt: skip
    errors: ClassVar[dict[str, ErrorKind]] = {
        **ERRORS,
        "model_decommissioned": "not-found",
        "tool_use_failed": "invalid-request",
        "json_validate_failed": "invalid-request",
    }

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        found = MARKS.signs(doc)
        if doc.__class__ is dict and doc.get("reasoning_format") in FORMATS:
            found["a format of reasoning"] = 0.8
        return told_by(found, super().sniff(doc))

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import GroqReader

        return GroqReader(self, whole)


DIALECT = Groq()
