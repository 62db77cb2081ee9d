"""OpenRouter's chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning comes twice, as ``reasoning`` and part by part as
``reasoning_details``, where each signature has the format of who issued it and goes back as it
came; how the model should think is ``reasoning``; a part, a tool or the whole may have Anthropic's
cache mark; an error has its status, and may stand beside a reply that was begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.fields import Field, whole
from ...core.reading import maybe_bool, maybe_dict, maybe_int, maybe_str
from ...core.writing import Writing
from ...ledger import Ledger
from ...lint.evidence import Verdict, objects, told_by
from ...model import Failure, Json, Params, Request, Thinking, Tool
from ..openai_chat import OpenAIChat
from ..openai_chat import parts as chat_parts
from ..openai_chat.parts import AUDIO
from ..openai_chat.request import FIELDS, OLD_LIMIT
from ..openai_chat.sniff import Marks
from ..openai_chat.variant import MORE_MEDIA, OMITTED, Compatible, compatible
from . import details
from .details import FORMATS

if TYPE_CHECKING:
    from ...streams.base import StreamReader, StreamWriter

MARKS = Marks(
    request={"transforms": 0.7, "plugins": 0.7, "preset": 0.5, "include_reasoning": 0.3},
    response={"provider": 0.6},
    choice={"native_finish_reason": 0.7},
    usage={"is_byok": 0.8, "cost_details": 0.6},
    message={"reasoning_details": 0.7},
    error={"metadata": 0.5},
)
MORE_AUDIO = frozenset(AUDIO.values()).union(
    f"audio/{form}" for form in ("flac", "ogg", "aac", "aiff", "m4a")
)
REASONING = ("effort", "max_tokens", "exclude", "enabled")
MARK = "cache_control"


class OpenRouter(Compatible):
    name = "openrouter"
    issuer = "openrouter"
    spec = "https://openrouter.ai/docs/api-reference/chat-completion"
    kin = frozenset({"openai-chat"})
    endpoints = compatible("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY")
    blank = OpenAIChat.blank | {"reasoning_details"}
    cache_key = MARK
    cache_mark: ClassVar[dict[str, Json]] = {"type": "ephemeral"}
    can = replace(
        Compatible.can,
        refusals=cap.EVERYWHERE,
        lacks=Compatible.can.lacks | {"error.param"},
        # "One of the following (not both)": an effort or a budget.
        thinking=replace(
            cap.BY_EFFORT,
            modes=frozenset({"on", "off"}),
            budgets=True,
            both=False,
            displays=(OMITTED,),
        ),
        reasoning=cap.ReasoningForm(
            signatures=frozenset(
                (who, how) for who in FORMATS for how in ("signature", "encrypted")
            ),
            ids=cap.EVERYWHERE,
            summaries=cap.EVERYWHERE,
            parts=cap.EVERYWHERE,
        ),
        media=cap.MediaForms(
            kinds={
                **OpenAIChat.can.media.kinds,
                "document": replace(
                    OpenAIChat.can.media.kinds["document"],
                    sources=frozenset({"url", "base64", "file"}),
                    named=frozenset({"url", "base64"}),
                ),
                "audio": replace(
                    OpenAIChat.can.media.kinds["audio"],
                    types=MORE_AUDIO,
                ),
                "video": MORE_MEDIA["video"],
            },
            texts=cap.WORDS,
        ),
        caching=cap.Caching(on=OpenAIChat.can.caching.on | {"tool", "request"}, ttls=("5m", "1h")),
    )
    # https://openrouter.ai/docs/features/multimodal/overview
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url"}
    # @openrouter/sdk 1.3.19 (npm), models: chatcontentaudio.d.ts, chatrequest.d.ts
    says_status = True
    fields = Compatible.fields.but(
        OLD_LIMIT,
        Field("top_k", whole),
        FIELDS["metadata"],
        FIELDS["service_tier"],
        methods={"thinking": ("reasoning_effort", "reasoning"), "cache": (MARK,)},
    ).refusing("store")
    thinking_key = "reasoning"

    read_assistant = details.read_assistant
    write_assistant = details.write_assistant
    write_beside = details.write_beside
    write_reasoning = details.write_reasoning

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(signs(doc), super().sniff(doc))

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import OpenRouterReader

        return OpenRouterReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import OpenRouterWriter

        return OpenRouterWriter(self, log, same)

    # -- what is cached: chatfunctiontool.d.ts, anthropiccachecontroldirective.d.ts ----------

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

    def read_params(
        self, doc: dict[str, Json], taken: set[str], spelling: dict[str, Json]
    ) -> Params:
        params = super().read_params(doc, taken, spelling)
        if doc.get(MARK).__class__ is not dict:
            return params
        taken.add(MARK)
        return replace(params, cache=chat_parts.read_cache(self, {MARK: doc[MARK]}, ""))

    def write_params(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        cache = tree.params.cache
        if cache is not None:
            out[MARK] = chat_parts.write_mark(self, cache, w)
            tree = replace(tree, params=replace(tree.params, cache=None))
        super().write_params(out, tree, w)

    # -- how to think -----------------------------------------------------------------------

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        given = super().read_effort(doc, taken)
        config = maybe_dict(doc, "reasoning", "")
        if config is None:
            return given
        taken.add("reasoning")
        at = "/reasoning"
        effort, enabled = maybe_str(config, "effort", at), maybe_bool(config, "enabled", at)
        hidden = maybe_bool(config, "exclude", at)
        budget = maybe_int(config, "max_tokens", at)
        off = enabled is False or effort == "none"
        return Thinking(
            "off" if off else "on" if enabled or budget else None,  # "inferred from max_tokens"
            None if effort == "none" else effort,
            budget,
            OMITTED if hidden else None,
            at=at,
            extras=self.keep(config, REASONING),
        )

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        written: dict[str, Json] = {}
        if config.mode is not None and not (config.budget and config.mode == "on"):
            written["enabled"] = config.mode != "off"
        if config.display == OMITTED:
            written["exclude"] = True
        if config.effort is not None:
            written["effort"] = config.effort
        if config.budget is not None:
            written["max_tokens"] = config.budget
        out["reasoning"] = self.emit(written, config, w.log)

    # -- errors -----------------------------------------------------------------------------

    def write_error_words(self, inner: dict[str, Json], tree: Failure, log: Ledger) -> None:
        super().write_error_words(inner, tree, log)
        del inner["type"], inner["param"]


def signs(doc: Json) -> dict[str, float]:
    found = MARKS.signs(doc)
    if doc.__class__ is not dict:
        return found
    if doc.get("choices") is None:
        if doc.get("provider").__class__ is dict:
            found["the key 'provider'"] = 0.6
        if doc.get("usage") == {"include": True}:
            found["that counts shall be included"] = 0.8
        if doc.get("error").__class__ is dict and "user_id" in doc:
            found["an error with a 'user_id'"] = 0.8
    elif str(doc.get("id")).startswith("gen-"):
        found["an id that begins with 'gen-'"] = 0.7
    kinds = (tool.get("type") for tool in objects(doc.get("tools")))
    if any(str(kind).startswith("openrouter:") for kind in kinds):
        found["a tool of OpenRouter's"] = 0.9
    return found


DIALECT = OpenRouter()
