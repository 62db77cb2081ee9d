"""The form that a request demands of the response, as the target can ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Json, OutputFormat, Request

if TYPE_CHECKING:
    from ...dialect import Dialect

LABELS = {"name": "name", "description": "description", "strict": "strictness"}
NAME = "answer"
"""What a schema is called that must have a name, and has none."""
ANY_OBJECT: dict[str, Json] = {"type": "object"}


def request(tree: Request, to: Dialect, log: Ledger) -> Request:
    """A request with a form that its target has; without one, where it has none."""
    form = tree.params.output
    if form is None or form.kind == "text":
        return tree
    facts = to.facts_of(tree.model, log)
    if facts.output is False:
        return tree  # nothing is left of it: the model takes none
    if (
        tree.tools
        and facts.tools is not False
        and (to.can.outputs.alone or facts.tools_with_output is False)
    ):
        choice = tree.tool_choice
        if to.can.outputs.alone or choice is None or choice.mode != "none":
            whose = f"{to.name}" if to.can.outputs.alone else f"{tree.model}"
            log.dropped("output", form.at, f"{whose} has no response format beside tools")
            to.lose(form.extras, form.at, log)
            return replace(tree, params=replace(tree.params, output=None))
    fitting = lower(form, to, log)
    return tree if fitting is form else replace(tree, params=replace(tree.params, output=fitting))


def lower(form: OutputFormat, to: Dialect, log: Ledger) -> OutputFormat | None:
    can = to.can.outputs
    if form.kind == "schema" and form.schema.__class__ not in can.schemas:
        form = without_schema(form, to, log)
    if form.kind == "json" and can.json != "written":
        why = f"{to.name} has JSON output with a schema only"
        if can.json == "dropped":
            log.dropped("output", form.at, why)
            to.lose(form.extras, form.at, log)
            return None
        log.approximated("output", form.at, f"{why}: any object is asked for")
        form = replace(form, kind="schema", name=form.name or NAME, schema=ANY_OBJECT)
    bare = form.kind == "json" and not can.labelled
    for key, called in LABELS.items():
        if getattr(form, key) is not None and (bare or key not in can.labels):
            of = "JSON without a schema" if bare else "a schema"
            why = f"{to.name} has no field for the {called} of {of}"
            log.dropped(f"output.{key}", form.at, why)
            form = replace(form, **{key: None})
    if form.kind == "schema" and form.name is None:
        labelled = form.description is not None or form.strict is not None
        if can.named == "always" or (can.named == "labelled" and labelled):
            return name_schema(form, to, log)
    return form


def name_schema(form: OutputFormat, to: Dialect, log: Ledger) -> OutputFormat:
    """A schema with the name that it must have."""
    log.invented("output.name", form.at, f"{to.name} requires the name of a schema: {NAME!r}")
    return replace(form, name=NAME)


def without_schema(form: OutputFormat, to: Dialect, log: Ledger) -> OutputFormat:
    """JSON output, where its schema cannot be written."""
    if to.can.outputs.json == "written":
        why = f"{to.name} has no form for this schema; any JSON is asked for"
        log.approximated("output", form.at, why)
    return OutputFormat("json", at=form.at, extras=form.extras)
