"""The address of an upstream: what the caller says, else the environment, else the vendor.

What is known of an API (its address, its path, how it wants its key) its dialect says, in
``Dialect.endpoints``. A dialect without a row is reached by its whole address; a variant of one
with a row (a server that speaks OpenAI Chat with additions) shares its path and its manners, but
neither its address nor its key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from ..core.endpoint import Auth, Endpoint, Place, endpoint_for, filled, settings_in
from ..dialect import Dialect
from ..errors import Unsupported
from ..model import Json
from .errors import AuthenticationFailed
from .secrets import Headers, Secrets
from .signing import SIGNERS, AwsSigner, Sign, Signer

SECRET = re.compile(r"auth|key|token|secret|cookie|sig", re.IGNORECASE)
"""The names of headers and of parts of a query that hold what must not be shown."""
ILLEGAL = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
NOWHERE = Endpoint("")
"""A dialect that is reached by its whole address."""


class Address(NamedTuple):
    """Where requests go, and what goes with each of them."""

    place: Place
    row: Endpoint
    headers: Headers
    secrets: Secrets
    sign: Sign | None = None

    @property
    def url(self) -> str:
        """The address of a request for a whole response; ``{model}`` may stand for the model."""
        path = self.row.path.replace("{model}", self.place.model or "{model}")
        return self.place.at(path, self.row.query)

    @property
    def host(self) -> str:
        return urlsplit(self.place.start).netloc

    def url_for(self, model: str | None, stream: bool) -> str:
        """The address of one request; a model of the request comes before one of the url."""
        return self.place.at(*self.row.route(model or self.place.model, stream))


def resolve(
    upstream: Dialect,
    url: str | None,
    key: str | None,
    headers: Mapping[str, str] | None,
    *,
    platform: str | None = None,
    settings: Mapping[str, str] | None = None,
    auth: Auth | Sign | None = None,
) -> Address:
    """The address of an upstream.

    A key of the environment goes where the environment or the vendor says, never to a ``url`` of
    the caller: else a local server would be shown the key to an account elsewhere. What signs
    requests (AWS, Google) does so for the vendor's hosts, or where ``auth`` says so.
    """
    row, own = endpoint_of(upstream, url, platform)
    key = (key or "").strip() or None
    given = {name.lower(): value for name, value in (headers or {}).items()}
    vendors = False
    trusted = url is None
    if url is None:
        if row is None or not own:
            raise Unsupported(f"no URL is known for {upstream.name}: give url=")
        key = key or first_variable(row.key_variables)
        url = variable_url(row)
        vendors = url is None
        url = url or vendor_url(row, upstream, settings)
    row = row or NOWHERE
    place = row.place(check_url(url))
    secrets = Secrets(())
    sign = signer_of(row, place, key, auth, trusted, settings, secrets)
    place, row = settled(place, row, upstream, settings, sign)
    sent = Headers(row.headers)
    if key is not None:
        sent[row.key_header] = row.key_scheme + key
    elif vendors and row.needs_key and sign is None and row.key_header not in given:
        wanted = " or ".join(("key=", *row.key_variables))
        raise AuthenticationFailed(f"no key: give or set {wanted}")
    sent.update(given)
    for name, value in sent.items():
        if ILLEGAL.search(value):
            raise Unsupported(f"the header {name!r} has invalid characters")
    secrets.keep((key or "", *secrets_of(sent)))
    return Address(place, row, sent, secrets, sign)


# -- the row --------------------------------------------------------------------------------


def endpoint_of(
    upstream: Dialect, url: str | None = None, platform: str | None = None
) -> tuple[Endpoint | None, bool]:
    """The row of a dialect, and whether it is its own or that of what it is a variant of."""
    own = "endpoints" in vars(type(upstream))
    rows = upstream.endpoints if own else upstream.endpoints[:1]
    if url is None and platform is None:
        for row in rows:
            if row.switch and is_true(variable(row.switch)):
                return row, own
    return endpoint_for(rows, url, platform), own


def stream_fields(dialect: Dialect) -> Mapping[str, Json]:
    """How a request of a dialect asks for a stream; nothing where it has no word for that."""
    row, _ = endpoint_of(dialect)
    return {} if row is None else row.stream


# -- the environment ------------------------------------------------------------------------


def variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def first_variable(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := variable(name))), None)


def is_true(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true")


def variable_url(row: Endpoint) -> str | None:
    """The address that the environment names; OLLAMA_HOST may be a host without anything else."""
    url = first_variable(row.url_variables)
    if url is None or "://" in url or row.base is None:
        return url
    usual = urlsplit(row.base)
    given = urlsplit(f"//{url}")
    host = given.hostname or usual.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{usual.scheme}://{host}:{given.port or usual.port}{given.path}"


# -- what stands in braces ------------------------------------------------------------------


def vendor_url(row: Endpoint, upstream: Dialect, settings: Mapping[str, str] | None) -> str:
    if row.base is None:
        names = " or ".join(("url=", *row.url_variables))
        raise Unsupported(f"no URL is known for {upstream.name}: give {names}")
    base = filled(row.base, known_settings(row, upstream, settings, None, row.base))
    return row.other_bases.get(base, base)


def settled(
    place: Place,
    row: Endpoint,
    upstream: Dialect,
    settings: Mapping[str, str] | None,
    sign: Sign | None,
) -> tuple[Place, Endpoint]:
    """Place and row with the settings of this upstream in them."""
    written = {name for name, _ in parse_qsl(place.query)}
    query = {name: value for name, value in row.query.items() if name not in written}
    known = known_settings(row, upstream, settings, sign, place.start, *query.values())
    start = filled(place.start, known)
    return place._replace(start=start), row._replace(
        query={name: filled(value, known) for name, value in query.items()}
    )


def known_settings(
    row: Endpoint,
    upstream: Dialect,
    settings: Mapping[str, str] | None,
    sign: Sign | None,
    *templates: str,
) -> dict[str, str]:
    """What is known of the names in braces; each must be."""
    known = dict(settings or {})
    for name in settings_in(*templates):
        if name in known:
            continue
        value = first_variable(row.settings.get(name, ()))
        if value is None and name in row.defaults:
            refuse_unknown(known, row, upstream)
            value = row.defaults[name]
        if value is None and name == "region" and row.auth == "aws":
            value = AwsSigner.region()
        if value is None and isinstance(sign, Signer):
            value = sign.setting(name)
        if value is None:
            ways = [f"settings={{{name!r}: ...}}", *row.settings.get(name, ())]
            raise Unsupported(f"{upstream.name} needs its {name}: give or set {' or '.join(ways)}")
        known[name] = value
    return known


def refuse_unknown(settings: Mapping[str, str], row: Endpoint, upstream: Dialect) -> None:
    """Another name for what has a default: requests would go elsewhere than was meant."""
    for name in settings:
        if name not in row.settings and name not in row.defaults:
            there = ", ".join(sorted({*row.settings, *row.defaults}))
            raise Unsupported(f"{upstream.name} has no setting {name!r}; it has: {there}")


# -- who signs ------------------------------------------------------------------------------


def signer_of(
    row: Endpoint,
    place: Place,
    key: str | None,
    auth: Auth | Sign | None,
    trusted: bool,
    settings: Mapping[str, str] | None,
    secrets: Secrets,
) -> Sign | None:
    """Who authenticates each request, where a key in a header does not."""
    if callable(auth):
        return Signer.of(auth, secrets)
    if auth is not None and auth != "key" and auth not in SIGNERS:
        raise Unsupported(f"unknown auth {auth!r}; known: key, {', '.join(SIGNERS)}")
    host = urlsplit(place.start).hostname or ""
    way = auth or row.auth
    if key is not None or way == "key":
        return None
    if auth is None and not trusted and not re.search(row.hosts or "$^", host):
        return None
    told = dict(settings or {})
    if way == "aws" and "region" not in told:
        found = re.search(r"\.([a-z]{2,}(?:-[a-z]+)+-\d)\.", f".{host}")
        region = found[1] if found else first_variable(row.settings.get("region", ()))
        told |= {"region": region} if region else {}
    return SIGNERS[way](told, secrets)


# -- urls and headers -----------------------------------------------------------------------


def check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        raise Unsupported("invalid url") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unsupported("the url must begin with https:// (or http://) and a host")
    named = [name for name, _ in parse_qsl(parts.query) if SECRET.search(name)]
    if "@" in parts.netloc or named:  # addresses are shown; they must hold nothing that is not
        raise Unsupported("the url contains a secret; give key= or headers= instead")
    return url


def secrets_of(headers: Mapping[str, str]) -> list[str]:
    """What must not be shown: a credential with and without the scheme that it follows."""
    found = [value for name, value in headers.items() if SECRET.search(name)]
    return found + [value.partition(" ")[2] for value in found]
