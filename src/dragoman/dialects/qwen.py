"""Qwen's chat completions (Alibaba Cloud Model Studio, DashScope), a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning_content``;
whether it thinks is ``enable_thinking``, and it may have a budget; while it thinks, no call can be
forced; a turn that the model goes on with says ``partial``; a part may have Anthropic's cache mark,
and what was written to the cache is counted; there is top-k sampling, and no frequency penalty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, number, whole
from ..core.reading import maybe_bool
from ..core.writing import Writing, data_uri, split_data_uri
from ..ledger import Ledger
from ..lint.evidence import Verdict, told_by
from ..model import Block, ErrorKind, Json, Media, Request, Source, Thinking
from ._openai import ERRORS
from .openai_chat import OpenAIChat
from .openai_chat.request import OLD_LIMIT
from .openai_chat.response import COUNTS
from .openai_chat.sniff import Marks
from .openai_chat.variant import MORE_MEDIA, Prefixed, compatible, unforced

SWITCH, BUDGET = "enable_thinking", "thinking_budget"
MARKS = Marks(
    request={
        SWITCH: 0.6, BUDGET: 0.5, "preserve_thinking": 0.7, "enable_search": 0.5,
        "search_options": 0.4, "vl_high_resolution_images": 0.9, "translation_options": 0.8,
    },
    message={"partial": 0.3},
    model=r"qwen[0-9.]*-(?:max|plus|turbo|flash|long|coder-(?:plus|flash)|vl-(?:max|plus))[a-z0-9.-]*",
)  # fmt: skip


class Qwen(Prefixed):
    name = "qwen"
    spec = "https://www.alibabacloud.com/help/en/model-studio/use-qwen-by-calling-api"
    issuer = "alibaba"
    aliases = ("dashscope",)
    serves = ("alibaba", "deepseek", "moonshot", "zai", "minimax")
    prefix = "partial"
    # @ai-sdk/alibaba 1.0.61 (npm), src/alibaba-provider.ts
    endpoints = compatible(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"
    )
    cache_key = "cache_control"
    cache_mark: ClassVar[dict[str, Json]] = {"type": "ephemeral"}
    # There: alibaba-chat-prompt.ts, alibaba-chat-options.ts; of media,
    # https://www.alibabacloud.com/help/en/model-studio/vision; of roles, the API: "'developer' is
    # not one of ['system', 'assistant', 'user', 'tool', 'function']"
    can = replace(
        Prefixed.can,
        developer=False,
        prefill="told",
        # https://www.alibabacloud.com/help/en/model-studio/deep-thinking
        thinking=cap.ThinkingForm(modes=frozenset({"on", "off"}), budgets=True),
        caching=cap.Caching(on=OpenAIChat.can.caching.on, ttls=("5m",)),
        media=cap.MediaForms(
            kinds={**MORE_MEDIA, "audio": replace(MORE_MEDIA["audio"], typed=True)},
            texts=cap.WORDS,
        ),
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url"}
    any_audio = True
    budget_key = BUDGET
    fields = Prefixed.fields.but(
        OLD_LIMIT,
        Field("top_k", whole),
        Field("candidates", whole, "n", least=1, most=4),
        Field("presence_penalty", number, least=-2, most=2),
        Field("top_logprobs", whole, least=0, most=5),
        methods={"thinking": ("reasoning_effort", SWITCH, BUDGET)},
    ).refusing(
        "frequency_penalty", "logit_bias", "verbosity", "store", "metadata", "cache_key", "user_id"
    )
    # convert-alibaba-usage.ts
    counts = COUNTS.but({"prompt_tokens_details/cache_creation_input_tokens": ("cache_write",)})
    # https://www.alibabacloud.com/help/en/model-studio/error-code
    errors: ClassVar[dict[str, ErrorKind]] = {
        **ERRORS,
        "invalid_parameter_error": "invalid-request",
        "data_inspection_failed": "invalid-request",
        "Arrearage": "billing",
        "access_denied": "permission",
        "model_not_supported": "not-found",
        "limit_requests": "rate-limit",
        "limit_burst_rate": "rate-limit",
        "internal_error": "server",
    }

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    def write_request(self, tree: Request, log: Ledger) -> Json:
        # "The tool_choice parameter does not support being set to required or object in thinking
        # mode", which is the usual one of newer models: https://github.com/cloudwego/eino/issues/994
        if not self.is_same(tree.dialect) and tree.tool_choice is not None:
            tree = unforced(tree, tree.tool_choice, log)
        return super().write_request(tree, log)

    # -- how to think -----------------------------------------------------------------------

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        given = super().read_effort(doc, taken)
        if (switch := maybe_bool(doc, SWITCH, "")) is None:
            return given
        taken.add(SWITCH)
        mode, known = "on" if switch else "off", given or Thinking(at=f"/{SWITCH}")
        return replace(known, mode=mode, at=f"/{SWITCH}")

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        if config.mode is not None:
            out[SWITCH] = config.mode != "off"
        super().write_effort(out, replace(config, mode=None), w)

    # -- media ------------------------------------------------------------------------------

    def read_part(self, doc: dict[str, Json], kind: Json, at: str) -> Block:
        """``"input_audio": {"data": ...}`` is an address, or data that say their type."""
        block = super().read_part(doc, kind, at)
        if kind != "input_audio" or not isinstance(block, Media) or block.source.kind != "base64":
            return block
        value, found = block.source.value, split_data_uri(block.source.value)
        if found is not None:
            source = replace(block.source, value=found[1])
            return replace(block, source=source if source.media_type else typed(source, found[0]))
        if "://" not in value[:12]:
            return block
        return replace(block, source=replace(block.source, kind="url"))

    def write_audio(self, block: Media, w: Writing) -> dict[str, Json]:
        source = block.source
        inner: dict[str, Json] = {"data": source.value}
        if source.kind == "base64":
            inner["data"] = data_uri("", source.value)
        if source.media_type is not None:
            inner["format"] = source.media_type.removeprefix("audio/")
        return {"type": "input_audio", "input_audio": inner}


def typed(source: Source, media_type: str | None) -> Source:
    return replace(source, media_type=media_type) if media_type else source


DIALECT = Qwen()
