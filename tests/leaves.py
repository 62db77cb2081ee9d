"""The audit by leaf: each scalar of a document is in what it became, or a loss says where it went.

This module knows nothing of our readers and writers. It walks plain JSON on both sides, so that a
reader that never looked at a field cannot hide it.

A leaf is accounted for if

- it says nothing: null, blank, or one of ``SILENT``;
- a loss stands at its pointer, or at a pointer above it with a code that speaks of it (``COVERS``);
- it is in the output. A long text is found anywhere, as a value or inside one (texts are joined,
  arguments become text, data become addresses). A short one, a small number or a boolean is
  everywhere, so it counts only under a key of the same concept (``CONCEPTS``) or as a word that
  means the same (``WORDS``). What occurs n times must be found n times.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

Path = tuple[Any, ...]


def words(written: str) -> frozenset[str]:
    return frozenset(written.split())


class Leaf(NamedTuple):
    path: Path
    value: Any
    free: bool = False
    """whether it stands in the caller's own JSON"""
    kind: str = ""
    """the type of the object around it"""

    @property
    def key(self) -> str:
        """The name under which it stands; the places in lists do not count."""
        for step in reversed(self.path):
            if not isinstance(step, int):
                return str(step)
        return ""

    @property
    def pointer(self) -> str:
        return pointer_of(self.path)


# -- what means the same ----------------------------------------------------------------------

# Keys of one concept: a short value that stands under one is looked for under all.
CONCEPTS: tuple[frozenset[str], ...] = tuple(
    words(written)
    for written in (
        # what somebody says, in whatever box
        "text content parts input output instruction instructions system thinking reasoning "
        "reasoning_content arguments args result response value refusal output_text summary prompt "
        "message reason "
        "tool_plan blocks systemInstruction transcript detail error parameters",
        "max_tokens max_completion_tokens max_output_tokens maxOutputTokens maxTokens num_predict "
        "n_predict max_new_tokens",
        "temperature",
        "top_p topP p",
        "top_k topK k",
        "seed random_seed",
        "n num_generations candidateCount",
        "stop stop_sequences stopSequences",
        "stop_sequence stop sequence stop_reason matched_stop",
        "frequency_penalty frequencyPenalty",
        "presence_penalty presencePenalty",
        "logprobs responseLogprobs top_logprobs",
        "top_logprobs logprobs",
        "name toolName tool_name function filename title display_name displayName functionName",
        "id call_id tool_call_id tool_use_id toolUseId toolCallId callId callID response_id "
        "responseId runId",
        "model modelId model_id modelVersion model_name",
        "is_error isError status error outcome",
        "strict strict_tools",
        "ttl",
        "title name document_title filename displayName",
        "filename name title displayName file_name",
        "description text",
        "url uri fileUri image_url file_url image source data file_uri",
        "file_id fileUri id uri",
        "data bytes image images url image_url file_data input_audio",
        "user metadata user_id safety_identifier",
        "cited_text quote text",
        "budget_tokens thinkingBudget max_tokens budget token_budget thinking_budget "
        "thinking_token_budget reasoning_budget_tokens",
        "start_index startIndex start",
        "end_index endIndex end",
        "document_index documentIndex documents",
        "start_char_index start_page_number start_block_index start",
        "end_char_index end_page_number end_block_index end",
        "prompt_cache_key promptCacheKey session_id",
        "previous_response_id previous_interaction_id",
        "code status",
        "effort reasoning_effort thinkingLevel think thinking reasoning level",
        "verbosity",
        "kto_tag label",
    )
)

# Words of one meaning: each may stand for another, wherever it stands.
WORDS: tuple[frozenset[str], ...] = tuple(
    words(written)
    for written in (
        # who speaks; results are a turn of the user here, and of a tool or a function there
        "assistant model ai CHATBOT gpt function_call",
        "user human tool function observation",
        "system developer",
        # why it ended; that a call waits, or what was refused, is seen in the content in some APIs
        "stop end_turn STOP COMPLETE completed end eos tool_use tool_calls TOOL_CALL tool-calls "
        "function_call tool_call stop_sequence STOP_SEQUENCE refusal content_filter "
        "requires_action endTurn toolUse stopSequence success",
        "length max_tokens MAX_TOKENS max_output_tokens incomplete "
        "model_context_window_exceeded pause_turn model_length maxTokens",
        "pause_turn requires_continuation",  # it is sent back, and the model goes on
        # FunctionGemma's prompt ends where the result of a call is to stand
        "tool_use tool_calls TOOL_CALL tool-calls function_call tool_call start_function_response "
        "toolUse",
        "interrupted cancelled in_progress requires_continuation budget_exceeded length max_tokens "
        "unfinished abort time_limit incomplete max_output_tokens MAX_TOKENS maxTokens",
        "error ERROR failed malformed_model_output OTHER other incomplete "
        "repetition insufficient_system_resource model_length length max_tokens",
        "content_filter refusal SAFETY content-filter content_filtered "
        "incomplete sensitive",
        # whether tools must be called
        "any required ANY REQUIRED",
        "auto AUTO VALIDATED",
        "none NONE",
        "auto summarized", "none omitted",  # of reasoning, whether it is shown
        "message.output_text.logprobs logprobs top_logprobs responseLogprobs",
        # how a medium is typed
        "png image/png",
        "jpeg jpg image/jpeg",
        "gif image/gif",
        "webp image/webp",
        "wav audio/wav audio/x-wav",
        "mp3 audio/mpeg audio/mp3 mpeg",
        "mp4 video/mp4",
        "mpg mpeg video/mpeg",
        "pdf application/pdf",
        "xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "docx application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "flac audio/flac",
        "txt text/plain text plain",
        "md text/markdown",
        "csv text/csv",
        "html text/html",
        # how hard to think, and that thinking is on
        "enabled on adaptive true",
        "disabled off none",
        "ephemeral default explicit cache-point",
        "application/json json_object json json_schema schema format",
        "nullable null",
        "definitions defs $defs",
        "ref $ref",
        "low LOW", "medium MEDIUM", "high HIGH", "minimal MINIMAL",
        # JSON Schema as OpenAPI writes it
        "string STRING", "object OBJECT", "integer INTEGER", "number NUMBER", "array ARRAY",
        "boolean BOOLEAN",
    )
)  # fmt: skip

# Kinds of errors; a number is the status of HTTP. An error may have a type and a code, and each of
# these words stands for one of them.
FAILED: tuple[frozenset[str], ...] = tuple(
    words(written)
    for written in (
        "-32600 -32602 "
        "400 invalid_request_error INVALID_ARGUMENT ValidationException invalid_request invalid "
        "invalid_request_message 422 TOO_MANY_TOKENS FAILED_PRECONDITION context_length_exceeded "
        "invalid_request_entity invalid_argument failed_precondition out_of_range",
        "401 authentication_error UNAUTHENTICATED unauthenticated UnrecognizedClientException "
        "invalid_authentication_error authentication_token_not_valid",
        "-1 403 permission_error PERMISSION_DENIED permission_denied AccessDeniedException "
        "authorization_rejected",
        "-32601 404 not_found_error NOT_FOUND ResourceNotFoundException not_found",
        "413 request_too_large",
        "429 rate_limit_error RESOURCE_EXHAUSTED ThrottlingException rate_limit_exceeded "
        "rate_limited rate_limit_reached_requests too_many_requests resource_exhausted",
        "-32603 "
        "500 502 api_error INTERNAL internal unknown data_loss unimplemented "
        "InternalServerException server_error internal_server_error downstream_request_failed",
        "503 529 overloaded_error UNAVAILABLE unavailable ServiceUnavailableException "
        "service_unavailable",
        "504 timeout_error DEADLINE_EXCEEDED gateway_timeout deadline_exceeded "
        "ModelTimeoutException",
    )
)

# That a model reasons, and that it does not.
ON = ("enabled", "adaptive", "on", "auto", "think", "thinking", "reasoning", "enable_thinking")
OFF = ("disabled", "none", "off", "thinkingBudget", "think", "enabled", "enable_thinking")

# What a number or a boolean says, where others have a word for it or say the opposite.
SAYS: dict[tuple[str, Any], tuple[str, ...]] = {
    ("type", "enabled"): (
        "thinkingBudget",
        "thinkingLevel",
        "thinking_level",
        "budget_tokens",
        "thinking",
        "reasoning",
        "think",
        "reasoning_effort",
        "thinking_token_budget",
        "reasoning_budget_tokens",
        "enable_thinking",
        "enabled",
        "thinking_level",
    ),
    ("type", "disabled"): ("thinkingBudget", "think", "reasoning", "enable_thinking", "enabled"),
    ("type", "adaptive"): ("thinkingBudget", "enable_thinking", "enabled"),
    ("think", False): (*OFF, "exclude"),
    ("think", True): ON,
    ("thinkingBudget", -1): (*ON, "dynamic"),
    ("includeThoughts", False): ("include_reasoning", "exclude", "omitted", "hidden", "display"),
    ("includeThoughts", True): (
        *("include_reasoning", "exclude", "summarized", "display", "thinking_summaries"),
    ),
    ("include_reasoning", False): ("exclude", "omitted", "hidden", "includeThoughts", "display"),
    ("exclude", True): (
        *("include_reasoning", "omitted", "hidden", "includeThoughts", "display"),
        "thinking_summaries",
    ),
    ("display", "summarized"): ("includeThoughts",),
    ("ttl", "5m"): ("ephemeral_5m_input_tokens", "ephemeral", "default", "explicit"),
    ("ttl", "1h"): ("ephemeral_1h_input_tokens",),
    ("thinking_summaries", "auto"): ("includeThoughts", "summarized", "display"),
    ("thinking_summaries", "none"): ("includeThoughts", "hidden", "exclude", "display"),
    ("display", "omitted"): ("include_reasoning", "exclude", "hidden", "includeThoughts"),
    ("thinkingBudget", 0): OFF,
    ("is_error", True): ("error", "error-text", "error-json", "failed", "output-error"),
    ("outcome", "failed"): (
        *("error", "error-text", "error-json", "is_error", "isError", "output-error"),
    ),
    ("isError", True): (
        *("error", "error-text", "error-json", "is_error", "failed", "output-error"),
    ),
    ("success", False): (
        *("error", "error-text", "error-json", "is_error", "isError", "failed", "output-error"),
    ),
    ("parallel_tool_calls", False): ("disable_parallel_tool_use", "parallelToolCalls"),
    ("disable_parallel_tool_use", True): ("parallel_tool_calls",),
    ("strict_tools", True): ("strict",),
    ("strict", True): ("strict_tools",),
    ("status", "error"): ("isError", "is_error", "output-error"),
    # all documents may be cited; and whether a model reasons
    ("enabled", True): ("documents", "document", "citable", *ON),
    ("enabled", False): OFF,
    ("enable_thinking", True): (
        *(*ON, "thinkingBudget", "thinking_token_budget", "reasoning_budget_tokens"),
    ),
    ("enable_thinking", False): OFF,
    ("disable_reasoning", True): OFF,
    ("nullable", True): ("null",),
    # Together asks for a number of them, as "logprobs"
    ("logprobs", True): ("message.output_text.logprobs", "responseLogprobs", "logprobs"),
    ("responseLogprobs", True): ("message.output_text.logprobs", "logprobs"),
    ("reasoning_format", "hidden"): (
        *("include_reasoning", "exclude", "omitted", "display", "includeThoughts"),
        "thinking_summaries",
    ),
    ("mode", "any"): ("tool", "function", "custom"),
    ("mode", "ANY"): ("tool", "function", "custom"),  # the only one that is allowed is named
    ("reasoning_effort", "none"): OFF,
    ("effort", "none"): OFF,
    ("streaming", True): ("stream",),
    ("stream", True): ("streaming",),
}

# What gRPC says of its codes, as xAI does; and what Cohere says, whose errors are but a text.
PHRASES = {
    "NOT_FOUND": "not found",
    "UNAUTHENTICATED": "Invalid API Key",
    "RESOURCE_EXHAUSTED": "rate limit",
    "rate_limited": "request limit",
    "rate_limit_exceeded": "try again later",
    "TOO_MANY_TOKENS": "too many tokens",
    "400": "Client specified an invalid argument",
    "401": "The request does not have valid authentication credentials",
    "403": "The caller does not have permission to execute the specified operation",
    "404": "Some requested entity was not found",
    "429": "Some resource has been exhausted",
    "500": "Internal error",
    "503": "The service is currently unavailable",
    "504": "Deadline expired before operation could complete",
}

# What tells the kind of a thing and not what it says: its words are the vendor's own.
STRUCTURE = frozenset(
    {"type", "object", "role", "speaker", "kind", "phase", "state", "encoding", "toolCallType"}
    | {"from"}  # ShareGPT's role
    | {"part_kind", "provider_name"}  # Pydantic AI's; the last: who signed
    | {"source_type", "output_version", "model_provider"}  # LangChain's; the last: who signed
    | {"sourceId"}  # what the SDK counts
    | {"block_type", "modality"}  # LlamaIndex's, OpenTelemetry's
    | {"content_type", "provider"}  # Semantic Kernel's; who stores a file, in AG-UI
)

# Values that say no more than their absence does, by key.
SILENT: dict[str, tuple[Any, ...]] = {
    "stream": (False,),
    "model_identity": ("You are ChatGPT, a large language model trained by OpenAI.",),
    "knowledge_cutoff": ("2024-06",),
    "channel_required": (True,),
    "reasoning_effort": ("Medium",),
    # which channel it is, the kind of a block tells
    "valid_channels": ("analysis", "commentary", "final"),
    "channel": ("analysis", "commentary", "final"),
    "recipient": ("assistant",),
    "content_type": ("<|constrain|>json",),
    "score": (0, 1),  # which of two completions is the better one
    "jsonrpc": ("2.0",),
    "__bytes_encoded__": (True,),  # Strands Agents' mark on bytes
    "threadId": ("thread-1",),  # what AG-UI requires, where nobody has told it
    "runId": ("run-1",),
    "resultType": ("complete",),
    "strict": (False,),
    "store": (False,),
    "name": ("AI_APICallError", "functions"),  # which all errors of calls bear in the AI SDK
    "example": (False,),
    "title": ("input_document",),  # which LlamaIndex writes of each document
    "outcome": ("success",),
    "author": ("agent",),  # an agent of the ADK whose name is not known
    "lc": (1,),  # the version of LangChain's serialised objects, and the paths of their classes
    "id": (
        *("langchain", "langchain_core", "schema", "messages", "HumanMessage", "AIMessage"),
        *("SystemMessage", "ToolMessage"),
        "__fake_id__",  # the Agents SDK's word for none
        *("reasoning-text-1", "reasoning-text-2"),  # MiniMax numbers the parts of its reasoning
    ),
    "is_error": (False,),
    "isError": (False,),
    "success": (True,),
    "status": ("success", "completed", "complete", "done", "UNKNOWN"),  # gRPC's word for none
    "n": (1,),
    "candidateCount": (1,),
    "detail": ("auto",),
    "index": (0, 1, 2, 3),
    "parallel_tool_calls": (True,),
    "disable_parallel_tool_use": (False,),
    "logprobs": (False,),
    "strict_tools": (False,),
    "defer_loading": (False,),
    "closed": (True,),
    "sourceField": ("thinking", "reasoning_content", "reasoning"),  # who spoke so
    "allowSystemInMessages": (True,),
    "mimeType": ("image/*",),
    "auto": (True,),  # the words of a choice as flags
    "any": (True,),
    "none": (True,),
    **dict.fromkeys(
        ("finish_reason", "stop_reason", "stopReason", "finishReason", "done_reason", "unified"),
        ("stop", "end_turn", "endTurn", "STOP", "COMPLETE", "eos", 1),  # as every reply ends
    ),
    "done": (True,),
    "state": ("done",),
    "thought": (True, False),  # what others say by the type of the block
    "include_usage": (True,),  # what others always do
    "anthropic_version": ("bedrock-2023-05-31", "vertex-2023-10-16"),  # the API says it itself
    "partial": (True, False),
    "prefix": (True, False),  # what others say by ending in a turn of the assistant
    "continue_final_message": (True, False),
    "add_generation_prompt": (True, False),
    "thinkingLevel": ("THINKING_LEVEL_UNSPECIFIED",),
    "format": (
        "google-gemini-v1",
        "anthropic-claude-v1",
        "openai-responses-v1",
        "MiniMax-response-v1",
        "unknown",
    ),
}
# The words of a mark that stands for what others have a field for: see tool_errors.py and turns.py.
MARKS = re.compile(
    r"\[tool (?:error|output)\] ?|\[content of tool result .*?\]|\[No response generated\]",
    re.DOTALL,
)
# A result without its call, written as the words of the user: see results.py.
FAILED_ALONE = re.compile(r"\A\[error of the tool call .*\]", re.DOTALL)
# An id may go by another prefix, and its signs be escaped: see llxprt_ids.py.
PREFIXES = re.compile(r"^(?:hist_tool_|call_|toolu_|raw_)+")
ESCAPED = re.compile(r"-([0-9a-f]{2,5}|)-")

# What a loss speaks of, where that is less than all that stands below its pointer: key names.
IDS = "id call_id tool_call_id tool_use_id toolUseId toolCallId callId callID"
COVERS: dict[str, frozenset[str]] = {
    code: words(written)
    for code, written in {
        "message.boundary": "role speaker",
        "message.position": "",
        "message.role": "role speaker",
        "message.name": "name author",
        "message.id": "id",
        "message.empty": "",
        "content.order": "",
        "prefill": "prefix partial",
        "text.boundary": "",
        "text.empty": "",
        "reasoning.signature": "signature data thoughtSignature thought_signature "
        "encryptedValue "
        "encrypted_content thought_signatures "
        "redactedContent reasoningText providerMetadata providerOptions extra_content "
        "reasoningSignature reasoning_details encrypted_index redactedData "
        "reasoningEncryptedContent metadata encryptedContent sourceField",
        "reasoning.summary": "summary",
        "reasoning.id": "id itemId",
        "refusal": "type",
        "media.detail": "detail mediaResolution imageDetail resolution",
        "media.title": "title name",
        "media.filename": "filename displayName name document_name",
        "media.context": "context",
        "media.citable": "citations",
        "media.transcript": "transcript",
        "media.type": "media_type mediaType mimeType mime_type mime image_mimetype "
        "audio_mimetype video_mimetype document_mimetype format type",
        "tool_call.id": IDS,
        "tool_call.item_id": "id itemId",
        "tool_call.arguments": "arguments args input parameters",
        "tool_call.kind": "type kind execution",
        "tool_result.error": "is_error isError status error outcome success",
        "tool_result.name": "name toolName tool_name",
        "tool.name": "name toolName tool",
        "tool.schema": "input_schema inputSchema parameters parametersJsonSchema schema "
        "parameter_definitions",
        "tool.strict": "strict",
        "tool.kind": "type format grammar kind execution",
        "tool.namespace": "namespace name description",
        "tool_choice.allowed": "allowed_tools tools allowedFunctionNames mode",
        "tool_choice.parallel": "parallel_tool_calls disable_parallel_tool_use",
        "output.schema": "schema json_schema format responseSchema responseJsonSchema json",
        "output.name": "name",
        "output.description": "description",
        "output.strict": "strict",
        "thinking.effort": "effort reasoning_effort thinkingLevel thinking_level",
        "thinking.budget": "budget_tokens max_tokens thinkingBudget thinking_budget token_budget",
        "thinking.display": "display includeThoughts exclude summary thinking_summaries",
        "stop.reason": "stop_reason finish_reason finishReason stopReason done_reason status "
        "incomplete_details unified",
        "stop.sequence": "stop_sequence stop_reason",
        "stop.detail": "stop_details incomplete_details finishMessage details safetyRatings",
        "usage.cache_ttl": "cache_creation cacheDetails",
        "response.id": "id responseId response_id response runId",
        "response.model": "model modelVersion modelId model_id model_version",
        "response.created": "created created_at createTime create_time timestamp",
        "response.latency": "metrics total_duration",
        "error.type": "type code status statusCode error_type raw_status_code __type",
        "error.code": "code status status_code error_code",
        "error.param": "param",
        "error.request_id": "request_id id trace",
        "cache.ttl": "ttl",
        "logprobs": "logprobs logprobsResult avgLogprobs",
        "service_tier": "service_tier",
        "system.trigger": "",
    }.items()
}
# Of these, all that stands below is lost, if it is; so it is of every code without a line above.
CHANGED = frozenset(
    {"passage", "media", "tool", "hosted", "output", "thinking", "usage", "stop", "tool_choice"}
    | {"usage.inconsistent", "metadata", "logit_bias"}
)

# Objects that are the caller's own: their keys say something, too.
FREE = words(
    "input_schema json parameters parametersJsonSchema schema responseSchema "
    "responseJsonSchema args arguments logit_bias"
)

BLANK: tuple[Any, ...] = (None, "", [], {})
FEW = 4  # characters: what is shorter is found everywhere


# A prompt or a reply in the language of a template, and the words of that language.
TEMPLATE = re.compile(
    r"# Tools\n\nYou may call one or more functions[^<]*<tools></tools>[^<]*"
    r"|For each function call,? return a json object[^<]*<tool_call></tool_call>[^<]*<tool_call>"
    r"\n.*\n</tool_call>|You are a function calling AI model\. [^<]*<tools></tools>[^<]*"
    r"|Use the following pydantic model json schema for each tool call you will make: "
    r'{"properties": {"arguments": {[^<{}]*}, "name": {[^<{}]*}}, [^<{}]*}\s'
    r"|</?(?:think|tool_call|tool_response|tools)>|<\|im_(?:start|end)\|>"
    r"|<(?:start|end)_\w+>|<escape>|<bos>|/\*|\*/|You are a model that can do function calling "
    "with the following functions|You have access to the following functions:"
)
GRAMMAR = words(
    "declaration call response parameters properties required developer user model system "
    "None true false value type description STRING OBJECT ARRAY NUMBER INTEGER BOOLEAN "
    "Parameters string object array number integer boolean items enum nullable NULL null "
    "calling following functions name arguments assistant function tool error"
)
# How a freeform tool is wrapped as a function: see freeform.py.
FREEFORM = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
WRAPPED = re.compile(r"\s*\[freeform tool\](?: The input must match this (\w+) grammar:\n)?")


def is_template(text: Any) -> bool:
    return isinstance(text, str) and TURN.search(text) is not None


TURN = re.compile(r"<(?:start|end)_(?:of_turn|function)|<\|im_(?:start|end)\|>")
TAGGED = re.compile("<(?:think|tool_call|/tool_response)>")
"""What stands in a turn of ShareGPT beside its words."""
TAGS = re.compile(r"</?(?:think|tool_call|tool_response)>")


# -- walking ----------------------------------------------------------------------------------


def pointer_of(path: Iterable[Any]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def walk(value: Any, path: Path = (), free: bool = False, kind: str = "") -> list[Leaf]:
    """The leaves of a value; of what is free JSON, also the keys."""
    found: list[Leaf] = []
    _walk(value, path, free, kind, found)
    return found


def _walk(value: Any, path: Path, free: bool, kind: str, found: list[Leaf]) -> None:
    if isinstance(value, dict):
        if value == FREEFORM:
            return  # it says that the tool takes any text
        if value.get("type") == "message" and is_silence(value.get("content")):
            return
        if isinstance(value.get("type"), str):
            kind = value["type"]
        elif value.get("part_kind") in KINDS:
            kind = KINDS[value["part_kind"]]
        value = readable(once(repeated(called_once(beside(addressed(value))))))
        value = in_parts(named_once(ended_once(value)))
        if "response_format" in value:  # which says that it is JSON
            value = {k: v for k, v in value.items() if k != "response_mime_type"}
        if "args" in value and value.get("input") == value["args"]:
            value = {k: v for k, v in value.items() if k != "args"}  # two names of one thing
        if isinstance(inner := value.get("document"), dict) and inner.get("id") == value.get("id"):
            value = {**value, "document": {k: v for k, v in inner.items() if k != "id"}}
        for key, item in value.items():
            if free:
                found.append(Leaf((*path, key, ""), key, True))
            _walk(item, (*path, key), free or key in FREE, kind, found)
    elif isinstance(value, list):
        for index, item in enumerate(authored_once(numbered_once(value))):
            _walk(item, (*path, index), free, kind, found)
    elif path and path[-1] in INSIDE and isinstance(value, str) and parsed(value) is not None:
        found += told_in(parsed(value), path)
    elif value not in BLANK:
        found.append(Leaf(path, value, free, kind))


def named_once(item: dict[str, Any]) -> dict[str, Any]:
    """A function of Semantic Kernel without the parts of its name: it is there as a whole."""
    parts = [item.get(key) for key in ("plugin_name", "function_name") if item.get(key)]
    if not parts or item.get("name") != "-".join(map(str, parts)):
        return item
    return {k: v for k, v in item.items() if k not in ("plugin_name", "function_name")}


def ended_once(message: dict[str, Any]) -> dict[str, Any]:
    """A message of OpenTelemetry without why it ended, where a call in it is why."""
    parts = message.get("parts")
    if message.get("finish_reason") != "tool_call" or not isinstance(parts, list):
        return message
    if not any(isinstance(part, dict) and part.get("type") == "tool_call" for part in parts):
        return message
    return {key: value for key, value in message.items() if key != "finish_reason"}


def in_parts(item: dict[str, Any]) -> dict[str, Any]:
    """A result of version 4 of the AI SDK whose value is the words of its parts, one by one."""
    parts = item.get("experimental_content")
    if not isinstance(parts, list):
        return item
    said = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    alike = all(isinstance(text, str) for text in said) and item.get("result") == "\n".join(said)
    return {**item, "result": said} if alike else item


def told_in(value: Any, path: Path) -> Iterator[Leaf]:
    """The scalars of JSON that stands as text."""
    if isinstance(value, dict | list):
        items = ended_once(value).items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from told_in(item, (*path, key))
    elif value not in BLANK:
        yield Leaf(path, value)


INSIDE = (
    *("tools", "value"),
    *("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"),
)
"""Keys under which JSON stands as text: tools and turns of training records, attributes of OTel."""
SIGNED = "__gemini_function_call_thought_signatures__"


def beside(message: dict[str, Any]) -> dict[str, Any]:
    """A message of LangChain with the signature of each call in the call."""
    extra, calls = message.get("additional_kwargs"), message.get("tool_calls")
    marks = extra.get(SIGNED) if isinstance(extra, dict) else None
    if not isinstance(marks, dict) or not isinstance(calls, list):
        return message
    if not marks.keys() <= {call.get("id") for call in calls}:
        return message  # some are of no call, and so all of them stay where they are
    own = [call | {"signature": marks.get(call.get("id"))} for call in calls]
    rest = {k: v for k, v in extra.items() if k != SIGNED} if isinstance(extra, dict) else extra
    return {**message, "tool_calls": own, "additional_kwargs": rest}


def called_once(message: dict[str, Any]) -> dict[str, Any]:
    """A message of LangChain without what its content repeats of the calls beside it."""
    content, calls = message.get("content"), message.get("tool_calls")
    if not isinstance(content, list) or not isinstance(calls, list):
        return message
    known = {call.get("id"): call for call in calls if isinstance(call, dict)}
    own: list[Any] = []
    for block in content:
        same = isinstance(block, dict) and block.get("type") == "tool_call"
        call = known.get(block.get("id"), {}) if same else {}
        left = {k: v for k, v in block.items() if call.get(k) != v} if call else block
        own.append(left)
    return {**message, "content": own}


def addressed(message: dict[str, Any]) -> dict[str, Any]:
    """A message of harmony with the bare name of the function that it goes to or comes from."""
    if not {"channel", "recipient"} <= message.keys():
        return message
    prefix = "functions."
    bare = {k: message[k].removeprefix(prefix) for k in ("recipient", "name")
            if isinstance(message.get(k), str)}  # fmt: skip
    if bare.get("recipient") != message["recipient"]:
        bare["name"] = bare.pop("recipient")
        message = {k: v for k, v in message.items() if k != "recipient"}
    return message | bare


def numbered_once(parts: list[Any]) -> list[Any]:
    """Parts without the id that they share with the reasoning before them: they are one item."""
    out: list[Any] = []
    last: Any = None
    before: Any = None
    for part in parts:
        item = item_of(part)  # the AI SDK's, among the metadata
        if item is not None and item == before:
            part = {key: value for key, value in part.items() if key != "providerMetadata"}
        before = item
        thought = isinstance(part, dict) and "id" in part
        thought = thought and "reasoning" in (part.get("type"), KINDS.get(part.get("part_kind")))
        if thought and part["id"] == last:
            part = {key: value for key, value in part.items() if key != "id"}
        else:
            last = part["id"] if thought else None
        out.append(part)
    return out


def authored_once(events: list[Any]) -> list[Any]:
    """Events of ADK: a result has the author of its call."""
    if not all(isinstance(event, dict) and "author" in event for event in events):
        return events
    out: list[Any] = []
    for event in events:
        content = event.get("content")
        if isinstance(content, dict) and content.get("role") == "user" != event["author"]:
            event = {key: value for key, value in event.items() if key != "author"}
        out.append(event)
    return out


def item_of(part: Any) -> Any:
    """What a part of a UI message says of the item of OpenAI that it belongs to."""
    meta = part.get("providerMetadata") if isinstance(part, dict) else None
    item = meta.get("openai") if isinstance(meta, dict) and part.get("type") == "reasoning" else {}
    return item if isinstance(item, dict) and "itemId" in item else None


KINDS = {"thinking": "reasoning"}


def once(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what LiteLLM says three times: reasoning as blocks, again, and as text."""
    blocks, more = message.get("thinking_blocks"), message.get("provider_specific_fields")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return message
    out = dict(message)
    if isinstance(more, dict) and more.get("thinking_blocks") == blocks:
        out["provider_specific_fields"] = {k: v for k, v in more.items() if k != "thinking_blocks"}
    if out.get("reasoning_content") == "".join(str(b.get("thinking", "")) for b in blocks):
        del out["reasoning_content"]
    return out


def repeated(item: dict[str, Any]) -> dict[str, Any]:
    """An item of the Agents SDK without what it repeats of the one block of another model."""
    data = item.get("provider_data")
    blocks = data.get("thinking_blocks") if isinstance(data, dict) else None
    if not isinstance(blocks, list) or len(blocks) != 1 or not isinstance(blocks[0], dict):
        return item
    said = set(map(str, blocks[0].values()))
    out = dict(item)
    for key in ("summary", "content"):
        parts = [part for part in item.get(key) or () if isinstance(part, dict)]
        if all(part.get("text") in said for part in parts):
            out.pop(key, None)
    if out.get("encrypted_content") in said:
        del out["encrypted_content"]
    return out


def readable(holder: dict[str, Any]) -> dict[str, Any]:
    """An object without a word for reasoning that nobody can read, and without a repetition.

    ``[redacted]`` is what llxprt writes where a signature is all there is; OpenRouter says in
    ``reasoning`` once more what is readable of ``reasoning_details``.
    """
    unread: str | None = None
    details = holder.get("reasoning_details")
    if holder.get("thought") == "[redacted]" and holder.get("signature"):
        unread = "thought" if holder.get("sourceField") == "thinking" else None
    elif isinstance(details, list):
        known = [detail for detail in details if isinstance(detail, dict)]
        words = (detail.get("text", detail.get("summary")) for detail in known)
        if holder.get("reasoning") == "".join(word for word in words if isinstance(word, str)):
            unread = "reasoning"
    return {key: value for key, value in holder.items() if key != unread}


def is_silence(content: Any) -> bool:
    """Whether a message of a router says that there is nothing to say."""
    texts = [part.get("text") for part in content] if isinstance(content, list) else []
    return texts == ["[No response generated]"]


def parsed(text: str) -> Any:
    """The JSON object or list that a text holds; None where it holds none."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def begun(text: str) -> Any:
    """The JSON object or list that a text begins with; None where it begins otherwise."""
    try:
        return json.JSONDecoder().raw_decode(text)[0] if text[:1] in ("{", "[") else None
    except ValueError:
        return None


def decoded(text: str) -> str | None:
    """The text that base64 holds; None where it holds none."""
    if len(text) < FEW or len(text) % 4 or not re.fullmatch(r"[A-Za-z0-9+/]+=*", text):
        return None
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


@lru_cache(4096)
def plain(key: str) -> str:
    """A key without its spelling: ``max_tokens`` and ``maxTokens`` are one."""
    return re.sub("[_-]", "", key).lower()


ALIKE: dict[str, frozenset[str]] = {}
for group in CONCEPTS:
    names = frozenset(map(plain, group))
    for name in names:
        ALIKE[name] = ALIKE.get(name, frozenset()) | names
MEANT: dict[str, frozenset[str]] = {}
for group in (*WORDS, *FAILED):
    written = group | {PHRASES[name] for name in group if name in PHRASES}
    for name in written:
        MEANT[name] = MEANT.get(name, frozenset()) | written
COUNTS = words("usage usagemetadata tokens billedunits metrics promptevalcount evalcount")
DATES = words("created createdat createtime create_time timestamp completedat")


def counts(leaf: Leaf) -> bool:
    """Whether a leaf is a number of tokens."""
    number = isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool)
    return number and not COUNTS.isdisjoint(plain(str(step)) for step in leaf.path)


FAILURES = {name: MEANT[name] for group in FAILED for name in group}
FAILURES |= {PHRASES[name]: MEANT[PHRASES[name]] for name in FAILURES if name in PHRASES}
# OpenAI's type for whatever the client did wrong, a wrong key included; a code tells what that was.
ANY = "invalid_request_error"
FAILURES[ANY] = frozenset().union(*(MEANT[str(n)] for n in (400, 401, 403, 404, 413, 429)))
FAILURES[ANY] |= {"API key"}


def is_phrase(word: str) -> bool:
    return "/" in word or " " in word


class Output:
    """What stands in a document, to be found and taken from it."""

    def __init__(self, document: Any) -> None:
        self.texts: list[str] = []
        self.scalars: Counter[Any] = Counter()  # numbers and booleans
        self.under: Counter[tuple[str, Any]] = Counter()  # by key
        self.words: set[str] = set()
        self.tokens: list[float] = []
        self.dates: list[str | float] = []
        self.read(document, ())
        self.hay = "\0".join(self.texts)
        self.is_template = isinstance(document, dict) and is_template(
            document.get("text") or document.get("prompt")
        )
        self.whole = Counter(self.texts)
        self.found: Counter[str] = Counter()
        self.sums: dict[float, bool] = {}
        self.asked: list[float] = []  # the counts of the source
        self.renamed: set[Any] = set()  # names that the source has and the output has not

    def read(self, document: Any, path: Path) -> None:
        for leaf in walk(document, path):
            self.take(leaf)
        self.words |= set(keys_of(document))
        if self.under["type", "custom"]:
            self.words.add("input")  # the parameter that a freeform call is wrapped in

    def take(self, leaf: Leaf) -> None:
        value = leaf.value
        if is_key(leaf):
            self.words.add(leaf.value)  # of JSON in a text as well
            return
        if counts(leaf):
            self.tokens.append(value)
        if plain(leaf.key) in DATES:
            self.dates.append(value)
        self.under[plain(leaf.key), typed(value)] += 1
        if not isinstance(value, str):
            self.scalars[typed(value)] += 1
            self.words.add(str(value))
            return
        if FAILED_ALONE.match(value):
            self.words.add("error")
        value = MARKS.sub("", value)
        if (inner := parsed(value)) is not None:
            self.read(inner, leaf.path)
            return
        for piece in TAGS.split(value) if TAGS.search(value) else ():
            if (inner := begun(MARKS.sub("", piece).strip())) is not None:
                self.read(inner, leaf.path)
        self.words.add(value)
        self.texts.append(value)
        _, mark, data = value.partition(";base64,")
        hidden = decoded(data if mark else value)
        if hidden is not None:
            self.texts.append(hidden)
            if (inner := parsed(hidden)) is not None:
                self.read(inner, leaf.path)

    @cached_property
    def names_a_tool(self) -> bool:
        """Whether a choice is nothing but a name."""
        named = (name for key, name in self.under if key == plain("tool_choice"))
        return len(self.texts) == 1 or any(isinstance(x, str) and x not in MEANT for x in named)

    def takes(self, text: Any) -> bool:
        """Whether a text is there as it is; then it is taken, and is not found again."""
        if not isinstance(text, str) or self.whole[text] <= 0:
            return False
        self.whole[text] -= 1
        return True

    def takes_word(self, word: str) -> bool:
        """Whether a word is there, as a value or as a number; then it is taken."""
        if word.removeprefix("-").isdigit() and self.scalars[int(word)] > 0:
            self.scalars[int(word)] -= 1
            return True
        return self.takes(word) or (is_phrase(word) and word in self.hay)

    @cached_property
    def rest(self) -> str:
        """What is left when all has been taken that is there as it is."""
        return "\0".join(text for text, count in self.whole.items() for _ in range(count))

    def has_text(self, text: str) -> bool:
        """Whether a text is inside another, once more than it was asked for."""
        self.found[text] += 1
        return self.rest.count(text) >= self.found[text]

    def has_failure(self, word: str) -> bool:
        """Whether the kind of an error is there once more, in a word that means the same."""
        return any(map(self.takes_word, sorted(FAILURES[word]))) or word in self.words

    def has_word(self, word: str) -> bool:
        """Whether a word is there, or one that means the same."""
        means = MEANT.get(word, frozenset())
        if self.is_template and (word in GRAMMAR or any(mean in self.hay for mean in means)):
            return True
        return not means.isdisjoint(self.words) or any(
            is_phrase(m) and m in self.hay for m in means
        )

    def has_short(self, text: str, again: bool = False) -> bool:
        """Whether a few letters are there as a word of their own, once more than asked for."""
        self.found[text] += 1
        hay = self.hay if again else self.rest
        found = re.findall(rf"(?<!\w){re.escape(text)}(?!\w)", hay)
        return len(found) >= (1 if again else self.found[text])

    def has_id(self, text: str) -> bool:
        """Whether an id is there under another prefix, or with its signs escaped."""
        escaped = re.sub("[^a-zA-Z0-9_-]", lambda sign: f"-{ord(sign[0]):x}-", text)
        bare = PREFIXES.sub("", text)
        own = ESCAPED.sub(lambda sign: chr(int(sign[1], 16)) if sign[1] else "-", bare)
        if len(bare) < FEW and re.search(rf"(?<![a-zA-Z0-9]){re.escape(bare)}(?!\w)", self.hay):
            return True
        found = (bare, escaped, text.replace("-", "--"), own)
        return any(spelled in self.hay for spelled in found if len(spelled) >= FEW)

    def has_under(self, key: str, value: Any) -> bool:
        """Whether a short value stands under a key of the same concept; then it is taken."""
        name = plain(key)
        for other in (name, *sorted(ALIKE.get(name, ()))):
            if self.under[other, typed(value)] > 0:
                self.under[other, typed(value)] -= 1
                return True
        return False

    def has_count(self, value: float) -> bool:
        """Whether a number of tokens is there, as it is or as a sum or a difference."""
        if value not in self.sums:
            self.sums[value] = self.find_count(value)
        return self.sums[value]

    def find_count(self, value: float) -> bool:
        those = self.tokens
        if value == 0 or value in those:
            return True
        pairs = [(a, b) for i, a in enumerate(those) for b in those[i + 1 :]]
        if any(value in (a + b, abs(a - b)) for a, b in pairs):
            return True
        return any(
            value in (a + b + c, a + b - c, a - b - c, b - a - c) for a, b in pairs for c in those
        )

    def has_date(self, value: Any) -> bool:
        return any(seconds(value) == seconds(other) for other in self.dates)


def typed(value: Any) -> Any:
    """``true`` is not 1."""
    return (value,) if isinstance(value, bool) else value


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            told = parsed(item) if key in INSIDE and isinstance(item, str) else None
            yield from keys_of(item if told is None else told)
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item)


def seconds(value: Any) -> int | None:
    """A date as seconds since 1970."""
    if isinstance(value, int | float):
        return int(value / 1000 if value > 10**11 else value)  # milliseconds
    try:
        return int(datetime.fromisoformat(value).astimezone(UTC).timestamp())
    except ValueError:
        return None


# -- losses -----------------------------------------------------------------------------------


def excused(leaf: Leaf, losses: Sequence[Any]) -> bool:
    """Whether a loss speaks of a leaf."""
    pointer = leaf.pointer
    for loss in losses:
        if loss.kind == "invented":
            continue
        if pointer == loss.path:
            return True
        if is_beside(leaf, pointer, loss):
            return True
        if pointer.startswith(loss.path + "/"):
            below = pointer[len(loss.path) + 1 :].split("/")
            if covers(loss, below) or is_inside(loss.what, loss.path):
                return True
    return False


def is_beside(leaf: Leaf, pointer: str, loss: Any) -> bool:
    """Whether a loss speaks of what one dialect says in two places."""
    code, path = loss.what, loss.path
    if code == "extras" and path.endswith("/recipient"):  # Harmony's, which ``addressed`` renames
        return pointer == f"{parent(path)}/name"
    if code.startswith("reasoning") and "/reasoning_details" in path:  # said twice, in parts
        return pointer.startswith(path.partition("/reasoning_details")[0] + "/reasoning")
    if code == "reasoning" and path.endswith("/reasoning_content"):  # and as MiniMax does
        return pointer.startswith(f"{parent(path)}/reasoning_details/")
    if code == "reasoning.signature":  # a signature stands beside what it signs
        message = re.split("/(?:content|tool_calls|parts)(?:/|$)", path)[0]
        return pointer.startswith(message + "/") and covers(loss, pointer.split("/"))
    if code.endswith(".strict"):  # points at what cannot be enforced, inside the schema
        inside = (path + "/").startswith(parent(pointer) + "/")
        return leaf.key == "strict_tools" or (leaf.key == "strict" and inside)
    if code == "text.citations":  # of several sources, or of sources that are listed apart
        whole = re.split("/sources/|/groundingSupports/", path)[0]
        found = re.sub("^/search_results/", "/citations/", path)  # Perplexity has them twice
        return found == pointer or (whole != path and pointer.startswith(whole + "/"))
    if code == "message.name" and path.endswith("/content"):  # ADK tells it beside the content
        return pointer == f"{parent(path)}/author"
    if code == "cache":  # two marks that say the same
        return pointer.startswith(parent(path) + "/cache_control/")
    if code == "tool.namespace":  # each tool of it tells
        return leaf.key == "name" and path.startswith(parent(pointer) + "/tools/")
    if code == "tool" and loss.kind == "dropped":  # and so does one that is dropped
        if leaf.key == "strict_tools":
            return True
        return path.startswith(parent(pointer) + "/tools/") and leaf.key in ("name", "description")
    if code == "usage":  # Ollama counts beside the message, each under a key of its own
        return leaf.key in ("prompt_eval_count", "eval_count")
    if code == "tool_choice.parallel":
        return leaf.key in COVERS[code]
    if code in ("tool_choice", "tool_choice.allowed"):
        return leaf.key in ("activeTools", "experimental_activeTools")
    if code == "output":
        return leaf.key == "responseMimeType"
    if code.startswith("reasoning"):  # an item of several parts is one at the place of the first
        before, after = path.rpartition("/")[::2], pointer[len(parent(path)) + 1 :].split("/")[0]
        same = pointer.startswith(before[0] + "/") and before[1].isdigit() and after.isdigit()
        return same and int(after) > int(before[1]) and leaf.kind == "reasoning"
    if code.startswith("thinking"):  # how hard to think may be written apart from that
        return plain(leaf.key) in THOUGHT
    return False


THOUGHT = words(
    "effort reasoningeffort thinkinglevel includereasoning reasoningformat includethoughts "
    "thinkingtokenbudget reasoningbudgettokens thinkingbudget"
)


def is_inside(code: str, path: str) -> bool:
    """Whether a loss points into a schema: it speaks of all that stands there."""
    return code.endswith(".schema") and not COVERS[code].isdisjoint(path.split("/"))


def parent(pointer: str) -> str:
    return pointer.rpartition("/")[0]


def covers(loss: Any, below: list[str]) -> bool:
    """Whether a loss speaks of a leaf below its pointer, by the keys on the way to it."""
    code = loss.what
    if code == "session.line":  # which names the keys that are lost, unless the line is
        named = re.match("only [a-z-]+ knows (?!a line)(.*)", loss.why)
        path = "/".join(below)
        names = named[1].split(", ") if named else [""]
        return any(f"{path}/".startswith(f"{name}/".lstrip("/")) for name in names)
    if code == "response.model" and below[0] == "usage":  # AG-UI tells whose counts they are
        return len(below) == 3 and below[-1] == "model"
    if code in OWN:
        return below[-1] in COVERS[code] and (len(below) == 1 or below[0] in BOXES)
    if code == "tool.kind":  # what a grammar is, and nothing that stands beside it
        return below[-1] in COVERS[code] | {"syntax", "definition"}
    if code in COVERS:
        return not COVERS[code].isdisjoint(below)
    if code == "response.echo":
        return below[0] not in ANSWERED
    if code == "candidates" and not loss.path:
        return below[0] in SAID
    if loss.kind == "moved":
        return False  # carried whole: it is found
    if code.startswith("text.") or loss.kind == "dropped":
        return True
    return code in CHANGED and APART.get(code, NONE).isdisjoint(below)


# Codes of one field of a node: it stands directly at the node, or in a box of such fields.
OWN = frozenset(
    {"response.id", "response.model", "response.created", "reasoning.id", "tool_call.item_id"}
    | {"message.id", "message.name"}
)
BOXES = words(
    "response metadata providerMetadata providerOptions callProviderMetadata additional_information"
)
# What is told in another way still has what other codes speak of.
NONE: frozenset[str] = frozenset()
APART = {
    "media": words("title filename displayName document_name context citations cache_control"),
    "passage": words("cache_control"),
}
# Where a response says what was written, when all of it is lost.
SAID = words(
    "output choices candidates content message response steps text messages newMessages parts"
)
ANSWERED = frozenset({"id", "model", "output", "usage", "status", "error", "created_at", "content"})


# -- the law ----------------------------------------------------------------------------------


def unaccounted(source: Any, output: Any, losses: Sequence[Any]) -> list[Leaf]:
    """The leaves of a document that are neither in the output nor under a loss."""
    there = Output(output)
    names = [loss for loss in losses if loss.what in ("tool.name", "tool_call.id")]
    leaves = list(walk(source))
    there.asked = [leaf.value for leaf in leaves if counts(leaf)]
    there.renamed = {leaf.value for leaf in leaves if names and excused(leaf, names)}
    left = [leaf for leaf in leaves if not excused(leaf, losses) and not is_silent(leaf)]
    left = [x for x in left if is_key(x) or is_quoted(x) or not there.takes(x.value)]
    return [leaf for leaf in left if not accounted(leaf, there, losses)]


def accounted(leaf: Leaf, there: Output, losses: Sequence[Any]) -> bool:
    if excused(leaf, losses) or is_silent(leaf):
        return True
    if plain(leaf.key) in NAMES and leaf.value in there.renamed:
        return True
    if counts(leaf):
        if there.has_count(leaf.value) or leaf.value == sum(set(there.tokens)):
            return True
        more = (there.has_count(leaf.value + other) for other in there.asked)
        return any(more)
    if plain(leaf.key) in DATES and there.has_date(leaf.value):
        return True
    if is_quoted(leaf) and plain(leaf.key) in SPANS:  # counted anew where texts are joined
        return any(key in SPANS for key, _ in there.under)
    if isinstance(leaf.value, str):
        return has_string(leaf, there, losses)
    if leaf.value in ERRORS and there.has_word(str(leaf.value)):
        return True
    if not there.words.isdisjoint(SAYS.get((leaf.key, leaf.value), ())):
        return True
    if plain(leaf.key) in ALIKE["text"] and json.dumps(leaf.value) in there.words:
        return True  # a value that became a text
    if is_in_a_joint(leaf, there, losses):
        return True
    if there.is_template:
        return there.has_short(json.dumps(leaf.value)) or there.has_under(leaf.key, leaf.value)
    if leaf.free and str(leaf.value) in there.words:  # a number among the words of an enumeration
        return True
    return there.has_under(leaf.key, leaf.value) or is_distinct(leaf.value, there)


def is_in_a_joint(leaf: Leaf, there: Output, losses: Sequence[Any]) -> bool:
    """Whether a value of a result, which became text, is a part of a text that was joined."""
    boxes = {"result", "response", "output", "value", "json"}
    joined = any(loss.what == "text.boundary" for loss in losses)
    return joined and not boxes.isdisjoint(leaf.path) and json.dumps(leaf.value) in there.hay


CACHED = ("ephemeral", "explicit")  # marks of which there is little but the type
ERRORS = frozenset({400, 401, 403, 404, 413, 422, 429, 500, 502, 503, 504, 529})
ERRORS |= {-1, -32600, -32601, -32602, -32603}  # those of JSON-RPC


def is_silent(leaf: Leaf) -> bool:
    if leaf.free:
        # The order of properties is that of their keys; 2**53 - 1 is no limit, but zod's integer.
        ordered = {"propertyOrdering", "property_ordering"}.intersection(map(str, leaf.path))
        return bool(ordered) or leaf.value in (2**53 - 1, 1 - 2**53)
    if leaf.path[:1] == ("input",) and re.fullmatch(r"msg_\d+", str(leaf.value)):
        return True  # what Copilot's client calls every message
    if leaf.key == "pendingToolCallIds":
        return True  # AG-UI names the calls again that have no results
    if leaf.key == "message_id" and isinstance(leaf.value, int):
        return True  # Strands counts them
    if leaf.key == "id" and re.fullmatch(r"msg-\d+", str(leaf.value)):
        return True  # the number of a message to which the application has given no id
    if leaf.key in ("", "mode") and leaf.value in ("auto", "AUTO"):
        return True  # the model chooses, as it does where nothing is written
    if leaf.value in CACHED or (leaf.value in FAILURES and leaf.key != "format"):
        return False
    if leaf.path == ("text",) and leaf.value == "<bos>":
        return True  # a conversation begins, and has no turns
    if leaf.path[-2:] == ("finishReason", "raw"):
        return True  # the provider's own word for the same
    if leaf.key == "type" and leaf.path[-2:-1] == ("thinking",):
        return False  # whether the model thinks
    if leaf.key == "type" and leaf.path[-3:-2] == ("tools",) and leaf.value not in DEFINED:
        return False  # a tool of the provider, of which there may be no more than its type
    return leaf.key in STRUCTURE or leaf.value in SILENT.get(leaf.key, ())


DEFINED = words("function custom object namespace")


def is_distinct(value: Any, there: Output) -> bool:
    """Whether a number that is no common one is there, anywhere."""
    if isinstance(value, bool) or abs(value) < 1000:
        return False
    return there.scalars[value] > 0 or str(value) in there.hay


CITED = words(
    "citations annotations groundingMetadata citationMetadata experimental_content "
    "reasoning_details providerOptions"
)
SPANS = words(
    "start end startindex endindex contentindex partindex groundingchunkindices startpagenumber "
    "endpagenumber startblockindex endblockindex startcharindex endcharindex documentindex "
    "searchresultindex"
)
# Data tell their type themselves, where that is all there is.
MAGIC = {
    kind: data
    for word, data in {
        "png": "iVBORw0KGgo", "jpeg": "/9j/", "gif": "R0lGOD", "webp": "UklGR",
    }.items()
    for kind in (word, f"image/{word}")
}  # fmt: skip
NAMES = frozenset(
    map(plain, f"name toolName tool_name allowedFunctionNames model modelId {IDS}".split())
)


def is_quoted(leaf: Leaf) -> bool:
    """Whether a leaf repeats what stands elsewhere in the same document."""
    return leaf.key == "error" or not CITED.isdisjoint(map(str, leaf.path))


def is_key(leaf: Leaf) -> bool:
    return bool(leaf.path) and leaf.path[-1] == ""


def is_joined(text: str, there: Output, losses: Sequence[Any]) -> bool:
    """Whether a few letters are in a text that was joined: there they are no word of their own."""
    joined = len(text) < FEW and any(loss.what == "text.boundary" for loss in losses)
    return joined and text in there.hay


def says(text: str, there: Output) -> bool:
    """Whether each word of a text in the language of a template is there."""
    words = re.findall("[A-Za-z]{4,}", TEMPLATE.sub(" ", text))
    names = " ".join(there.words)
    return all(word in there.hay or word in names for word in words if word not in GRAMMAR)


URL_SAFE = re.compile(r"(?=.*[-_])[\w-]{64,}=*", re.ASCII)
"""Data in the other alphabet of base64, which few APIs take."""
STANDARD = str.maketrans("-_", "+/")


def has_string(leaf: Leaf, there: Output, losses: Sequence[Any]) -> bool:
    own = is_key(leaf) or parsed(leaf.value) is not None
    text = leaf.value if own else MARKS.sub("", leaf.value)
    if not text or text.isspace():
        return True
    if (inner := parsed(text)) is not None:
        if len(text) >= FEW and there.has_text(text):  # as it is, inside a longer text
            return True
        if is_joined(text, there, losses):
            return True
        return all(accounted(found, there, losses) for found in walk(inner, leaf.path, True))
    if leaf.key in ("name", "recipient") and text.startswith("functions."):  # Harmony's calls
        text = text.removeprefix("functions.")
        if text in there.words:
            return True
    # Said once, it need not be written again: names and ids, keys, and quotes of what was written.
    if text in MAGIC and MAGIC[text] in there.hay:
        return True
    if is_key(leaf) or plain(leaf.key) in NAMES or is_quoted(leaf):
        if there.has_word(text) or text in there.words or (len(text) >= FEW and text in there.hay):
            return True
        if plain(leaf.key) in NAMES:
            return there.has_id(text)
        if is_key(leaf):
            return there.is_template and (text in GRAMMAR or there.has_short(text, again=True))
        return is_joined(text, there, losses)
    if len(leaf.path) == 1 and (is_template(text) or leaf.key in ("prompt", "completion")):
        return says(text, there)
    if leaf.key in ("value", "output") and TAGGED.search(text):
        return says(text, there)
    if not there.words.isdisjoint(SAYS.get((leaf.key, text), ())):
        return True
    if WRAPPED.search(text):
        return all(there.has_text(part) for part in WRAPPED.split(text) if part)
    if text.isdigit() and there.has_under(leaf.key, int(text)):  # as OpenAPI writes numbers
        return True
    if leaf.key in ("type", "code") and text in FAILURES:
        return there.has_failure(text) or (leaf.key == "type" and there.has_word(text))
    if there.has_word(text) or (text in ("ANY", "any") and there.names_a_tool):
        return True
    if there.is_template and there.has_text(json.dumps(text, ensure_ascii=False)[1:-1]):
        return True  # as JSON in the text
    if len(text) >= FEW and there.has_text(text):
        return True
    if len(text) < FEW and (there.has_under(leaf.key, text) or not re.search(r"\w", text)):
        return text in there.hay or there.is_template
    if is_joined(text, there, losses):
        return True
    if len(text) < FEW and (there.is_template or plain(leaf.key) in ALIKE["text"]):
        return there.has_short(text)
    _, mark, data = text.partition(";base64,")
    if mark:
        return has_string(leaf._replace(value=data), there, losses)
    if URL_SAFE.fullmatch(text):
        return has_string(leaf._replace(value=text.translate(STANDARD)), there, losses)
    hidden = decoded(text)
    if hidden is None or len(hidden) < FEW:
        return False
    return has_string(leaf._replace(value=hidden), there, losses)
