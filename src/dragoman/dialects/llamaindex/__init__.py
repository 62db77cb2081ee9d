"""The chat messages of LlamaIndex, as ``ChatMessage.model_dump_json()`` and chat stores write them.

What it does differently from its neighbours: a message is a list of blocks, each with a
``block_type``, and ``additional_kwargs``, in which whatever has no block stands: the id of the
call that a result replies, and calls as older versions have them. A cache point is a block of its
own. What a provider signed stands in the ``additional_information`` of its thinking.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...dialect import Dialect
from ...model import Hosted, Reasoning, ToolCall
from . import messages
from . import sniff as signs

FILES = cap.Form(sources=frozenset({"url", "base64"}), typed=True, verified=True, any_data=False)
DETAILED = replace(FILES, labels=frozenset({"detail"}))


class LlamaIndex(Dialect):
    name = "llamaindex"
    spec = "https://developers.llamaindex.ai/python/framework-api-reference/llms/"
    windows = False  # a result is named after its call
    blank = frozenset({"additional_kwargs", "additional_information"})
    aliases: ClassVar[tuple[str, ...]] = ("llama-index",)
    can = cap.Capabilities(
        freeform="function",
        names=cap.NOWHERE,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(
            signatures=frozenset(
                {("anthropic", "signature"), ("google", "signature"), ("openai", "encrypted")}
            ),
            ids=cap.EVERYWHERE,
            summary_parts=False,
            summed=frozenset({("openai", "encrypted")}),
            summed_by_id=True,
            empty=cap.EVERYWHERE,
        ),
        caching=cap.Caching(
            on=frozenset({"text", "reply", "media", "passage", "call"}),
            ttls=("5m", "1h"),
            longest="1h",
        ),
        media=cap.MediaForms(
            kinds={
                "image": DETAILED,
                "audio": FILES,
                "video": DETAILED,
                "document": replace(FILES, labels=frozenset({"title"}), usual="application/pdf"),
            },
            roles=frozenset({"user", "assistant", "tool"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
        ),
        results=cap.MARKED_ERRORS,
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


DIALECT = LlamaIndex()
