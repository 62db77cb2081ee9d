"""OpenTelemetry's semantic conventions for generative AI: messages and tools as attributes.

What it does differently from its neighbours: a message is a list of parts that name themselves;
what a tool returned is any JSON value in a part of its own; media have a modality. In a span the
messages stand in three attributes: system instructions, input and output, each as JSON or as text
that is JSON. It records what was said: nothing of what a provider signed is in it.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...dialect import Dialect
from ...model import Hosted, Json, Reasoning, ToolCall
from . import messages, tools
from . import sniff as signs
from .messages import INPUT

FILES = cap.Form(sources=cap.POINTED, typed=True, verified=True, any_data=False, any_file=True)


class OtelGenAI(Dialect):
    name = "otel-genai"
    spec = "https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/"
    history = INPUT
    windows = False  # output messages stand apart
    aliases: ClassVar[tuple[str, ...]] = ("otel", "opentelemetry")
    can = cap.Capabilities(
        freeform="function",
        strict=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        reasoning=cap.ReasoningForm(empty=cap.EVERYWHERE),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(
            kinds={
                "image": FILES,
                "audio": FILES,
                "video": FILES,
                "document": replace(FILES, usual="application/pdf"),
            },
            roles=frozenset({"user", "assistant"}),
            spoken=frozenset({"image", "audio", "video", "document"}),
        ),
        results=cap.Results(errors="mark", joint="\n"),
        result_names=False,
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
    read_tools = tools.read_tools
    write_tools = tools.write_tools

    def locate(self, doc: Json, at: str) -> str:
        """An attribute may be text: then a place in it is the place of the attribute."""
        key, slash, _ = at.removeprefix("/").partition("/")
        whole = doc.get(key) if doc.__class__ is dict else None
        return f"/{key}" if slash and whole.__class__ is str else at


DIALECT = OtelGenAI()
