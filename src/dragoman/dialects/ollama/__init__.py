"""Ollama's own chat API, ``POST /api/chat``.

What it does differently from its neighbours: what a message says is one string, images stand beside
it as bare data, reasoning in a field of their own; arguments are objects; a result names its tool;
the parameters are ``options``; there is no choice among tools; a reply is streamed unless the
request says no, one JSON document per line; an error is nothing but a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from ...dialect import Dialect
from . import messages, request, response
from . import sniff as signs
from .response import COUNTS, STOPS

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


class Ollama(Dialect):
    name = "ollama"
    issuer = "ollama"
    whole_events = True
    spec = "https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion"
    needs_model = True
    can = cap.Capabilities(
        unfit=cap.RESULTS_APART,
        outputs=cap.Outputs(schemas=cap.OBJECTS, labels=cap.UNLABELLED),
        freeform="wrapped",
        strict=False,
        choices=replace(cap.NO_CHOICE, omits="always"),
        texts=cap.Texts(needed=frozenset({"result"})),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        results=cap.Results(errors="mark", joint="\n\n"),
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(),
        thinking=cap.ThinkingForm(
            modes=frozenset({"on", "off"}), efforts=("low", "medium", "high", "max"), beside=False
        ),
        order={
            "system": {"text": 0, "image": 1},
            "user": {"text": 0, "image": 1},
            "assistant": {"reasoning": 0, "text": 1, "call": 2},
            "response": {"reasoning": 0, "text": 1, "call": 2},
            "tool": {"text": 0, "image": 1},
        },
        prefill="unknown",
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={"image": cap.Form(sources=frozenset({"base64"}), untyped=True, any_data=False)},
            texts=cap.WORDS,
            roles=frozenset({"system", "user", "tool"}),
            code="tool_result.content",
        ),
        candidates=1,
        lacks=cap.RARE | cap.NO_ERROR_FIELDS | {"response.id"},
    )
    blank = frozenset({"format"})
    windows = False  # a result is named after its call
    framing = "ndjson"
    # Each line is a reply to its clients, so an empty one.
    keep_alive: ClassVar[bytes] = b'{"message":{"role":"assistant","content":""},"done":false}\n'
    # ollama (PyPI), _client.py. "stream: if false the response will be returned as a single
    # response object, rather than a stream of objects": so a stream is the default.
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/api/chat",
            "http://127.0.0.1:11434",
            plain={"stream": False},
            url_variables=("OLLAMA_HOST",),
            key_variables=("OLLAMA_API_KEY",),
            needs_key=False,
        ),
    )
    stream_signs = (("done", False), ("done", True), ("error", None))
    stream_headers: ClassVar[dict[str, str]] = {"content-type": "application/x-ndjson"}
    fields = request.FIELDS
    stops = STOPS
    counts = COUNTS

    sniff = signs.sniff
    read_request = request.read_request
    write_request = request.write_request
    read_messages = messages.read_messages
    write_messages = messages.write_messages
    read_tools = messages.read_tools
    write_tools = messages.write_tools
    read_response = response.read_response
    write_response = response.write_response
    read_error = response.read_error
    write_error = response.write_error

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import OllamaReader

        return OllamaReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import OllamaWriter

        return OllamaWriter(self, log, same)


DIALECT = Ollama()
