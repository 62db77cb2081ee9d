"""SambaNova's chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning``; images are
data only; audio is ``audio_content``; penalties have no effect; there is top-k sampling; how
long it took is told among the counts of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, number, strings, whole
from ..core.reading import only
from ..core.writing import Writing
from ..lint.evidence import Verdict, told_by
from ..model import Block, Json, Media, Source
from .openai_chat.parts import read_url, url_of
from .openai_chat.sniff import Marks
from .openai_chat.variant import IMAGES, MORE_MEDIA, Compatible, compatible

AUDIO = "audio_content"
PLAIN_AUDIO, PLAIN_DATA = only("type", AUDIO), only("content")
MARKS = Marks(
    request={"do_sample": 0.2},
    usage={
        "completion_tokens_after_first_per_sec": 0.9, "time_to_first_token": 0.5,
        "is_last_response": 0.7, "total_latency": 0.5, "acceptance_rate": 0.5,
    },
    message={"channel": 0.2},
)  # fmt: skip


class SambaNova(Compatible):
    name = "sambanova"
    spec = "https://docs.sambanova.ai/docs/en/api-reference/endpoints/chat"
    issuer = "sambanova"
    # sambanova 1.13 (PyPI), _client.py
    endpoints = compatible(
        "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY", url_variable="SAMBA_NOVA_BASE_URL"
    )
    thinking_key = "reasoning"
    # There, types/chat/completion_create_params.py: "currently only base64 encoded image supported"
    can = replace(
        Compatible.can,
        developer=False,
        names=cap.NOWHERE,
        thinking=replace(cap.BY_EFFORT, modes=frozenset(), efforts=("low", "medium", "high")),
        media=cap.MediaForms(
            kinds={
                "image": replace(IMAGES, sources=frozenset({"base64"}), labels=frozenset()),
                # "data:audio/mp3;base64,", as its documentation has it
                "audio": replace(MORE_MEDIA["audio"], sources=frozenset({"base64"}), synonyms={}),
                "video": MORE_MEDIA["video"],
            },
            texts=cap.WORDS,
        ),
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url"}
    fields = (
        Compatible.fields.but(
            Field("temperature", number, least=0, most=2),
            Field("top_k", whole),
            Field("top_logprobs", whole, least=0, most=20),
            Field("stop", strings, single=True),
        )
        .refusing("verbosity", "store", "metadata", "cache_key", "user_id")
        # "Not currently implemented; accepted for API compatibility"
        .refusing("frequency_penalty", "presence_penalty", why="{name} has no effect in {target}")
    )

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    def read_part(self, doc: dict[str, Json], kind: Json, at: str) -> Block:
        inner = doc.get(AUDIO)
        known = kind == AUDIO and PLAIN_AUDIO(doc)
        plain = inner.__class__ is dict and PLAIN_DATA(inner)
        data = inner.get("content") if plain else None  # type: ignore[union-attr]
        if not known or data.__class__ is not str:
            return super().read_part(doc, kind, at)
        source = read_url(data)
        if source.kind == "url":
            source = Source("base64", source.value)
        return Media("audio", source, at=at)

    def write_audio(self, block: Media, w: Writing) -> dict[str, Json]:
        typed = block.source.media_type is not None
        value = url_of(block.source) if typed else block.source.value
        return {"type": AUDIO, AUDIO: {"content": value}}


DIALECT = SambaNova()
