"""Copilot's ``/responses`` in the shapes of XZatoma's types (design 001).

What it does differently from OpenAI Responses, of which it is a variant: every item has its type
and every message a list of parts; only the user, the assistant and the system speak, and anyone
else is an error; inside a turn of the assistant, calls come first, then the text; an image is
``{"url": ...}``; tools are nested, and not strict unless they say so; a choice is an object,
``{"auto": true}``; an output is one string; an answer is one ``message`` with its ``reasoning``
beside it, and does not say why it ended.

The endpoint itself speaks OpenAI's shapes: that is the dialect ``copilot``. So the reader here
takes those as well, and says them again at home as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from .response import Answers
from .sniff import Sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


class CopilotResponses(Sniff, Answers):
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

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import CopilotReader

        return CopilotReader(self, whole)

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .stream import CopilotWriter

        return CopilotWriter(self, log, home)


DIALECT = CopilotResponses()
