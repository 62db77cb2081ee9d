"""The chat history of Semantic Kernel for Python, as ``ChatHistory.serialize()`` writes it.

What it does differently from its neighbours: a message is a list of items, each with a
``content_type``; a function has the name of its plugin before its own; media are data in an address
(``data_uri``) or an address; what a function returned is text. Nothing says that one has failed.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...dialect import Dialect
from ...model import Hosted, Reasoning, ToolCall
from . import messages
from . import sniff as signs

DATA = cap.Form(sources=frozenset({"base64"}), verified=True, any_data=False)
POINTED = replace(DATA, sources=frozenset({"base64", "url"}))


class SemanticKernel(Dialect):
    name = "semantic-kernel"
    spec = "https://learn.microsoft.com/en-us/python/api/semantic-kernel/semantic_kernel.contents.chat_history.chathistory"
    windows = False  # the results of a message are told apart
    blank = frozenset({"metadata", "tools"})
    aliases: ClassVar[tuple[str, ...]] = ("sk",)
    can = cap.Capabilities(
        freeform="function",
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(empty=cap.EVERYWHERE),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                "image": replace(POINTED, usual="image/png"),
                "audio": replace(POINTED, usual="audio/wav"),
                "video": replace(DATA, usual="video/mp4"),
                "document": replace(
                    POINTED,
                    sources=cap.POINTED,
                    usual="application/pdf",
                    any_file=True,
                ),
            },
            roles=frozenset({"user", "assistant"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
        ),
        texts=cap.Texts(needed=frozenset({"result"})),
        results=cap.Results(errors="mark", joint="\n"),
        prefill="unknown",
        unfit={
            **cap.RESULTS_APART,
            "system": cap.NOT_TEXT,
            "developer": cap.NOT_TEXT,
            "user": cap.RESULTS_APART["user"] | {Reasoning, ToolCall, Hosted},
        },
    )

    sniff = signs.sniff
    read_messages = messages.read_messages
    write_messages = messages.write_messages


DIALECT = SemanticKernel()
