"""The ModelMessage of AI SDK 5.

What it does differently from version 6: the system prompt is one string; there are no approvals;
the parts of a tool result are texts and media, without options; schemas are not enforced.
"""

from typing import ClassVar

from msgspec.structs import replace

from .vercel_model import FILES, FORMS
from .vercel_model.response import FLAT
from .vercel_model_v6 import VercelModelV6


class VercelModelV5(VercelModelV6):
    name = "vercel-model-v5"
    spec = "https://v5.ai-sdk.dev/docs/reference/ai-sdk-core/model-message"
    kin = frozenset({"vercel-core", "vercel-model", "vercel-model-v6"})
    system_lists = False
    nested = False
    counts = FLAT
    allowed: ClassVar[dict[str, frozenset[str]]] = {
        "user": frozenset({"text", "image", "file"}),
        "assistant": frozenset({"text", "file", "reasoning", "tool-call", "tool-result"}),
        "tool": frozenset({"tool-result"}),
    }
    outputs = frozenset({"text", "json", "error-text", "error-json", "content"})
    result_parts = frozenset({"text", "media"})
    can = replace(
        VercelModelV6.can,
        strict=False,
        media=replace(
            VercelModelV6.can.media,
            results=dict.fromkeys(
                FORMS, replace(FILES, sources=frozenset({"base64"}), usual="application/pdf")
            ),
            code="tool_result.content",
        ),
        caching=replace(
            VercelModelV6.can.caching, on=VercelModelV6.can.caching.on - {"result part"}
        ),
    )
    provider_tool = "provider-defined"


DIALECT = VercelModelV5()
