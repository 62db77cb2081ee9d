"""The messages of Strands Agents, as ``agent.messages`` has them and session managers store them.

What it does differently from its neighbours: the blocks are those of Bedrock's Converse API, which
the framework speaks with every provider; results stand in a turn of the user; bytes are marked as
such (``__bytes_encoded__``). A stored message has an envelope with its number and dates. The system
prompt is the agent's, and stands beside the messages where it is stored at all.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...dialect import Dialect
from ...model import Hosted, Reasoning, ToolCall
from . import messages
from . import sniff as signs
from .media import form_of

DOCUMENT = replace(form_of("document"), labels=frozenset({"title", "context"}))


class Strands(Dialect):
    name = "strands"
    spec = "https://strandsagents.com/latest/documentation/docs/api-reference/python/types/content/"
    windows = False  # results share a turn with what the user says
    blank = frozenset({"metadata"})
    aliases: ClassVar[tuple[str, ...]] = ("strands-agents",)
    can = cap.Capabilities(
        freeform="function",
        names=cap.NOWHERE,
        developer=False,
        systems="first",
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(
            signatures=frozenset({("anthropic", "signature"), ("bedrock", "encrypted")}),
            redacted=frozenset({("bedrock", "encrypted")}),
        ),
        caching=cap.Caching(
            on=frozenset({"text", "reply", "media", "call", "result"}),
            ttls=("5m", "1h"),
            longest="1h",
        ),
        media=cap.MediaForms(
            kinds={
                "image": form_of("image"),
                "audio": form_of("audio"),
                "video": form_of("video"),
                "document": DOCUMENT,
            },
            results={"image": form_of("image"), "document": DOCUMENT},
            roles=frozenset({"user", "assistant", "tool"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
        ),
        result_names=False,
        prefill="unknown",
        unfit={
            "system": cap.NOT_TEXT,
            "developer": cap.NOT_TEXT,
            "user": frozenset({Reasoning, ToolCall, Hosted}),
            "assistant": cap.RESULTS_APART["assistant"],
        },
    )

    sniff = signs.sniff
    read_messages = messages.read_messages
    write_messages = messages.write_messages


DIALECT = Strands()
