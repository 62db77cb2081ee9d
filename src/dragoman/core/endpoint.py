"""Where the API of a dialect stands, and where its requests name the model and ask for a stream.

Facts and pure functions over them. ``providers`` sends requests by them; whoever serves a dialect
routes by them. A dialect declares its rows in ``Dialect.endpoints``:

    base                                  prefix       path
    https://api.openai.com/v1                          /chat/completions
    https://generativelanguage.googleapis.com /v1beta  /{model}:generateContent
    https://{resource}                    /openai      /deployments/{model}/chat/completions

The *base* is what the vendor's own SDK takes as its base address. A base that a user gives may
hold the prefix already, some of it, or the whole address: ``place`` finds out. Where the path has
no ``{model}``, the model stands in the body, and so does the flag that asks for a stream unless
``stream_path`` is another path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from ..errors import Unsupported
from ..model import Json

Auth: TypeAlias = Literal["key", "aws", "google"]
"""How requests are authenticated: by a key, an AWS signature, Google's default credentials."""

MODEL = "{model}"
SETTING = re.compile(r"\{(\w+)\}")
VERSION = re.compile(r"v\d\w*")
# google-genai, _api_client.py
VERTEX_BASES = {
    "https://global-aiplatform.googleapis.com": "https://aiplatform.googleapis.com",
    "https://us-aiplatform.googleapis.com": "https://aiplatform.us.rep.googleapis.com",
    "https://eu-aiplatform.googleapis.com": "https://aiplatform.eu.rep.googleapis.com",
}


class Endpoint(NamedTuple):
    """One address of an API."""

    path: str
    """what follows the base and the prefix; ``{model}`` stands for the model"""
    base: str | None = None
    """the vendor's address; None: there is no such vendor, or everybody has another one"""
    prefix: str = ""
    """what stands between the base of the SDK and the path: a version, mostly"""
    platform: str = ""
    """the name of the row, where a dialect has several: ``vertex``"""
    sign: str = ""
    """a regular expression that finds the addresses of this row, where a dialect has several"""

    stream_path: str | None = None
    """the path that asks for a stream, where that is another one"""
    stream_query: Mapping[str, str] = {}
    stream: Mapping[str, Json] = {"stream": True}
    """the fields of a request that ask for a stream, with counts of tokens in it"""
    plain: Mapping[str, Json] = {}
    """the fields that ask for a whole response, where a stream is the default"""
    collections: tuple[str, ...] = ()
    """what a model's name may begin with in the path; the first is put before one without"""
    fields: Mapping[str, Json] = {}
    """fields of every request"""
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    passes: tuple[str, ...] = ()
    """headers of a client that are part of its request: a gateway passes them on"""
    shows: tuple[str, ...] = ()
    """headers of a reply that clients read, or what these begin with"""

    models: str = ""
    """the path, after the prefix, of the list of models; empty: there is none"""

    key_header: str = "authorization"
    key_scheme: str = "Bearer "
    auth: Auth = "key"
    """how requests are authenticated where no key is given"""
    hosts: str = ""
    """a regular expression: the hosts that may be given what ``auth`` finds in the environment"""
    url_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    """whether the vendor's address refuses requests without a key"""
    settings: Mapping[str, tuple[str, ...]] = {}
    """what stands in braces in base, prefix and query: the variables that may tell it"""
    defaults: Mapping[str, str] = {}
    switch: str = ""
    """the variable that, when it is true, makes this row the dialect's usual one"""
    other_bases: Mapping[str, str] = {}
    """bases that are spelled otherwise than the pattern has it"""

    # -- the body ---------------------------------------------------------------------------

    @property
    def model_in_path(self) -> bool:
        return MODEL in self.path

    def body(self, document: Mapping[str, Json], stream: bool, model_key: str) -> dict[str, Json]:
        """What is sent of a request document: all but the model where the path names it."""
        wanted = {} if stream else self.plain
        missing = {k: v for k, v in (*self.fields.items(), *wanted.items()) if k not in document}
        if self.model_in_path:
            return {k: v for k, v in document.items() if k != model_key} | missing
        return {**document, **missing}

    # -- the path ---------------------------------------------------------------------------

    def route(self, model: str | None, stream: bool) -> tuple[str, dict[str, str]]:
        """The path of a request after the prefix, and its query.

        >>> Endpoint("/model/{model}/converse").route("a.b:0", stream=False)
        ('/model/a.b%3A0/converse', {})
        """
        path = self.stream_path if stream and self.stream_path else self.path
        if self.model_in_path:
            path = path.replace(MODEL, self._spelled(model))
        return path, {**self.query, **(self.stream_query if stream else {})}

    def _spelled(self, model: str | None) -> str:
        if not model:
            raise Unsupported("the URL contains the model: give model=")
        if not {"", ".", ".."}.isdisjoint(model.split("/")):
            raise Unsupported(f"{model!r} cannot be part of a URL")
        from urllib.parse import quote  # slow to import, and those who convert need no address

        if not self.collections:
            return quote(model, safe="")
        begins = model.startswith(self.collections)
        return quote(model if begins else self.collections[0] + model, safe="/")

    def find(self, path: str) -> Found | None:
        """What a path that ends like this one's tells, or None where it ends otherwise.

        >>> Endpoint("/model/{model}/converse").find("/proxy/model/m%3A1/converse")
        Found(before='/proxy', model='m:1', stream=None)
        """
        from urllib.parse import unquote

        for template, stream in self._templates():
            if (found := pattern(template, self.collections).fullmatch(path)) is not None:
                model = unquote(found["model"]) if MODEL in template else None
                if model is not None and self.collections:
                    model = model.removeprefix(self.collections[0])
                return Found(found["before"], model, stream)
        return None

    def _templates(self) -> list[tuple[str, bool | None]]:
        """The ends of addresses: of a stream, of a whole response, up to the model."""
        told = self.stream_path is not None
        ends: list[tuple[str, bool | None]] = [(self.path, False if told else None)]
        if self.stream_path is not None:
            ends.insert(0, (self.stream_path, True))
        head, model, tail = self.path.partition(MODEL)
        if tail.startswith("/"):
            ends.append((head + model, None))
        return ends

    # -- the address ------------------------------------------------------------------------

    def place(self, url: str) -> Place:
        """The address that a url means: a base as the vendor's SDK takes it, or a whole one.

        >>> Endpoint("/messages", prefix="/v1").place("https://h/proxy?a=b").start
        'https://h/proxy/v1'
        >>> Endpoint("/messages", prefix="/v1").place("https://h/v1/messages").start
        'https://h/v1'
        """
        from urllib.parse import urlsplit, urlunsplit

        parts = urlsplit(url)
        path = parts.path.rstrip("/")
        found = self.find(path)
        if found is not None:
            path = found.before
        elif VERSION.fullmatch(self.path.split("/")[1]) and VERSION.fullmatch(
            path.rpartition("/")[2]
        ):
            path = path.rpartition("/")[0]  # the path says the version of this API itself
        else:
            path += self._rest_of_prefix(path)
        start = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        told = [f"{key}={value}" for key, value in self.stream_query.items()]
        query = "&".join(part for part in parts.query.split("&") if part not in told)
        return Place(start, query, found.model if found else None)

    def _rest_of_prefix(self, have: str) -> str:
        """What of the prefix is not at the end of a path already."""
        wanted, given = self.prefix.split("/")[1:], have.split("/")[1:]
        for count in range(min(len(wanted), len(given)), 0, -1):
            if all(map(is_segment, wanted[:count], given[-count:])):
                return "".join(f"/{segment}" for segment in wanted[count:])
        return self.prefix


class Found(NamedTuple):
    """What a path tells of a request."""

    before: str
    model: str | None
    stream: bool | None
    """None: the body tells"""


class Place(NamedTuple):
    """Where requests go, apart from the path that may depend on each."""

    start: str
    query: str = ""
    model: str | None = None
    """which the url names itself"""

    def at(self, path: str, query: Mapping[str, str]) -> str:
        """The whole address; what the url asks for comes before what the API usually asks for."""
        from urllib.parse import urlencode

        known = {pair.partition("=")[0] for pair in self.query.split("&")}
        more = urlencode({k: v for k, v in query.items() if k not in known})
        asked = "&".join(part for part in (self.query, more) if part)
        return f"{self.start}{path}?{asked}" if asked else f"{self.start}{path}"


def is_segment(wanted: str, given: str) -> bool:
    """Whether a part of a path is what the prefix wants there; another version will do."""
    if SETTING.fullmatch(wanted):
        return bool(given)
    return wanted == given or bool(VERSION.fullmatch(wanted) and VERSION.fullmatch(given))


@lru_cache(maxsize=256)
def pattern(template: str, collections: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, collections))
    model = f"(?:{names})[^/]+" if collections else "[^/]+"
    path = re.escape(template).replace(re.escape(MODEL), f"(?P<model>{model})")
    return re.compile(f"(?P<before>.*?){path}")


def filled(template: str, settings: Mapping[str, str]) -> str:
    """A pattern with what stands in its braces; ``KeyError`` where that is not known."""
    from urllib.parse import quote

    return SETTING.sub(lambda found: quote(settings[found[1]], safe=""), template)


def settings_in(*templates: str) -> list[str]:
    """The names in braces, but for the model."""
    names = (name for template in templates for name in SETTING.findall(template))
    return [name for name in dict.fromkeys(names) if name != "model"]


def endpoint_for(
    endpoints: tuple[Endpoint, ...], url: str | None = None, platform: str | None = None
) -> Endpoint | None:
    """The row of a dialect that is meant: by its name, by the url, else the first."""
    if platform is not None:
        for row in endpoints:
            if row.platform == platform:
                return row
        known = ", ".join(row.platform for row in endpoints if row.platform) or "none"
        raise Unsupported(f"unknown platform {platform!r} for this dialect; known: {known}")
    for row in endpoints[1:]:
        if url is not None and row.sign and re.search(row.sign, url):
            return row
    return endpoints[0] if endpoints else None
