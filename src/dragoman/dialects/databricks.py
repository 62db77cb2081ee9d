"""Databricks' chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning is a part of the content, which Claude signs, and is
sent back there; whether Claude thinks is ``thinking``, with a budget, and other models have an
effort; an error is a code and a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.endpoint import Endpoint
from ..core.fields import Field, number, strings, whole
from ..core.writing import Writing
from ..ledger import Ledger
from ..lint.evidence import Verdict, told_by
from ..model import ErrorKind, Extras, Failure, Json, Message, Reasoning
from ._openai import ERRORS
from .openai_chat import OpenAIChat
from .openai_chat.request import OLD_LIMIT
from .openai_chat.sniff import Marks
from .openai_chat.variant import Switched

MARKS = Marks(model=r"databricks-[a-z0-9.-]+")
ROW: dict[str, Any] = {
    "stream": OpenAIChat.endpoints[0].stream,
    "url_variables": ("DATABRICKS_HOST",),
    "key_variables": ("DATABRICKS_TOKEN",),
}
CLAUDE = ("anthropic", "signature")


class Databricks(Switched):
    name = "databricks"
    spec = "https://docs.databricks.com/aws/en/machine-learning/foundation-model-apis/api-reference"
    issuer = "databricks"
    # https://docs.databricks.com/aws/en/machine-learning/model-serving/query-chat-models
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint("/chat/completions", prefix="/serving-endpoints", **ROW),
        Endpoint(
            "/{model}/invocations",
            prefix="/serving-endpoints",
            platform="invocations",
            sign=r"/invocations$",
            **ROW,
        ),
    )
    inner_budget = "budget_tokens"
    # https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models
    can = replace(
        Switched.can,
        developer=False,
        names=cap.NOWHERE,
        reasoning=cap.ReasoningForm(
            signatures=frozenset({CLAUDE}), summaries=cap.HISTORY, parts=cap.HISTORY
        ),
        replies=cap.ReasoningForm(parts=cap.EVERYWHERE),
        thinking=replace(
            cap.BY_EFFORT,
            modes=frozenset({"on", "off"}),
            efforts=("low", "medium", "high"),
            budgets=True,
            budgeted=True,
            least=1024,
            beside=False,
            both=False,
        ),
    )
    # The reference, "Chat request"
    fields = Switched.fields.but(
        OLD_LIMIT,
        Field("temperature", number, least=0, most=2),
        Field("top_p", number, least=0, most=1),
        Field("top_k", whole, least=1),
        Field("stop", strings, single=True),
        Field("top_logprobs", whole, least=0, most=20),
        methods={"thinking": ("reasoning_effort", "thinking")},
    ).refusing(
        "seed", "logit_bias", "frequency_penalty", "presence_penalty", "verbosity", "store",
        "metadata", "cache_key", "user_id",
    )  # fmt: skip
    # databricks-sdk 0.156 (PyPI), errors/platform.py
    errors: ClassVar[dict[str, ErrorKind]] = {
        **ERRORS,
        "BAD_REQUEST": "invalid-request",
        "INVALID_PARAMETER_VALUE": "invalid-request",
        "UNAUTHENTICATED": "authentication",
        "PERMISSION_DENIED": "permission",
        "NOT_FOUND": "not-found",
        "RESOURCE_DOES_NOT_EXIST": "not-found",
        "RESOURCE_CONFLICT": "conflict",
        "TOO_MANY_REQUESTS": "rate-limit",
        "REQUEST_LIMIT_EXCEEDED": "rate-limit",
        "RESOURCE_EXHAUSTED": "rate-limit",
        "INTERNAL_ERROR": "server",
        "TEMPORARILY_UNAVAILABLE": "overloaded",
        "DEADLINE_EXCEEDED": "timeout",
    }

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if is_flat(doc):
            yield "error", 0.6, ("an error with an 'error_code'",)
        yield from told_by(MARKS.signs(doc), super().sniff(doc))

    def write_assistant(self, message: Message, w: Writing) -> Json | None:
        """Reasoning is a part of the content of a history: summaries, the last of them signed."""
        if w.reply or w.same or not any(isinstance(b, Reasoning) for b in message.content):
            return super().write_assistant(message, w)
        content = tuple(
            self.as_part(block, w) if isinstance(block, Reasoning) else block
            for block in message.content
        )
        return super().write_assistant(replace(message, content=content), w)

    def as_part(self, block: Reasoning, w: Writing) -> Reasoning:
        self.lose(block.extras, block.at, w.log)
        if any(block.content):
            why = f"reasoning is written as a summary in {self.name}"
            w.log.approximated("reasoning.summary", block.at, why)
        texts = (*block.content, *block.summary)
        if not texts and block.signature is not None:
            texts = ("",)  # the signature stands beside a text
        return replace(
            block,
            content=(),
            summary=texts,
            extras=Extras(self.name, spelling={"place": "content"}),
        )

    # -- errors -----------------------------------------------------------------------------

    def is_failure(self, doc: dict[str, Json]) -> bool:
        return super().is_failure(doc) or is_flat(doc)

    def read_error(self, doc: Json) -> Failure:
        if not is_flat(doc):
            return super().read_error(doc)
        code, extras = doc["error_code"], self.keep(doc, ("error_code", "message"), {"flat": True})
        kind = self.errors.get(code, "other")
        return Failure(kind, doc["message"], code=code, dialect=self.name, extras=extras)

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        flat = "flat" in self.spelling(tree)
        if not flat or self.errors.get(tree.code or "", "other") != tree.kind:
            return super().write_error(tree, log)
        return self.emit({"error_code": tree.code, "message": tree.message}, tree, log)


def is_flat(doc: Json) -> bool:
    """``{"error_code": "BAD_REQUEST", "message": "..."}``"""
    if doc.__class__ is not dict or "choices" in doc:
        return False
    return doc.get("error_code").__class__ is doc.get("message").__class__ is str


DIALECT = Databricks()
