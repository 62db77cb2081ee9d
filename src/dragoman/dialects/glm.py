"""GLM's (Z.ai's) chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning_content``;
whether it thinks is ``thinking``; the model chooses whether it calls a tool, and nothing else can
be said of it; no schema is enforced, of a tool or of a reply; videos and documents have addresses;
one stop string; a reply that was filtered is ``sensitive``, one that failed ``network_error``; an
error is a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, number, strings, text
from ..core.writing import Writing
from ..lint.evidence import Verdict, told_by
from ..model import ErrorKind, Failure, Json, Media
from .openai_chat import parts
from .openai_chat.request import OLD_LIMIT
from .openai_chat.response import STOPS
from .openai_chat.sniff import Marks
from .openai_chat.variant import MORE_MEDIA, Switched, compatible

MARKS = Marks(
    request={"do_sample": 0.4, "tool_stream": 0.7, "sensitive_word_check": 0.9},
    response={"web_search": 0.5, "content_filter": 0.4},
    model=r"(?:glm|chatglm)-[a-z0-9.-]+",
)

# https://docs.z.ai/api-reference/api-code
CODES: dict[str, ErrorKind] = {
    "500": "server",
    "1000": "authentication",
    "1001": "authentication",
    "1002": "authentication",
    "1003": "authentication",
    "1004": "authentication",
    "1113": "billing",
    "1210": "invalid-request",
    "1211": "not-found",
    "1213": "invalid-request",
    "1214": "invalid-request",
    "1220": "permission",
    "1234": "server",
    "1261": "too-large",
    "1301": "invalid-request",
    "1302": "rate-limit",
    "1303": "rate-limit",
    "1304": "rate-limit",
    "1305": "overloaded",
}


class GLM(Switched):
    name = "glm"
    spec = "https://docs.z.ai/api-reference/llm/chat-completion"
    issuer = "zai"
    aliases = ("zai", "zhipu")
    serves = ("zai",)
    # zai-sdk 0.0.3 (PyPI), _client.py
    endpoints = compatible(
        "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", url_variable="ZAI_BASE_URL"
    )
    # "The default is auto, and currently only auto is supported"; a tool has no `strict`, and of a
    # reply only {"type": "json_object"} can be demanded.
    can = replace(
        Switched.can,
        developer=False,
        names=cap.NOWHERE,
        strict=False,
        outputs=cap.Outputs(schemas=frozenset()),
        choices=cap.Choices(
            modes=frozenset({"auto"}),
            alone=cap.NO_MODE,
            subsets=cap.NO_MODE,
            parallel=cap.NO_MODE,
            omits="always",
        ),
        # https://docs.z.ai/guides/capabilities/thinking-mode; efforts are those of GLM-5.2
        thinking=replace(cap.BY_EFFORT, modes=frozenset({"on", "off"})),
        media=cap.MediaForms(
            kinds={
                "image": MORE_MEDIA["image"],
                "video": replace(MORE_MEDIA["video"], sources=frozenset({"url"})),
                "document": cap.Form(sources=frozenset({"url"})),
            },
            texts=cap.WORDS,
        ),
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url", "document": "file_url"}
    enforces = False
    asks_for_usage = False  # there is no stream_options; the last chunk has them
    # zai-sdk 0.0.3, api_resource/chat/completions.py
    fields = Switched.fields.but(
        OLD_LIMIT,
        Field("temperature", number, least=0, most=1),
        Field("top_p", number, least=0.01, most=1),
        Field("stop", strings, single=True, count=1),
        Field("user_id", text),
        methods={"thinking": ("reasoning_effort", "thinking")},
    ).refusing(
        "candidates", "logit_bias", "logprobs", "top_logprobs", "frequency_penalty",
        "presence_penalty", "verbosity", "store", "metadata", "cache_key",
    )  # fmt: skip
    # "'sensitive': intercepted by the safety review; 'network_error': the inference failed"
    stops = STOPS.but(
        {
            "sensitive": "filter",
            "network_error": "error",
            "model_context_window_exceeded": "context",
        },
        {"filter": "sensitive", "context": "model_context_window_exceeded"},
    )

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    def read_error(self, doc: Json) -> Failure:
        """``{"error": {"code": "1302", "message": "..."}}``: there is no type beside the code."""
        failure = super().read_error(doc)
        if failure.type is not None or failure.code not in CODES:
            return failure
        return replace(failure, kind=CODES[failure.code])

    def write_file(self, block: Media, w: Writing) -> dict[str, Json]:
        return parts.write_unofficial(self, block)


DIALECT = GLM()
