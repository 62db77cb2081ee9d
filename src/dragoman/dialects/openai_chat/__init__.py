"""OpenAI Chat Completions.

What it does differently from its neighbours: the system prompt is a message; each tool result is
a message with role ``tool`` and holds only text; arguments are text; there is no flag for a failed
tool, so its text begins with a mark; there is no place for reasoning; several answers may come at
once; cached tokens count as prompt tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from .parts import AUDIO, AUDIO_SYNONYMS
from .response import Responses
from .rules import Rules
from .sniff import Sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...model import ErrorKind
    from ...streams.base import StreamReader, StreamWriter


class OpenAIChat(Sniff, Rules, Responses):
    can = cap.Capabilities(
        outputs=cap.Outputs(named="always"),
        texts=cap.Texts(needed=frozenset({"result"})),
        item_ids=cap.NOWHERE,
        passages=cap.NOWHERE,
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        thinking=cap.BY_EFFORT,
        order={
            "assistant": {"text": 1, "refusal": 2, "call": 3},
            "response": {"text": 1, "refusal": 2, "call": 3},
            "tool": dict.fromkeys(("image", "audio", "video", "document", "refusal"), 1)
            | {"text": 0},
        },
        prefill="never",
        unfit={**cap.RESULTS_APART, "system": cap.NOT_TEXT, "developer": cap.NOT_TEXT},
        citations=cap.Citations(
            places=cap.RESPONSE,
            everyone=False,
            forms=("url",),
            lacks=("quote", "signature"),
            spans=True,
            joined=True,
        ),
        caching=cap.Caching(
            on=frozenset({"text", "reply", "media", "result part", "document text"}),
            ttls=("30m", "12h"),
        ),
        media=cap.MediaForms(
            kinds={
                "image": cap.Form(
                    sources=frozenset({"url", "base64"}),
                    labels=frozenset({"detail"}),
                    usual="image/png",
                ),
                "audio": cap.Form(
                    sources=frozenset({"base64"}),
                    types=frozenset(AUDIO.values()),
                    synonyms=AUDIO_SYNONYMS,
                ),
                "document": cap.Form(
                    sources=frozenset({"base64", "file"}),
                    labels=frozenset({"filename"}),
                    titled=frozenset({"base64"}),
                    named=frozenset({"base64"}),
                    usual="application/pdf",
                ),
            },
            texts=cap.WORDS,
        ),
        choices=cap.Choices(
            alone=cap.NO_MODE,
            subsets=frozenset({"auto", "required"}),
            beside=frozenset({"parallel"}),
        ),
        lacks=cap.RARE - {"service_tier", "logprobs"} | {"error.request_id", "usage.cache_ttl"},
        result_names=False,
    )
    spec = "https://platform.openai.com/docs/api-reference/chat"
    vendor = "openai"
    needs_model = True
    serves: ClassVar[tuple[str, ...]] = ("openai",)
    pairs = True
    aliases: ClassVar[tuple[str, ...]] = ("chat",)
    blank = frozenset({"annotations", "tool_calls", "reasoning_content", "reasoning", "stop"})
    stream_signs = (("object", "chat.completion.chunk"),)
    statuses: ClassVar[Mapping[ErrorKind, int]] = {"billing": 429}  # insufficient_quota
    # https://platform.openai.com/docs/api-reference/authentication
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/chat/completions",
            "https://api.openai.com/v1",
            stream={"stream": True, "stream_options": {"include_usage": True}},
            url_variables=("OPENAI_BASE_URL",),
            key_variables=("OPENAI_API_KEY",),
        ),
    )
    shared: ClassVar[dict[str, frozenset[str]]] = {
        "openai-responses": frozenset({"prompt_cache_retention", "moderation", "user"})
    }

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import ChatReader

        return ChatReader(self, whole)

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .write_stream import ChatWriter

        return ChatWriter(self, log, home)


DIALECT = OpenAIChat()
