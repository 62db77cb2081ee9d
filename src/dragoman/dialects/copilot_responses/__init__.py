"""Copilot's ``/responses`` in the shapes of XZatoma's types (design 001).

What it does differently from OpenAI Responses, of which it is a variant: every item has its type
and every message a list of parts; only the user, the assistant and the system speak, and anyone
else is an error; inside a turn of the assistant, calls come first, then the text; an image is
``{"url": ...}``; tools are nested, and not strict unless they say so; a choice is an object,
``{"auto": true}``; an output is one string; a response is one ``message`` with its ``reasoning``
beside it, and does not say why it ended.

The endpoint itself speaks OpenAI's shapes: that is the dialect ``copilot``. So the reader here
takes those as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...core import capabilities as cap
from ...core.counts import APART, Counts
from ...core.endpoint import Endpoint
from ..openai_responses.base import ResponsesBase
from ..openai_responses.items import Speaker
from ..openai_responses.request import FIELDS
from ..openai_responses.response import COUNTS
from . import request, response
from . import sniff as signs

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


class CopilotResponses(ResponsesBase):
    name = "copilot-responses"
    spec = "https://github.com/xbcsmith/xzatoma"
    issuer = "copilot"
    history = "input"
    # GitHub's address takes OpenAI's shapes, not these.
    endpoints: ClassVar[tuple[Endpoint, ...]] = (Endpoint("/responses"),)
    whole_events = True
    event_items: ClassVar[frozenset[str]] = frozenset({"message", "function_call", "reasoning"})
    stream_signs = (("type", "status"), ("type", "done"))
    can = cap.Capabilities(
        unfit=cap.RESULTS_APART,
        freeform="function",
        choices=cap.Choices(subsets=cap.NO_MODE, parallel=cap.NO_MODE),
        texts=cap.Texts(needed=frozenset({"result"})),
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        results=cap.MARKED_ERRORS,
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(parts=cap.EVERYWHERE),
        thinking=cap.BY_EFFORT,
        order={  # "tool calls first, then text content"
            "assistant": {"reasoning": 0, "call": 1, "text": 2},
            "response": {"reasoning": 0, "text": 1, "call": 2},
        },
        prefill="never",
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={"image": cap.Form(sources=frozenset({"url", "base64"}), usual="image/png")},
            roles=frozenset({"user"}),
            texts=cap.WORDS,
        ),
        lacks=cap.RARE | {"response.id", "response.created", "error.request_id", "usage.cache_ttl"},
        result_names=False,
    )
    speakers: ClassVar[tuple[Speaker, ...]] = ("user", "system")
    listed = True
    annotates = False
    fields = FIELDS.refusing(*{*FIELDS.names} - {"temperature", "stream", "thinking"})
    counts = Counts(COUNTS.rows, refuses=APART)

    sniff = signs.sniff
    read_reasoning = request.read_reasoning
    write_reasoning = request.write_reasoning
    write_media = request.write_media
    write_image = request.write_image
    write_address = request.write_address
    write_request = request.write_request
    write_prompt = request.write_prompt
    write_message = request.write_message
    write_new_item = request.write_new_item
    write_text = request.write_text
    write_result = request.write_result
    read_tool = request.read_tool
    write_tool = request.write_tool
    read_choice = request.read_choice
    write_choice = request.write_choice
    read_response = response.read_response
    write_response = response.write_response

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import CopilotReader

        return CopilotReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import CopilotWriter

        return CopilotWriter(self, log, same)


DIALECT = CopilotResponses()
