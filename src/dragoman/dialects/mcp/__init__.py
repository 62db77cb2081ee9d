"""The Model Context Protocol: sampling, what tools return, and definitions of tools.

What it does differently from its neighbours: a message holds one block or a list of them; images
and audio are data with a MIME type, and anything else is a resource with an address; there is no
reasoning. A server asks for a completion with ``sampling/createMessage``: its ``params`` are a
request, in which the model is no more than a hint, and its result is a response without counts.
The result of ``tools/call`` is a result without a call: the JSON-RPC message around it has the id.
"""

from __future__ import annotations

from typing import ClassVar

from ...core import capabilities as cap
from ...dialect import Dialect
from ...model import Hosted, Reasoning, ToolCall
from . import blocks, messages, request, response, tools
from . import sniff as signs

DATA = cap.Form(sources=frozenset({"base64"}), typed=True, verified=True)


class MCP(Dialect):
    name = "mcp"
    spec = "https://modelcontextprotocol.io/specification/2025-11-25/client/sampling"
    pairs = True
    windows = False  # the system prompt stands beside the messages
    model_key = ""
    blank = frozenset({"_meta", "annotations"})
    aliases: ClassVar[tuple[str, ...]] = ("model-context-protocol",)
    can = cap.Capabilities(
        freeform="wrapped",
        strict=False,
        choices=cap.Choices(modes=cap.MODES - {"named"}, subsets=cap.NO_MODE, parallel=cap.NO_MODE),
        names=cap.NOWHERE,
        developer=False,
        systems="first",
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={"image": DATA, "audio": DATA},
            roles=frozenset({"user", "assistant", "tool"}),
            spoken=frozenset({"image", "audio"}),
            texts=cap.WORDS,
        ),
        prefill="unknown",
        unfit={
            "system": cap.NOT_TEXT,
            "developer": cap.NOT_TEXT,
            "user": frozenset({Reasoning, ToolCall, Hosted}),
            "assistant": cap.RESULTS_APART["assistant"],
        },
        result_names=False,
        candidates=1,
        lacks=cap.RARE | cap.NO_ERROR_FIELDS | {"response.id", "response.created", "usage"},
    )
    fields = request.FIELDS
    stops = response.STOPS

    sniff = signs.sniff
    writing = blocks.writing
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
    read_error = response.read_error
    write_error = response.write_error


DIALECT = MCP()
