"""Fireworks' chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning_content``;
how much it reasons is either an effort or ``thinking`` with a budget; an effort may be a number or
true and false; there is top-k sampling; videos have addresses; speakers have no names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, number, strings, text, whole
from ..lint.evidence import Verdict, told_by
from ..model import Json, Thinking
from .openai_chat.request import FIELDS, OLD_LIMIT
from .openai_chat.sniff import Marks
from .openai_chat.variant import IMAGES, MORE_MEDIA, Switched, compatible

EFFORT = "reasoning_effort"
MARKS = Marks(
    request={
        "reasoning_history": 0.7, "perf_metrics_in_response": 0.9, "prompt_truncate_len": 0.8,
        "prompt_cache_isolation_key": 0.9, "context_length_exceeded_behavior": 0.5,
        "raw_output": 0.4, "mirostat_target": 0.4,
    },
    response={"perf_metrics": 0.8},
    choice={"raw_output": 0.7},
    model=r"accounts/[\w.-]+/(?:models|deployments|deployedModels|routers)/.+",
)  # fmt: skip


class Fireworks(Switched):
    name = "fireworks"
    spec = "https://docs.fireworks.ai/api-reference/post-chatcompletions"
    issuer = "fireworks"
    # fireworks-ai 1.2 (PyPI), resources/chat/completions.py
    endpoints = compatible("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY")
    inner_budget = "budget_tokens"
    # There: types/chat/completion_create_params.py, types/shared_params/chat_message.py. "Cannot be
    # specified together with `reasoning_effort`"; a budget "must be >= 1024".
    can = replace(
        Switched.can,
        developer=False,
        names=cap.NOWHERE,
        thinking=replace(
            cap.BY_EFFORT,
            modes=frozenset({"on", "off"}),
            efforts=("low", "medium", "high"),
            budgets=True,
            least=1024,
            beside=False,
            both=False,
        ),
        media=cap.MediaForms(
            kinds={"image": IMAGES, "video": MORE_MEDIA["video"]}, texts=cap.WORDS
        ),
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url"}
    fields = Switched.fields.but(
        OLD_LIMIT,
        Field("temperature", number, least=0, most=2),
        Field("top_p", number, least=0, most=1),
        Field("top_k", whole, least=0, most=100),
        Field("candidates", whole, "n", least=1, most=128),
        Field("top_logprobs", whole, least=0, most=5),
        Field("stop", strings, single=True, count=4),
        Field("service_tier", text, among=("auto", "default", "flex", "priority")),
        FIELDS["metadata"],
        methods={"thinking": (EFFORT, "thinking")},
    ).refusing("verbosity", "store")

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        """ "`true` becomes 'medium', and `false` becomes 'none'"; an integer is a budget."""
        effort = doc.get(EFFORT)
        if effort.__class__ is bool:
            return Thinking("on" if effort else "off", at=f"/{EFFORT}")
        if effort.__class__ is int:
            return Thinking("on", budget=effort, at=f"/{EFFORT}")
        return super().read_effort(doc, taken)


DIALECT = Fireworks()
