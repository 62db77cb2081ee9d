"""The smallest public way of each library to convert a request or a response in memory.

No network, ever.

Each contender is a table from (source, target) to a function from a parsed document to a
converted one. Where a library has no public function, the one its own entry point calls first
is used, and the docstring says so. Versions: ``peers-requirements.txt``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module, metadata
from typing import Any, TypeAlias

import orjson

from benchmarks import answers, workload

Json: TypeAlias = Any
Pair: TypeAlias = tuple[str, str]
Convert: TypeAlias = Callable[[Json], Json]
Feed: TypeAlias = Callable[[bytes], bytes]
"""The bytes of an event of a stream as those of the events that it becomes."""

CHAT, ANTHROPIC, RESPONSES = "openai-chat", "anthropic-messages", "openai-responses"
# Names the libraries know: an unknown model costs some of them a search, which is not our point.
CLAUDE, GPT = "claude-sonnet-4-5-20250929", "gpt-4o"


@dataclass
class Contender:
    """One library: what it converts, and what it says about what it lost."""

    name: str
    convert: dict[Pair, Convert]
    notes: Callable[[Pair, Json], list[str]] = field(default=lambda pair, doc: [])
    text: dict[Pair, Callable[[bytes], bytes]] = field(default_factory=dict)
    """From bytes to bytes, where the library parses and prints by itself."""
    answers: dict[Pair, Convert] = field(default_factory=dict)
    answer_text: dict[Pair, Callable[[bytes], bytes]] = field(default_factory=dict)
    """The same for responses."""
    streams: dict[Pair, Callable[[], Feed]] = field(default_factory=dict)
    """What begins a stream: it gives the function that takes event after event."""


def litellm() -> Contender:
    """litellm's provider configs and pass-through adapters, as its own entry points call them."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or the import fetches a price list
    library = import_module("litellm")
    base = "litellm.llms.anthropic.pass_through"
    to_chat = import_module(f"{base}.adapters.transformation").LiteLLMAnthropicMessagesAdapter()
    to_responses = import_module(
        f"{base}.responses_adapters.transformation"
    ).LiteLLMAnthropicToResponsesAPIAdapter()
    bridge = import_module(
        "litellm.completion_extras.litellm_responses_transformation.transformation"
    ).LiteLLMResponsesTransformationHandler()
    back = import_module(
        "litellm.responses.litellm_completion_transformation.transformation"
    ).LiteLLMCompletionResponsesConfig
    chat_to_anthropic = partial(_litellm_chat_to_anthropic, library.AnthropicConfig())
    responses_to_chat = partial(_litellm_responses_to_chat, back)
    return Contender(
        "litellm",
        {
            (CHAT, ANTHROPIC): chat_to_anthropic,
            (ANTHROPIC, CHAT): lambda doc: to_chat.translate_anthropic_to_openai(doc)[0],
            (ANTHROPIC, RESPONSES): to_responses.translate_request,
            (CHAT, RESPONSES): partial(_litellm_chat_to_responses, bridge),
            (RESPONSES, CHAT): responses_to_chat,
            (RESPONSES, ANTHROPIC): lambda doc: chat_to_anthropic(responses_to_chat(doc)),
        },
        answers=_litellm_answers(library, to_chat, to_responses),
    )


def _litellm_answers(library: Any, to_chat: Any, to_responses: Any) -> dict[Pair, Convert]:
    """What its entry points make of a parsed reply; each takes a model of its own."""
    from_responses = import_module("litellm.types.llms.openai").ResponsesAPIResponse
    config, blank = library.AnthropicConfig(), import_module("httpx").Response(200)

    def anthropic_to_chat(doc: Json) -> Json:
        return config.transform_parsed_response(
            completion_response=doc, raw_response=blank, model_response=library.ModelResponse()
        )

    return {
        (CHAT, ANTHROPIC): lambda doc: to_chat.translate_openai_response_to_anthropic(
            library.ModelResponse(**doc)
        ),
        (ANTHROPIC, CHAT): anthropic_to_chat,
        (RESPONSES, ANTHROPIC): lambda doc: to_responses.translate_response(from_responses(**doc)),
    }


def _litellm_chat_to_anthropic(config: Any, doc: Json) -> Json:
    params = {k: v for k, v in doc.items() if k not in ("model", "messages")}
    mapped = config.map_openai_params(params, {}, CLAUDE, False)
    return config.transform_request(CLAUDE, doc["messages"], mapped, {}, {})


def _litellm_chat_to_responses(bridge: Any, doc: Json) -> Json:
    params = {k: v for k, v in doc.items() if k not in ("model", "messages")}
    made = bridge.transform_request(GPT, doc["messages"], params, {}, {}, _Log())
    return {k: v for k, v in made.items() if k not in ("litellm_logging_obj", "client")}


def _litellm_responses_to_chat(config: Any, doc: Json) -> Json:
    params = {k: v for k, v in doc.items() if k not in ("model", "input")}
    return config.transform_responses_api_request_to_chat_completion_request(
        GPT, doc["input"], params
    )


class _Log:
    """Stands in for litellm's logging object, on which it only sets attributes."""


def llm_rosetta() -> Contender:
    """``ConversionPipeline``, which is made anew for each request, as its documentation says."""
    pipeline = import_module("llm_rosetta").ConversionPipeline
    names = {CHAT: "openai_chat", ANTHROPIC: "anthropic", RESPONSES: "openai_responses"}

    def convert(pair: Pair, doc: Json) -> Json:
        return pipeline(names[pair[0]], names[pair[1]]).convert_request(doc)

    def notes(pair: Pair, doc: Json) -> list[str]:
        used = pipeline(names[pair[0]], names[pair[1]])
        used.convert_request(doc)
        return [str(warning) for warning in used.warnings]

    def answering(pair: Pair) -> Convert:
        """A pipeline takes a response back to where its request came from; one has been there."""
        used = pipeline(names[pair[1]], names[pair[0]])
        used.convert_request(workload.SPEAKERS[pair[1]](workload.small()))
        made: Convert = used.convert_response
        return made

    def streaming(pair: Pair) -> Feed:
        used = pipeline(names[pair[1]], names[pair[0]])
        used.convert_request(workload.SPEAKERS[pair[1]](workload.small()))
        return _fed(used.create_stream_processor().process_chunk, pair[1])

    return Contender(
        "llm-rosetta",
        {pair: partial(convert, pair) for pair in _pairs()},
        notes,
        answers={pair: answering(pair) for pair in _pairs()},
        streams={pair: partial(streaming, pair) for pair in _pairs()},
    )


def any_llm() -> Contender:
    """any-llm's bridges between its own parameter models. It has none from Responses."""
    import_module("any_llm")
    completion = import_module("any_llm.types.completion").CompletionParams
    messages = import_module("any_llm.types.messages").MessagesParams
    to_anthropic = import_module("any_llm.providers.anthropic.utils")._convert_params  # not public
    to_chat = import_module("any_llm.utils.messages_compat").messages_params_to_completion_params
    to_responses = import_module(
        "any_llm.providers.openai.messages_responses"
    ).messages_params_to_responses_params

    def chat_to_anthropic(doc: Json) -> Json:
        known = {k: v for k, v in doc.items() if k not in ("model", "max_completion_tokens")}
        params = completion(
            model_id=doc["model"], max_tokens=doc.get("max_completion_tokens"), **known
        )
        return to_anthropic(params, provider_name="anthropic")

    def anthropic_to_responses(doc: Json) -> Json:
        return to_responses(messages(**doc)).model_dump(exclude_none=True)

    return Contender(
        "any-llm-sdk",
        {
            (CHAT, ANTHROPIC): chat_to_anthropic,
            (ANTHROPIC, CHAT): lambda doc: to_chat(messages(**doc)),
            (ANTHROPIC, RESPONSES): anthropic_to_responses,
        },
        answers=_any_llm_answers(),
    )


def _any_llm_answers() -> dict[Pair, Convert]:
    """Between the models of the SDKs, which it makes of a reply; one of them is not public."""
    chat = import_module("any_llm.types.completion").ChatCompletion
    message = import_module("anthropic.types").Message
    response = import_module("openai.types.responses").Response
    to_message = import_module("any_llm.utils.messages_compat").chat_completion_to_message_response
    to_chat = import_module("any_llm.providers.anthropic.utils")._convert_response
    back = import_module("any_llm.providers.openai.messages_responses").response_to_message_response
    return {
        (CHAT, ANTHROPIC): lambda doc: to_message(chat(**doc)),
        (ANTHROPIC, CHAT): lambda doc: to_chat(message(**doc)),
        (RESPONSES, ANTHROPIC): lambda doc: back(response(**doc)),
    }


def linguafranca() -> Contender:
    """The Rust core, from text to text: what ``convert_request_json`` wraps in ``json``."""
    core = import_module("linguafranca")._linguafranca
    names = {
        CHAT: "openai_chat_completions",
        ANTHROPIC: "anthropic_messages",
        RESPONSES: "open_responses",
    }

    def raw(pair: Pair, text: str) -> str:
        made: str = core.convert_request_json_str(text, names[pair[0]], names[pair[1]], None)
        return made

    def convert(pair: Pair, doc: Json) -> Json:
        return json.loads(raw(pair, json.dumps(doc)))["value"]

    def notes(pair: Pair, doc: Json) -> list[str]:
        made = json.loads(raw(pair, json.dumps(doc)))
        return [f"{w['action']} {w['field']}: {w['message']}" for w in made["warnings"]]

    def text(pair: Pair, data: bytes) -> bytes:
        return raw(pair, data.decode()).encode()

    def answer_text(pair: Pair, data: bytes) -> bytes:
        made: str = core.convert_response_json_str(data.decode(), names[pair[0]], names[pair[1]])
        return made.encode()

    def reply(pair: Pair, doc: Json) -> Json:
        return json.loads(answer_text(pair, json.dumps(doc).encode()))["value"]

    def streaming(pair: Pair) -> Feed:
        made = core.create_response_stream_converter(names[pair[0]], names[pair[1]])
        transform = made.transform_json_str
        return _fed(lambda text: orjson.loads(transform(text.decode())), pair[1], parsed=False)

    return Contender(
        "martian-linguafranca",
        {pair: partial(convert, pair) for pair in _pairs()},
        notes,
        {pair: partial(text, pair) for pair in _pairs()},
        {pair: partial(reply, pair) for pair in _pairs()},
        {pair: partial(answer_text, pair) for pair in _pairs()},
        {pair: partial(streaming, pair) for pair in _pairs()},
    )


def dragoman() -> Contender:
    """The library of this repository, by its public call."""
    library = import_module("dragoman")

    def convert(pair: Pair, doc: Json) -> Json:
        return library.convert(doc, source=pair[0], target=pair[1], facet="request").document

    def notes(pair: Pair, doc: Json) -> list[str]:
        made = library.convert(doc, source=pair[0], target=pair[1], facet="request")
        return [str(loss) for loss in made.losses]

    def text(pair: Pair, data: bytes) -> bytes:
        made = library.convert(data, source=pair[0], target=pair[1], facet="request")
        out: bytes = made.to_json()
        return out

    def answer_text(pair: Pair, data: bytes) -> bytes:
        made = library.convert(
            data, source=pair[0], target=pair[1], facet="response", now=answers.NOW
        )
        out: bytes = made.to_json()
        return out

    def reply(pair: Pair, doc: Json) -> Json:
        return json.loads(answer_text(pair, json.dumps(doc).encode()))

    def streaming(pair: Pair) -> Feed:
        feed: Feed = library.Transcoder(*pair).feed
        return feed

    return Contender(
        "dragoman",
        {pair: partial(convert, pair) for pair in _pairs()},
        notes,
        {pair: partial(text, pair) for pair in _pairs()},
        {pair: partial(reply, pair) for pair in _pairs()},
        {pair: partial(answer_text, pair) for pair in _pairs()},
        {pair: partial(streaming, pair) for pair in _pairs()},
    )


PEERS: dict[str, Callable[[], Contender]] = {
    "litellm": litellm,
    "llm-rosetta": llm_rosetta,
    "any-llm-sdk": any_llm,
    "martian-linguafranca": linguafranca,
}


def _fed(convert: Callable[[Any], list[Json]], target: str, *, parsed: bool = True) -> Feed:
    """Event by event, with orjson and the frame around it; ``parsed``: events are no text."""
    named = target != CHAT  # whose events have no names

    def feed(event: bytes) -> bytes:
        data = event.rpartition(b"data: ")[2].rstrip()
        if data == b"[DONE]":
            return b""
        out = []
        for made in convert(orjson.loads(data) if parsed else data):
            if named:
                out.append(b"event: " + made["type"].encode() + b"\n")
            out.append(b"data: " + orjson.dumps(made) + b"\n\n")
        return b"".join(out)

    return feed


def _pairs() -> list[Pair]:
    dialects = (CHAT, ANTHROPIC, RESPONSES)
    return [(a, b) for a in dialects for b in dialects if a != b]


def installed(name: str) -> str | None:
    """The version of an installed distribution."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
