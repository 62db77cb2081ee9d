"""LiteLLM's chat completions, a variant of OpenAI Chat that it makes of every vendor's.

What it does differently: Claude's reasoning stands beside the content as it came, signed, in
``thinking_blocks``, with its text in ``reasoning_content``; parts and tools may have Anthropic's
cache mark; how Claude thinks is ``thinking``, with a budget; what else a vendor says is in
``provider_specific_fields``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, whole
from ..core.writing import Writing, joined
from ..lint.evidence import Verdict, told_by
from ..model import Extras, Json, Message, Reasoning, Tool
from .openai_chat import OpenAIChat
from .openai_chat import parts as chat_parts
from .openai_chat.gateways import BLOCKS, FIELDS
from .openai_chat.request import OLD_LIMIT
from .openai_chat.sniff import Marks
from .openai_chat.variant import Switched, compatible

MARK = "cache_control"
MARKS = Marks(
    request={
        "drop_params": 0.9, "cache_control_injection_points": 0.95, "litellm_metadata": 0.9,
        "mock_response": 0.8, "fallbacks": 0.5,
    },
    message={BLOCKS: 0.9, FIELDS: 0.9},
)  # fmt: skip
ISSUED = frozenset({("anthropic", "signature"), ("anthropic", "encrypted")})


class LiteLLM(Switched):
    name = "litellm"
    spec = "https://docs.litellm.ai/docs/completion/input"
    issuer = "litellm"
    kin = frozenset({"openai-chat"})
    # litellm 1.106 (PyPI), llms/litellm_proxy/chat/transformation.py; the proxy listens on 4000
    endpoints = compatible(
        "http://127.0.0.1:4000", "LITELLM_PROXY_API_KEY", prefix="/v1",
        url_variable="LITELLM_PROXY_API_BASE", needs_key=False,
    )  # fmt: skip
    cache_key = MARK
    cache_mark: ClassVar[dict[str, Json]] = {"type": "ephemeral"}
    inner_budget = "budget_tokens"
    modes: ClassVar = {"enabled": "on", "disabled": "off", "adaptive": "adaptive"}
    can = replace(
        Switched.can,
        # https://docs.litellm.ai/docs/reasoning_content
        reasoning=cap.ReasoningForm(
            signatures=ISSUED,
            parts=cap.EVERYWHERE,
            redacted=frozenset({("anthropic", "encrypted")}),
        ),
        replies=cap.ReasoningForm(parts=cap.EVERYWHERE),
        thinking=replace(
            cap.BY_EFFORT, modes=frozenset({"on", "off", "adaptive"}), budgets=True, budgeted=True
        ),
        media=OpenAIChat.can.media,
        caching=cap.Caching(on=OpenAIChat.can.caching.on | {"tool"}, ttls=("5m", "1h")),
    )
    fields = Switched.fields.but(
        OLD_LIMIT,
        Field("top_k", whole),
        methods={"thinking": ("reasoning_effort", "thinking")},
    )

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    # -- reasoning: types/llms/openai.py, ChatCompletionAssistantMessage --------------------

    def write_assistant(self, message: Message, w: Writing) -> Json | None:
        """Signed reasoning of a history is a block, as Anthropic has it."""
        if not (w.reply or w.same):
            content = tuple(
                self.as_block(block, w) if isinstance(block, Reasoning) else block
                for block in message.content
            )
            message = replace(message, content=content)
        return super().write_assistant(message, w)

    def as_block(self, block: Reasoning, w: Writing) -> Reasoning:
        if block.signature is None:
            return block
        self.lose(block.extras, block.at, w.log)
        if len(block.content) > 1:
            self.join_text(block.at, w.log)
        return replace(
            block,
            content=(joined(block.content),) if any(block.content) else (),
            extras=Extras(self.name, spelling={"place": BLOCKS}),
        )

    # -- what is cached: types/llms/openai.py, ChatCompletionToolParam ----------------------

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        if doc.get(MARK).__class__ is not dict or doc.get("function").__class__ is not dict:
            return super().read_tool(doc, at)
        tool = super().read_tool({k: v for k, v in doc.items() if k != MARK}, at)
        return replace(tool, cache=chat_parts.read_cache(self, {MARK: doc[MARK]}, at))

    def write_tool(self, tool: Tool, w: Writing) -> Json | None:
        out = super().write_tool(replace(tool, cache=None), w)
        if out is not None and tool.cache is not None:
            out[MARK] = chat_parts.write_mark(self, tool.cache, w)
        return out


DIALECT = LiteLLM()
