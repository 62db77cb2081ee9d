"""The messages of LangChain, as ``messages_to_dict`` writes them.

What it does differently from its neighbours: a message has a ``type`` (``human``, ``ai``) and
``data``; calls stand beside the content, with their arguments as objects, and those that are no
object stand apart with their text (``invalid_tool_calls``). Content is a text, or a list of blocks:
the standard ones of version 1, those of version 0, or what the provider returned. All are read; the
standard ones are written, with ``output_version`` where a reply has more than a text and calls.
Signatures and reasoning belong to the ``model_provider`` of their message.

``langchain-dumpd`` is what ``dumpd`` and ``dumps`` write of the same messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...dialect import Dialect
from ...model import Hosted, Reasoning, ToolCall
from . import messages
from . import sniff as signs

if TYPE_CHECKING:
    from ...model import Json, Message

FILES = cap.Form(
    sources=cap.POINTED,
    labels=frozenset({"filename", "title", "context", "citable"}),
    typed=True,
    verified=True,
    any_data=False,
    any_file=True,
)
DOCUMENTS = replace(FILES, sources=cap.POINTED | {"text"}, usual="application/pdf")


class LangChain(Dialect):
    name = "langchain"
    issuer = ""
    spec = "https://reference.langchain.com/python/langchain_core/messages/"
    aliases: ClassVar[tuple[str, ...]] = ("langchain-core", "langgraph")
    blank = frozenset(
        {"additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls", "extras"}
    )
    kin = frozenset({"langchain-dumpd"})
    can = cap.Capabilities(
        freeform="function",
        item_ids=cap.NOWHERE,
        passages=cap.NOWHERE,
        texts=cap.Texts(needed=frozenset({"result", "error"})),
        citations=cap.Citations(everyone=False),
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
        caching=cap.Caching(on=frozenset({"text", "media", "result part", "document text"})),
        media=cap.MediaForms(
            kinds={
                **dict.fromkeys(("image", "audio", "video"), FILES),
                "document": DOCUMENTS,
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

    def wrap(self, kind: str, data: dict[str, Json], message: Message) -> dict[str, Json]:
        """A message with its type; all fields are written, as LangChain does."""
        return {"type": kind, "data": data}


DIALECT = LangChain()
