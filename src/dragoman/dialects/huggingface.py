"""Hugging Face's router to providers of chat completions, a variant of OpenAI Chat.

What it does differently: a model's name may end with that of the provider, or with what to choose
one by; the model's reasoning stands beside the reply as ``reasoning``.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, number, whole
from ..lint.evidence import Verdict, told_by
from ..model import Json
from .openai_chat.request import OLD_LIMIT
from .openai_chat.sniff import Marks
from .openai_chat.variant import Compatible, compatible

# https://huggingface.co/docs/inference-providers: `:fastest`, `:cheapest`, `:groq`
MARKS = Marks(
    request={"tool_prompt": 0.4},
    # OpenRouter has words of its own behind the colon.
    model=r"[\w.-]+/[\w.-]+:(?!(?:free|nitro|floor|online|exacto|extended|thinking|beta)$)"
    r"(fastest|cheapest|preferred|[a-z][a-z-]{3,})",
)


class HuggingFace(Compatible):
    name = "huggingface"
    spec = "https://huggingface.co/docs/inference-providers/tasks/chat-completion"
    issuer = "huggingface"
    # huggingface_hub 2.4 (PyPI), inference/_client.py and constants.py
    endpoints = compatible("https://router.huggingface.co/v1", "HF_TOKEN")
    thinking_key = "reasoning"
    # There, inference/_generated/types/chat_completion.py
    can = replace(
        Compatible.can,
        developer=False,
        choices=replace(Compatible.can.choices, parallel=cap.NO_MODE),
        thinking=replace(cap.BY_EFFORT, modes=frozenset(), efforts=("low", "medium", "high")),
    )
    fields = Compatible.fields.but(
        OLD_LIMIT,
        Field("frequency_penalty", number, least=-2, most=2),
        Field("presence_penalty", number, least=-2, most=2),
        Field("top_logprobs", whole, least=0, most=5),
    ).refusing("logit_bias", "verbosity", "store", "metadata", "cache_key", "user_id")

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))


DIALECT = HuggingFace()
