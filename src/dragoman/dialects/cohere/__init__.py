"""Cohere's chat API, version 2, ``POST /v2/chat``.

What it does differently from its neighbours: documents to be cited stand beside the conversation,
and in the results of tools; what is cited stands beside the text, with its place in it; what the
model says before its calls is its ``tool_plan``; reasoning is a part of the content; of the choice
among tools, "one must be used" and "none may" are possible; all tools are strict or none is;
tokens are counted as they are and as they are billed; in a stream, each part begins and ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from ...core.models import DEFAULT, Models
from ...dialect import Problem
from ...lint.rules import Ruled, examine, lay_open
from ...model import Json
from . import messages, request, response, tools
from . import sniff as signs
from .documents import NAMES
from .parts import DETAILS
from .response import COUNTS, STOPS
from .rules import FACETS, RULES

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


class Cohere(Ruled):
    name = "cohere"
    issuer = "cohere"
    spec = "https://docs.cohere.com/reference/chat"
    vendor = "cohere"
    needs_model = True
    serves = ("cohere",)
    pairs = True
    windows = False  # documents stand beside the conversation, and belong to its last question
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
        results=cap.MARKED_ERRORS,
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
                    sources=frozenset({"text"}), labels=frozenset({"title", "citable"}), plain=True
                ),
            },
            code="tool_result.content",
        ),
        candidates=1,
        lacks=cap.RARE | {"response.model", "response.created", "error.code", "error.param"},
        result_names=False,
    )
    stream_signs = (("type", "message-start"), ("type", "content-start"))
    keep_alive: ClassVar[bytes] = b": keep-alive\n\n"
    takes_comments = True
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
    has_null_choice = False  # null is `auto`
    fields = request.FIELDS
    stops = STOPS
    counts = COUNTS
    rules = RULES
    call_ids = (r"[\s\S]", 10_000)
    tool_names = NAMES

    sniff = signs.sniff
    read_request = request.read_request
    write_request = request.write_request
    read_messages = messages.read_messages
    write_messages = messages.write_messages
    read_tools = tools.read_tools
    write_tools = tools.write_tools
    read_tool_choice = tools.read_tool_choice
    write_tool_choice = tools.write_tool_choice
    read_response = response.read_response
    write_response = response.write_response
    read_usage = response.read_usage
    read_error = response.read_error
    write_error = response.write_error

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return examine(self, lay_open(doc, facet, models), doc, FACETS.get(facet, ()))

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import CohereReader

        return CohereReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import CohereWriter

        return CohereWriter(self, log, same)


DIALECT = Cohere()
