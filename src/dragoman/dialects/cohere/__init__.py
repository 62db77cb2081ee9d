"""Cohere's chat API, version 2, ``POST /v2/chat``.

What it does differently from its neighbours: documents to be cited stand beside the conversation,
and in the results of tools; what is cited stands beside the text, with its place in it; what the
model says before its calls is its ``tool_plan``; reasoning is a part of the content; of the choice
among tools, only that one must be used or none may can be said; all tools are strict or none is;
tokens are counted as they are and as they are billed; in a stream, each part begins and ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from .parts import DETAILS
from .response import Responses
from .rules import Rules
from .sniff import Sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


class Cohere(Rules, Sniff, Responses):
    spec = "https://docs.cohere.com/reference/chat"
    vendor = "cohere"
    needs_model = True
    serves = ("cohere",)
    pairs = True
    can = cap.Capabilities(
        unfit=cap.RESULTS_APART,
        outputs=cap.Outputs(schemas=cap.OBJECTS, labels=cap.UNLABELLED, alone=True),
        freeform="wrapped",
        choices=cap.Choices(
            modes=frozenset({"none", "required"}),
            alone=frozenset({"none"}),
            subsets=cap.NO_MODE,
            parallel=cap.NO_MODE,
        ),
        texts=cap.Texts(empty=cap.NOWHERE, cited=True, needed=frozenset({"result"})),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        citations=cap.Citations(everyone=False, forms=("url", "document")),
        reasoning=cap.ReasoningForm(),
        thinking=cap.ThinkingForm(modes=frozenset({"on", "off"}), budgets=True),
        order={
            "assistant": {"text": 0, "reasoning": 0, "call": 1},
            "response": {"text": 0, "reasoning": 0, "call": 1},
            "tool": {"text": 0, "document": 0, "passage": 0, "image": 1},
        },
        prefill="never",
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                "image": cap.Form(
                    sources=frozenset({"url", "base64"}),
                    labels=frozenset({"detail"}),
                    details=DETAILS,
                    usual="image/png",
                ),
                "document": cap.Form(
                    sources=frozenset({"text"}),
                    labels=frozenset({"title", "citable"}),
                    plain=True,
                ),
            },
            code="tool_result.content",
        ),
        candidates=1,
        lacks=cap.RARE | {"response.model", "response.created", "error.code", "error.param"},
        result_names=False,
    )
    stream_signs = (("type", "message-start"), ("type", "content-start"))
    # cohere (PyPI), client.py
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/v2/chat",
            "https://api.cohere.com",
            url_variables=("CO_API_URL",),
            key_variables=("CO_API_KEY", "COHERE_API_KEY"),
        ),
    )
    # Servers and clients send all of these, and mostly empty.
    blank: ClassVar[frozenset[str]] = frozenset(
        {"content", "tool_plan", "tool_calls", "citations", "documents", "usage", "stop_sequences"}
    )

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import CohereReader

        return CohereReader(self, whole)

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .write_stream import CohereWriter

        return CohereWriter(self, log, home)


DIALECT = Cohere()
