"""Kimi's (Moonshot AI's) chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning_content``;
whether it thinks is ``thinking``; a turn that the model goes on with says ``partial``; a tool is
strict unless it says otherwise; images and videos are data or files that were uploaded
(``ms://``), never addresses; what came out of the cache is counted as ``cached_tokens`` as well, in
a stream inside of the choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.fields import Field, number, strings, whole
from ...core.writing import Writing
from ...lint.evidence import Verdict, told_by
from ...model import Json, Tool, Usage
from ..openai_chat.request import FIELDS
from ..openai_chat.sniff import Marks
from ..openai_chat.variant import IMAGES, Prefixed, Stored, Switched, compatible

if TYPE_CHECKING:
    from ...streams.base import StreamReader

MARKS = Marks(message={"partial": 0.6}, model=r"(?:kimi|moonshot)-[a-z0-9.-]+")
CACHED, DETAILS = "cached_tokens", "prompt_tokens_details"
UPLOADED = cap.Form(sources=frozenset({"base64", "file"}))


class Kimi(Switched, Prefixed, Stored):
    name = "kimi"
    spec = "https://platform.kimi.ai/docs/api/chat"
    issuer = "moonshot"
    aliases = ("moonshot",)
    serves = ("moonshot",)
    prefix = "partial"
    file_prefix = "ms://"
    endpoints = compatible("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY")
    # @ai-sdk/moonshotai 2.0.61 (npm), src: moonshotai-chat-api-types.ts, moonshotai-chat-options.ts
    can = replace(
        Switched.can,
        developer=False,
        prefill="told",
        thinking=replace(
            cap.BY_EFFORT, modes=frozenset({"on", "off"}), efforts=("low", "high", "max")
        ),
        media=cap.MediaForms(
            kinds={
                "image": replace(UPLOADED, usual=IMAGES.usual),
                "video": replace(UPLOADED, usual="video/mp4"),
            },
            texts=cap.WORDS,
        ),
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url"}
    # https://platform.kimi.ai/docs/api/models-overview: temperature in [0, 1], n at most 5; of stop
    # strings "no more than 5"; seeds and top-k sampling: moonshotai-chat-language-model.ts
    fields = Switched.fields.but(
        Field("temperature", number, least=0, most=1),
        Field("candidates", whole, "n", least=1, most=5),
        Field("stop", strings, single=True, count=5),
        FIELDS["user_id"],
        methods={"thinking": ("reasoning_effort", "thinking")},
    ).refusing("seed", "logit_bias", "verbosity", "store", "metadata")

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        """ "strict: true (default, omitting is equivalent to true)", with a subset of JSON Schema:
        https://platform.kimi.ai/docs/api/tool-use
        """
        if tool.strict is None and tool.kind != "hosted" and not w.same:
            tool = replace(tool, strict=False)  # which it is elsewhere
        return super().write_tool(tool, w)

    # -- replies ----------------------------------------------------------------------------

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        """What came out of the cache is counted twice."""
        cached, details = doc.get(CACHED), doc.get(DETAILS)
        known: dict[str, Json] = details if details.__class__ is dict else {}
        odd = details is not None and details.__class__ is not dict
        if cached.__class__ is not int or odd or known.get(CACHED, cached) != cached:
            return super().read_usage(doc, at)
        rest = {k: v for k, v in doc.items() if k != CACHED}
        return super().read_usage(rest | {DETAILS: known | {CACHED: cached}}, at)

    def write_usage(self, usage: Usage, w: Writing) -> dict[str, Json]:
        out = super().write_usage(usage, w)
        if usage.cache_read is not None:
            out.setdefault(CACHED, usage.cache_read)
        return out

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import KimiReader

        return KimiReader(self, whole)


DIALECT = Kimi()
