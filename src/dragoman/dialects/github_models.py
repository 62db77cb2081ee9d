"""GitHub Models' chat completions, a variant of OpenAI Chat.

What it does differently: models have the name of their publisher before their own; of the
parameters of sampling there are those that most vendors have.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, number
from .openai_chat.request import OLD_LIMIT
from .openai_chat.variant import Compatible, compatible


class GitHubModels(Compatible):
    name = "github-models"
    spec = "https://docs.github.com/en/rest/models/inference"
    issuer = "github"
    aliases: ClassVar[tuple[str, ...]] = ()
    endpoints = compatible("https://models.github.ai/inference", "GITHUB_TOKEN")
    can = replace(
        Compatible.can,
        choices=replace(Compatible.can.choices, parallel=cap.NO_MODE),
        candidates=1,
    )
    # There: model, messages, frequency_penalty, max_tokens, modalities, presence_penalty,
    # response_format, seed, stream, stream_options, stop, temperature, tool_choice, tools, top_p
    fields = Compatible.fields.but(
        OLD_LIMIT,
        Field("frequency_penalty", number, least=-2, most=2),
        Field("presence_penalty", number, least=-2, most=2),
    ).refusing(
        "candidates", "logprobs", "top_logprobs", "logit_bias", "thinking", "verbosity", "store",
        "metadata", "cache_key", "user_id",
    )  # fmt: skip


DIALECT = GitHubModels()
