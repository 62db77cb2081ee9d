"""Anthropic's Messages API on Vertex AI: ``rawPredict`` and ``streamRawPredict``.

What it does differently: the address names the model, ``anthropic_version`` stands in the body.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..lint.evidence import Verdict, told_by
from ..model import Json
from .anthropic_messages.variant import VERSION, OnVertex


class AnthropicVertex(OnVertex):
    name = "anthropic-vertex"
    spec = "https://docs.claude.com/en/api/claude-on-vertex-ai"
    # anthropic 2.8 (PyPI), lib/vertex/_client.py
    version = "vertex-2023-10-16"
    # There is no Files API, no MCP connector and no container.
    refused = frozenset({"mcp_servers", "container", "service_tier", "inference_geo"})
    fields = OnVertex.fields.refusing("service_tier")

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        told = doc.__class__ is dict and doc.get(VERSION) == self.version
        signs = {f"the version {self.version!r}": 0.97} if told else {}
        return told_by(signs, super().sniff(doc))


DIALECT = AnthropicVertex()
