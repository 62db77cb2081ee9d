"""Anthropic's Messages API on Amazon Bedrock: InvokeModel.

What it does differently: the address names the model and asks for a stream, ``anthropic_version``
stands in the body; a stream is Amazon's, and each of its frames holds an event in base64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from ...core.endpoint import Endpoint
from ...core.fields import NO_FIELD
from ...lint.evidence import Verdict, told_by
from ...model import Json
from ...streams.framing.eventstream import write_frame
from ..anthropic_messages.variant import VERSION, Served

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


class AnthropicBedrock(Served):
    name = "anthropic-bedrock"
    # https://docs.claude.com/en/api/claude-on-amazon-bedrock
    spec = "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html"
    # anthropic 2.8 (PyPI), lib/bedrock/_client.py
    version = "bedrock-2023-05-31"
    # There is no Files API, no MCP connector and no container, and Amazon has tiers of its own.
    refused = frozenset({"mcp_servers", "container", "service_tier", "inference_geo"})
    # The address asks for a stream.
    fields = Served.fields.refusing("stream", "service_tier", why=NO_FIELD)
    framing = "eventstream"
    keep_alive = write_frame("chunk", b'{"bytes":"eyJ0eXBlIjogInBpbmcifQ=="}')  # a ping
    takes_comments = False
    stream_signs = (("bytes", None),)
    stream_headers: ClassVar[dict[str, str]] = {
        "content-type": "application/vnd.amazon.eventstream"
    }
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/model/{model}/invoke",
            "https://bedrock-runtime.{region}.amazonaws.com",
            stream_path="/model/{model}/invoke-with-response-stream",
            stream={},
            auth="aws",
            hosts=r"(^|\.)(amazonaws\.com(\.cn)?|api\.aws)$",
            url_variables=("ANTHROPIC_BEDROCK_BASE_URL",),
            key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
            settings={"region": ("AWS_REGION", "AWS_DEFAULT_REGION")},
        ),
    )

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        told = doc.__class__ is dict and doc.get(VERSION) == self.version
        signs = {f"the version {self.version!r}": 0.97} if told else {}
        return told_by(signs, super().sniff(doc))

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import InvokedReader

        return InvokedReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import InvokedWriter

        return InvokedWriter(self, log, same)


DIALECT = AnthropicBedrock()
