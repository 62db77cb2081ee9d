"""The vendors' own types as judges: does the official SDK know every key and type of a document?

The request types of both SDKs are TypedDicts, the response types pydantic models. Both are made
strict here: a key the SDK does not know is a failure, so that a writer cannot pass by inventing.
The strict ones are a second import of the packages, so that the clients of other tests stay as
lenient as they are for everybody.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import Any, Literal, NotRequired, Optional, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import get_type_hints, is_typeddict

# Said by the real API or honoured by it, and not in the types of the SDK: (the parent, the key).
UNTYPED: dict[str, set[tuple[str, str]]] = {
    "anthropic-messages": {("", "temperature"), ("", "top_p"), ("", "top_k")},
    "bedrock-converse": {
        ("usage", "serverToolUsage"),
        ("usage", "cacheReadInputTokenCount"),
        ("usage", "cacheWriteInputTokenCount"),
    },
    "openai-chat": {  # Google's endpoint, which documents it
        ("tool_calls", "extra_content"),
        ("messages", "extra_content"),
        ("message", "extra_content"),
    },
    "openai-finetune": {("messages", "weight")},
    "gemini-interactions": {("", "object")},
    "mistral": {("usage", "prompt_tokens_details")},
    "ollama": {("tool_calls", "id")},
}


def problems(dialect: str, facet: str, doc: Any) -> list[str]:
    """What the vendor's types object to in a document; empty where they accept it."""
    doc = _typed(doc, UNTYPED.get(dialect, set()))
    if dialect == "bedrock-converse":
        return _amazon(facet, doc)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # google-genai warns of words that it does not know
            _exhaust(_judge(dialect, facet).validate_python(doc))
    except AttributeError as error:  # google-genai falls over an enumeration's number
        return [str(error)]
    except ValidationError as error:
        return [f"{'/'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()][:8]
    return []


def judged() -> tuple[tuple[str, str], ...]:
    """The documents there are types for."""
    whole = ("request", "messages", "tools", "tool-choice", "response")
    great = (
        "anthropic-messages", "openai-chat", "openai-responses", "gemini", "gemini-interactions",
        "cohere",
    )  # fmt: skip
    others = ("bedrock-converse", "mistral", "ollama")
    lines = (
        ("openai-finetune", "request"),
        ("openai-finetune", "messages"),
        ("vertex-tuning", "request"),
    )
    return (*product(great, whole), *product(others, ("request", "response")), *lines)


def _typed(doc: Any, untyped: set[tuple[str, str]], parent: str = "") -> Any:
    if isinstance(doc, list):
        return [_typed(item, untyped, parent) for item in doc] if untyped else doc
    if not untyped or not isinstance(doc, dict):
        return doc
    return {k: _typed(v, untyped, k) for k, v in doc.items() if (parent, k) not in untyped}


def _amazon(facet: str, doc: Any) -> list[str]:
    """What Amazon's own client objects to before it sends anything."""
    from botocore.validate import ParamValidator

    shape = _shapes()[facet]
    if facet == "request":
        doc = {**doc, "modelId": doc.get("modelId") or "m"}
    if doc.keys() - shape.members.keys():
        return [f"unknown: {sorted(doc.keys() - shape.members.keys())}"]
    report = ParamValidator().validate(doc, shape)
    return [line for line in str(report.generate_report()).splitlines() if line][:8]


@cache
def _shapes() -> dict[str, Any]:
    import botocore.session

    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    converse = model.operation_model("Converse")
    return {"request": converse.input_shape, "response": converse.output_shape}


def schema(dialect: str, facet: str) -> dict[str, Any]:
    """What the vendor's types allow, as a JSON Schema."""
    judge = _judge(dialect, facet)
    with _imported_anew():
        return judge.json_schema(by_alias=True, schema_generator=Lax)


class Lax(GenerateJsonSchema):
    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}  # a class that has no place in JSON: anything


@cache
def _judge(dialect: str, facet: str) -> TypeAdapter[Any]:
    with _imported_anew():
        kind = TYPES[dialect]()[facet]
        _forbid(kind, set())
        return TypeAdapter(kind)


PACKAGES = ("anthropic", "openai", "mistralai", "ollama", "cohere")
# Of these the servers say more than their SDKs know: reasoning_tokens; what may come, and is empty;
# the status of a call.
OPEN = ("UsageTokens", "ChatMessageStartEventDeltaMessage", "ResponseCustomToolCall")
STRICT: dict[str, types.ModuleType] = {}


@contextmanager
def _imported_anew() -> Iterator[None]:
    """The packages of the vendors as modules of our own, while their types are made strict."""
    usual = _taken_out()
    sys.modules.update(STRICT)
    try:
        yield
    finally:
        STRICT.update(_taken_out())
        sys.modules.update(usual)


def _taken_out() -> dict[str, types.ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
    return {name: sys.modules.pop(name) for name in names}


@cache
def _anthropic() -> dict[str, Any]:
    import anthropic.types as claude
    from anthropic.types import message_create_params as request

    prompt = str | list[claude.TextBlockParam]
    return {
        "request": request.MessageCreateParamsNonStreaming | request.MessageCreateParamsStreaming,
        "messages": _history("ClaudeHistory", claude.MessageParam, "system", prompt),
        "tools": list[claude.ToolUnionParam],
        "tool-choice": claude.ToolChoiceParam,
        "response": claude.Message,
        "event": claude.RawMessageStreamEvent,
    }


@cache
def _chat() -> dict[str, Any]:
    import openai.types.chat as chat
    from openai.types.chat import completion_create_params as request

    return {
        "request": request.CompletionCreateParamsNonStreaming
        | request.CompletionCreateParamsStreaming,
        "messages": list[chat.ChatCompletionMessageParam],
        "tools": list[chat.ChatCompletionToolUnionParam],
        "tool-choice": chat.ChatCompletionToolChoiceOptionParam,
        "response": chat.ChatCompletion,
        "event": chat.ChatCompletionChunk,
    }


@cache
def _responses() -> dict[str, Any]:
    import openai.types.responses as responses
    from openai.types.responses import response_create_params as request

    item = responses.ResponseInputItemParam
    # The server accepts reasoning without an id if there is `encrypted_content`; Codex sends it so.
    reasoning: Any = responses.ResponseReasoningItemParam
    reasoning.__annotations__["id"] = NotRequired[str]
    reasoning.__required_keys__ -= {"id"}
    return {
        "request": request.ResponseCreateParamsNonStreaming | request.ResponseCreateParamsStreaming,
        "messages": _history("Input", item, "instructions", str, "input"),
        "tools": list[responses.ToolParam],
        "tool-choice": request.ToolChoice,
        "response": responses.Response,
        "event": responses.ResponseStreamEvent,
    }


@cache
def _mistral() -> dict[str, Any]:
    from mistralai.client import models as mistral

    return {"request": mistral.ChatCompletionRequest, "response": mistral.ChatCompletionResponse}


@cache
def _ollama() -> dict[str, Any]:
    from ollama import _types as ollama

    return {"request": ollama.ChatRequest, "response": ollama.ChatResponse}


@cache
def _gemini() -> dict[str, Any]:
    """The SDK has no type for the body of a request, but one for everything in it."""
    from google.genai import types as gemini
    from typing_extensions import TypedDict

    history = {"contents": list[gemini.Content], "systemInstruction": gemini.Content}
    settings = {
        "model": str,
        "tools": list[gemini.Tool],
        "toolConfig": gemini.ToolConfig,
        "generationConfig": gemini.GenerationConfig,
        "safetySettings": list[gemini.SafetySetting],
        "cachedContent": str,
        "labels": dict[str, str],
        "serviceTier": str,
        "store": bool,
    }
    return {
        "request": TypedDict("Request", {**history, **settings}, total=False),  # type: ignore[operator]
        "messages": TypedDict("Contents", history, total=False),  # type: ignore[operator]
        "tools": list[gemini.Tool],
        "tool-choice": gemini.ToolConfig,
        "response": gemini.GenerateContentResponse,
        "event": gemini.GenerateContentResponse,
    }


@cache
def _interactions() -> dict[str, Any]:
    """The SDK has its types twice: these are the dictionaries, which nobody else validates."""
    from google.genai._gaos.types import interactions as kinds
    from typing_extensions import TypedDict

    failed = TypedDict("failed", {"error": kinds.ErrorTypedDict})  # noqa: UP013
    steps = {"input": kinds.InteractionsInputParam, "system_instruction": NotRequired[str]}
    return {
        "request": kinds.CreateModelInteractionParam,
        "messages": TypedDict("Steps", steps),  # type: ignore[operator]
        "tools": list[kinds.ToolParam],
        "tool-choice": kinds.ToolChoiceParam,
        "response": kinds.InteractionTypedDict | failed,
        "event": kinds.InteractionSSEEventTypedDict,
    }


@cache
def _cohere() -> dict[str, Any]:
    """The SDK has no type for the body of a request: it is what its client takes."""
    import cohere
    from cohere.v2 import client
    from typing_extensions import TypedDict

    class Failed(TypedDict):  # a failed reply is an error, for which there is no type
        message: str
        id: NotRequired[str]

    hints = get_type_hints(client.V2Client.chat, include_extras=True)
    body = {k: _closed(v) for k, v in hints.items() if k not in ("return", "request_options")}
    wanted = ("model", "messages")
    fields = {k: v if k in wanted else NotRequired[v] for k, v in body.items()}
    return {
        "request": TypedDict("ChatRequest", {**fields, "stream": NotRequired[bool]}),  # type: ignore[operator]
        "messages": body["messages"],
        "tools": list[cohere.ToolV2],
        "tool-choice": Optional[Literal["REQUIRED", "NONE"]],  # noqa: UP045
        "response": cohere.V2ChatResponse | Failed,
        "event": cohere.V2ChatStreamResponse,
    }


def _history(name: str, item: Any, beside: str, prompt: Any, key: str = "messages") -> Any:
    from typing_extensions import TypedDict

    return TypedDict(name, {key: list[item], beside: NotRequired[prompt]})  # type: ignore[operator]


@cache
def _finetune() -> dict[str, Any]:
    """Lines of training files: the SDK has types for messages and tools, not for a line."""
    import openai.types.chat as chat
    from openai.types.chat import completion_create_params as request
    from typing_extensions import TypedDict

    words: dict[str, Any] = {
        "messages": list[chat.ChatCompletionMessageParam],
        "tools": NotRequired[list[chat.ChatCompletionFunctionToolParam]],
        "parallel_tool_calls": NotRequired[bool],
        "functions": NotRequired[list[request.Function]],  # before there were tools
    }
    example: Any = TypedDict("Example", words)  # type: ignore[misc]
    reply = list[chat.ChatCompletionAssistantMessageParam]
    sides: Any = {"input": example, "preferred_output": reply, "non_preferred_output": reply}
    pair: Any = TypedDict("Pair", sides)  # type: ignore[misc]
    return {"request": example | pair, "messages": list[chat.ChatCompletionMessageParam]}


@cache
def _tuning() -> dict[str, Any]:
    """Tuning lines of Gemini: the types of the API for all that stands in them."""
    from google.genai import types as gemini
    from typing_extensions import TypedDict

    side: Any = {"score": float, "completion": gemini.Content}
    completion: Any = TypedDict("completion", side)  # type: ignore[misc]
    line = {
        "contents": list[gemini.Content],
        "systemInstruction": gemini.Content,
        "tools": list[gemini.Tool],
        "completions": list[completion],
    }
    return {"request": TypedDict("Line", line, total=False)}  # type: ignore[operator]


TYPES = {
    "vertex-tuning": _tuning,
    "openai-finetune": _finetune,
    "anthropic-messages": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "mistral": _mistral,
    "ollama": _ollama,
    "cohere": _cohere,
}


def _forbid(kind: Any, seen: set[int]) -> None:
    """Make every TypedDict and model below a type refuse keys that it does not know."""
    if id(kind) in seen:
        return
    seen.add(id(kind))
    for arg in get_args(kind):
        _forbid(arg, seen)
    origin = get_origin(kind)
    if origin is not None and not isinstance(origin, types.UnionType):
        _forbid(origin, seen)
    if is_typeddict(kind):
        kind.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
        hints = get_type_hints(kind, vars(sys.modules[kind.__module__]), include_extras=True)
        for hint in hints.values():
            _forbid(hint, seen)
    elif isinstance(kind, type) and issubclass(kind, BaseModel) and kind is not BaseModel:
        if kind.__name__ == "Parameters":
            return  # Ollama's: a schema, of which the type has the usual words only
        if kind.model_config.get("extra") != "forbid" and kind.__name__ not in OPEN:
            kind.model_config = {**kind.model_config, "extra": "forbid", "defer_build": False}
        for field in kind.model_fields.values():
            field.annotation = _closed(field.annotation)
            _forbid(field.annotation, seen)
        kind.model_rebuild(force=True)


def _closed(kind: Any) -> Any:
    """A choice of words without the word that is none of them, which Cohere's SDK leaves open."""
    args = get_args(kind)
    if get_origin(kind) is Union and Any in args and any(get_origin(a) is Literal for a in args):
        return Union[tuple(arg for arg in args if arg is not Any)]  # noqa: UP007
    return kind


def _exhaust(value: Any) -> None:
    """The SDKs type lists as ``Iterable``, which pydantic checks only when iterated."""
    if isinstance(value, Mapping):
        for item in value.values():
            _exhaust(item)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes | BaseModel):
        for item in value:
            _exhaust(item)
