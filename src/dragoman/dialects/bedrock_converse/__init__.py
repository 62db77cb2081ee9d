"""Bedrock Converse, and ConverseStream.

What it does differently from its neighbours: a block is an object with one key, which tells what
it is; a cache mark is a block of its own after what it marks; turns alternate, and the user
begins; tools must be defined as long as the conversation has calls; there is no way to forbid
them; a tool's reply may be a JSON value; media have short formats instead of types, documents
have names of few letters; the schema of a reply is JSON text; what only some models know is in a
bag of its own; the stream comes in binary frames, and texts begin in it without being announced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from ...core.models import DEFAULT, Models
from ...dialect import Dialect, Problem
from ...model import Json, Passage, Reasoning, ToolCall, ToolResult
from ...streams.framing.eventstream import write_frame
from .._claude import THINKING
from . import blocks, params, request, response, tools
from . import sniff as signs
from .blocks import NAME
from .formats import form_of
from .response import COUNTS, STOPS

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...model import ErrorKind
    from ...streams.base import StreamReader, StreamWriter

FORMS = {
    **{kind: form_of(kind, frozenset({"base64", "file"})) for kind in ("image", "audio", "video")},
    "document": replace(
        form_of("document", cap.WORDS | {"base64", "file"}),
        labels=frozenset({"title", "filename", "context", "citable"}),
    ),
}


class BedrockConverse(Dialect):
    name = NAME
    issuer = "bedrock"
    spec = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"
    pairs = True
    can = cap.Capabilities(
        outputs=cap.Outputs(
            json="dropped",
            schemas=frozenset({dict, bool}),
            labels=frozenset({"name", "description"}),
        ),
        freeform="wrapped",
        choices=cap.Choices(
            modes=cap.MODES - {"none"}, subsets=cap.NO_MODE, parallel=cap.NO_MODE, omits="unused"
        ),
        systems="by model",
        texts=cap.Texts(empty=cap.NOWHERE, blank=cap.NOWHERE, results="same"),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        reasoning=cap.ReasoningForm(
            signatures=frozenset({("anthropic", "signature"), ("bedrock", "encrypted")}),
            unsigned=cap.RESPONSE,
            redacted=frozenset({("bedrock", "encrypted")}),
            by_model=True,
        ),
        unfit={
            "system": cap.NOT_TEXT | {Passage},
            "developer": cap.NOT_TEXT | {Passage},
            "user": frozenset({Reasoning, ToolCall}),
            "assistant": frozenset({Passage, ToolResult}),
        },
        thinking=THINKING,
        citations=cap.Citations(
            everyone=False,
            forms=("url", "place"),
            lacks=("span", "signature", "file_id", "filename"),
        ),
        caching=cap.Caching(
            on=cap.ALL_MARKS.on - {"document text", "request"}, ttls=("5m", "1h"), longest="1h"
        ),
        media=cap.MediaForms(
            kinds=FORMS,
            results={kind: form for kind, form in FORMS.items() if kind != "audio"},
            roles=frozenset({"user", "tool", "assistant"}),
            spoken=frozenset({"image"}),
            spoken_in=cap.RESPONSE,
        ),
        candidates=1,
        result_names=False,
        lacks=cap.RARE
        | cap.NO_ERROR_FIELDS
        | {"response.id", "response.model", "response.created"},
    )
    aliases = ("bedrock",)
    blank = frozenset({"stopSequences", "serverToolUsage"})
    framing = "eventstream"
    model_key = "modelId"
    # An event that the API does not describe: AWS's SDKs pass over it.
    keep_alive: ClassVar[bytes] = write_frame("ping", b"{}")
    # botocore's service model: Converse and ConverseStream; a Bedrock API key is a bearer token.
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/model/{model}/converse",
            "https://bedrock-runtime.{region}.amazonaws.com",
            stream_path="/model/{model}/converse-stream",
            stream={},
            auth="aws",
            hosts=r"(^|\.)(amazonaws\.com(\.cn)?|api\.aws)$",
            url_variables=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
            key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
            settings={"region": ("AWS_REGION", "AWS_DEFAULT_REGION")},
            other_bases={
                f"https://bedrock-runtime.cn-{name}.amazonaws.com": (
                    f"https://bedrock-runtime.cn-{name}.amazonaws.com.cn"
                )
                for name in ("north-1", "northwest-1")
            },
        ),
    )
    # Its errors have these statuses and no others: 400, 403, 404, 408, 424, 429, 500, 503.
    statuses: ClassVar[Mapping[ErrorKind, int]] = {
        "authentication": 403,
        "billing": 403,
        "conflict": 400,
        "too-large": 400,
        "timeout": 408,
    }
    stream_headers: ClassVar[dict[str, str]] = {
        "content-type": "application/vnd.amazon.eventstream"
    }
    fields = params.FIELDS
    stops = STOPS
    counts = COUNTS

    sniff = signs.sniff
    read_request = request.read_request
    write_request = request.write_request
    restored = request.restored
    read_messages = request.read_messages
    write_messages = request.write_messages
    fit_model = request.fit_model
    facts_of = request.facts_of
    opens = blocks.opens
    writing = blocks.writing
    read_tools = tools.read_tools
    write_tools = tools.write_tools
    read_tool_choice = tools.read_tool_choice
    write_tool_choice = tools.write_tool_choice
    read_response = response.read_response
    write_response = response.write_response
    read_usage = response.read_usage
    write_usage = response.write_usage
    settle = response.settle
    read_error = response.read_error
    write_error = response.write_error

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        from .model_rules import check_model

        return check_model(doc, models) if facet == "request" else iter(())

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import BedrockReader

        return BedrockReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import BedrockWriter

        return BedrockWriter(self, log, same)


DIALECT = BedrockConverse()
