"""Words, code, logs and schemas that look like a coding agent's day. All of it is made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

WORDS = (
    "parser", "token", "stream", "buffer", "cursor", "config", "handler", "request", "response",
    "client", "server", "queue", "worker", "retry", "timeout", "session", "cache", "index",
    "offset", "header", "payload", "schema", "field", "column", "record", "batch", "commit",
    "branch", "merge", "patch", "module", "package", "import", "export", "render", "widget",
    "layout", "signal", "event", "listener", "socket", "thread", "future", "promise", "lock",
    "mutex", "channel", "router", "middleware", "adapter", "factory",
)  # fmt: skip
FOREIGN = (
    "# TODO: Größe prüfen, naïve Lösung, siehe «Überlauf»",
    'raise ValueError("unbekannter Schlüssel: «größe»")',
    "// 日本語のコメント、この関数は遅い",
    "✓ 42 tests passed … 1 skipped → see übersicht.html",
    'print("🚀 готово — всё хорошо")',
)
DIRS = ("src", "src/core", "src/api", "tests", "tests/unit", "lib/util", "app/views", "scripts")
SUFFIXES = ("py", "ts", "rs", "go", "md", "json", "toml")


def words(rng: Random, low: int, high: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(low, high)))


def path(rng: Random) -> str:
    return (
        f"/repo/{rng.choice(DIRS)}/{rng.choice(WORDS)}_{rng.choice(WORDS)}.{rng.choice(SUFFIXES)}"
    )


def prose(rng: Random, low: int = 8, high: int = 60) -> str:
    """A few sentences, as an assistant says them before it calls a tool."""
    written = words(rng, low, high).capitalize()
    return (
        f'{written}. Let me look at `{rng.choice(WORDS)}()` in {path(rng)} — it\'s not "obvious".'
    )


def code_line(rng: Random) -> str:
    a, b, c = rng.choices(WORDS, k=3)
    depth = "    " * rng.randint(0, 3)
    match rng.randint(0, 7):
        case 0:
            return f"{depth}def {a}_{b}(self, {c}: str | None = None) -> dict[str, int]:"
        case 1:
            return f'{depth}"""Return the {a} of the {b}, or "{c}" if there is none."""'
        case 2:
            return f"{depth}if {a}.{b}[\"{c}\"] != '{a}' and not {b}:"
        case 3:
            return f'{depth}{a} = f"{{{b}}}\\t{{{c}!r}}\\n"'
        case 4:
            return f"{depth}return [{a} for {a} in {b}.{c}({rng.randint(0, 999)}) if {a}]"
        case 5:
            return ""
        case 6:
            return f"{depth}# {words(rng, 4, 12)}"
        case _:
            return f"{depth}self.{a}.{b}({c}={rng.randint(0, 99999)}, {a}={b})"


def source_code(rng: Random, size: int) -> str:
    """A file as an agent's read tool shows it: numbered lines."""
    number = rng.randint(1, 400)
    return _lines(size, lambda i: f"{number + i:6}\t{code_line(rng)}")


def json_output(rng: Random, size: int) -> str:
    """What an API or a command with ``--json`` prints."""
    rows: list[dict[str, Any]] = []
    total = 0
    while total < size:
        row = {
            "id": rng.randint(1, 10**9),
            "path": path(rng),
            "ok": rng.random() < 0.8,
            "ratio": round(rng.random(), 6),
            "message": f'expected "{rng.choice(WORDS)}", got {words(rng, 1, 9)}',
            "tags": rng.choices(WORDS, k=rng.randint(0, 4)),
            "parent": None,
        }
        rows.append(row)
        total += 220
    return json.dumps(rows, indent=rng.choice((None, 2)), ensure_ascii=False)


def log_output(rng: Random, size: int) -> str:
    """The end of a test run or a build, with the escape codes that terminals like."""
    levels = ("INFO", "WARN", "\x1b[31mERROR\x1b[0m", "DEBUG")
    return _lines(
        size,
        lambda i: (
            f"2025-03-{1 + i % 28:02}T12:00:{i % 60:02}Z {rng.choice(levels)} "
            f"{path(rng)}:{rng.randint(1, 900)}: {words(rng, 3, 14)}"
        ),
    )


def grep_output(rng: Random, size: int) -> str:
    return _lines(size, lambda _: f"{path(rng)}:{rng.randint(1, 900)}:{code_line(rng)}")


def diff_output(rng: Random, size: int) -> str:
    return _lines(size, lambda _: f"{rng.choice(('+', '-', ' ', ' '))}{code_line(rng)}")


OUTPUTS: tuple[Callable[[Random, int], str], ...] = (
    source_code, source_code, json_output, log_output, grep_output, diff_output,
)  # fmt: skip


def tool_output(rng: Random, most: int = 8192) -> str:
    """One tool result. Most are short and some are long: even on a log scale from 0.1 KB."""
    size = int(100 * (80 if most == 8192 else most / 100) ** rng.random())
    text = rng.choice(OUTPUTS)(rng, size)[:most]
    if rng.random() < 0.15:
        text = f"{text}\n{rng.choice(FOREIGN)}\n"
    return text


def system_prompt(rng: Random, size: int) -> str:
    """Instructions in Markdown."""
    head = "You are a careful coding agent. You work in /repo and finish what you begin.\n\n"
    return head + _lines(size - len(head), lambda i: _instruction(rng, i))


def _instruction(rng: Random, index: int) -> str:
    if index % 9 == 0:
        return f"\n## {words(rng, 2, 4).title()}\n"
    return f'- {words(rng, 8, 26).capitalize()}; never "{rng.choice(WORDS)}" `{code_line(rng)}`'


def tool_schema(rng: Random) -> dict[str, Any]:
    """The parameters of a tool: some plain fields, an enum, a list of objects."""
    names = rng.sample(WORDS, k=rng.randint(2, 6))
    properties: dict[str, Any] = {name: _field(rng) for name in names}
    properties["mode"] = {"type": "string", "enum": rng.sample(WORDS, k=4)}
    if rng.random() < 0.5:
        properties["items"] = {
            "type": "array",
            "description": words(rng, 5, 15),
            "items": {
                "type": "object",
                "properties": {name: _field(rng) for name in rng.sample(WORDS, k=3)},
                "additionalProperties": False,
            },
        }
    return {
        "type": "object",
        "properties": properties,
        "required": names[:2],
        "additionalProperties": False,
    }


def _field(rng: Random) -> dict[str, Any]:
    described = {"description": f"{words(rng, 5, 25).capitalize()}."}
    match rng.randint(0, 4):
        case 0:
            return {"type": "integer", "minimum": 0, "maximum": rng.randint(1, 9999)} | described
        case 1:
            return {"type": "boolean", "default": False} | described
        case 2:
            return {"anyOf": [{"type": "string"}, {"type": "null"}]} | described
        case 3:
            return {"type": "array", "items": {"type": "string"}, "minItems": 1} | described
        case _:
            return {"type": "string"} | described


def arguments(rng: Random, name: str) -> dict[str, Any]:
    """What a coding agent passes to a tool: short for reading, long for editing."""
    match name:
        case "read_file":
            return {"path": path(rng), "offset": rng.randint(0, 900), "limit": 200}
        case "edit_file":
            return {
                "path": path(rng),
                "old_string": _code(rng, rng.randint(40, 600)),
                "new_string": _code(rng, rng.randint(40, 1200)),
                "replace_all": False,
            }
        case "write_file":
            return {"path": path(rng), "content": _code(rng, rng.randint(400, 3000))}
        case "run_shell":
            wanted, lines = rng.choice(WORDS), rng.randint(5, 50)
            command = f'cd /repo && grep -rn "{wanted}" {path(rng)} | head -{lines}'
            return {"command": command, "timeout": 120, "description": words(rng, 3, 8)}
        case "search":
            return {"pattern": f"{rng.choice(WORDS)}\\(.*\\)", "glob": "**/*.py", "context": 2}
        case _:
            items = [{"text": words(rng, 3, 9), "done": rng.random() < 0.5} for _ in range(4)]
            return {"items": items, "mode": rng.choice(WORDS), "ratio": round(rng.random(), 3)}


def _code(rng: Random, size: int) -> str:
    return _lines(size, lambda _: code_line(rng))


def _lines(size: int, line: Callable[[int], str]) -> str:
    lines: list[str] = []
    total = 0
    while total < size:
        lines.append(line(len(lines)))
        total += len(lines[-1]) + 1
    return "\n".join(lines)
