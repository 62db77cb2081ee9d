"""What only some models after Gemini's API reject; ``models/google.py`` has which."""

from __future__ import annotations

from ...core.models import UNKNOWN, Facts
from ...dialect import Problem
from ...lint.rules import Page, Problems, string
from .spelling import look

CONFIG = "generationConfig"


def model(page: Page) -> Problems:
    facts = page.facts("google")
    if facts is UNKNOWN:
        return
    name = f"models/{str(page.top.get('model')).rpartition('/')[2]}"
    config, at = look(page.top, CONFIG, "")
    yield from thinking(config, at, facts)
    prompt, where = look(page.top, "systemInstruction", "")
    if facts.system_prompt is False and prompt:
        message = f"Developer instruction is not enabled for {name}"
        yield Problem("model-system", where, message)
    if facts.tools is False and page.tools:
        message = f"Function calling is not enabled for {name}"
        yield Problem("model-tools", "/tools", message)
    kind, where = look(config, "responseMimeType", at)
    if facts.output is False and kind == "application/json":
        yield Problem("model-output", where, f"JSON mode is not enabled for {name}")


def thinking(config: object, at: str, facts: Facts) -> Problems:
    written, where = look(config, "thinkingConfig", at)
    budget, place = look(written, "thinkingBudget", where)
    if budget.__class__ is int:
        yield from budgets(budget, place, facts)
    level, place = look(written, "thinkingLevel", where)
    word = (string(level) or "").lower()
    if facts.efforts and word and word not in facts.efforts and "unspecified" not in word:
        message = f"Thinking level {level} is not supported for this model."
        yield Problem("model-effort", place, message)


def budgets(budget: int, at: str, facts: Facts) -> Problems:
    if facts.thinking == () and budget:
        message = "Thinking budget is not supported for this model."
        yield Problem("model-thinking", at, message)
    elif budget == 0 and facts.thinking and "off" not in facts.thinking:
        message = "Budget 0 is invalid. This model only works in thinking mode."
        yield Problem("model-thinking", at, message)
    elif budget > 0 and facts.budgets is not None:
        least, most = facts.budgets
        if not least <= budget <= most:
            message = (
                f"The thinking budget {budget} is invalid. Please choose a value between {least} "
                f"and {most}."
            )
            yield Problem("model-thinking", at, message)
