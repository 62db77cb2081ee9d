"""xAI's chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning_content``,
and their tokens are not among those of the reply, but beside them; no penalties, no stop strings;
an error is two words; searches are asked for with ``search_parameters``.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, Fields, text, whole
from ..core.turns import note_error_code, note_error_type
from ..core.writing import Writing
from ..ledger import Ledger
from ..lint.evidence import Verdict, told_by
from ..model import ErrorKind, Failure, Json, Request, Usage
from .openai_chat.sniff import Marks
from .openai_chat.variant import Compatible, compatible

MARKS = Marks(
    request={"search_parameters": 0.9, "deferred": 0.4},
    usage={"num_sources_used": 0.7, "cost_in_usd_ticks": 0.9},
)
# What gRPC says of its codes, of which these were seen or are to be expected.
CODES: dict[str, ErrorKind] = {
    "Client specified an invalid argument": "invalid-request",
    "Some requested entity was not found": "not-found",
    "The caller does not have permission to execute the specified operation": "permission",
    "The request does not have valid authentication credentials": "authentication",
    "Some resource has been exhausted": "rate-limit",
    "Deadline expired before operation could complete": "timeout",
    "Internal error": "server",
    "The service is currently unavailable": "overloaded",
}
CODE_OF = {kind: code for code, kind in CODES.items()}


class XAI(Compatible):
    name = "xai"
    spec = "https://docs.x.ai/docs/api-reference#chat-completions"
    vendor = "xai"
    serves = ("xai",)
    issuer = "xai"
    endpoints = compatible("https://api.x.ai/v1", "XAI_API_KEY")
    # xai-sdk 1.21 (PyPI), proto/v6: ReasoningEffort in chat_pb2.pyi, ServiceTier in usage_pb2.pyi
    can = replace(
        Compatible.can,
        lacks=Compatible.can.lacks | {"error.param"},
        thinking=replace(cap.BY_EFFORT, efforts=("low", "medium", "high", "xhigh")),
    )
    fields = Compatible.fields.but(
        Field("service_tier", text, among=("default", "priority")),
        # @ai-sdk/xai 3.0.138 (npm), src/xai-chat-options.ts
        Field("top_logprobs", whole, most=8),
    ).refusing("logit_bias", "verbosity", "store", "metadata", "cache_key")
    # "Model grok-4.6 does not support parameter presencePenalty", and so for all that reason:
    # https://docs.x.ai/docs/guides/reasoning
    reasoning_fields = fields.refusing(
        "frequency_penalty", "presence_penalty", "stop",
        why="{name} is not supported by the reasoning models of {target}",
    )  # fmt: skip

    def table(self, tree: Request, w: Writing) -> Fields:
        """A name that tells nothing is that of a model that reasons, as all newer ones do."""
        return self.fields if w.facts.thinks is not None else self.reasoning_fields

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if is_flat(doc):
            yield "error", 0.8, ("an error of two strings",)
        yield from told_by(MARKS.signs(doc), super().sniff(doc))

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        """Reasoning tokens are counted beside those of the response; the total shows it."""
        details = doc.get("completion_tokens_details")
        reasoning: Json = details.get("reasoning_tokens") if details.__class__ is dict else None
        prompt: Json = doc.get("prompt_tokens")
        reply: Json = doc.get("completion_tokens")
        counts = (prompt, reply, reasoning)
        beside = all(count.__class__ is int for count in counts) and sum(counts)
        if reasoning and beside and beside == doc.get("total_tokens"):
            return super().read_usage(doc | {"completion_tokens": reply + reasoning}, at)
        return super().read_usage(doc, at)  # counted as OpenAI does

    def write_usage(self, usage: Usage, w: Writing) -> dict[str, Json]:
        out = super().write_usage(usage, w)
        if usage.reasoning and out.get("total_tokens") == usage.input_total + usage.output_total:
            out["completion_tokens"] -= usage.reasoning
        return out

    def read_error(self, doc: Json) -> Failure:
        if not is_flat(doc):
            return super().read_error(doc)
        extras = self.keep(doc, ("code", "error"))
        kind = CODES.get(doc["code"], "other")
        return Failure(kind, doc["error"], code=doc["code"], dialect=self.name, extras=extras)

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        if self.is_same(tree.dialect):
            flat: dict[str, Json] = {"code": tree.code, "error": tree.message}
            if (
                tree.type is None
                and is_flat(flat)
                and CODES.get(str(tree.code), "other") == tree.kind
            ):
                return self.emit(flat, tree, log)
            return super().write_error(tree, log)
        code = CODE_OF.get(tree.kind, "Unknown error")
        unsaid = tree.kind == "other" and tree.type is not None
        if self.read_error({"code": code, "error": ""}).kind != tree.kind or unsaid:
            note_error_type(tree, code, log)
        note_error_code(tree, code, log)
        self.note_error(tree, log)
        return self.emit({"code": code, "error": tree.message}, tree, log)


def is_flat(doc: Json) -> bool:
    """``{"code": "Some requested entity was not found", "error": "The model ..."}``"""
    if doc.__class__ is not dict or "choices" in doc:
        return False
    return doc.get("code").__class__ is doc.get("error").__class__ is str


DIALECT = XAI()
