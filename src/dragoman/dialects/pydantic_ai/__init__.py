"""The messages of Pydantic AI, as ``ModelMessagesTypeAdapter`` writes them.

What it does differently from its neighbours: there are requests and responses, each with parts. A
request holds all that goes to the model at once: system prompts, what the user says, results of
tools and retries; ``instructions`` stand beside the parts, and those of the last request count.
Arguments may be text. A cache mark is an item of its own. A part names the provider that made it,
and signatures belong to that.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...dialect import Dialect
from ...model import Hosted, Reasoning, ToolCall
from . import messages
from . import sniff as signs
from .parts import ISSUERS

FILES = cap.Form(
    sources=cap.POINTED,
    typed=True,
    verified=True,
    any_data=False,
    issuers=ISSUERS,
)
DATA = replace(FILES, sources=frozenset({"base64"}))


class PydanticAI(Dialect):
    name = "pydantic-ai"
    issuer = ""
    spec = "https://ai.pydantic.dev/api/messages/"
    windows = False  # a result is named after its call, and the last request has the instructions
    blank = frozenset({"content_file_digests", "vendor_metadata", "provider_details", "details"})
    aliases: ClassVar[tuple[str, ...]] = ("pydanticai",)
    can = cap.Capabilities(
        freeform="function",
        names=cap.NOWHERE,
        developer=False,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        texts=cap.Texts(needed=frozenset({"result", "error"})),
        reasoning=cap.ReasoningForm(
            signatures=frozenset(
                {
                    ("anthropic", "signature"),
                    ("anthropic", "encrypted"),
                    ("google", "signature"),
                    ("openai", "encrypted"),
                }
            ),
            ids=cap.EVERYWHERE,
            summed=frozenset({("openai", "encrypted")}),
            summed_by_id=True,
            redacted=frozenset({("anthropic", "encrypted")}),
            empty=cap.EVERYWHERE,
        ),
        caching=cap.Caching(on=frozenset({"text", "media"}), ttls=("5m", "1h"), longest="1h"),
        media=cap.MediaForms(
            kinds={
                "image": replace(FILES, labels=frozenset({"detail"})),
                "audio": FILES,
                "video": FILES,
                "document": replace(FILES, usual="application/pdf"),
            },
            roles=frozenset({"user", "assistant", "tool"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
        ),
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


DIALECT = PydanticAI()
