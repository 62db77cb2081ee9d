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
from ...core.endpoint import Endpoint
from ...core.models import DEFAULT, Models
from ...dialect import Problem
from ...lint.rules import lay_open
from ...model import Json, Reasoning, ToolCall, ToolResult
from .._model_rules import chat_model
from .response import Responses
from .sniff import sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...lint.evidence import Verdict
    from ...streams.base import StreamReader, StreamWriter


class Mistral(Responses):
    spec = "https://docs.mistral.ai/api/#tag/chat"
    vendor = "mistral"
    serves = ("mistral",)
    pairs = True
    can = cap.Capabilities(
        outputs=cap.Outputs(named="always"),
        freeform="wrapped",
        choices=cap.Choices(alone=cap.NO_MODE, subsets=cap.NO_MODE, beside=frozenset({"parallel"})),
        texts=cap.Texts(needed=frozenset({"result"})),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
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
        unfit={**Responses.can.unfit, "user": frozenset({Reasoning, ToolCall, ToolResult})},
        refused="end",
        # Its own are references to results of tools, which nobody else has.
        citations=cap.NO_CITATIONS,
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                "image": cap.Form(
                    sources=cap.POINTED, labels=frozenset({"detail"}), usual="image/png"
                ),
                "audio": cap.Form(sources=frozenset({"url", "base64"}), untyped=True),
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

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .stream import MistralWriter

        return MistralWriter(self, log, home)


DIALECT = Mistral()
