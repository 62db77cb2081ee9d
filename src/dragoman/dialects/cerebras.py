"""Cerebras' chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning``, unless
``reasoning_format`` hides it; ``disable_reasoning`` turns it off; there are service tiers of its
own; how long it took is told in ``time_info``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, number, strings, text, whole
from ..lint.evidence import Verdict, told_by
from ..model import Json, Thinking
from .openai_chat.request import FIELDS
from .openai_chat.sniff import Marks
from .openai_chat.variant import OMITTED, Compatible, compatible

OFF = "disable_reasoning"
FORMATS = ("none", "parsed", "text_parsed", "raw", "hidden")
MARKS = Marks(
    request={
        OFF: 0.8, "clear_thinking": 0.6, "min_completion_tokens": 0.6, "model_parameters": 0.4,
    },
    response={"time_info": 0.9},
    choice={"reasoning_logprobs": 0.9},
)  # fmt: skip


class Cerebras(Compatible):
    name = "cerebras"
    spec = "https://inference-docs.cerebras.ai/api-reference/chat-completions"
    issuer = "cerebras"
    # cerebras_cloud_sdk 1.91 (PyPI), _client.py
    endpoints = compatible(
        "https://api.cerebras.ai",
        "CEREBRAS_API_KEY",
        prefix="/v1",
        url_variable="CEREBRAS_BASE_URL",
    )
    thinking_key = "reasoning"
    # There, types/chat/completion_create_params.py; an assistant's `reasoning` is sent back.
    hiding: ClassVar[dict[str, Json]] = {"reasoning_format": "hidden"}
    can = replace(
        Compatible.can,
        thinking=replace(cap.BY_EFFORT, efforts=("low", "medium", "high"), displays=(OMITTED,)),
    )
    fields = Compatible.fields.but(
        Field("temperature", number, least=0, most=2),
        Field("frequency_penalty", number, least=-2, most=2),
        Field("presence_penalty", number, least=-2, most=2),
        Field("top_logprobs", whole, least=0, most=20),
        Field("stop", strings, single=True, count=4),
        Field("service_tier", text, among=("auto", "default", "flex", "priority")),
        FIELDS["cache_key"],
        methods={"thinking": ("reasoning_effort", OFF, *hiding)},
    ).refusing("verbosity", "store", "metadata")

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        given = super().read_effort(doc, taken)
        if doc.get(OFF) is not True:
            return given
        taken.add(OFF)
        return replace(given or Thinking(at=f"/{OFF}"), mode="off")


DIALECT = Cerebras()
