"""OpenAI Responses.

What it does differently from its neighbours: a conversation is a flat list of items, and calls,
results and reasoning are items of their own; the system prompt may stand beside them, as
``instructions``; a call has two ids, of which ``call_id`` pairs it with its result; ids of items
are checked, so they are never made up; ``strict`` is on unless it is off; there is no flag for a
failed tool, so its text begins with a mark; there are no stop strings; a response repeats its
request, and whether it holds calls only its items tell; cached tokens count as input tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from ...core.lowering import SEARCH
from ...model import Json, Raw
from . import sniff as signs
from .base import ResponsesBase
from .request import SUMMARIES
from .rules import ResponsesRules

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...model import ErrorKind
    from ...streams.base import StreamReader, StreamWriter


REASONING = cap.ReasoningForm(
    signatures=frozenset({("openai", "encrypted")}),
    unsigned=cap.RESPONSE,
    ids=cap.EVERYWHERE,
    by_id=True,
    summaries=cap.EVERYWHERE,
    parts=cap.EVERYWHERE,
)

THINKING = replace(cap.BY_EFFORT, displays=SUMMARIES, shown="auto")


class OpenAIResponses(ResponsesRules, ResponsesBase):
    spec = "https://platform.openai.com/docs/api-reference/responses"
    vendor = "openai"
    needs_model = True
    takes_plain = True
    serves: ClassVar[tuple[str, ...]] = ("openai",)
    pairs = stores = True
    aliases: ClassVar[tuple[str, ...]] = ("responses",)
    history: ClassVar[str | None] = "input"
    implied_type = "message"
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = (
        ("type", "response.created"),
        ("type", "response.in_progress"),
        ("sequence_number", None),  # what every event has, an error too
    )
    statuses: ClassVar[Mapping[ErrorKind, int]] = {"billing": 429}  # insufficient_quota
    # https://platform.openai.com/docs/api-reference/authentication; on Azure the model is the name
    # of a deployment: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/responses",
            "https://api.openai.com/v1",
            passes=("openai-beta",),
            shows=("x-request-id", "x-ratelimit-", "openai-processing-ms", "openai-version"),
            models="/models",
            url_variables=("OPENAI_BASE_URL",),
            key_variables=("OPENAI_API_KEY",),
        ),
        Endpoint(
            "/responses",
            prefix="/openai/v1",
            platform="azure",
            sign=r"^https://[^/]+\.azure\.com(/|$)",
            key_header="api-key",
            key_scheme="",
            url_variables=("AZURE_OPENAI_ENDPOINT",),
            key_variables=("AZURE_OPENAI_API_KEY",),
        ),
    )
    shared: ClassVar[dict[str, frozenset[str]]] = {
        "openai-chat": frozenset(
            {"prompt_cache_options", "prompt_cache_retention", "moderation", "user"}
        ),
        "open-responses": frozenset(
            {"include", "background", "max_tool_calls", "stream_options"}
        ),
        "router-responses": frozenset(
            {
                "include", "background", "max_tool_calls", "prompt", "stream_options", "user",
                "context_management", "prompt_cache_options", "prompt_cache_retention",
                "moderation", "image", "access_programs",
            }
        ),
    }  # fmt: skip

    can = cap.Capabilities(
        unfit=cap.RESULTS_APART,
        outputs=cap.Outputs(schemas=cap.OBJECTS, named="always"),
        tools=frozenset({"namespace", "deferred", "search"}),
        choices=cap.Choices(
            subsets=frozenset({None, "auto", "required"}), beside=frozenset({"parallel"})
        ),
        texts=cap.Texts(needed=frozenset({"result"})),
        names=cap.NOWHERE,
        refusals=cap.RESPONSE,
        passages=cap.NOWHERE,
        results=cap.MARKED_ERRORS,
        citations=cap.Citations(
            places=cap.RESPONSE,
            everyone=False,
            forms=("url",),
            lacks=("quote", "signature"),
            spans=True,
        ),
        reasoning=REASONING,
        thinking=THINKING,
        prefill="never",
        caching=cap.Caching(
            on=frozenset({"text", "media", "result part", "document text"}), ttls=("30m", "12h")
        ),
        media=cap.MediaForms(
            kinds={
                "image": cap.Form(
                    sources=cap.POINTED,
                    labels=frozenset({"detail"}),
                    usual="image/png",
                    synonyms=cap.JPEG,
                ),
                "document": cap.Form(
                    sources=cap.POINTED,
                    labels=frozenset({"filename", "detail"}),
                    titled=cap.POINTED,
                    named=frozenset({"base64"}),
                    synonyms=cap.JPEG,
                    usual="application/pdf",
                ),
            },
            texts=frozenset({"blocks"}),
        ),
        candidates=1,
        failed=True,
        lacks=cap.RARE - {"response.echo", "service_tier"} | {"error.request_id"},
    )
    tool_search: ClassVar[dict[str, Json] | None] = {"type": "tool_search"}

    sniff = signs.sniff

    def accepts(self, block: Raw) -> bool:
        # What a search for tools found is a list of definitions in every variant of this API.
        return self.knows(block.dialect) or (block.code == SEARCH and "search" in self.can.tools)

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import ResponsesReader

        return ResponsesReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .write_stream import ResponsesWriter

        return ResponsesWriter(self, log, same)


DIALECT = OpenAIResponses()
