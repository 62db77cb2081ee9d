"""What `check` has found, in the forms that people and programs read.

``text`` is a line for each problem, as compilers print them; ``json`` a line of JSON for each;
``github`` the commands by which a workflow of GitHub annotates files
(https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions); ``sarif`` one
document in SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), for code scanning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import click

from ..core.reading import encode
from ..model import Json
from . import terminal

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


class Found(NamedTuple):
    """One problem: where it stands, which rule of whose API, and what that says."""

    input: str
    name: str
    line: int | None
    column: int | None
    dialect: str
    rule: str
    path: str
    message: str


class Printer:
    """Prints problems as they are found, and what is to be written at the end."""

    def __init__(self, form: str) -> None:
        self.each: Callable[[Found], None] = {
            "text": as_text,
            "json": as_json,
            "github": as_github,
            "sarif": self.keep,
        }[form]
        self.is_sarif = form == "sarif"
        self.kept: list[Found] = []

    def keep(self, found: Found) -> None:
        self.kept.append(found)

    def close(self) -> None:
        if self.is_sarif:
            terminal.put_json(encode(sarif(self.kept)))


FORMS = ("text", "json", "github", "sarif")


def as_text(found: Found) -> None:
    where = f"{found.input}:{found.line}:{found.column}" if found.line else found.name
    written, at = terminal.clean(found.message), terminal.dim(f"[{found.path or '/'}]")
    terminal.put(f"{terminal.bold(where)}: {terminal.red(found.rule)}: {written} {at}")


def as_json(found: Found) -> None:
    entry: dict[str, Json] = {
        "input": found.input,
        "line": found.line,
        "column": found.column,
        "dialect": found.dialect,
        "rule": found.rule,
        "path": found.path,
        "message": found.message,
    }
    terminal.put_json(encode(entry))


def as_github(found: Found) -> None:
    place = f"file={_property(found.input)}"
    if found.line:
        place += f",line={found.line}" + (f",col={found.column}" if found.column else "")
    title = _property(f"{found.dialect}: {found.rule}")
    message = terminal.clean(f"{found.message} [{found.path or '/'}]")
    click.echo(f"::error {place},title={title}::{_data(message)}")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(problems: list[Found]) -> Json:
    from dragoman import __version__

    rules = sorted({(found.dialect, found.rule) for found in problems})
    number = {rule: index for index, rule in enumerate(rules)}
    driver = {
        "name": "dragoman",
        "version": __version__,
        "rules": [
            {
                "id": f"{dialect}/{rule}",
                "name": rule,
                "shortDescription": {"text": f"{rule} of {dialect}"},
                "help": {"text": f"dragoman explain {rule}"},
            }
            for dialect, rule in rules
        ],
    }
    results = [_result(found, number[found.dialect, found.rule]) for found in problems]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _result(found: Found, index: int) -> Json:
    place: dict[str, Json] = {"artifactLocation": {"uri": found.input.replace("\\", "/")}}
    if found.line:
        place["region"] = {"startLine": found.line} | (
            {"startColumn": found.column} if found.column else {}
        )
    return {
        "ruleId": f"{found.dialect}/{found.rule}",
        "ruleIndex": index,
        "level": "error",
        "message": {"text": found.message or found.rule},
        "locations": [
            {
                "physicalLocation": place,
                "logicalLocations": [{"fullyQualifiedName": found.path or "/"}],
            }
        ],
    }
