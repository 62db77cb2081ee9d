"""Azure OpenAI's chat completions, a variant of OpenAI Chat.

What it does differently: the address names the deployment, so a request needs no model; what the
content filters found stands beside prompt and reply (``prompt_filter_results``,
``content_filter_results``), in a stream in a first chunk without choices; errors have other codes,
and say in ``innererror`` which filter it was; files are Azure's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..core.endpoint import Endpoint
from ..lint.evidence import Verdict, told_by
from ..model import ErrorKind, Json
from ._openai import ERRORS
from .openai_chat import OpenAIChat
from .openai_chat.request import FIELDS
from .openai_chat.sniff import Marks
from .openai_chat.variant import USER

MARKS = Marks(
    request={"data_sources": 0.8},
    response={"prompt_filter_results": 0.9},
    choice={"content_filter_results": 0.9},
    error={"innererror": 0.8},
)


AZURE: dict[str, Any] = {
    "stream": OpenAIChat.endpoints[0].stream,
    "key_header": "api-key",
    "key_scheme": "",
    "url_variables": ("AZURE_OPENAI_ENDPOINT",),
    "key_variables": ("AZURE_OPENAI_API_KEY",),
}


class AzureOpenAI(OpenAIChat):
    name = "azure-openai"
    spec = "https://learn.microsoft.com/azure/ai-foundry/openai/reference"
    issuer = "azure-openai"
    # openai (PyPI), lib/azure.py; the second is the API without versions, where the model stands in
    # the body: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/deployments/{model}/chat/completions",
            prefix="/openai",
            query={"api-version": "{api_version}"},
            settings={"api_version": ("OPENAI_API_VERSION",)},
            **AZURE,
        ),
        Endpoint(
            "/chat/completions",
            prefix="/openai/v1",
            platform="v1",
            sign=r"/openai/v1(/|$)",
            **AZURE,
        ),
    )
    aliases = ("azure",)
    kin = frozenset({"openai-chat"})
    fields = FIELDS.but(USER)
    model_in_path = True
    needs_model = False  # it is the name of a deployment, in the path
    serves: ClassVar[tuple[str, ...]] = ()
    has_signatures = False
    errors: ClassVar[dict[str, ErrorKind]] = {
        **ERRORS,
        "content_filter": "invalid-request",
        "DeploymentNotFound": "not-found",
        "RateLimitReached": "rate-limit",
        "400": "invalid-request",
        "401": "authentication",
        "403": "permission",
        "404": "not-found",
        "408": "timeout",
        "429": "rate-limit",
        "500": "server",
        "503": "overloaded",
    }

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))


DIALECT = AzureOpenAI()
