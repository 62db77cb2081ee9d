"""The Agent User Interaction Protocol: what a front end and an agent tell each other.

What it does differently from its neighbours: reasoning is a message of its own before that of the
assistant; a failed result has the text of its error beside its content; what a provider signed is
opaque, and nothing tells whose it is; activities are messages for the user's eyes alone. What a
front end sends to run an agent (``RunAgentInput``) is a request without a model and settings. What
comes back are events; what they amount to are the messages of the run, and what it tells of itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.fields import Fields
from ...dialect import Dialect
from ...model import Hosted, Reasoning, ToolCall
from . import messages, request, response
from . import sniff as signs

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter

FILES = cap.Form(sources=cap.POINTED, typed=True, verified=True, any_data=False, any_file=True)


class AgUI(Dialect):
    name = "ag-ui"
    spec = "https://docs.ag-ui.com/concepts/messages"
    windows = False  # reasoning is a message of its own, and part of the next
    model_key = ""
    blank = frozenset({"toolCalls", "metadata", "context"})
    aliases: ClassVar[tuple[str, ...]] = ("agui",)
    can = cap.Capabilities(
        freeform="wrapped",
        strict=False,
        choices=cap.NO_CHOICE,
        names=cap.HISTORY,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        texts=cap.Texts(needed=frozenset({"error"})),
        reasoning=cap.ReasoningForm(),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                "image": FILES,
                "audio": FILES,
                "video": FILES,
                "document": replace(FILES, usual="application/pdf"),
            },
        ),
        order={"assistant": {"reasoning": 0, "text": 1, "call": 2}},
        prefill="unknown",
        unfit={
            **cap.RESULTS_APART,
            "system": cap.NOT_TEXT,
            "developer": cap.NOT_TEXT,
            "user": cap.RESULTS_APART["user"] | {Reasoning, ToolCall, Hosted},
        },
        result_names=False,
        candidates=1,
        lacks=(cap.RARE - {"response.echo"} | {"usage.cache_ttl"})
        | {"response.created", "error.param", "error.request_id"},
    )
    stream_signs = (("type", "RUN_STARTED"), ("type", "TEXT_MESSAGE_START"))
    keep_alive: ClassVar[bytes] = b": keep-alive\n\n"
    takes_comments = True
    stops = response.STOPS
    counts = response.COUNTS
    fields = Fields(keys=("messages", "tools"))

    sniff = signs.sniff
    read_request = request.read_request
    write_request = request.write_request
    read_messages = messages.read_messages
    write_messages = messages.write_messages
    read_tools = request.read_tools
    write_tools = request.write_tools
    read_response = response.read_response
    write_response = response.write_response
    echo = response.echo
    read_error = response.read_error
    write_error = response.write_error

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import AgReader

        return AgReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .write_stream import AgWriter

        return AgWriter(self, log, same)


DIALECT = AgUI()
