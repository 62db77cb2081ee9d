"""What the Gemini API rejects.

Contents of one role that follow each other are one turn. Of the rules of some models only, those
are here whose models the name tells: Gemini 3 wants its signatures back, and what came before it
takes no demanded form of the reply beside tools. That Vertex AI refuses empty texts is not: the
address is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf

from ...core.models import Models
from ...dialect import Problem
from ...lint.rules import EMPTY, Page, Placed, Problems, Rule, number, placed, string
from ...model import Json, ToolCall, ToolResult
from .._model_rules import RULES as MODEL_RULES
from .model_rules import model
from .order import pair
from .request import CONFIG_FIELDS
from .spelling import look
from .turns import ROLES

UNSAID = ("model-parameter", "model-limit", "model-prefill", "model-media")
# rule -> what it says, in quotes as the server says it.
RULES: dict[str, str] = {
    "malformed": "The document does not have the structure of this API.",
    "no-messages": "'contents is not specified'.",
    "role": "'Please use a valid role: user, model.'",
    "empty-message": "'contents.parts must not be empty.'",
    "unanswered-call": "'Please ensure that the number of function response parts is equal to the "
    "number of function call parts of the function call turn.'",
    "orphan-result": "'Please ensure that function response turn comes immediately after a "
    "function call turn.'",
    "call-turn": "'Please ensure that function call turn comes immediately after a user turn or "
    "after a function response turn.'",
    "thought-signature": "'Function call is missing a thought_signature in functionCall parts.' "
    "(Gemini 3)",
    "tool-name": "'Invalid function name. Must start with a letter or an underscore.'",
    "duplicate-tool": "'Duplicate function declaration found'.",
    "tool-choice": "A choice needs tools; allowed names need the mode ANY or VALIDATED, and "
    "are names of functions.",
    "format-tools": "'Function calling with a response mime type: 'application/json' is "
    "unsupported' (before Gemini 3).",
    "result-media": "Media in function responses require Gemini 3 or later.",
    "thinking": "'You can only set only one of thinking budget and thinking level.' Models before "
    "Gemini 3 have no thinking level.",
    "range": f"{CONFIG_FIELDS.describe()}.",
    "stop": "At most 5 stop sequences.",
    **{name: MODEL_RULES[name] for name in MODEL_RULES if name not in UNSAID},
}
CONFIG = "generationConfig"
MODES = ("AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED")
NARROWING = ("ANY", "VALIDATED")
_named = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}").fullmatch

VENDOR = "google"


def lay_open(doc: Json, facet: str, models: Models) -> Page:
    if facet == "tools":
        return Page(facet, tools=functions(doc, ""))
    if facet == "messages" and doc.__class__ is list:
        return Page(facet, messages=placed(doc, ""))
    if doc.__class__ is not dict:
        return Page(facet)
    choice, where = look(doc, "toolConfig", "")
    choice, where = look(choice, "functionCallingConfig", where)
    return Page(
        facet,
        doc,
        placed(doc.get("contents"), "/contents"),
        functions(doc.get("tools"), "/tools"),
        choice,
        where,
        whole=facet == "request",
        models=models,
    )


def functions(tools: Json, at: str) -> tuple[Placed, ...]:
    """The functions that are declared."""
    entries = ((at, tools),) if tools.__class__ is dict else placed(tools, at)
    return tuple(
        function
        for where, entry in entries
        for function in placed(*look(entry, "functionDeclarations", where))
    )


def parts_of(at: str, content: dict[str, Json]) -> tuple[Placed, ...]:
    parts = content.get("parts")
    if parts.__class__ is dict:
        return ((f"{at}/parts", parts),)
    return placed(parts, f"{at}/parts")


def those(parts: Sequence[Placed], kind: str) -> list[Placed]:
    """The parts of a kind."""
    return [(at, part) for at, part in parts if look(part, kind, at)[0].__class__ is dict]


# -- the request ----------------------------------------------------------------------------------


def config_of(page: Page) -> Placed:
    found, at = look(page.top, CONFIG, "")
    return at, found if found.__class__ is dict else EMPTY


def ranges(page: Page) -> Problems:
    at, config = config_of(page)
    for key, (least, most) in CONFIG_FIELDS.ranges.items():
        found, where = look(config, key, at)
        value = number(found)
        if value is not None and not least <= value <= most:
            message = f"{key} must be in the range [{least}.0, {most}.0], not {value}"
            yield Problem("range", where, message)


def stops(page: Page) -> Problems:
    at, config = config_of(page)
    given, where = look(config, "stopSequences", at)
    most = CONFIG_FIELDS["stop"].count
    if given.__class__ is list and len(given) > (most or inf):
        yield Problem("stop", where, f"at most {most} stop sequences")


def thinking(page: Page) -> Problems:
    at, config = config_of(page)
    written, where = look(config, "thinkingConfig", at)
    if None not in (look(written, "thinkingBudget", "")[0], look(written, "thinkingLevel", "")[0]):
        message = "You can only set only one of thinking budget and thinking level."
        yield Problem("thinking", where, message)
    level, place = look(written, "thinkingLevel", where)
    if level is not None and page.facts(VENDOR).efforts == ():
        yield Problem("thinking", place, "thinking_level is not supported by this model.")


def form(page: Page) -> Problems:
    at, config = config_of(page)
    kind, where = look(config, "responseMimeType", at)
    if kind != "application/json" or not page.top.get("tools"):
        return
    if mode_of(page) != "NONE" and page.facts(VENDOR).tools_with_output is False:
        message = f"Function calling with a response mime type: {kind!r} is unsupported"
        yield Problem("format-tools", where, message)


# -- tools ----------------------------------------------------------------------------------------


def tools(page: Page) -> Problems:
    seen: set[str] = set()
    for at, tool in page.tools:
        name = tool.get("name")
        if name.__class__ is not str:
            continue
        if _named(name) is None:
            message = (
                "Invalid function name. Must start with a letter or an underscore. Must be "
                "alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), "
                "with a maximum length of 128."
            )
            yield Problem("tool-name", f"{at}/name", message)
        if name in seen:
            yield Problem(
                "duplicate-tool", f"{at}/name", f"Duplicate function declaration found: {name}"
            )
        seen.add(name)


def mode_of(page: Page) -> str | None:
    return string(look(page.choice, "mode", "")[0])


def tool_choice(page: Page) -> Problems:
    choice, at = page.choice, page.choice_at
    if choice.__class__ is not dict:
        return
    mode = mode_of(page)
    if mode is not None and mode.upper() not in MODES:
        yield Problem("tool-choice", f"{at}/mode", f"{mode!r} is not one of {', '.join(MODES)}")
    if page.whole and not page.top.get("tools"):
        message = "Function calling config is set without function_declarations."
        yield Problem("tool-choice", at, message)
        return
    allowed, where = look(choice, "allowedFunctionNames", at)
    if allowed.__class__ is not list or not allowed:
        return
    if mode is None or mode.upper() not in NARROWING:
        message = "Allowed function names should be set only when function calling mode is ANY."
        yield Problem("tool-choice", where, message)
    names = {string(tool.get("name")) for _, tool in page.tools}
    for index, name in enumerate(allowed):
        if page.whole and string(name) not in names:
            message = f"allowed function {name!r} is not a function of this request"
            yield Problem("tool-choice", f"{where}/{index}", message)


# -- contents -------------------------------------------------------------------------------------


def turns(page: Page) -> Problems:
    if page.whole and not page.messages:
        yield Problem("no-messages", "/contents", "contents is not specified")
    for at, content in page.messages:
        role = content.get("role")
        if role.__class__ is str and role not in ROLES:
            yield Problem("role", f"{at}/role", "Please use a valid role: user, model.")
        if not content.get("parts"):
            yield Problem("empty-message", at, "contents.parts must not be empty.")


def turns_of(page: Page) -> Iterator[tuple[bool, str, list[Placed]]]:
    """The turns: whether the model's, where it begins, and the parts of all its contents."""
    is_model, start = False, ""
    written: list[Placed] = []
    for at, content in page.messages:
        if start and (content.get("role") == "model") is not is_model:
            yield is_model, start, written
            start, written = "", []
        is_model, start = content.get("role") == "model", start or at
        written += parts_of(at, content)
    if start:
        yield is_model, start, written


def pairing(page: Page) -> Problems:
    """A turn of calls comes after the user; where it is answered, every call is."""
    waiting: list[Placed] = []
    begun = False
    for is_model, at, parts in turns_of(page):
        results = [] if is_model else those(parts, "functionResponse")
        if results:
            yield from unanswered(waiting, results)
        for where, _ in results[len(waiting) :]:
            message = (
                "Please ensure that function response turn comes immediately after a function "
                "call turn."
            )
            yield Problem("orphan-result", where, message)
        waiting = those(parts, "functionCall") if is_model else []
        if waiting and not begun:
            message = (
                "Please ensure that function call turn comes immediately after a user turn or "
                "after a function response turn."
            )
            yield Problem("call-turn", at, message)
        begun = True


def unanswered(calls: list[Placed], results: list[Placed]) -> Problems:
    """Too few responses; those that are there are taken for what their ids or names say."""
    if len(results) >= len(calls):
        return
    made = [ToolCall(*named_in(part, "functionCall", at), at=at) for at, part in calls]
    written = [
        ToolResult(call_id, name=name, at=at)
        for at, part in results
        for call_id, name in [named_in(part, "functionResponse", at)]
    ]
    found = pair(made, written)
    replied = {call.at for call in found.values()}
    left = [call for call in made if call.at not in replied]
    for call in left[len(written) - len(found) :]:  # the others take those that come first
        message = (
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn."
        )
        yield Problem("unanswered-call", call.at, message)


def named_in(part: dict[str, Json], kind: str, at: str) -> tuple[str | None, str]:
    """The id and the name of a call or a result."""
    inner = look(part, kind, at)[0]
    return string(inner.get("id")), string(inner.get("name")) or ""


def signatures(page: Page) -> Problems:
    """In the current turn, the first call of every step is signed."""
    if not page.facts(VENDOR).signatures:
        return
    current: list[list[Placed]] = []
    for is_model, _, parts in turns_of(page):
        if not is_model and len(those(parts, "functionResponse")) < len(parts):
            current.clear()
        elif is_model:
            current.append(parts)
    for parts in current:
        for where, part in those(parts, "functionCall")[:1]:
            if not look(part, "thoughtSignature", where)[0]:
                message = "Function call is missing a thought_signature in functionCall parts."
                yield Problem("thought-signature", where, message)


def result_media(page: Page) -> Problems:
    """https://ai.google.dev/gemini-api/docs/function-calling#multimodal"""
    if page.facts(VENDOR).media_in_results is not False:
        return
    for at, content in page.messages:
        for where, part in those(parts_of(at, content), "functionResponse"):
            written, inner = look(part, "functionResponse", where)
            if written.get("parts"):
                message = "media in a function response require Gemini 3 or later"
                yield Problem("result-media", f"{inner}/parts", message)


HISTORY: tuple[Rule, ...] = (turns, pairing)
FACETS: dict[str, tuple[Rule, ...]] = {
    "request": (
        ranges,
        stops,
        thinking,
        form,
        tools,
        tool_choice,
        *HISTORY,
        result_media,
        signatures,
        model,
    ),
    "messages": HISTORY,
    "tools": (tools,),
}
