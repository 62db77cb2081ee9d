"""OpenAI Chat Completions.

What it does differently from its neighbours: the system prompt is a message; each tool result is
a message with role ``tool`` and holds only text; arguments are text; there is no flag for a failed
tool, so its text begins with a mark; there is no place for reasoning; several replies may come at
once; cached tokens count as prompt tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from ...core.fields import Fields
from ...core.models import DEFAULT, Models
from ...dialect import Problem
from ...lint.rules import Ruled, examine, lay_open
from ...model import ErrorKind, Json
from .._model_rules import chat_model
from .._openai import ERROR_TYPES, ERRORS
from . import assistant, messages, parts, request, response, tools
from . import sniff as signs
from .parts import AUDIO, AUDIO_SYNONYMS
from .request import FIELDS
from .response import COUNTS, STOPS
from .rules import FACETS, ID_LIMIT, NAME_LIMIT, RULES

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter


class OpenAIChat(Ruled):
    name = "openai-chat"
    issuer = "openai"
    can = cap.Capabilities(
        outputs=cap.Outputs(named="always"),
        names=cap.HISTORY,
        texts=cap.Texts(needed=frozenset({"result"})),
        item_ids=cap.NOWHERE,
        passages=cap.NOWHERE,
        results=cap.MARKED_ERRORS,
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        thinking=cap.BY_EFFORT,
        order={
            "assistant": {"text": 1, "refusal": 2, "call": 3},
            "response": {"text": 1, "refusal": 2, "call": 3},
            "tool": dict.fromkeys(("image", "audio", "video", "document", "refusal"), 1)
            | {"text": 0},
        },
        prefill="never",
        unfit={**cap.RESULTS_APART, "system": cap.NOT_TEXT, "developer": cap.NOT_TEXT},
        citations=cap.Citations(
            places=cap.RESPONSE,
            everyone=False,
            forms=("url",),
            lacks=("quote", "signature"),
            spans=True,
            joined=True,
        ),
        caching=cap.Caching(
            on=frozenset({"text", "reply", "media", "result part", "document text"}),
            ttls=("30m", "12h"),
        ),
        media=cap.MediaForms(
            kinds={
                "image": cap.Form(
                    sources=frozenset({"url", "base64"}),
                    labels=frozenset({"detail"}),
                    usual="image/png",
                ),
                "audio": cap.Form(
                    sources=frozenset({"base64"}),
                    types=frozenset(AUDIO.values()),
                    synonyms=AUDIO_SYNONYMS,
                ),
                "document": cap.Form(
                    sources=frozenset({"base64", "file"}),
                    labels=frozenset({"filename"}),
                    titled=frozenset({"base64"}),
                    named=frozenset({"base64"}),
                    usual="application/pdf",
                ),
            },
            texts=cap.WORDS,
        ),
        choices=cap.Choices(
            alone=cap.NO_MODE,
            subsets=frozenset({"auto", "required"}),
            beside=frozenset({"parallel"}),
        ),
        lacks=cap.RARE - {"service_tier", "logprobs"} | {"error.request_id", "usage.cache_ttl"},
        result_names=False,
    )
    spec = "https://platform.openai.com/docs/api-reference/chat"
    vendor = "openai"
    needs_model = True
    serves: ClassVar[tuple[str, ...]] = ("openai",)
    pairs = True
    takes_plain = True
    aliases: ClassVar[tuple[str, ...]] = ("chat",)
    blank = frozenset({"annotations", "tool_calls", "reasoning_content", "reasoning", "stop"})
    stream_signs = (("object", "chat.completion.chunk"),)
    statuses: ClassVar[Mapping[ErrorKind, int]] = {"billing": 429}  # insufficient_quota
    keep_alive: ClassVar[bytes] = b": keep-alive\n\n"
    takes_comments = True
    # https://platform.openai.com/docs/api-reference/authentication
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/chat/completions",
            "https://api.openai.com/v1",
            passes=("openai-beta",),
            shows=("x-request-id", "x-ratelimit-", "openai-processing-ms", "openai-version"),
            stream={"stream": True, "stream_options": {"include_usage": True}},
            models="/models",
            url_variables=("OPENAI_BASE_URL",),
            key_variables=("OPENAI_API_KEY",),
        ),
    )
    shared: ClassVar[dict[str, frozenset[str]]] = {
        "openai-responses": frozenset({"prompt_cache_retention", "moderation", "user"})
    }
    has_signatures: ClassVar[bool] = True
    """Whether Google may be the one who is spoken to."""
    cache_key: ClassVar[str] = "prompt_cache_breakpoint"
    """What marks a part for the cache; readers know the other name as well."""
    cache_mark: ClassVar[dict[str, Json]] = {"mode": "explicit"}
    media_urls: ClassVar[dict[str, str]] = {}
    """What can be sent in a way that is not official: kind -> type, and key, of its part."""
    any_audio: ClassVar[bool] = False
    """Whether a recording may have any format, or none that is named."""
    thinking_key: ClassVar[str | None] = None
    """Where a variant of this dialect wants the model's reasoning sent back."""
    numbers_calls: ClassVar[bool] = False
    """Whether a call has an ``index`` at rest as well."""
    joins_texts: ClassVar[bool] = True
    """Whether the texts of a response become one string, joined with line breaks."""
    enforces: ClassVar[bool] = True
    """Whether the rules of OpenAI hold for schemas that are enforced."""
    fields: ClassVar[Fields] = FIELDS
    asks_for_usage: ClassVar[bool] = True
    """Whether a stream counts tokens only for those who ask."""
    model_in_path: ClassVar[bool] = False
    """Whether a request may do without a model, as its address names it."""
    counts = COUNTS
    stops = STOPS
    error_is_a_stop: ClassVar[bool] = False
    """Whether ``finish_reason: "error"`` is a reply that was cut, and no failure."""
    errors: ClassVar[dict[str, ErrorKind]] = ERRORS
    error_types: ClassVar[dict[ErrorKind, str]] = ERROR_TYPES
    fills_silence: ClassVar[bool] = True
    """Whether a response made of an empty output has words that say so."""
    says_status: ClassVar[bool] = False
    """Whether the code of an error is a number."""
    rules = RULES
    call_ids = (".", ID_LIMIT)
    tool_names = ("[a-zA-Z0-9_-]", NAME_LIMIT)

    sniff = signs.sniff
    read_request = request.read_request
    read_plain = request.read_plain
    write_request = request.write_request
    fit_model = request.fit_model
    read_messages = request.read_messages
    write_messages = request.write_messages
    read_params = request.read_params
    write_params = request.write_params
    table = request.table
    read_effort = request.read_effort
    write_effort = request.write_effort
    read_output = request.read_output
    write_output = request.write_output
    read_history = messages.read_history
    write_history = messages.write_history
    arrange = messages.arrange
    holds_all = messages.holds_all
    write_result_content = messages.write_result_content
    read_assistant = assistant.read_assistant
    write_assistant = assistant.write_assistant
    sort_blocks = assistant.sort_blocks
    write_texts = assistant.write_texts
    write_beside = assistant.write_beside
    write_reasoning = assistant.write_reasoning
    read_part = parts.read_part
    write_part = parts.write_part
    write_image = parts.write_image
    write_audio = parts.write_audio
    write_file = parts.write_file
    read_tools = tools.read_tools
    write_tools = tools.write_tools
    read_tool = tools.read_tool
    write_tool = tools.write_tool
    read_tool_choice = tools.read_tool_choice
    write_tool_choice = tools.write_tool_choice
    read_choice = tools.read_choice
    write_choice = tools.write_choice
    writing = tools.writing
    read_response = response.read_response
    read_plain_reply = response.read_plain_reply
    write_plain_reply = response.write_plain_reply
    write_response = response.write_response
    write_candidate = response.write_candidate
    write_reply = response.write_reply
    choose_stop = response.choose_stop
    as_read = response.as_read
    settle = response.settle
    is_failure = response.is_failure
    read_choice_of_reply = response.read_choice_of_reply
    holds_failure = response.holds_failure
    read_error = response.read_error
    write_error = response.write_error
    write_error_words = response.write_error_words

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        rules = FACETS.get(facet, ())
        if facet == "request" and self.vendor:
            rules = (*rules, partial(chat_model, vendor=self.vendor))
        return examine(self, lay_open(doc, facet, models), doc, rules)

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import ChatReader

        return ChatReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .write_stream import ChatWriter

        return ChatWriter(self, log, same)


DIALECT = OpenAIChat()
