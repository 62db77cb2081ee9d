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
    query: Mapping[str, str] = {}
    """what is asked of every address"""
    model_key: str = "model"
    host: str | None = None
    """where the vendor's own API stands, if there is a vendor"""

    @property
    def address(self) -> str | None:
        """The vendor's address of the model ``m``."""
        return None if self.host is None else self.host + self.path.replace(QUOTED, "m")

    @property
    def is_local(self) -> bool:
        """Whether it stands on the user's own machine, and asks for no key."""
        return self.host is not None and self.host.startswith("http://")

    @property
    def names_model(self) -> bool:
        return "model-1" in self.path


QUOTED = "vendor.model-1%3A0"
CHAT = Api("/v1", "/v1/chat/completions")
APIS: dict[str, Api] = {
    "openai-chat": CHAT._replace(
        url_variable="OPENAI_BASE_URL", key_variable="OPENAI_API_KEY", host="https://api.openai.com"
    ),
    "openai-responses": Api(
        "/v1",
        "/v1/responses",
        url_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
        host="https://api.openai.com",
    ),
    "anthropic-messages": Api(
        "",
        "/v1/messages",
        header="x-api-key",
        credential=KEY,
        url_variable="ANTHROPIC_BASE_URL",
        key_variable="ANTHROPIC_API_KEY",
        host="https://api.anthropic.com",
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
        host="https://generativelanguage.googleapis.com",
    ),
    "gemini-interactions": Api(
        "",
        "/v1beta/interactions",
        header="x-goog-api-key",
        credential=KEY,
        url_variable="GOOGLE_GEMINI_BASE_URL",
        key_variable="GEMINI_API_KEY",
        host="https://generativelanguage.googleapis.com",
    ),
    "bedrock-converse": Api(
        "",
        f"/model/{QUOTED}/converse",
        f"/model/{QUOTED}/converse-stream",
        content_type="application/vnd.amazon.eventstream",
        flag=False,
        url_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        key_variable="AWS_BEARER_TOKEN_BEDROCK",
        host="https://bedrock-runtime.eu-central-1.amazonaws.com",
    ),
    "mistral": Api(
        "", "/v1/chat/completions", key_variable="MISTRAL_API_KEY", host="https://api.mistral.ai"
    ),
    "ollama": Api(
        "",
        "/api/chat",
        content_type="application/x-ndjson",
        url_variable="OLLAMA_HOST",
        key_variable="OLLAMA_API_KEY",
        host="http://127.0.0.1:11434",
    ),
    "cohere": Api(
        "",
        "/v2/chat",
        url_variable="CO_API_URL",
        key_variable="CO_API_KEY",
        host="https://api.cohere.com",
    ),
    "azure-openai": Api(
        "",
        f"/openai/deployments/{QUOTED}/chat/completions",
        header="api-key",
        credential=KEY,
        url_variable="AZURE_OPENAI_ENDPOINT",
        key_variable="AZURE_OPENAI_API_KEY",
        query={"api-version": "2024-10-21"},
        options={"settings": {"api_version": "2024-10-21"}},
    ),
    "deepseek": Api(
        "", "/chat/completions", key_variable="DEEPSEEK_API_KEY", host="https://api.deepseek.com"
    ),
    "groq": Api(
        "",
        "/openai/v1/chat/completions",
        url_variable="GROQ_BASE_URL",
        key_variable="GROQ_API_KEY",
        host="https://api.groq.com",
    ),
    "openrouter": Api(
        "/api/v1",
        "/api/v1/chat/completions",
        key_variable="OPENROUTER_API_KEY",
        host="https://openrouter.ai",
    ),
    "xai": CHAT._replace(key_variable="XAI_API_KEY", host="https://api.x.ai"),
    "vllm": CHAT._replace(key_variable="VLLM_API_KEY", host="http://localhost:8000"),
    "llama-cpp": CHAT._replace(key_variable="LLAMA_API_KEY", host="http://localhost:8080"),
    "kimi": CHAT._replace(key_variable="MOONSHOT_API_KEY", host="https://api.moonshot.ai"),
    "glm": Api(
        "/api/paas/v4",
        "/api/paas/v4/chat/completions",
        url_variable="ZAI_BASE_URL",
        key_variable="ZAI_API_KEY",
        host="https://api.z.ai",
    ),
    "minimax": CHAT._replace(key_variable="MINIMAX_API_KEY", host="https://api.minimax.io"),
    "qwen": Api(
        "/compatible-mode/v1",
        "/compatible-mode/v1/chat/completions",
        key_variable="DASHSCOPE_API_KEY",
        host="https://dashscope-intl.aliyuncs.com",
    ),
    "cerebras": Api(
        "",
        "/v1/chat/completions",
        url_variable="CEREBRAS_BASE_URL",
        key_variable="CEREBRAS_API_KEY",
        host="https://api.cerebras.ai",
    ),
    "fireworks": Api(
        "/inference/v1",
        "/inference/v1/chat/completions",
        key_variable="FIREWORKS_API_KEY",
        host="https://api.fireworks.ai",
    ),
    "together": Api(
        "",
        "/v1/chat/completions",
        url_variable="TOGETHER_BASE_URL",
        key_variable="TOGETHER_API_KEY",
        host="https://api.together.ai",
    ),
    "perplexity": Api(
        "",
        "/chat/completions",
        url_variable="PERPLEXITY_BASE_URL",
        key_variable="PERPLEXITY_API_KEY",
        host="https://api.perplexity.ai",
    ),
    "sambanova": CHAT._replace(
        url_variable="SAMBA_NOVA_BASE_URL",
        key_variable="SAMBANOVA_API_KEY",
        host="https://api.sambanova.ai",
    ),
    "github-models": Api(
        "/inference",
        "/inference/chat/completions",
        key_variable="GITHUB_TOKEN",
        host="https://models.github.ai",
    ),
    "huggingface": CHAT._replace(key_variable="HF_TOKEN", host="https://router.huggingface.co"),
    "litellm": CHAT._replace(
        url_variable="LITELLM_PROXY_API_BASE",
        key_variable="LITELLM_PROXY_API_KEY",
        host="http://127.0.0.1:4000",
    ),
    "databricks": Api(
        "",
        "/serving-endpoints/chat/completions",
        url_variable="DATABRICKS_HOST",
        key_variable="DATABRICKS_TOKEN",
    ),
    "watsonx": Api(
        "",
        "/ml/v1/text/chat",
        "/ml/v1/text/chat_stream",
        flag=False,
        url_variable="WATSONX_URL",
        key_variable="WATSONX_TOKEN",
        query={"version": "2024-10-10"},
        model_key="model_id",
    ),
    "anthropic-bedrock": Api(
        "",
        f"/model/{QUOTED}/invoke",
        f"/model/{QUOTED}/invoke-with-response-stream",
        content_type="application/vnd.amazon.eventstream",
        flag=False,
        url_variable="ANTHROPIC_BEDROCK_BASE_URL",
        key_variable="AWS_BEARER_TOKEN_BEDROCK",
        host="https://bedrock-runtime.eu-central-1.amazonaws.com",
    ),
    "open-responses": Api("/v1", "/v1/responses"),
    "copilot": Api("", "/responses", host="https://api.githubcopilot.com"),
    "copilot-responses": Api("", "/responses"),
}
