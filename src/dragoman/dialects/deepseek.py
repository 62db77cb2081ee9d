"""DeepSeek's chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning_content``,
and must be sent back; whether it thinks is ``thinking``, and it does unless told not to; while it
does, no call can be forced; there is no developer; that a reply is JSON can be demanded, but no
schema; a turn that the model goes on with says ``prefix``; the end user is ``user_id``; what came
out of the cache is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, strings, text
from ..core.writing import Names, Writing
from ..ledger import Ledger
from ..lint.evidence import Verdict, told_by
from ..model import Json, Message, Request, Usage
from .openai_chat.request import OLD_LIMIT
from .openai_chat.response import STOPS
from .openai_chat.sniff import Marks
from .openai_chat.variant import Compatible, Prefixed, Switched, compatible, unforced

HIT, MISS = "prompt_cache_hit_tokens", "prompt_cache_miss_tokens"
MARKS = Marks(
    usage={HIT: 0.9, MISS: 0.9},
    model=r"deepseek-(?:chat|reasoner|coder|flash|pro|v[0-9][a-z0-9.-]*)",
)


def legal_user(user: str, at: str, log: Ledger, target: str) -> str:
    return Names(("[a-zA-Z0-9_-]", 512), "user_id")(user, at, log)


class DeepSeek(Switched, Prefixed):
    name = "deepseek"
    spec = "https://api-docs.deepseek.com/api/create-chat-completion"
    vendor = "deepseek"
    serves = ("deepseek",)
    issuer = "deepseek"
    endpoints = compatible("https://api.deepseek.com", "DEEPSEEK_API_KEY")
    enforces = True  # https://api-docs.deepseek.com/guides/tool_calls: strict mode
    # "unknown variant `developer`, expected one of `system`, `user`, ..."
    can = replace(
        Compatible.can,
        developer=False,
        outputs=cap.Outputs(schemas=frozenset()),
        prefill="told",
        thinking=replace(cap.BY_EFFORT, modes=frozenset({"on", "off"})),
    )
    # @ai-sdk/deepseek 2.0.69 (npm), src/chat: deepseek-chat-options.ts, deepseek-chat-api-types.ts
    fields = (
        Compatible.fields.but(
            OLD_LIMIT,
            Field("stop", strings, single=True, count=16),
            Field("user_id", text, also=("user", "safety_identifier"), fit=legal_user),
            methods={"thinking": ("reasoning_effort", "thinking")},
        )
        .refusing("seed", "candidates", "logit_bias", "verbosity", "store", "metadata", "cache_key")
        .refusing("frequency_penalty", "presence_penalty", why="{name} has no effect in {target}")
    )
    # "insufficient_system_resource: the request is interrupted due to insufficient resource"
    stops = STOPS.but(
        {"insufficient_system_resource": "error"}, {"error": "insufficient_system_resource"}
    )

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    # -- requests ---------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        # "Thinking mode does not support this tool_choice", and it is the usual mode.
        # https://github.com/deepseek-ai/DeepSeek-V3/issues/1376
        if not self.is_same(tree.dialect) and tree.tool_choice is not None:
            tree = unforced(tree, tree.tool_choice, log)
        return super().write_request(tree, log)

    # -- messages ---------------------------------------------------------------------------

    def write_assistant(self, message: Message, w: Writing) -> Json | None:
        """ "The `reasoning_content` in the thinking mode must be passed back to the API": with
        every turn, if only as an empty text (@ai-sdk/deepseek 2.0.69,
        convert-to-deepseek-chat-messages.ts). The model thinks unless it is told not to.
        """
        doc = super().write_assistant(message, w)
        if doc is not None and not w.reply:
            doc.setdefault(self.thinking_key, "")
        return doc

    # -- replies ----------------------------------------------------------------------------

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        """What came out of the cache is counted under two names; this one is always there."""
        hit, miss, key = doc.get(HIT), doc.get(MISS), "prompt_tokens_details"
        details = doc.get(key)
        agrees = hit.__class__ is miss.__class__ is int and hit + miss == doc.get("prompt_tokens")
        known: dict[str, Json] = details if details.__class__ is dict else {}
        odd = details is not None and details.__class__ is not dict
        if not agrees or odd or (known and known.get("cached_tokens") != hit):
            return super().read_usage(doc, at)
        rest = {k: v for k, v in doc.items() if k not in (HIT, MISS)}
        return super().read_usage(rest | {key: known | {"cached_tokens": hit}}, at)

    def write_usage(self, usage: Usage, w: Writing) -> dict[str, Json]:
        out = super().write_usage(usage, w)
        total, hit = out.get("prompt_tokens"), usage.cache_read
        if hit is not None and total == usage.input_total and not out.keys() & {HIT, MISS}:
            out |= {HIT: hit, MISS: total - hit}
        return out


DIALECT = DeepSeek()
