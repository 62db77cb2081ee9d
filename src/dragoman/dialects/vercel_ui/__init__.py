"""The AI SDK's UI messages, as ``useChat`` keeps them, and the stream that they come in.

What it does differently from its neighbours: a response is one message made of parts, and calls and
reasoning are parts of it; a tool's part is named after the tool and tells how far it has come;
reasoning has the signature of the provider that signed it; sources stand beside the text.
There is no field for the model, the stop reason or token counts but ``metadata``, which is the
application's: it holds ``model``, ``finishReason`` and ``usage``. A stream that failed ends in
``error``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...dialect import Dialect
from ...model import Hosted, Reasoning, ToolCall
from .._ai_sdk import KEPT, STOPS
from . import history, message
from .message import COUNTS, USUAL_TYPES

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


IN_REPLIES = cap.ReasoningForm(signatures=KEPT)


class VercelUI(Dialect):
    name = "vercel-ui"
    spec = "https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol"
    aliases = ("ai-sdk-ui",)
    windows = False  # the result of a tool stands in its call
    stream_signs = (("type", "start"), ("type", "start-step"), ("type", "text-start"))
    can = cap.Capabilities(
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.HISTORY,
        refusals=cap.NOWHERE,
        citations=cap.Citations(forms=("url",), lacks=("span", "quote", "location", "signature")),
        reasoning=replace(
            IN_REPLIES,
            ids=cap.HISTORY,
            summed=frozenset({("openai", "encrypted")}),
            summed_by_id=True,
            empty=cap.HISTORY,
        ),
        replies=IN_REPLIES,
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                kind: cap.Form(
                    sources=frozenset({"url", "base64"}),
                    labels=frozenset({"filename"}),
                    typed=True,
                    usual=usual,
                    pointed={"url": usual},
                )
                for kind, usual in USUAL_TYPES.items()
            },
            roles=frozenset({"user", "assistant"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
        ),
        texts=cap.Texts(needed=frozenset({"result", "error"})),
        unfit={
            **cap.RESULTS_APART,
            "system": cap.NOT_TEXT,
            "developer": cap.NOT_TEXT,
            "user": cap.RESULTS_APART["user"] | {Reasoning, ToolCall, Hosted},
        },
        candidates=1,
        lacks=cap.RARE | cap.NO_ERROR_FIELDS | {"response.created"},
    )
    keep_alive: ClassVar[bytes] = b": keep-alive\n\n"
    takes_comments = True
    stream_headers: ClassVar[dict[str, str]] = {
        "content-type": "text/event-stream",
        "x-vercel-ai-ui-message-stream": "v1",
    }
    stops = STOPS.but({}, {"cancelled": "other"})
    counts = COUNTS

    read_messages = history.read_messages
    write_messages = history.write_messages
    read_response = message.read_response
    write_response = message.write_response
    sniff = message.guesses
    writing = message.writing
    read_error = message.read_error
    write_error = message.write_error

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import UIReader

        return UIReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .write_stream import UIWriter

        return UIWriter(self, log, same)


DIALECT = VercelUI()
