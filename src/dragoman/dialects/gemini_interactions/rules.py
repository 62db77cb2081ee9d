"""What the Interactions API rejects."""

from __future__ import annotations

from msgspec.structs import replace

from ...core.models import Models
from ...dialect import Problem
from ...lint import rules as lint
from ...lint.rules import Page, Problems, Rule, error_message, has_fields, placed, string
from ...model import Json
from .contents import CONTENTS
from .request import CONFIG, FIELDS
from .steps import CALL, MODEL, RESULT, USER
from .tools import FUNCTION, MODES

# rule -> what it says. https://ai.google.dev/api/interactions-api, and what google-genai refuses
# before it sends anything (_gaos/interactions.py).
RULES: dict[str, str] = {
    "malformed": "The document does not have the structure of this API.",
    "model": "A request names a model or an agent, and not both.",
    "no-messages": "A request has an input.",
    "content-field": "Media have 'data' or 'uri', and one of them.",
    "call-field": "A call has an id, a name and arguments.",
    "orphan-result": "A result names the call that it answers, if that is not stored.",
    "tool-field": "A function has a name.",
    "tool-choice": "tool_choice is auto, any, none or validated, or names the allowed tools.",
    "range": f"{FIELDS.describe()}.",
    "stop": "At most 5 stop sequences.",
    "response-field": "An interaction has an id and a status.",
    "error-field": "An error has a message.",
}


def lay_open(doc: Json, facet: str, models: Models) -> Page:
    page = lint.lay_open(doc, facet, models, listed="steps" if facet == "response" else "input")
    config = page.top.get(CONFIG)
    if config.__class__ is not dict:
        return page
    return replace(page, choice=config.get("tool_choice"), choice_at=f"/{CONFIG}/tool_choice")


def model(page: Page) -> Problems:
    if ("model" in page.top) == ("agent" in page.top):
        yield Problem("model", "", "a request names a model or an agent")


def some_input(page: Page) -> Problems:
    if page.top.get("input") in (None, [], ""):
        yield Problem("no-messages", "/input" if "input" in page.top else "", "no input")


def ranges(page: Page) -> Problems:
    config = page.top.get(CONFIG)
    if config.__class__ is dict:
        for rule in (lint.within(FIELDS), lint.stop_count(FIELDS)):
            for found in rule(Page(page.facet, config)):
                yield Problem(found.rule, f"/{CONFIG}{found.path}", found.message)


def contents(page: Page) -> Problems:
    for at, step in page.messages:
        kind = step.get("type")
        if kind in (USER, MODEL):
            yield from media(placed(step.get("content"), f"{at}/content"))
        elif kind == RESULT:
            yield from media(placed(step.get("result"), f"{at}/result"))
        elif kind.__class__ is str and kind in CONTENTS:
            yield from media(((at, step),))


def media(parts: tuple[tuple[str, dict[str, Json]], ...]) -> Problems:
    for at, part in parts:
        if part.get("type") in tuple(CONTENTS - {"text"}) and ("data" in part) == ("uri" in part):
            yield Problem("content-field", at, "either 'data' or 'uri'")


def calls(page: Page) -> Problems:
    named: set[str] = set()
    for at, step in page.messages:
        if step.get("type") == CALL:
            named.add(string(step.get("id")) or "")
            for key in ("id", "name", "arguments"):
                if key not in step:
                    yield Problem("call-field", at, f"{key!r} is missing")
        elif step.get("type") == RESULT:
            name = string(step.get("call_id"))
            stored = "previous_interaction_id" in page.top
            if name is None or (page.whole and not stored and name not in named):
                yield Problem("orphan-result", at, "the result answers no call")


def tools(page: Page) -> Problems:
    for at, tool in page.tools:
        if tool.get("type") == FUNCTION and not tool.get("name"):
            yield Problem("tool-field", at, "a function has a name")


def tool_choice(page: Page) -> Problems:
    choice = page.choice
    if choice is None or choice.__class__ is dict:
        return
    if choice not in (*MODES, "validated"):
        yield Problem("tool-choice", page.choice_at, "auto, any, none, validated or allowed_tools")


HISTORY: tuple[Rule, ...] = (contents, calls)
FACETS: dict[str, tuple[Rule, ...]] = {
    "request": (model, some_input, ranges, tools, tool_choice, *HISTORY),
    "messages": HISTORY,
    "tools": (tools,),
    "tool-choice": (tool_choice,),
    "response": (has_fields("id", "status"), contents),
    "error": (error_message,),
}
