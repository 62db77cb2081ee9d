"""Mistral's chat completions, a variant of OpenAI Chat.

What it does differently: the id of a call has exactly nine letters or digits; reasoning are chunks
of the content, before the text; results of tools hold images and documents, and name their tool;
a document is sent by its address or as data; a turn that the model goes on with says ``prefix``;
the seed is ``random_seed``, and that a tool must be used is ``any``; an error is flat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from ...core.capabilities import (
    HISTORY,
    NO_CITATIONS,
    NO_MARKS,
    NO_MODE,
    NOWHERE,
    POINTED,
    RARE,
    WORDS,
    Capabilities,
    Choices,
    Form,
    MediaForms,
    ReasoningForm,
    Texts,
)
from ...core.endpoint import Endpoint
from ...core.models import DEFAULT, Models
from ...dialect import Problem
from ...lint.rules import lay_open
from ...model import Json, Reasoning, ToolCall
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
    can = Capabilities(
        freeform="wrapped",
        choices=Choices(alone=NO_MODE, subsets=NO_MODE, beside=frozenset({"parallel"})),
        texts=Texts(needed=frozenset({"result"})),
        names=NOWHERE,
        developer=False,
        item_ids=NOWHERE,
        refusals=NOWHERE,
        passages=NOWHERE,
        # In a response it is one text, as it arrives in a stream.
        reasoning=ReasoningForm(signatures=frozenset({("mistral", "signature")}), parts=HISTORY),
        unfit={**Responses.can.unfit, "user": frozenset({Reasoning, ToolCall})},
        refused="end",
        citations=NO_CITATIONS,  # its own are references to results of tools, which nobody else has
        caching=NO_MARKS,
        media=MediaForms(
            kinds={
                "image": Form(sources=POINTED, labels=frozenset({"detail"}), usual="image/png"),
                "audio": Form(sources=frozenset({"url", "base64"})),
                "document": Form(
                    sources=POINTED,
                    labels=frozenset({"filename"}),
                    titled=frozenset({"base64"}),
                    extended=False,
                    usual="application/pdf",
                ),
            },
            texts=WORDS,
        ),
        lacks=RARE - {"logprobs"} | {"error.request_id", "usage.cache_ttl"},
        counts=frozenset({"cache_read", "cache_write"}),
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
