"""Gemini: the Interactions API, ``POST /v1beta/interactions``.

What it does differently from its neighbours: an interaction is a flat list of steps, and thoughts,
calls and results are steps of their own; the signature stands with the thought, not with the call;
arguments are objects; a result names its tool and may say that it failed; the API stores an
interaction unless it is told not to, and goes on with a stored one; whether a response waits for
tools is its status; what is cited is counted in bytes; reasoning does not count as output tokens;
in a stream, each step begins and ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from ...core.models import DEFAULT, Models
from ...core.writing import Writing
from ...dialect import Problem
from ...lint.rules import Ruled, examine
from ...model import Json, Reasoning, ToolCall, ToolResult
from . import request, response, tools
from . import sniff as signs
from .contents import OWN_FILES
from .response import COUNTS, STOPS
from .rules import FACETS, RULES, lay_open

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...model import ErrorKind
    from ...streams.base import StreamReader, StreamWriter

# "Function names: must start with a letter or an underscore", as at Gemini's other API.
NAMES = (r"(?:[a-zA-Z_]|(?<!^)[0-9.:-])", 128)
IDS = (r"[\s\S]", 1 << 20)
RESOLUTIONS = frozenset({"low", "medium", "high", "ultra_high"})
IMAGES = ("png", "jpeg", "webp", "heic", "heif", "gif", "bmp", "tiff")
FILES = cap.Form(
    sources=cap.POINTED,
    typed=True,
    any_data=False,
    files=OWN_FILES,
)
SEEN = replace(FILES, labels=frozenset({"detail"}), details=RESOLUTIONS)


class GeminiInteractions(Ruled):
    name = "gemini-interactions"
    issuer = "google"
    spec = "https://ai.google.dev/api/interactions-api"
    needs_model = True
    serves = ("google",)
    pairs = stores = True
    windows = False  # a result is named after its call
    history: ClassVar[str | None] = "input"
    aliases: ClassVar[tuple[str, ...]] = ("interactions",)
    can = cap.Capabilities(
        outputs=cap.Outputs(schemas=cap.OBJECTS, labels=cap.UNLABELLED),
        freeform="wrapped",
        strict=False,
        choices=cap.Choices(
            alone=cap.NO_MODE,
            subsets=frozenset({None, "auto", "none", "required"}),
            parallel=cap.NO_MODE,
        ),
        systems="first",
        texts=cap.Texts(empty=cap.NOWHERE),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        reasoning=cap.ReasoningForm(
            signatures=frozenset({("google", "signature")}),
        ),
        thinking=cap.ThinkingForm(
            efforts=request.LEVELS,
            idle=frozenset({"effort", "display"}),
            displays=("summarized", "omitted"),
            shown="summarized",
        ),
        prefill="unknown",
        unfit={
            "system": cap.NOT_TEXT,
            "developer": cap.NOT_TEXT,
            "user": frozenset({Reasoning, ToolCall, ToolResult}),
            "assistant": frozenset({ToolResult}),
        },
        emptied=False,
        citations=cap.Citations(
            places=cap.RESPONSE, everyone=False, forms=("url",), lacks=("quote", "signature")
        ),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                "image": replace(
                    SEEN,
                    usual="image/png",
                    pointed={"url": "image/*"},
                    types=frozenset(f"image/{form}" for form in IMAGES),
                    synonyms=cap.JPEG,
                ),
                "audio": replace(FILES, usual="audio/wav", pointed={"url": "audio/*"}),
                "video": replace(SEEN, usual="video/mp4", pointed={"url": "video/*"}),
                "document": replace(FILES, usual="application/pdf"),
            },
            roles=frozenset({"user", "assistant", "tool"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
            texts=frozenset({"text", "blocks"}),
        ),
        candidates=1,
        failed=True,
        lacks=cap.RARE - {"service_tier"} | cap.NO_ERROR_FIELDS | {"usage.cache_ttl"},
    )
    # google-genai, _gaos/interactions.py
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/interactions",
            "https://generativelanguage.googleapis.com",
            "/v1beta",
            key_header="x-goog-api-key",
            key_scheme="",
            url_variables=("GOOGLE_GEMINI_BASE_URL",),
            key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        ),
    )
    statuses: ClassVar[Mapping[ErrorKind, int]] = {"billing": 400, "too-large": 400}
    blank = frozenset({"labels", "stop_sequences", "annotations", "summary", "errors"})
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = (
        ("event_type", "interaction.created"),
        ("event_type", "step.start"),
    )
    keep_alive: ClassVar[bytes] = b": keep-alive\n\n"
    takes_comments = True
    fields = request.FIELDS
    stops = STOPS
    counts = COUNTS
    rules = RULES
    call_ids = IDS
    tool_names = NAMES

    sniff = signs.sniff
    read_request = request.read_request
    write_request = request.write_request
    read_messages = request.read_messages
    write_messages = request.write_messages
    read_tools = tools.read_tools
    write_tools = tools.write_tools
    read_tool_choice = tools.read_tool_choice
    write_tool_choice = tools.write_tool_choice
    read_response = response.read_response
    write_response = response.write_response
    read_usage = response.read_usage
    write_usage = response.write_usage
    read_error = response.read_error
    write_error = response.write_error

    def writing(self, log: Ledger, dialect: str | None, *, reply: bool = False) -> Writing:
        return Writing(log, IDS, NAMES, self.is_same(dialect), reply)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return examine(self, lay_open(doc, facet, models), doc, FACETS.get(facet, ()))

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import InteractionsReader

        return InteractionsReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import InteractionsWriter

        return InteractionsWriter(self, log, same)


DIALECT = GeminiInteractions()
