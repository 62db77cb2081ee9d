"""Other paths of the vendors' APIs, and those of operators.

Lists of models have the form that the asking client expects, which its path and headers tell; token
counts are estimates, and say so in a header.
"""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Awaitable, Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..core.reading import encode
from ..core.statuses import status_of
from ..dialect import Dialect
from ..dialects import get
from ..errors import DragomanError, Malformed
from ..exchange import estimate
from ..model import Json, Request
from . import continuing
from .clients import Gone, Refused
from .config import Client, known_models
from .doors import find, key_of
from .sending import Send, error_document, with_status
from .store import Owned, StoreFailed

if TYPE_CHECKING:
    from .app import Gateway

Receive = Callable[[], Awaitable[dict[str, Any]]]

VERSION = "0.12.0"
"""Of Ollama's API, whose clients ask for it."""
CONTEXT = 131_072
"""What Ollama's clients take for the context of a model; the gateway knows no better."""
ESTIMATED = {"x-dragoman-estimated": "input_tokens"}
COUNTED = {
    "/v1/messages/count_tokens": ("anthropic-messages", "input_tokens"),
    "/v1/responses/input_tokens": ("openai-responses", "input_tokens"),
}
KNOWN = re.compile(
    r".*?(?P<version>/v1)?(?P<path>/messages/count_tokens|/responses/[^/]+(?:/input_items)?"
    r"|/v1beta/(?:interactions/.+|models(?:/.*)?)|/models(?:/.*)?|/api/(?:tags|show|version))/?"
)
"""Paths of the vendors' APIs, whatever stands before them."""


METHODS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"/|/metrics|/api/(tags|version)"), ("GET",)),
    (re.compile(r"/v1/models(/.*)?|/v1beta/models(/[^:]*)?"), ("GET",)),
    (re.compile(r"/v1/messages/count_tokens|/v1/responses/input_tokens|/api/show"), ("POST",)),
    (re.compile(r"/v1beta/models/.*:countTokens"), ("POST",)),
    (re.compile(r"/v1/responses/[^/]+/input_items"), ("GET",)),
    (re.compile(r"/v1/responses/[^/]+|/v1beta/interactions/[^/]+"), ("GET", "DELETE")),
)
"""Which methods paths have; a door has POST alone."""


class NotAllowed(Exception):
    """A path that is there, with a method that it does not have."""


class Reply:
    """What is answered to a request that is no exchange."""

    def __init__(
        self, status: int, body: Json | bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        self.body = body if isinstance(body, bytes) else encode(body)
        kind = "text/plain; charset=utf-8" if isinstance(body, bytes) else "application/json"
        self.headers = {"content-type": kind, **(headers or {})}


async def serve(
    gateway: Gateway,
    scope: dict[str, Any],
    path: str,
    headers: dict[str, str],
    query: dict[str, str],
    receive: Receive,
    send: Send,
) -> None:
    """Reply a request that is none for a model."""
    door = find(path)
    path = without_base(path)
    dialect = dialect_of(path, headers) if door is None else door.dialect
    methods = ("POST",) if door is not None else methods_of(path)
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    try:
        reply = await replied(gateway, method, path, headers, query, receive, methods)
    except Gone:
        return
    except Refused as refused:
        code = status_of(refused.kind, dialect.statuses)
        wait = refused.retry_after
        more = {} if wait is None else {"retry-after": f"{max(wait, 1):.0f}"}
        reply = Reply(code, error_document(dialect, refused.kind, refused.message), more)
    except NotAllowed as refused:
        problem = error_document(dialect, "invalid-request", str(refused))
        reply = Reply(405, with_status(problem, 405), {"allow": ", ".join(methods)})
    except StoreFailed as problem:
        code = status_of("overloaded", dialect.statuses)
        reply = Reply(code, error_document(dialect, "overloaded", str(problem)))
    except DragomanError as problem:
        reply = Reply(400, error_document(dialect, "invalid-request", str(problem)))
    except Exception:
        reply = Reply(500, error_document(dialect, "server", "an error inside of the gateway"))
    await say(send, reply)


def without_base(path: str) -> str:
    """A path of an API as the tables here have it: base URLs of clients differ.

    >>> without_base("/proxy/v1/messages/count_tokens")
    '/v1/messages/count_tokens'
    >>> without_base("/responses/resp_1")
    '/v1/responses/resp_1'
    """
    if (found := KNOWN.fullmatch(path)) is None:
        return path
    named = found["path"]
    return named if named.startswith(("/v1beta/", "/api/")) else f"/v1{named}"


def methods_of(path: str) -> tuple[str, ...]:
    """The methods of a path of the tables here; none where there is no such path.

    >>> methods_of("/v1/responses/resp_1")
    ('GET', 'DELETE')
    """
    return next((allowed for known, allowed in METHODS if known.fullmatch(path)), ())


async def say(send: Send, reply: Reply) -> None:
    headers = {**reply.headers, "content-length": str(len(reply.body))}
    listed = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": listed})
    await send({"type": "http.response.body", "body": reply.body, "more_body": False})


async def replied(
    gateway: Gateway,
    method: str,
    path: str,
    headers: dict[str, str],
    query: dict[str, str],
    receive: Receive,
    methods: tuple[str, ...],
) -> Reply:
    if path == "/healthz":
        return Reply(200, b"ok\n")
    if path == "/" and method == "GET":  # Claude Code and Ollama ask for it
        return Reply(200, b"dragoman is running\n")
    if path == "/readyz":
        ready = not gateway.closing and await gateway.store.ready()
        return Reply(200 if ready else 503, b"ready\n" if ready else b"not ready\n")
    name, client = gateway.admit(key_of(headers, query), headers)
    if methods and method not in methods:
        raise NotAllowed(f"{method} is not allowed at {path[:200]}: {' or '.join(methods)} is")
    if path == "/metrics" and method == "GET":
        return metrics(gateway, client.operator)
    if method == "POST" and path in COUNTED:
        dialect, key = COUNTED[path]
        body = await gateway.read_body(receive, headers)
        return counted(get(dialect), body, key)
    if method == "POST" and path.endswith(":countTokens"):
        return counted_by_gemini(await gateway.read_body(receive, headers))
    if kept := await continuing.show(Owned(gateway.store, name), method, path, query):
        return Reply(*kept)
    if found := await listed(gateway, client, method, path, headers, receive):
        return found
    known = "POST " + ", ".join(
        ("/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/{model}:...")
    )
    raise Refused("not-found", f"no such path: {method} {path[:200]}; there are {known}")


def metrics(gateway: Gateway, operator: bool) -> Reply:
    if not operator:
        raise Refused("permission", "this key may not see metrics")
    page = gateway.metrics.page()
    if page is None:
        raise Refused("not-found", "metrics need prometheus-client: pip install dragoman[gateway]")
    return Reply(200, page)


# -- counts ---------------------------------------------------------------------------------


def tokens(dialect: Dialect, document: Json) -> int:
    tree = dialect.read(document, "request")
    assert isinstance(tree, Request)
    return estimate(tree)


def counted(dialect: Dialect, body: bytes, key: str) -> Reply:
    """An estimate of the tokens of a request."""
    count = tokens(dialect, parsed(body))
    document: dict[str, Json] = {key: count}
    if dialect.name == "openai-responses":
        document["object"] = "response.input_tokens"
    return Reply(200, document, ESTIMATED)


def counted_by_gemini(body: bytes) -> Reply:
    document = parsed(body)
    asked = document.get("generateContentRequest") or document
    return Reply(200, {"totalTokens": tokens(get("gemini"), asked)}, ESTIMATED)


def parsed(body: bytes) -> dict[str, Json]:
    from ..core.reading import parse

    document = parse(body)
    if not isinstance(document, dict):
        raise Malformed("expected an object")
    return document


# -- models ---------------------------------------------------------------------------------


async def listed(
    gateway: Gateway,
    client: Client,
    method: str,
    path: str,
    headers: Mapping[str, str],
    receive: Receive,
) -> Reply | None:
    """Lists of models, in the form of the API that is asked."""
    if method == "GET" and path == "/api/version":
        return Reply(200, {"version": VERSION})
    if not path.startswith(("/v1/models", "/v1beta/models", "/api/")):
        return None
    names = await names_of(gateway, client)
    if method == "GET" and path.startswith("/v1/models") and is_google(headers):
        path = path.replace("/v1/", "/v1beta/", 1)
    if method == "GET" and path == "/v1/models":
        anthropic = "anthropic-version" in headers
        return Reply(200, of_anthropic(names) if anthropic else of_openai(names))
    if method == "GET" and path.startswith("/v1/models/"):
        return Reply(200, one_model(gateway, path.partition("/models/")[2], headers))
    if method == "GET" and path.startswith("/v1beta/models"):
        name = path.removeprefix("/v1beta/models").strip("/")
        return Reply(200, of_gemini(names) if not name else gemini_model(known(gateway, name)))
    if path == "/api/tags" and method == "GET":
        return Reply(200, {"models": [ollama_model(name) for name in names]})
    if path == "/api/show" and method == "POST":
        document = parsed(await gateway.read_body(receive, headers))
        return Reply(200, shown(known(gateway, document.get("model") or document.get("name"))))
    return None


async def names_of(gateway: Gateway, client: Client) -> tuple[str, ...]:
    """The models that a client can ask for: those of the configuration, and those that upstreams
    list themselves, as far as a request for one would go there.
    """
    names = dict.fromkeys(known_models(gateway.config))
    asked = {name: up for name, up in gateway.upstreams.items() if not up.settings.models}
    found = await gather(*(up.models() for up in asked.values()))
    for name, listed in zip(asked, found, strict=True):
        names |= dict.fromkeys(m for m in listed if any(leads(gateway, m, name)))
    return tuple(n for n in names if any(fnmatchcase(n, each) for each in client.models))


def leads(gateway: Gateway, model: str, upstream: str) -> Iterator[bool]:
    return (aim.upstream == upstream and aim.model == model for aim in gateway.route(model))


def known(gateway: Gateway, name: Any) -> str:
    if not isinstance(name, str) or not name or not gateway.route(name):
        raise Refused("not-found", f"no such model: {str(name)[:200]!r}")
    return name


def one_model(gateway: Gateway, name: str, headers: Mapping[str, str]) -> Json:
    name = known(gateway, name)
    if "anthropic-version" in headers:
        return anthropic_model(name)
    return openai_model(name)


def of_openai(names: tuple[str, ...]) -> Json:
    return {"object": "list", "data": [openai_model(name) for name in names]}


def openai_model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "dragoman"}


def of_anthropic(names: tuple[str, ...]) -> Json:
    data = [anthropic_model(name) for name in names]
    ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    return {"data": data, "has_more": False, **ends}


def anthropic_model(name: str) -> Json:
    stamp = "1970-01-01T00:00:00Z"
    return {"type": "model", "id": name, "display_name": name, "created_at": stamp}


def of_gemini(names: tuple[str, ...]) -> Json:
    return {"models": [gemini_model(name) for name in names]}


def gemini_model(name: str) -> Json:
    methods = ["generateContent", "countTokens", "streamGenerateContent"]
    return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}


def ollama_model(name: str) -> Json:
    stamp = "1970-01-01T00:00:00Z"
    details = {"format": "", "family": "", "families": [], "parameter_size": ""}
    details["quantization_level"] = ""
    return {
        "name": name, "model": name, "modified_at": stamp, "size": 0, "digest": "",
        "details": details,
    }  # fmt: skip


def shown(name: str) -> Json:
    model = ollama_model(name)
    can = ["completion", "tools", "vision", "thinking"]
    info = {"general.architecture": "dragoman", "dragoman.context_length": CONTEXT}
    return {"details": model["details"], "model_info": info, "capabilities": can, "template": ""}


def is_google(headers: Mapping[str, str]) -> bool:
    """Whether Google's SDK asks: some of its versions use the same paths as OpenAI's."""
    return "x-goog-api-key" in headers or "x-goog-api-client" in headers


def dialect_of(path: str, headers: Mapping[str, str]) -> Dialect:
    """Whose errors a client understands that asks for something else."""
    if path.startswith("/v1beta") or path.endswith(":countTokens") or is_google(headers):
        return get("gemini")
    if path.startswith("/api/"):
        return get("ollama")
    if "anthropic-version" in headers or path.startswith("/v1/messages"):
        return get("anthropic-messages")
    return get("openai-chat")
