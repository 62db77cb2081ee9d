"""DeepSeek's chat completions, a variant of OpenAI Chat.

What it does differently: the model's thoughts stand beside the answer as ``reasoning_content``,
and must be sent back with the calls that they led to; whether it thinks is ``thinking``; a message
holds only text; there is no developer; that an answer is JSON can be demanded, but no schema; a
turn that the model goes on with says ``prefix``; what came out of the cache is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from msgspec.structs import replace

from ..ledger import Ledger
from ..model import (
    Json,
    Media,
    Message,
    OutputFormat,
    Request,
    StopReason,
    Thinking,
    Usage,
)
from ..sniffing import Verdict, told_by
from ..writing import Writing
from .openai_chat.request import SPECIAL
from .openai_chat.response import STOP, STOP_WORDS
from .openai_chat.sniff import Marks
from .openai_chat.variant import Compatible

HIT, MISS = "prompt_cache_hit_tokens", "prompt_cache_miss_tokens"
MODES: dict[str, Literal["on", "off"]] = {"enabled": "on", "disabled": "off"}
MARKS = Marks(
    usage={HIT: 0.9, MISS: 0.9},
    model=r"deepseek-(?:chat|reasoner|coder|flash|v[0-9][a-z0-9.-]*)",
)


class DeepSeek(Compatible):
    name = "deepseek"
    spec = "https://api-docs.deepseek.com/api/create-chat-completion"
    issuer = "deepseek"
    limit_key = "max_tokens"
    most_stops = 16
    special = SPECIAL | {"thinking"}
    refused: ClassVar[dict[str, str]] = dict.fromkeys(
        ("seed", "candidates", "logit_bias", "verbosity", "store", "metadata", "cache_key"),
        "this is not known here",
    )
    # "insufficient_system_resource: the request is interrupted due to insufficient resource"
    stops: ClassVar[dict[str, StopReason]] = {**STOP, "insufficient_system_resource": "error"}
    stop_words: ClassVar[dict[StopReason, str]] = {
        **STOP_WORDS,
        "error": "insufficient_system_resource",
    }

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    # -- requests ---------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        tree = super().read_request(doc)
        last = tree.messages[-1] if tree.messages else None
        if last is None or last.extras is None or last.extras.fields.get("prefix") is not True:
            return tree
        rest = {k: v for k, v in last.extras.fields.items() if k != "prefix"}
        extras = self.respell(replace(last.extras, fields=rest), prefix=True)
        messages = (*tree.messages[:-1], replace(last, extras=extras))
        return replace(tree, messages=messages, prefill=True)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        out: Json = super().write_request(replace(tree, prefill=None), log)
        if tree.prefill and out["messages"] and out["messages"][-1]["role"] == "assistant":
            out["messages"][-1]["prefix"] = True
        elif tree.prefill:
            log.dropped("prefill", tree.messages[-1].at, "nothing is left to go on with")
        return out

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        said = super().read_effort(doc, taken)
        config = doc.get("thinking")
        if config.__class__ is not dict or (mode := MODES.get(str(config.get("type")))) is None:
            return said
        taken.add("thinking")
        spelling = {"thinking": True, "effort": doc.get("reasoning_effort")}
        extras = self.keep(config, ("type",), spelling)
        effort = None if said is None else said.effort
        return Thinking(mode, effort, at="/thinking", extras=extras)

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        spelling = self.spelling(config)
        if "thinking" in spelling:
            kind = "disabled" if config.mode == "off" else "enabled"
            out["thinking"] = self.emit({"type": kind}, config, w.log)
            if spelling["effort"] is not None:
                out["reasoning_effort"] = config.effort or spelling["effort"]
            return None
        if config.mode is None or w.home:
            return super().write_effort(out, config, w)
        out["thinking"] = {"type": "disabled" if config.mode == "off" else "enabled"}
        if config.mode in ("adaptive", "between-tools"):
            w.log.approximated("thinking", config.at, "the model thinks or does not here")
        elif config.mode == "off" and (config.effort or config.budget):
            code = "thinking.effort" if config.effort else "thinking.budget"
            w.log.dropped(code, config.at, "that the model should not think says it")
            config = replace(config, effort=None, budget=None)
        return super().write_effort(out, replace(config, mode=None), w)

    def write_output(self, form: OutputFormat, w: Writing) -> Json:
        if form.kind == "schema" and not w.home:
            w.log.approximated("output", form.at, "no schema can be demanded here, only JSON")
            form = OutputFormat("json", at=form.at, extras=form.extras)
        return super().write_output(form, w)

    # -- messages ---------------------------------------------------------------------------

    def write_history(self, messages: Sequence[Message], w: Writing) -> list[Json]:
        if not w.home:
            messages = [self.without_developer(message, w) for message in messages]
        return super().write_history(messages, w)

    def without_developer(self, message: Message, w: Writing) -> Message:
        """``unknown variant `developer`, expected one of `system`, `user`, ...``"""
        if message.role != "developer":
            return message
        w.log.approximated("message.role", message.at, "a developer is the system here")
        return replace(message, role="system")

    def write_media(self, block: Media, w: Writing) -> list[Json]:
        """``unknown variant `image_url`, expected `text` ``"""
        if w.home or block.source.kind in ("text", "blocks"):
            return super().write_media(block, w)
        w.log.dropped("media", block.at, "only text can be sent here")
        self.lose_cache(block.cache, w)
        self.lose(block.extras, block.at, w.log)
        return []

    # -- answers ----------------------------------------------------------------------------

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        """What came out of the cache is counted under two names; this one is always there."""
        hit, miss, key = doc.get(HIT), doc.get(MISS), "prompt_tokens_details"
        details = doc.get(key)
        agrees = hit.__class__ is miss.__class__ is int and hit + miss == doc.get("prompt_tokens")
        if not agrees or (details is not None and details != {"cached_tokens": hit}):
            usage = super().read_usage(doc, at)
            return replace(usage, extras=self.respell(usage.extras))
        rest = {k: v for k, v in doc.items() if k not in (HIT, MISS)}
        usage = super().read_usage(rest | {key: {"cached_tokens": hit}}, at)
        extras = self.respell(usage.extras, **({} if details else {key: None}))
        blanks = extras.blanks | {HIT: hit, MISS: miss}
        if details is None and key in doc:
            blanks[key] = None
        return replace(usage, extras=replace(extras, blanks=blanks))

    def write_usage(self, usage: Usage, log: Ledger) -> Json:
        out = super().write_usage(usage, log)
        home = usage.extras is not None and self.is_home(usage.extras.dialect)
        if usage.cache_read is not None and not home:
            out |= {HIT: usage.cache_read, MISS: usage.input_total - usage.cache_read}
        return out


DIALECT = DeepSeek()
