"""Anthropic Messages.

What it does differently from its neighbours: the system prompt stands beside the messages; tool
results are blocks of a user turn, and those of one turn share it; arguments are objects; reasoning
is signed, and rejected without its signature; empty text is rejected; the output limit is required;
caches are marked in the content; cached tokens do not count as input tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from ...core import capabilities as cap
from ...core.endpoint import VERTEX_BASES, Endpoint
from ...core.models import DEFAULT, Models
from ...dialect import Problem
from ...lint.rules import Ruled, examine, lay_open
from ...model import Json, Media, Passage, Reasoning, ToolCall, ToolResult
from .._claude import THINKING
from . import request, response, tools
from . import sniff as signs
from .blocks import DATA_TYPES, NAME
from .response import COUNTS, STOPS
from .rules import FACETS, RULES

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...model import ErrorKind
    from ...streams.base import StreamReader, StreamWriter


REFERENCE = re.compile("[a-zA-Z0-9_-]{1,64}")


class AnthropicMessages(Ruled):
    name = NAME
    issuer = "anthropic"
    spec = "https://docs.claude.com/en/api/messages"
    vendor = "anthropic"
    needs_model = True
    serves = ("anthropic",)
    pairs = True
    takes_plain = True
    aliases: ClassVar[tuple[str, ...]] = ("anthropic", "claude")
    blank = frozenset({"stop_sequences"})
    statuses: ClassVar[Mapping[ErrorKind, int]] = {"overloaded": 529}
    keep_alive: ClassVar[bytes] = b'event: ping\ndata: {"type": "ping"}\n\n'
    takes_comments = True
    # https://docs.anthropic.com/en/api/overview#authentication. The newest SDK sends a later
    # version and a bearer token; most clients seen in the wild still send these.
    # https://docs.anthropic.com/en/api/claude-on-vertex-ai: the model leaves the body, and the
    # version enters it.
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/messages",
            "https://api.anthropic.com",
            "/v1",
            headers={"anthropic-version": "2023-06-01"},
            passes=("anthropic-version", "anthropic-beta"),
            shows=("request-id", "anthropic-ratelimit-"),
            key_header="x-api-key",
            key_scheme="",
            models="/models",
            url_variables=("ANTHROPIC_BASE_URL",),
            key_variables=("ANTHROPIC_API_KEY",),
        ),
        Endpoint(
            "/{model}:rawPredict",
            "https://{location}-aiplatform.googleapis.com",
            "/v1/projects/{project}/locations/{location}",
            "vertex",
            r"^https://[^/]*\baiplatform\.([\w-]+\.rep\.)?googleapis\.com(/|$)",
            stream_path="/{model}:streamRawPredict",
            collections=("publishers/anthropic/models/", "publishers/"),
            fields={"anthropic_version": "vertex-2023-10-16"},
            auth="google",
            hosts=r"(^|\.)googleapis\.com$",
            url_variables=("ANTHROPIC_VERTEX_BASE_URL",),
            settings={
                "project": ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"),
                "location": ("CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION"),
            },
            other_bases=VERTEX_BASES,
        ),
    )
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = (
        ("type", "message_start"),
        ("type", "content_block_delta"),
    )

    can = cap.Capabilities(
        outputs=cap.Outputs(json="dropped", schemas=frozenset({dict, bool}), labels=cap.UNLABELLED),
        tools=frozenset({"deferred"}),
        freeform="wrapped",
        choices=cap.Choices(
            alone=cap.NO_MODE, subsets=cap.NO_MODE, parallel=cap.ANY_MODE - {"none"}
        ),
        texts=cap.Texts(empty=cap.NOWHERE, blank=cap.NOWHERE, results="string"),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        reasoning=cap.ReasoningForm(
            signatures=frozenset({("anthropic", "signature"), ("anthropic", "encrypted")}),
            redacted=frozenset({("anthropic", "encrypted")}),
            unsigned=cap.RESPONSE,
        ),
        unfit={
            "system": cap.NOT_TEXT | {Passage},
            "developer": cap.NOT_TEXT | {Passage},
            "user": frozenset({Reasoning, ToolCall}),
            "assistant": frozenset({Media, Passage, ToolResult}),
        },
        thinking=THINKING,
        citations=cap.Citations(forms=("signed", "place")),
        caching=cap.Caching(on=cap.ALL_MARKS.on, ttls=("5m", "1h"), longest="1h"),
        media=cap.MediaForms(
            kinds={
                "image": cap.Form(
                    sources=cap.POINTED,
                    usual="image/png",
                    types=DATA_TYPES["image"],
                    synonyms=cap.JPEG,
                    any_data=False,
                ),
                "document": cap.Form(
                    sources=cap.POINTED | cap.WORDS,
                    labels=frozenset({"title", "context", "citable"}),
                    usual="application/pdf",
                    types=DATA_TYPES["document"],
                    plain=True,  # "source.text.media_type: Input should be 'text/plain'"
                    any_data=False,
                ),
            }
        ),
        candidates=1,
        lacks=(cap.RARE - {"stop.sequence"}) | {"response.created", "error.code", "error.param"},
        result_names=False,
    )
    tool_search: ClassVar[dict[str, Json] | None] = {
        "type": "tool_search_tool_bm25_20251119",
        "name": "tool_search_tool_bm25",
    }
    fields = request.FIELDS
    stops = STOPS
    counts = COUNTS
    rules = RULES
    merges = True
    silent_results = True
    call_ids = ("[a-zA-Z0-9_-]", 512)
    tool_names = ("[a-zA-Z0-9_-]", 128)

    sniff = signs.sniff
    read_request = request.read_request
    read_plain = request.read_plain
    write_request = request.write_request
    restored = request.restored
    fit_model = request.fit_model
    read_messages = request.read_messages
    write_messages = request.write_messages
    writing = tools.writing
    read_tools = tools.read_tools
    write_tools = tools.write_tools
    read_tool_choice = tools.read_tool_choice
    write_tool_choice = tools.write_tool_choice
    read_response = response.read_response
    read_plain_reply = response.read_plain_reply
    write_plain_reply = response.write_plain_reply
    write_response = response.write_response
    read_usage = response.read_usage
    write_usage = response.write_usage
    settle = response.settle
    read_error = response.read_error
    write_error = response.write_error

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return examine(self, lay_open(doc, facet, models), doc, FACETS.get(facet, ()))

    def reference(self, name: str) -> dict[str, Json] | None:
        # "tool_reference.tool_name: String should have at most 64 characters"
        if REFERENCE.fullmatch(name) is None:
            return None
        return {"type": "tool_reference", "tool_name": name}

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import AnthropicReader

        return AnthropicReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import AnthropicWriter

        return AnthropicWriter(self, log, same)


DIALECT = AnthropicMessages()
