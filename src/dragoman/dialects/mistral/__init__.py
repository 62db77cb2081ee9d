"""Mistral's chat completions, a variant of OpenAI Chat.

What it does differently: the id of a call has exactly nine letters or digits; reasoning is chunks
of the content, before the text; results of tools hold images and documents, and name their tool;
a document is sent by its address or as data; a turn that the model goes on with says ``prefix``;
the seed is ``random_seed``, and that a tool must be used is ``any``; an error is flat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from ...core import capabilities as cap
from ...core.counts import Counts
from ...core.endpoint import Endpoint
from ...core.fields import Field, number, text, whole
from ...core.models import DEFAULT, Models
from ...dialect import Problem
from ...lint.rules import lay_open
from ...model import Json, Reasoning, ToolCall, ToolResult
from .._model_rules import chat_model
from .._nine import ID_RULE
from ..openai_chat import OpenAIChat
from ..openai_chat.request import FIELDS, OLD_LIMIT
from ..openai_chat.response import COUNTS, STOPS
from . import messages, parts, request, response
from .sniff import sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...lint.evidence import Verdict
    from ...streams.base import StreamReader, StreamWriter


class Mistral(OpenAIChat):
    name = "mistral"
    issuer = "mistral"
    spec = "https://docs.mistral.ai/api/#tag/chat"
    vendor = "mistral"
    serves = ("mistral",)
    pairs = True
    windows = False  # the last turn may say that it is the last
    can = cap.Capabilities(
        outputs=cap.Outputs(named="always"),
        freeform="wrapped",
        choices=cap.Choices(alone=cap.NO_MODE, subsets=cap.NO_MODE, beside=frozenset({"parallel"})),
        systems="asked",
        texts=cap.Texts(needed=frozenset({"result"})),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        results=cap.MARKED_ERRORS,
        # In a response it is one text, as it arrives in a stream.
        reasoning=cap.ReasoningForm(
            signatures=frozenset({("mistral", "signature")}), parts=cap.HISTORY
        ),
        thinking=cap.BY_EFFORT,
        order={
            "assistant": {"text": 0, "reasoning": 0, "call": 1},
            "response": {"text": 0, "reasoning": 0, "call": 1},
        },
        prefill="told",
        unfit={**OpenAIChat.can.unfit, "user": frozenset({Reasoning, ToolCall, ToolResult})},
        refused="end",
        # Its own are references to results of tools, which nobody else has.
        citations=cap.NO_CITATIONS,
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                "image": cap.Form(
                    sources=cap.POINTED, labels=frozenset({"detail"}), usual="image/png"
                ),
                "audio": cap.Form(
                    sources=frozenset({"url", "base64"}), untyped=True, absolute=True
                ),
                "document": cap.Form(
                    sources=cap.POINTED,
                    labels=frozenset({"filename"}),
                    unlabelled=frozenset({"file"}),
                    titled=frozenset({"base64"}),
                    extended=False,
                    usual="application/pdf",
                ),
            },
            texts=cap.WORDS,
        ),
        lacks=cap.RARE - {"logprobs"} | {"error.request_id", "usage.cache_ttl"},
    )
    aliases: ClassVar[tuple[str, ...]] = ()
    # mistralai (PyPI), sdkconfiguration.py; its streams have counts without being asked for them
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/chat/completions",
            "https://api.mistral.ai",
            "/v1",
            key_variables=("MISTRAL_API_KEY",),
        ),
    )
    rules: ClassVar[dict[str, str]] = {}
    call_ids: ClassVar[tuple[str, int]] = ID_RULE
    joins_texts = False  # what follows each other is one text, as in a stream
    fills_silence = False
    has_signatures = False
    enforces = False
    fields = (
        FIELDS.without_limits()
        .but(
            OLD_LIMIT,
            # "Input should be less than or equal to 1.5"
            Field("temperature", number, most=1.5),
            Field("top_k", whole),
            Field("seed", whole, "random_seed", also=("seed",)),
            Field("service_tier", text, among=("auto", "standard_only")),
        )
        .refusing("logit_bias", "verbosity", "user_id", "store")
    )
    asks_for_usage = False
    shared: ClassVar[dict[str, frozenset[str]]] = {}
    counts = Counts(COUNTS.rows, required=True, refuses=("reasoning",))
    error_is_a_stop = True
    stops = STOPS.but(
        {"model_length": "context"},
        # a cut reply must not look complete
        {"context": "model_length", "error": "error", "filter": "error"},
    )

    read_request = request.read_request
    write_request = request.write_request
    writing = messages.writing
    read_history = messages.read_history
    arrange = messages.arrange
    read_assistant = messages.read_assistant
    holds_all = messages.holds_all
    write_assistant = messages.write_assistant
    sort_blocks = messages.sort_blocks
    write_texts = messages.write_texts
    write_result_content = messages.write_result_content
    write_tool = messages.write_tool
    read_choice = messages.read_choice
    write_choice = messages.write_choice
    read_part = parts.read_part
    write_part = parts.write_part
    write_audio = parts.write_audio
    write_image = parts.write_image
    write_file = parts.write_file
    read_choice_of_reply = response.read_choice_of_reply
    write_candidate = response.write_candidate
    write_reply = response.write_reply
    read_usage = response.read_usage
    is_failure = response.is_failure
    read_error = response.read_error
    write_error = response.write_error

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return sniff(super().sniff(doc), doc)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        """The rules of OpenAI are not Mistral's; what a model refuses is the table's."""
        if facet != "request":
            return iter(())
        return chat_model(lay_open(doc, facet, models), self.vendor)

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import MistralReader

        return MistralReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import MistralWriter

        return MistralWriter(self, log, same)


DIALECT = Mistral()
