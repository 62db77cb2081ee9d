"""The messages and settings of Vercel's AI SDK: ModelMessage, as version 7 has it.

What it does differently from its neighbours: types have hyphens, keys have capitals; a tool result
names its tool beside its call, and says what it is (text, JSON, an error, parts); arguments are
values; what is written to one provider alone stands in ``providerOptions``, so that every issuer's
signatures find a place; a system turn is one string, and stands in ``instructions``; images are
files.

Versions 5 and 6 and the CoreMessage of version 4 are variants: ``vercel-model-v5``,
``vercel-model-v6`` and ``vercel-core``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.fields import Fields
from ...model import Json
from .._ai_sdk import KEPT, STOPS
from .._errors import ClientErrors
from . import options, request, response, results, tools, turns
from . import sniff as signs
from .request import FIELDS
from .response import NESTED

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


FILES = cap.Form(
    sources=cap.POINTED,
    labels=frozenset({"filename"}),
    typed=True,
    verified=True,
    any_data=False,
    any_file=True,
)
FORMS = {
    "image": replace(FILES, labels=frozenset({"filename", "detail"})),
    "audio": FILES,
    "video": FILES,
    "document": replace(
        FILES,
        labels=frozenset({"filename", "title", "context", "citable"}),
        usual="application/pdf",
        pointed=dict.fromkeys(("url", "file"), "application/pdf"),
    ),
}
RESULTS = {kind: replace(form, pointed={}) for kind, form in FORMS.items()}
TEXT = cap.POINTED | {"text"}


def with_text(*typed: str) -> dict[str, cap.Form]:
    """The same where a document may be its text; ``typed``: the sources that need a type."""
    pointed = dict.fromkeys(typed, "application/pdf")
    return {**FORMS, "document": replace(FORMS["document"], sources=TEXT, pointed=pointed)}


REASONING = cap.ReasoningForm(
    signatures=KEPT,
    ids=cap.EVERYWHERE,
    summed=frozenset({("openai", "encrypted")}),
    summed_by_id=True,
    empty=cap.EVERYWHERE,
)


class VercelModel(ClientErrors):
    name = "vercel-model"
    issuer = ""
    spec = "https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message"
    aliases: ClassVar[tuple[str, ...]] = ("vercel", "vercel-model-v7")
    needs_model = True
    windows = False  # a result is named after its call, which may stand in another window
    can = cap.Capabilities(
        outputs=cap.Outputs(labels=frozenset({"name", "description"}), labelled=True),
        freeform="wrapped",
        choices=cap.Choices(alone=cap.NO_MODE, parallel=cap.NO_MODE, beside=frozenset({"allowed"})),
        texts=cap.Texts(needed=frozenset({"error", "result"})),
        names=cap.NOWHERE,
        developer=False,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        reasoning=REASONING,
        caching=cap.Caching(on=cap.ALL_MARKS.on - {"passage"}, ttls=("5m", "1h"), longest="1h"),
        media=cap.MediaForms(
            kinds=with_text("url", "file"),
            results=with_text("file"),
            roles=frozenset({"user", "assistant", "tool"}),
            spoken=frozenset(FORMS),
        ),
        emptied=False,
        prefill="unknown",
        thinking=cap.BY_EFFORT,
        unfit={**cap.RESULTS_APART, "system": cap.NOT_TEXT, "developer": cap.NOT_TEXT},
        candidates=1,
        lacks=cap.RARE | {"usage.cache_ttl", "error.param", "error.request_id"},
    )
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = (
        ("type", "stream-start"),
        ("type", "response-metadata"),
    )
    family: ClassVar[str] = "vercel-model"
    """the label of blocks that only this SDK knows, whatever its version"""
    kin = frozenset({"vercel-core", "vercel-model-v5", "vercel-model-v6"})
    claims: ClassVar[frozenset[str]] = frozenset()
    """keys that mean something here, and that its kin may have kept without knowing them"""
    media_type: ClassVar[str] = "mediaType"
    arguments: ClassVar[str] = "input"
    schema: ClassVar[str] = "inputSchema"
    system: ClassVar[str] = "instructions"
    active: ClassVar[str] = "activeTools"
    flat: ClassVar[bool] = False
    """whether a result is a value beside a flag, and reasoning bears its signature itself"""
    system_lists: ClassVar[bool] = True
    """whether the system prompt may be messages; else it is one string"""
    system_inside: ClassVar[bool] = False
    """whether a system message may stand among the messages without further ado"""
    image_parts: ClassVar[bool] = False
    """whether an image is written as a part of its own; else it is a file"""
    references: ClassVar[bool] = True
    """whether a file may be a reference, ``{provider: id}``; else the id stands alone, and only
    OpenAI's ids can be told from data"""
    allowed: ClassVar[dict[str, frozenset[str]]] = {
        "user": frozenset({"text", "image", "file"}),
        "assistant": frozenset(
            {
                "text", "file", "reasoning", "tool-call", "tool-result", "tool-approval-request",
                "reasoning-file", "custom",
            }
        ),
        "tool": frozenset({"tool-result", "tool-approval-response"}),
    }  # fmt: skip
    """the types of parts, by role"""
    outputs: ClassVar[frozenset[str]] = frozenset(
        {"text", "json", "error-text", "error-json", "content", "execution-denied"}
    )
    result_parts: ClassVar[frozenset[str]] = frozenset(
        {
            "text", "file", "file-data", "file-url", "file-id", "file-reference", "image-data",
            "image-url", "image-file-id", "image-file-reference", "custom",
        }
    )  # fmt: skip
    provider_tool: ClassVar[str] = "provider"
    blank = frozenset({"stopSequences"})
    fields: ClassVar[Fields] = FIELDS
    # A part of a stream; in it, what an APICallError tells.
    error_head: ClassVar[Mapping[str, Json]] = {"type": "error"}
    error_words: ClassVar[Mapping[str, Json]] = {"name": "AI_APICallError"}
    status_key = "statusCode"
    stops = STOPS
    counts = NESTED
    nested = True
    """whether the reason to stop and the token counts are objects"""
    own_keys: ClassVar[frozenset[str]] = frozenset({"input", "output", "mediaType"})
    """keys of parts that only these versions have"""
    other_keys: ClassVar[frozenset[str]] = frozenset(
        {"args", "result", "mimeType", "isError", "signature"}
    )
    own_settings: ClassVar[frozenset[str]] = frozenset({"maxOutputTokens", "instructions"})
    other_settings: ClassVar[frozenset[str]] = frozenset({"maxTokens"})
    schema_key: ClassVar[str] = "inputSchema"
    alone: ClassVar[bool] = True
    """whether what all versions say alike counts for these"""

    emit = options.emit
    sniff = signs.sniff
    read_request = request.read_request
    write_request = request.write_request
    read_messages = turns.read_messages
    write_messages = turns.write_messages
    write_turn = turns.write_turn
    write_system = turns.write_system
    writing = turns.writing
    needs_text = results.needs_text
    read_tools = tools.read_tools
    write_tools = tools.write_tools
    has_tool = tools.has_tool
    read_tool_choice = tools.read_tool_choice
    write_tool_choice = tools.write_tool_choice
    read_response = response.read_response
    write_response = response.write_response
    read_reply = response.read_reply
    write_reply = response.write_reply
    write_reply_call = response.write_reply_call
    read_usage = response.read_usage
    write_usage = response.write_usage
    settle = response.settle

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import ModelReader

        return ModelReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import ModelWriter

        return ModelWriter(self, log, same)


DIALECT = VercelModel()
