"""Groq's chat completions, a variant of OpenAI Chat.

What it does differently: the model's thoughts stand beside the answer as ``reasoning``, unless
``reasoning_format`` hides them or leaves them in the text; there are service tiers of its own; no
token probabilities, no second answer; a stream counts tokens in ``x_groq``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ..model import ErrorKind, Json, Thinking
from ..sniffing import Verdict, told_by
from ..writing import Writing
from ._openai import ERRORS
from .openai_chat.request import SPECIAL
from .openai_chat.sniff import Marks
from .openai_chat.variant import Compatible

if TYPE_CHECKING:
    from ..streaming import StreamReader

MARKS = Marks(
    request={"reasoning_format": 0.8},
    response={"x_groq": 0.95, "usage_breakdown": 0.5},
    usage={"queue_time": 0.6, "prompt_time": 0.5},
    message={"executed_tools": 0.7},
    error={"failed_generation": 0.8},
)
HIDDEN, OMITTED = "hidden", "omitted"


class Groq(Compatible):
    name = "groq"
    spec = "https://console.groq.com/docs/api-reference#chat-create"
    issuer = "groq"
    thinking_key = "reasoning"
    tiers: ClassVar[tuple[str, ...]] = ("auto", "on_demand", "flex", "performance")
    efforts: ClassVar[tuple[str, ...]] = ("low", "medium", "high", "default")
    special = SPECIAL | {"reasoning_format"}
    # https://console.groq.com/docs/openai#currently-unsupported-openai-features
    refused: ClassVar[dict[str, str]] = dict.fromkeys(
        ("logit_bias", "logprobs", "top_logprobs", "candidates", "verbosity", "store", "metadata",
         "cache_key"),
        "this is not taken here",
    )  # fmt: skip
    errors: ClassVar[dict[str, ErrorKind]] = {
        **ERRORS,
        "model_decommissioned": "not-found",
        "tool_use_failed": "invalid-request",
        "json_validate_failed": "invalid-request",
    }

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        said = super().read_effort(doc, taken)
        if doc.get("reasoning_format") != HIDDEN:
            return said
        taken.add("reasoning_format")
        said = said or Thinking(at="/reasoning_format")
        return replace(said, display=OMITTED)

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        if config.display == OMITTED:
            out["reasoning_format"] = HIDDEN
            config = replace(config, display=None)
        super().write_effort(out, config, w)

    def read_stream(self, whole: bool) -> StreamReader:
        from .openai_chat.read_stream import ChatReader

        class GroqReader(ChatReader):
            def document(self) -> Json | None:
                return counted(super().document())

        return GroqReader(self, whole)


def counted(doc: Json) -> Json:
    """The counts of a stream stand in ``x_groq``, and beside it only for those who ask."""
    inner = doc.get("x_groq") if doc.__class__ is dict else None
    if inner.__class__ is not dict or inner.get("usage").__class__ is not dict:
        return doc
    rest = {k: v for k, v in inner.items() if k != "usage"}
    return {"usage": inner["usage"], **doc, "x_groq": rest}


DIALECT = Groq()
