"""What the vendors' references say of their APIs: address, path, key and kind of stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

KEY = "sk-loopback-0123456789"
MODEL = "vendor.model-1:0"


class Api(NamedTuple):
    """What a vendor's reference says of its API."""

    base: str
    """what follows the host in the address that its SDK takes"""
    path: str
    stream_path: str | None = None
    stream_query: Mapping[str, str] = {}
    header: str = "authorization"
    credential: str = f"Bearer {KEY}"
    content_type: str = "text/event-stream"
    flag: bool = True
    """whether the body says whether it is a stream"""
    url_variable: str | None = None
    key_variable: str | None = None
    options: Mapping[str, Any] = {}

    @property
    def names_model(self) -> bool:
        return "model-1" in self.path


QUOTED = "vendor.model-1%3A0"
CHAT = Api("/v1", "/v1/chat/completions")
APIS: dict[str, Api] = {
    "openai-chat": CHAT._replace(url_variable="OPENAI_BASE_URL", key_variable="OPENAI_API_KEY"),
    "openai-responses": Api(
        "/v1",
        "/v1/responses",
        url_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
    ),
    "anthropic-messages": Api(
        "",
        "/v1/messages",
        header="x-api-key",
        credential=KEY,
        url_variable="ANTHROPIC_BASE_URL",
        key_variable="ANTHROPIC_API_KEY",
    ),
    "gemini": Api(
        "",
        f"/v1beta/models/{QUOTED}:generateContent",
        f"/v1beta/models/{QUOTED}:streamGenerateContent",
        {"alt": "sse"},
        "x-goog-api-key",
        KEY,
        flag=False,
        url_variable="GOOGLE_GEMINI_BASE_URL",
        key_variable="GEMINI_API_KEY",
    ),
    "bedrock-converse": Api(
        "",
        f"/model/{QUOTED}/converse",
        f"/model/{QUOTED}/converse-stream",
        content_type="application/vnd.amazon.eventstream",
        flag=False,
        url_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        key_variable="AWS_BEARER_TOKEN_BEDROCK",
    ),
    "mistral": Api("", "/v1/chat/completions", key_variable="MISTRAL_API_KEY"),
    "ollama": Api(
        "",
        "/api/chat",
        content_type="application/x-ndjson",
        url_variable="OLLAMA_HOST",
        key_variable="OLLAMA_API_KEY",
    ),
    "cohere": Api("", "/v2/chat", url_variable="CO_API_URL", key_variable="CO_API_KEY"),
    "azure-openai": Api(
        "",
        f"/openai/deployments/{QUOTED}/chat/completions",
        header="api-key",
        credential=KEY,
        url_variable="AZURE_OPENAI_ENDPOINT",
        key_variable="AZURE_OPENAI_API_KEY",
        options={"settings": {"api_version": "2024-10-21"}},
    ),
    "deepseek": Api("", "/chat/completions", key_variable="DEEPSEEK_API_KEY"),
    "groq": Api(
        "",
        "/openai/v1/chat/completions",
        url_variable="GROQ_BASE_URL",
        key_variable="GROQ_API_KEY",
    ),
    "openrouter": Api("/api/v1", "/api/v1/chat/completions", key_variable="OPENROUTER_API_KEY"),
    "xai": CHAT._replace(key_variable="XAI_API_KEY"),
    "vllm": CHAT._replace(key_variable="VLLM_API_KEY"),
    "llama-cpp": CHAT._replace(key_variable="LLAMA_API_KEY"),
    "open-responses": Api("/v1", "/v1/responses"),
    "copilot": Api("", "/responses"),
    "copilot-responses": Api("", "/responses"),
}
