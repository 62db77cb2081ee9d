"""What a gateway is configured with. A file is TOML; unknown keys and wrong types are errors.

    [upstreams.claude]
    dialect = "anthropic-messages"
    key_env = "ANTHROPIC_API_KEY"

    [upstreams.local]
    dialect = "llama-cpp"
    url = "http://127.0.0.1:8080/v1"

    [routes]
    "claude-*" = "claude"
    "gpt-5" = "local/qwen3"
    "*" = ["claude/claude-sonnet-4-5", "local"]

A route says for names of models which upstream is asked, and by which name of the model if it is
another; of several the next is asked where one fails before it has answered. The client sees the
name that it asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from ..dialects import get
from ..errors import DragomanError

System = Literal["keep", "first", "merge", "user"]
"""Later system turns: as they are, moved to the first, or as text of the user in their place."""

LOOPBACK = ("127.0.0.1", "::1", "localhost")
LARGEST = 16 * 2**20
"""How many bytes a file that the configuration names may have."""
SCRIPTED = "script"
"""The name of the embedded model's upstream."""


class ConfigError(DragomanError):
    """A configuration that cannot be used, with the place and what to do."""


class Upstream(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server that is asked."""

    dialect: str
    url: str | None = None
    """Its base URL; None: the vendor's."""
    key: str | None = None
    """Its key. Better ``key_env`` or ``key_file``: a file of settings is read by many."""
    key_env: str | None = None
    key_file: str | None = None
    forward_key: bool = False
    """Whether the key that the client sent is passed on, instead of one of the gateway's own."""
    headers: Mapping[str, str] = {}
    platform: str | None = None
    settings: Mapping[str, str] = {}
    extra: Mapping[str, object] = {}
    """Fields of the upstream's dialect that every request gets."""
    timeout: float = 600.0
    """Seconds for a whole response, or for the pause between two pieces of a stream."""
    connect_timeout: float = 10.0
    total_timeout: float | None = None
    concurrency: int | None = None
    """How many requests it is sent at once; others wait."""
    retries: int = 2
    models: tuple[str, ...] = ()
    """The names of its models, for the lists that clients ask for."""
    system: System | None = None
    """What becomes of system turns after the first; None: what this dialect's servers need."""
    merge_turns: bool = False
    """Whether turns of one role that follow each other become one."""
    max_tokens: int | None = None
    """The limit of a reply where the client gives none."""
    cache: bool = False
    """Whether requests without cache marks ask Anthropic to cache the conversation."""
    share_user: bool | None = None
    """Whether the id of the end user (``metadata.user_id``, ``user``) is passed on; None: only
    where the upstream speaks the client's own dialect."""
    normalize: bool = False
    """Whether replies of the client's own dialect are read and written anew, for servers that
    deviate from it."""

    def secret(self) -> str | None:
        """Its key, from where it is."""
        if self.key_env is not None:
            return os.environ.get(self.key_env, "").strip() or None
        if self.key_file is not None:
            return read_file(self.key_file).decode("utf-8").strip() or None
        return self.key


class Client(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that clients use, and what they may do with it."""

    key: str | None = None
    key_env: str | None = None
    key_file: str | None = None
    models: tuple[str, ...] = ("*",)
    per_minute: int | None = None
    """How many requests in a minute."""
    concurrency: int | None = None
    """How many at once."""
    reasoning: bool | None = None
    """Whether a Chat client gets ``reasoning_content``; None: as the gateway has it."""
    fail_on: tuple[str, ...] | None = None
    operator: bool = False
    """Whether it may see metrics."""

    def secret(self) -> str | None:
        if self.key_env is not None:
            return os.environ.get(self.key_env, "").strip() or None
        if self.key_file is not None:
            return read_file(self.key_file).decode("utf-8").strip() or None
        return self.key


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of what a client may send, and how long it may take."""

    body: int = 64 * 2**20
    headers: int = 64 * 2**10
    body_timeout: float = 60.0
    """Seconds for the whole of a request to arrive."""
    response: int = 64 * 2**20
    keep_alive: float = 15.0
    """Seconds of silence after which a stream gets a comment; 0: never."""
    shutdown: float = 30.0
    """Seconds that open streams are given to end."""


class Route(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A route with more than a goal."""

    to: str | tuple[str, ...]
    max_tokens: int | None = None
    """Where the client gives no limit; it comes before that of the upstream."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a gateway is configured with."""

    host: str = "127.0.0.1"
    port: int = 8700
    hosts: tuple[str, ...] = ()
    """Names, beside those of this machine, by which it is reached where no client keys are
    configured, and whose pages may ask; ``*``: any."""
    upstreams: Mapping[str, Upstream] = {}
    routes: Mapping[str, str | tuple[str, ...] | Route] = {}
    clients: Mapping[str, Client] = {}
    limits: Limits = Limits()
    fail_on: tuple[str, ...] = ()
    """Kinds and codes of losses in a request that are answered with 422."""
    store: str | None = None
    """``memory``, ``none``, ``sqlite:PATH`` or ``redis://...``; None: a SQLite file of the user
    with ``dragoman serve``, else the memory of the process"""
    store_days: float = 30.0
    """How long responses and signatures are kept."""
    secret_env: str | None = None
    secret_file: str | None = None
    """The key by which signatures are enclosed; several gateways share one. None: the store's."""
    reasoning: bool = False
    """Whether Chat clients get reasoning as ``reasoning_content``."""
    script: str | None = None
    """A file of replies for the embedded model."""
    log: Literal["json", "text", "none"] = "text"
    log_contents: bool = False
    """Whether documents are logged. They hold what people say."""
    traces: bool = False
    """Whether each exchange is a span of OpenTelemetry."""


def read_file(path: str | Path) -> bytes:
    """A file that the configuration names: not what has no end."""
    with Path(path).expanduser().open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ConfigError(f"{path}: a file of more than {LARGEST:,} bytes")
    return data


def load_config(path: str | Path) -> Config:
    """The configuration in a TOML file."""
    import tomllib

    try:
        data = tomllib.loads(read_file(path).decode("utf-8"))
    except (OSError, UnicodeError) as problem:
        raise ConfigError(f"{path}: {problem}") from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path} is not TOML: {problem}") from None
    try:
        return checked(msgspec.convert(data, Config))
    except msgspec.ValidationError as problem:
        text, _, place = str(problem).partition(" - at ")
        where = f" - at {place.strip('`').removeprefix('$.')}" if place else ""
        raise ConfigError(f"{path}: {text[:1].lower()}{text[1:].replace('`', '')}{where}") from None
    except DragomanError as problem:
        raise ConfigError(f"{path}: {problem}") from None


def checked(config: Config) -> Config:
    """A configuration whose parts fit together."""
    for name, upstream in config.upstreams.items():
        facets = get(upstream.dialect).facets()
        if "write" not in facets.get("request", ()) or "read" not in facets.get("response", ()):
            raise ConfigError(f"upstreams.{name}: {upstream.dialect} is no API that can be asked")
    for model, aims in config.routes.items():
        for aim in goals(aims):
            if aim.partition("/")[0] not in (*config.upstreams, SCRIPTED):
                known = ", ".join((*config.upstreams, SCRIPTED))
                raise ConfigError(f"routes.{model}: no upstream {aim!r}; there are: {known}")
    for name, client in config.clients.items():
        if not client.secret():
            raise ConfigError(f"clients.{name}: no key: give key_env, key_file or key")
    if config.host not in LOOPBACK and not config.clients:
        raise ConfigError(f"host {config.host} is not loopback: configure client keys first")
    return config


class Aim(NamedTuple):
    """Who is asked, and for which model."""

    upstream: str
    model: str
    max_tokens: int | None = None


def goals(aims: str | tuple[str, ...] | Route) -> tuple[str, ...]:
    """What a route names: ``UPSTREAM`` or ``UPSTREAM/MODEL``, one or several."""
    if isinstance(aims, Route):
        aims = aims.to
    return (aims,) if isinstance(aims, str) else aims


def route(config: Config, model: str) -> tuple[Aim, ...]:
    """The upstreams for a model, in the order in which they are asked; none: nobody has it.

    A name of a route comes before a pattern, an earlier pattern before a later one. Without routes
    the first upstream is asked for everything, ``NAME/model`` asks the upstream of that name.
    """
    if (aims := config.routes.get(model)) is None:
        patterns = (aims for name, aims in config.routes.items() if fnmatchcase(model, name))
        aims = next(patterns, None)
    if aims is None:
        named, slash, rest = model.partition("/")
        if slash and named in config.upstreams:
            return (Aim(named, rest),)
        listed = [name for name, up in config.upstreams.items() if model in up.models]
        if listed:
            return (Aim(listed[0], model),)
        if config.routes:
            return ()
        aims = next(iter(config.upstreams), SCRIPTED)
    most = aims.max_tokens if isinstance(aims, Route) else None
    return tuple(aimed(aim, model, most) for aim in goals(aims))


def aimed(aim: str, model: str, most: int | None = None) -> Aim:
    upstream, _, other = aim.partition("/")
    return Aim(upstream, other or model, most)


def known_models(config: Config) -> tuple[str, ...]:
    """The names of models that clients can ask for, as far as they are configured."""
    routed = [name for name in config.routes if not set("*?[") & set(name)]
    listed = [name for upstream in config.upstreams.values() for name in upstream.models]
    return tuple(dict.fromkeys((*routed, *listed))) or ((SCRIPTED,) if not config.upstreams else ())
