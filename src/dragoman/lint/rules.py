"""What the rules of several dialects share: a document laid open, and the rules they have alike.

The rules work on the document itself, not on the tree, as a path must point at what the API was
sent. They take any JSON: what has not the expected shape is simply not what a rule speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct

from ..core.fields import Fields
from ..core.models import DEFAULT, Facts, Models
from ..core.reading import escape, parse
from ..core.writing import is_blank
from ..dialect import Dialect, Problem
from ..errors import Malformed
from ..model import Json

Placed: TypeAlias = tuple[str, dict[str, Json]]
"""An object with its JSON pointer."""
Problems: TypeAlias = Iterator[Problem]

EMPTY: dict[str, Json] = {}


class Page(Struct, frozen=True):
    """A document laid open for the rules: its parts have the same names whatever the facet.

    ``whole`` tells that the document is what the API is sent. A history on its own may end in
    calls that are still being answered.
    """

    facet: str
    top: dict[str, Json] = EMPTY
    messages: tuple[Placed, ...] = ()
    tools: tuple[Placed, ...] = ()
    choice: Json = None
    choice_at: str = ""
    whole: bool = False
    models: Models = DEFAULT

    def facts(self, vendor: str | None, key: str = "model") -> Facts:
        """What is known of the model that the document names."""
        return self.models.facts(vendor, string(self.top.get(key)))


Rule: TypeAlias = Callable[[Page], Problems]


class Ruled(Dialect):
    """A dialect whose API has rules; ``repair`` needs to know some of them beforehand."""

    rules: ClassVar[dict[str, str]] = {}
    """Rule -> what it says."""
    adjacent: ClassVar[bool] = True
    """Whether results must stand right after their calls."""
    merges: ClassVar[bool] = False
    """Whether messages of one role that follow each other are one turn."""
    silent_results: ClassVar[bool] = False
    """Whether a result may do without any content, and an empty text in it is an error."""
    call_ids: ClassVar[tuple[str, int]] = (".", 64)
    """The characters and the length of the ids of calls."""
    tool_names: ClassVar[tuple[str, int]] = ("[a-zA-Z0-9_-]", 64)
    """The characters and the length of the names of tools."""
    item_prefixes: ClassVar[Mapping[str, str]] = {}
    """How the ids of items begin: of a call by its kind, of a ``message``, of ``reasoning``."""


def examine(dialect: Dialect, page: Page, doc: Json, rules: Iterable[Rule]) -> Problems:
    """Read the document, then apply each rule. What a rule says better, the reader need not say."""
    found = [problem for rule in rules for problem in rule(page)]
    try:
        dialect.read(doc, page.facet)
    except Malformed as malformed:
        if not any(problem.path in (malformed.at, f"{malformed.at}/role") for problem in found):
            yield Problem("malformed", malformed.at, malformed.what)
    yield from found


def lay_open(doc: Json, facet: str, models: Models = DEFAULT, *, listed: str = "messages") -> Page:
    """The page of a document; ``listed`` is the key under which the messages stand."""
    if facet == "tools":
        return Page(facet, tools=placed(doc, ""))
    if facet == "tool-choice":
        return Page(facet, choice=doc)
    if doc.__class__ is list:
        return Page(facet, messages=placed(doc, ""))
    if doc.__class__ is not dict:
        return Page(facet)
    return Page(
        facet,
        doc,
        placed(doc.get(listed), f"/{listed}"),
        placed(doc.get("tools"), "/tools"),
        doc.get("tool_choice"),
        "/tool_choice",
        whole=facet == "request",
        models=models,
    )


def placed(value: Json, at: str) -> tuple[Placed, ...]:
    """The objects of a list, with their places."""
    if value.__class__ is not list:
        return ()
    return tuple((f"{at}/{i}", item) for i, item in enumerate(value) if item.__class__ is dict)


def place_of(at: str) -> str:
    """A JSON pointer as OpenAI's and Anthropic's servers spell a place: ``messages[1].content``."""
    out = ""
    for token in at.split("/")[1:]:
        out += f"[{token}]" if token.isdigit() else f".{token}" if out else token
    return out


def string(value: Json) -> str | None:
    """The value, if it is a string."""
    return value if isinstance(value, str) else None


def number(value: Json) -> float | None:
    """The value, if it is a number."""
    return value if value.__class__ in (int, float) else None


# -- rules that several dialects have alike ------------------------------------------------------


def within(fields: Fields, say: str = "") -> Rule:
    """The numbers that a table of parameters has ranges for; ``say``: what the server says, with
    ``key``, ``low``, ``high`` and ``value``; OpenAI's words, if empty."""

    def rule(page: Page) -> Problems:
        for key, (low, high) in fields.ranges.items():
            value = number(page.top.get(key))
            if value is None or (low if low is not None else value) <= value <= (
                high if high is not None else value
            ):
                continue
            message = say.format(key=key, low=low, high=high, value=value)
            yield Problem("range", f"/{key}", message or _bound(key, low, high, value))

    return rule


def _bound(key: str, low: float | None, high: float | None, value: float) -> str:
    kind = "integer" if value.__class__ is int else "decimal"
    if low is not None and value < low:
        bound = f"{kind} below minimum value. Expected a value >= {low}"
    else:
        bound = f"{kind} above maximum value. Expected a value <= {high}"
    return f"Invalid '{key}': {bound}, but got {value} instead."


def stop_count(fields: Fields, say: str = "at most {most} stop sequences") -> Rule:
    """As many stop sequences as the table says."""
    row = fields["stop"]

    def rule(page: Page) -> Problems:
        given = page.top.get(row.key)
        if given.__class__ is list and row.count is not None and len(given) > row.count:
            yield Problem("stop", f"/{row.key}", say.format(most=row.count, count=len(given)))

    return rule


def has_fields(*keys: str, say: str = "{key!r} is missing") -> Rule:
    """A response has all its fields."""

    def rule(page: Page) -> Problems:
        for key in keys:
            if key not in page.top:
                yield Problem("response-field", "", say.format(key=key))

    return rule


def error_message(page: Page) -> Problems:
    """``{"error": {"message": ...}}``"""
    inner = page.top.get("error")
    if inner.__class__ is not dict or inner.get("message").__class__ is not str:
        yield Problem("error-field", "", "an error has a message")


def known_roles(roles: Collection[str], say: str) -> Rule:
    """Roles that there are."""

    def rule(page: Page) -> Problems:
        for at, message in page.messages:
            role = message.get("role")
            if role.__class__ is str and role not in roles:
                yield Problem("role", f"{at}/role", say.format(role=role))

    return rule


def some_messages(say: str, key: str = "messages") -> Rule:
    """A request has at least one message."""

    def rule(page: Page) -> Problems:
        if page.whole and page.top.get(key) == []:
            yield Problem("no-messages", f"/{key}", say)

    return rule


def answered_calls(unanswered: str, unnamed: str, orphan: str, twice: str = "") -> Rule:
    """Calls and results, by adjacency: tool messages reply the assistant right before them.

    What the server says of a call (``name``) without a result, of a result without an id, of one
    without a call, and of a second one; empty: it accepts that.
    """

    def left(waiting: dict[str, str], replied: set[str]) -> Problems:
        for name, at in waiting.items():
            if name not in replied:
                yield Problem("unanswered-call", at, unanswered.format(name=name))

    def rule(page: Page) -> Problems:
        waiting: dict[str, str] = {}
        replied: set[str] = set()
        for at, message in page.messages:
            if message.get("role") == "tool":
                name = string(message.get("tool_call_id"))
                if name is None:
                    yield Problem("orphan-result", at, unnamed)
                    continue
                if name not in waiting:
                    yield Problem("orphan-result", at, orphan)
                elif twice and name in replied:
                    yield Problem("duplicate-result", at, twice.format(name=name))
                replied.add(name)
                continue
            yield from left(waiting, replied)
            waiting, replied = {}, set()
            calls = placed(message.get("tool_calls"), f"{at}/tool_calls")
            for where, call in calls if message.get("role") == "assistant" else ():
                if (name := string(call.get("id"))) is not None:
                    waiting.setdefault(name, where)
        if page.whole:
            yield from left(waiting, replied)

    return rule


def json_format(kind: Json, schema: Json, at: str, page: Page, listed: str, say: str) -> Problems:
    """A response format of OpenAI's: the word JSON, the name of a schema, a strict schema.

    ``listed`` is the key of the messages, which say the word, unless ``say`` is empty.
    """
    if kind == "json_object" and say and not says_json(page.top.get(listed)):
        yield Problem("json-word", f"/{listed}", say)
    if kind != "json_schema" or schema.__class__ is not dict:
        return
    name = schema.get("name")
    if name is None:
        message = f"Missing required parameter: '{place_of(at)}.name'."
        yield Problem("schema-name", at, message)
    yield from illegal_name("schema-name", f"{at}/name", name, 64)
    if schema.get("strict") is True:
        what = f"Invalid schema for response_format {name!r}"
        yield from loose_schema(schema.get("schema"), f"{at}/schema", what)


def stream_options(page: Page) -> Problems:
    """Options of a stream, without one."""
    if page.top.get("stream_options") is not None and page.top.get("stream") is not True:
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        yield Problem("stream-options", "/stream_options", message)


def too_long(rule: str, at: str, value: Json, limit: int) -> Problems:
    """A string beyond its limit, in OpenAI's words."""
    if value.__class__ is str and len(value) > limit:
        message = (
            f"Invalid '{place_of(at)}': string too long. Expected a string with maximum length "
            f"{limit}, but got a string with length {len(value)} instead."
        )
        yield Problem(rule, at, message)


def metadata_limits(page: Page) -> Problems:
    """At most 16 pairs; keys of 64 characters, values that are strings of 512."""
    metadata = page.top.get("metadata")
    if metadata.__class__ is not dict:
        return
    if len(metadata) > 16:
        message = (
            "Invalid 'metadata': too many properties. Expected an object with at most 16 "
            f"properties, but got an object with {len(metadata)} properties instead."
        )
        yield Problem("metadata", "/metadata", message)
    for key, value in metadata.items():
        at = f"/metadata/{escape(key)}"
        yield from too_long("metadata", at, key, 64)
        yield from too_long("metadata", at, value, 512)
        if value.__class__ is not str:
            message = f"Invalid type for 'metadata.{key}': expected a string."
            yield Problem("metadata", at, message)


def pattern_of(name: str, limit: int, pattern: str = "[a-zA-Z0-9_-]") -> str:
    """Why a name is not legal, in OpenAI's words; empty if it is."""
    if not name:
        return "empty string. Expected a string with minimum length 1."
    if not re.fullmatch(f"{pattern}+", name):
        return f"string does not match pattern. Expected a string that matches '^{pattern}+$'."
    if len(name) > limit:
        return f"string too long. Expected a string with maximum length {limit}."
    return ""


def illegal_name(rule: str, at: str, name: Json, limit: int) -> Problems:
    """A name that OpenAI's APIs do not accept."""
    if name.__class__ is str and (why := pattern_of(name, limit)):
        yield Problem(rule, at, f"Invalid '{place_of(at)}': {why}")


def broken_arguments(at: str, text: Json) -> Problems:
    """Argument text that is not a JSON object. Blank text is: it means no arguments."""
    if text.__class__ is not str or is_blank(text):
        return
    try:
        value = parse(text)
    except Malformed:
        value = None
    if value.__class__ is not dict:
        message = f"{place_of(at)}: arguments must be a valid JSON object string"
        yield Problem("arguments", at, message)


def loose_schema(schema: Json, at: str, what: str, depth: int = 40) -> Problems:
    """What strict mode does not accept: objects that are open, and properties that may be absent.

    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    """
    if schema.__class__ is not dict or not depth:
        return
    properties = schema.get("properties")
    if properties.__class__ is dict or schema.get("type") == "object":
        yield from _loose_object(schema, properties, at, what)
    for key in ("properties", "$defs", "definitions"):
        inner = schema.get(key)
        if inner.__class__ is dict:
            for name, item in inner.items():
                yield from loose_schema(item, f"{at}/{key}/{escape(name)}", what, depth - 1)
    yield from loose_schema(schema.get("items"), f"{at}/items", what, depth - 1)
    any_of = schema.get("anyOf")
    if any_of.__class__ is list:
        for index, item in enumerate(any_of):
            yield from loose_schema(item, f"{at}/anyOf/{index}", what, depth - 1)


def _loose_object(schema: dict[str, Json], properties: Json, at: str, what: str) -> Problems:
    if schema.get("additionalProperties") is not False:
        message = f"{what}: 'additionalProperties' is required to be supplied and to be false."
        yield Problem("strict-schema", at, message)
    required = schema.get("required")
    listed = {r for r in required if r.__class__ is str} if required.__class__ is list else set()
    missing = [k for k in properties if k not in listed] if properties.__class__ is dict else []
    if missing:
        message = (
            f"{what}: 'required' is required to be supplied and to be an array including every "
            f"key in properties. Missing '{missing[0]}'."
        )
        yield Problem("strict-schema", at, message)


JSON_PLEASE = "Answer in JSON."
"""What a request says that must have the word in it, and has not."""
JSON_WORD = f"OpenAI demands the word JSON in the messages; a system message says {JSON_PLEASE!r}"


def says_json(value: Json, budget: int = 10_000) -> bool:
    """Whether the word JSON occurs in any text; when there is too much to read, it is assumed."""
    stack = [value]
    while stack:
        budget -= 1
        if budget < 0:
            return True
        item = stack.pop()
        if item.__class__ is str:
            if "json" in item.lower():
                return True
        elif item.__class__ is list:
            stack += item
        elif item.__class__ is dict:
            stack += item.values()
    return False
