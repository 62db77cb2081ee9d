"""The CoreMessage of AI SDK 4.

What it does differently from its successors: arguments are ``args``; a result is any value, with
``isError`` beside it and its images in ``experimental_content``; a thought bears its signature
itself, and a redacted one is a part of its own; media types are MIME types; the limit is
``maxTokens``; the schema of a tool is ``parameters``. No tool runs at the provider.
"""

from collections.abc import Iterator
from typing import ClassVar

from ..model import Json
from ..sniffing import Verdict
from .vercel_model_v5 import VercelModelV5


class VercelCore(VercelModelV5):
    name = "vercel-core"
    spec = "https://v4.ai-sdk.dev/docs/reference/ai-sdk-core/core-message"
    kin = frozenset({"vercel-model", "vercel-model-v5", "vercel-model-v6"})
    flat = True
    media_type = "mimeType"
    arguments = "args"
    limit = "maxTokens"
    schema = "parameters"
    active = "experimental_activeTools"
    file_ids = False
    said: ClassVar[dict[str, frozenset[str]]] = {
        "user": frozenset({"text", "image", "file"}),
        "assistant": frozenset({"text", "file", "reasoning", "redacted-reasoning", "tool-call"}),
        "tool": frozenset({"tool-result"}),
    }
    result_parts = frozenset({"text", "image"})
    tool_options = False

    own_keys = frozenset({"args", "result", "mimeType", "isError", "signature"})
    other_keys = frozenset({"input", "output", "mediaType"})
    own_settings = frozenset({"maxTokens", "experimental_activeTools"})
    other_settings = frozenset({"maxOutputTokens", "instructions", "activeTools"})
    schema_key = "parameters"
    alone = False

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return super().sniff(doc)  # of its own, so that it is asked beside its successors


DIALECT = VercelCore()
