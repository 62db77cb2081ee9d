"""Gemini: generateContent and streamGenerateContent, at Google AI and at Vertex AI.

What it does differently from its neighbours: the model and whether to stream are in the URL;
contents are made of parts, and the key of a part tells its type; the assistant is the ``model``;
results are parts of a user's turn and name their tool; ids of calls are optional; arguments and
results are objects; any part may be signed, and a signature must go back on that very part; keys
are camelCase or snake_case; everything about sampling is in ``generationConfig``; reasoning does
not count as output tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.endpoint import VERTEX_BASES, Endpoint
from ...core.models import DEFAULT, Models
from ...dialect import Problem
from ...lint.rules import Ruled, examine
from ...model import Json, Reasoning, ToolCall, ToolResult
from . import parts, request, response, tools, turns
from . import sniff as signs
from .parts import OWN_FILES, VIDEO_SITES
from .response import COUNTS, STOPS
from .rules import FACETS, RULES, lay_open
from .turns import IDS, NAMES

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...model import ErrorKind
    from ...streams.base import StreamReader, StreamWriter

IMAGES = ("png", "jpeg", "webp", "heic", "heif")
DOCUMENTS = frozenset({"application/pdf", "application/x-javascript", "application/x-python"})
FILES = cap.Form(
    sources=cap.POINTED,
    labels=frozenset({"filename"}),
    titled=cap.POINTED | cap.WORDS,
    extended=False,
    typed=True,
    any_data=False,
    files=OWN_FILES,
)


class Gemini(Ruled):
    issuer = "google"
    name = "gemini"
    vendor = "google"
    serves = ("google",)
    pairs = True
    takes_plain = True
    can = cap.Capabilities(
        outputs=cap.Outputs(schemas=frozenset({dict, bool}), labels=cap.UNLABELLED),
        freeform="wrapped",
        strict=False,
        choices=cap.Choices(
            alone=cap.NO_MODE, subsets=frozenset({"auto", "required"}), parallel=cap.NO_MODE
        ),
        systems="first",
        texts=cap.Texts(empty=cap.RESPONSE),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        results=cap.Results(joint="\n\n"),
        reasoning=cap.ReasoningForm(
            signatures=frozenset({("google", "signature"), ("google", "encrypted")})
        ),
        # "You can only set only one of thinking budget and thinking level."
        thinking=cap.ThinkingForm(
            modes=frozenset({"off", "adaptive"}),
            efforts=("minimal", "low", "medium", "high"),
            budgets=True,
            budgeted=True,
            beside=False,
            both=False,
            displays=("summarized", "omitted"),
            shown="summarized",
        ),
        order={"tool": {"text": 0, "image": 1, "audio": 1, "video": 1, "document": 1}},
        prefill="unknown",
        unfit={
            "system": cap.NOT_TEXT,
            "developer": cap.NOT_TEXT,
            "user": frozenset({Reasoning, ToolCall, ToolResult}),
            "assistant": frozenset({ToolResult}),
        },
        citations=cap.Citations(places=cap.RESPONSE, everyone=False, forms=("bare",)),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                # https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats
                "image": replace(
                    FILES,
                    usual="image/png",
                    pointed={"url": "image/*"},
                    types=frozenset(f"image/{form}" for form in IMAGES),  # no image/gif
                    synonyms=cap.JPEG,
                    checked=cap.HISTORY,
                ),
                "audio": replace(FILES, usual="audio/wav", pointed={"url": "audio/*"}),
                "video": replace(
                    FILES, usual="video/mp4", pointed={"url": "video/*"}, evident=VIDEO_SITES
                ),
                "document": replace(
                    FILES,
                    sources=cap.POINTED | {"text"},
                    usual="application/pdf",
                    types=DOCUMENTS,
                    families=("text/",),
                    checked=cap.HISTORY,
                    plain=True,
                ),
            },
            roles=frozenset({"user", "assistant", "tool"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
        ),
        lacks=cap.RARE | cap.NO_ERROR_FIELDS | {"usage.cache_ttl"},
    )
    spec = "https://ai.google.dev/api/generate-content"
    aliases: ClassVar[tuple[str, ...]] = ("google", "vertex")
    # https://ai.google.dev/gemini-api/docs/troubleshooting: the status is the code of the error
    statuses: ClassVar[Mapping[ErrorKind, int]] = {"billing": 400, "too-large": 400}
    windows = False  # a result is named after its call, and paired with it
    blank = frozenset({"labels", "stopSequences", "stop_sequences"})
    framings = "either"  # events with alt=sse, and an array without
    # google-genai takes a comment for JSON; an empty line ends an event that has no data.
    keep_alive: ClassVar[bytes] = b"\n"
    # google-genai, _api_client.py and _transformers.py: t_model. The SDK asks for the version "v1",
    # the reference and most examples for "v1beta", which has every field.
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/{model}:generateContent",
            "https://generativelanguage.googleapis.com",
            "/v1beta",
            stream_path="/{model}:streamGenerateContent",
            stream_query={"alt": "sse"},
            stream={},
            collections=("models/", "tunedModels/"),
            key_header="x-goog-api-key",
            key_scheme="",
            models="/models",
            url_variables=("GOOGLE_GEMINI_BASE_URL",),
            key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        ),
        Endpoint(
            "/{model}:generateContent",
            "https://{location}-aiplatform.googleapis.com",
            "/v1beta1/projects/{project}/locations/{location}",
            "vertex",
            r"^https://[^/]*\baiplatform\.([\w-]+\.rep\.)?googleapis\.com(/|$)",
            stream_path="/{model}:streamGenerateContent",
            stream_query={"alt": "sse"},
            stream={},
            collections=("publishers/google/models/", "publishers/", "models/"),
            key_header="x-goog-api-key",
            key_scheme="",
            auth="google",
            hosts=r"(^|\.)googleapis\.com$",
            url_variables=("GOOGLE_VERTEX_BASE_URL",),
            settings={
                "project": ("GOOGLE_CLOUD_PROJECT",),
                "location": ("GOOGLE_CLOUD_LOCATION",),
            },
            defaults={"location": "global"},
            switch="GOOGLE_GENAI_USE_VERTEXAI",
            other_bases=VERTEX_BASES,
        ),
    )
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = (
        ("candidates", None),
        ("promptFeedback", None),
        ("usageMetadata", None),
    )
    history: ClassVar[str | None] = "contents"
    fields = request.CONFIG_FIELDS.but(*request.FIELDS.rows)
    stops = STOPS
    counts = COUNTS
    rules = RULES
    call_ids = IDS
    tool_names = NAMES

    sniff = signs.sniff
    read_request = request.read_request
    read_plain = request.read_plain
    write_request = request.write_request
    fit_model = request.fit_model
    read_messages = request.read_messages
    write_messages = request.write_messages
    writing = turns.writing
    emit = parts.emit
    read_tools = tools.read_tools
    write_tools = tools.write_tools
    read_tool_choice = tools.read_tool_choice
    write_tool_choice = tools.write_tool_choice
    read_response = response.read_response
    read_plain_reply = response.read_plain_reply
    write_plain_reply = response.write_plain_reply
    write_response = response.write_response
    read_error = response.read_error
    write_error = response.write_error

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return examine(self, lay_open(doc, facet, models), doc, FACETS.get(facet, ()))

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import GeminiReader

        return GeminiReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import GeminiWriter

        return GeminiWriter(self, log, same)


DIALECT = Gemini()
