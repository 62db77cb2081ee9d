"""MiniMax's chat completions, a variant of OpenAI Chat.

What it does differently: with ``reasoning_split`` the model's reasoning stands beside the reply, as
``reasoning_content`` and part by part as ``reasoning_details``, which are sent back; without it, it
stands in the text, between ``<think>`` tags. Whether the model thinks is ``thinking``. An error
comes with the status of success, in ``base_resp``. There are few parameters: no stop strings, no
second reply, no form of the reply; no schema is enforced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.fields import Field, number, text
from ...core.writing import Writing
from ...ledger import Ledger
from ...lint.evidence import Verdict, told_by
from ...model import ErrorKind, Failure, Json, Message, Reasoning
from ..openai_chat.sniff import Marks
from ..openai_chat.variant import IMAGES, MORE_MEDIA, Mode, Stored, Switched, compatible

if TYPE_CHECKING:
    from ...streams.base import StreamReader

DETAILS, TEXT = "reasoning_details", "reasoning.text"
MARKS = Marks(
    request={"reasoning_split": 0.8},
    response={"base_resp": 0.9, "input_sensitive": 0.7, "output_sensitive": 0.7},
    message={"audio_content": 0.4},
    model=r"(?i:minimax)-[A-Za-z0-9.-]+",
    even_null=True,
)
# https://platform.minimax.io/docs/api-reference/text-chat-openai, components/schemas: base_resp
CODES: dict[int, ErrorKind] = {
    1000: "other",
    1001: "timeout",
    1002: "rate-limit",
    1004: "authentication",
    1008: "billing",
    1013: "server",
    1026: "invalid-request",
    1027: "invalid-request",
    1039: "rate-limit",
    2013: "invalid-request",
    2049: "authentication",
}
STORED = frozenset({"url", "base64", "file"})


class MiniMax(Switched, Stored):
    name = "minimax"
    spec = "https://platform.minimax.io/docs/api-reference/text-openai-api"
    issuer = "minimax"
    serves = ("minimax",)
    file_prefix = "mm_file://"
    endpoints = compatible("https://api.minimax.io/v1", "MINIMAX_API_KEY")
    # There, components/schemas: ChatCompletionReq, Message, MessageContentPart
    modes: ClassVar[Mapping[str, Mode]] = {"adaptive": "adaptive", "disabled": "off"}
    can = replace(
        Switched.can,
        names=cap.EVERYWHERE,  # "name": "MiniMax AI"
        developer=False,
        strict=False,
        outputs=cap.Outputs(json="dropped", schemas=frozenset()),
        choices=cap.Choices(
            modes=frozenset({"auto", "none"}),
            alone=cap.NO_MODE,
            subsets=cap.NO_MODE,
            parallel=cap.NO_MODE,
        ),
        thinking=cap.ThinkingForm(modes=frozenset({"adaptive", "off"})),
        media=cap.MediaForms(
            kinds={
                "image": IMAGES,
                "video": replace(MORE_MEDIA["video"], sources=STORED),
            },
            texts=cap.WORDS,
        ),
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url"}
    fields = Switched.fields.but(
        Field("temperature", number, least=0, most=2),
        Field("top_p", number, least=0, most=1),
        Field("service_tier", text, among=("standard", "priority")),
        methods={"thinking": ("reasoning_effort", "thinking")},
    ).refusing(
        "stop", "seed", "candidates", "logit_bias", "logprobs", "top_logprobs",
        "frequency_penalty", "presence_penalty", "verbosity", "store", "metadata", "cache_key",
        "user_id", "output",
    )  # fmt: skip

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    # -- reasoning --------------------------------------------------------------------------

    def read_assistant(self, doc: dict[str, Json], at: str) -> Message:
        texts = texts_of(doc.get(DETAILS))
        if texts is None:
            return super().read_assistant(doc, at)
        rest = {k: v for k, v in doc.items() if k != DETAILS}
        if given := doc.get("reasoning_content"):
            same = given == "".join(texts)  # else they say something else
            return super().read_assistant(rest if same else doc, at)
        message = super().read_assistant(rest, at)
        block = Reasoning(texts, at=f"{at}/{DETAILS}")
        return replace(message, content=(block, *message.content))

    def write_reasoning(self, doc: dict[str, Json], block: Reasoning, w: Writing) -> None:
        """ "The reasoning_details field [...] must also be preserved completely." """
        if w.reply or not any(block.content):
            super().write_reasoning(doc, block, w)
            return
        self.lose(block.extras, block.at, w.log)
        written = doc.setdefault(DETAILS, [])
        if written and not w.same:
            self.join_text(block.at, w.log)
        written += [detail(text, number) for number, text in enumerate(block.content, len(written))]

    # -- errors -----------------------------------------------------------------------------

    def is_failure(self, doc: dict[str, Json]) -> bool:
        return super().is_failure(doc) or (failed(doc) and not doc.get("choices"))

    def read_error(self, doc: Json) -> Failure:
        if doc.__class__ is not dict or not failed(doc) or doc.get("error") is not None:
            return super().read_error(doc)
        inner = doc["base_resp"]
        words = inner.get("status_msg")
        taken = ("status_code", "status_msg") if words.__class__ is str else ("status_code",)
        return Failure(
            CODES.get(inner["status_code"], "other"),
            words if words.__class__ is str else "",
            code=str(inner["status_code"]),
            dialect=self.name,
            extras=self.keep(doc, (), {"base": True}, partly={"base_resp": taken}),
        )

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        code = tree.code or ""
        if "base" not in self.spelling(tree) or not code.isascii() or not code.isdigit():
            return super().write_error(tree, log)
        if CODES.get(int(code), "other") != tree.kind:
            return super().write_error(tree, log)
        inner: dict[str, Json] = {"status_code": int(code), "status_msg": tree.message}
        return self.emit({"base_resp": inner}, tree, log)

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import MiniMaxReader

        return MiniMaxReader(self, whole)


def failed(doc: dict[str, Json]) -> bool:
    """``"base_resp": {"status_code": 1004, "status_msg": "login fail"}``; 0 is success."""
    inner = doc.get("base_resp")
    return (
        inner.__class__ is dict
        and inner.get("status_code").__class__ is int
        and bool(inner["status_code"])
    )


def texts_of(docs: Json, numbered: bool = False) -> tuple[str, ...] | None:
    """The texts of ``reasoning_details``; None where there is more to them than the API writes.

    ``numbered``: the index tells which part of all is meant, as in a stream.
    """
    if docs.__class__ is not list or not docs:
        return None
    texts: list[str] = []
    for place, doc in enumerate(docs):
        if doc.__class__ is not dict or doc.get("text").__class__ is not str:
            return None
        index = doc.get("index") if numbered else place
        usual = detail(doc["text"], index if index.__class__ is int else 0)
        if not doc.items() <= usual.items():
            return None
        texts.append(doc["text"])
    return tuple(texts)


def detail(text: str, index: int = 0) -> dict[str, Json]:
    """An entry as the API writes it."""
    return {
        "type": TEXT,
        "id": f"reasoning-text-{index + 1}",
        "format": "MiniMax-response-v1",
        "index": index,
        "text": text,
    }


DIALECT = MiniMax()
