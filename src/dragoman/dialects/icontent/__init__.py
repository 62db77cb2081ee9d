"""IContent: how llxprt-code keeps a conversation, whatever provider it talks to.

What it does differently from its neighbours: a content has a ``speaker`` (``human``, ``ai``,
``tool``) and ``blocks``; there is no system speaker, a request has a ``systemInstruction`` and a
history marks such a turn in its ``metadata``; call ids begin with ``hist_tool_``, see ``ids``; a
tool's reply is any JSON value, names its tool, has its error beside it and its images after it;
reasoning keep their signatures; code is a block of its own. The design of its converter (``image``
blocks, a ``system`` speaker, ``status``) differs from the type: all of it is read, and
``icontent-design`` writes it so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...model import Reasoning
from .._errors import ClientErrors
from . import blocks, request
from . import sniff as signs
from .blocks import SIGNED
from .request import COUNTS, STOPS

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter

FILES = cap.Form(
    sources=frozenset({"url", "base64"}),
    labels=frozenset({"filename"}),
    titled=frozenset({"url", "base64"}),
    extended=False,
    typed=True,
    verified=True,
    any_data=False,
)


class IContent(ClientErrors):
    name = "icontent"
    history = "contents"
    whole_events = True
    spec = "https://github.com/vybestack/llxprt-code"
    aliases: ClassVar[tuple[str, ...]] = ("llxprt",)
    kin = frozenset({"icontent-design"})
    model_key = "resolved/model"
    status_key = "status"
    stream_signs = (("speaker", "ai"),)
    windows = False  # a result is named after its call
    can = cap.Capabilities(
        freeform="wrapped",
        strict=False,
        choices=cap.NO_CHOICE,
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        prefill="never",
        unfit=dict.fromkeys(("system", "developer", "user"), frozenset({Reasoning})),
        reasoning=cap.ReasoningForm(
            signatures=frozenset(SIGNED) | {("anthropic", "encrypted"), ("openai", "encrypted")},
            summed=frozenset({("openai", "encrypted")}),
            summary_parts=False,
            redacted=frozenset({("anthropic", "encrypted")}),
        ),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                **dict.fromkeys(("image", "audio", "video"), FILES),
                "document": replace(
                    FILES, usual="application/pdf", pointed={"url": "application/pdf"}
                ),
            },
            roles=frozenset({"system", "user", "assistant", "tool"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
            texts=cap.WORDS,
        ),
        candidates=1,
        lacks=cap.RARE | {"usage.cache_ttl", "error.param", "error.request_id"},
    )
    has_error = True
    """whether a result that failed has an ``error`` beside it; else it has a ``status``"""
    fields = request.FIELDS
    stops = STOPS
    counts = COUNTS
    has_system = False
    """whether there is a speaker ``system``; else a request has its prompt beside the contents"""

    sniff = signs.sniff
    writing = request.writing
    read_request = request.read_request
    write_request = request.write_request
    read_messages = request.read_messages
    write_messages = request.write_messages
    read_tools = request.read_tools
    write_tools = request.write_tools
    read_response = request.read_response
    write_response = request.write_response
    read_usage = request.read_usage
    name_result = blocks.name_result
    write_image_or_file = blocks.write_image_or_file
    emit = blocks.emit

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import ContentReader

        return ContentReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import ContentWriter

        return ContentWriter(self, log, same)


DIALECT = IContent()
