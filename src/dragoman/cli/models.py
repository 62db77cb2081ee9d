"""``dragoman models``: facts about models, and their sources."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import click
from click.shell_completion import CompletionItem
from msgspec import to_builtins

from ..core.models import FACTS, UNKNOWN, Facts, Found, Models, Row
from ..core.reading import encode
from . import options, terminal
from .app import command as make_command
from .faults import FOUND

THINKS = {
    "always": "always reasons",
    "on": "reasons unless told not to",
    "off": "reasons if asked to",
    "never": "does not reason",
}
FLAGS: dict[str, tuple[str, str]] = {
    "prefill": ("prefill", "no prefill"),
    "system_prompt": ("", "no system prompt"),
    "system_turns": ("system turns", "no system turns"),
    "tools": ("", "no tools"),
    "forced_tools": ("", "no forced tool call"),
    "tools_with_output": ("", "tools or JSON output, not both"),
    "output": ("", "no JSON output"),
    "media_in_results": ("", "no media in tool results"),
    "cache_marks": ("cache breakpoints", "no cache breakpoints"),
    "signatures": ("calls need a signature", ""),
}
"""A fact that holds or not -> what is written if it does, and if it does not."""


class ModelName(options.Kind):
    """Any name of a model; those that have a row of their own complete."""

    name = "name"

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        known = {n.rstrip("*-.") for _, row in every(Models()) for n in row.names}
        return [CompletionItem(name) for name in sorted(known) if name.startswith(incomplete)]


@make_command("models", "dragoman models", "dragoman models claude-opus-4-7 gpt-5-nano")
@click.argument("names", nargs=-1, metavar="[NAME]...", type=ModelName())
@click.option("--vendor", help="Use the API of this vendor; default: the vendor of the model.")
@options.models_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per row or name.")
@options.quiet_option
def command(
    names: tuple[str, ...], vendor: str | None, models: Models | None, as_json: bool, quiet: bool
) -> int:
    """List facts about models; with NAMEs, the facts of these models and their sources.

    Conversions make a request fit its model, and `check` and `repair` use the same facts. The first
    matching row applies; a name that is newer than the table gets the facts of the newest
    generation, `*`. For a name of no known vendor nothing is known and nothing is rejected
    (exit 1).
    """
    models = models or Models()
    if vendor is not None and models.table(vendor) is None:
        known = ", ".join(each.name for each in models.vendors())
        raise click.UsageError(f"unknown vendor {vendor!r}; known: {known}")
    if not names:
        listing(models, vendor, as_json)
        return 0
    found = [(name, models.find(vendor, name)) for name in names]
    for name, each in found:
        if as_json:
            terminal.put_json(encode(_reply(name, each, models)))
        elif each.row is not None:
            _print(_page(name, each, models))
        elif not quiet:
            terminal.say(_nothing(name, models))
    return FOUND if any(each.row is None for _, each in found) else 0


def listing(models: Models, vendor: str | None = None, as_json: bool = False) -> None:
    """Every row, vendor by vendor; those of the caller's own first."""
    last = None
    for owner, row in every(models):
        if vendor not in (None, row.vendor):
            continue
        if as_json:
            terminal.put_json(
                encode({"vendor": row.vendor or None, "names": row.names} | _facts(row))
            )
            continue
        if owner != last:
            _print(([] if last is None else [""]) + [terminal.bold(owner)])
        last = owner
        _print(_line(row))


def every(models: Models) -> Iterator[tuple[str, Row]]:
    for row in models.own:
        yield "your own", row
    for vendor in models.vendors():
        for row in vendor.rows:
            yield f"{vendor.title} ({vendor.name})", row


def words(facts: Facts) -> list[str]:
    """The facts, a few words each."""
    written = []
    if facts.max_tokens is not None:
        written.append(f"at most {facts.max_tokens} tokens")
    if facts.limit_key is not None:
        written.append(f"limit: {facts.limit_key}")
    written += [f"no {name}" for name in facts.refuses]
    written += [f"{name} {value:g} only" for name, value in facts.fixed.items()]
    if facts.exclusive:
        written.append(" or ".join(facts.exclusive))
    if facts.refuses_thinking:
        written.append("no sampling parameters with thinking")
    written += _thinking(facts)
    if facts.media is not None:
        written.append(f"media: {', '.join(facts.media)}" if facts.media else "no media")
    if facts.stored_media is not None:
        written.append(f"from S3: {', '.join(facts.stored_media) or 'none'}")
    for name, (yes, no) in FLAGS.items():
        value = getattr(facts, name)
        if value is not None and (word := yes if value else no):
            written.append(word)
    if facts.call_ids is not None:
        written.append("call ids of nine characters")
    if facts.schemas == "own":
        written.append("schemas in the API's own form")
    return written


def _thinking(facts: Facts) -> Iterator[str]:
    if facts.thinks is not None:
        yield THINKS[facts.thinks]
    if facts.thinking:
        ways = ("budget" if way == "on" else way for way in facts.thinking)
        yield f"thinking: {', '.join(ways)}"
    if facts.budgets is not None:
        yield f"budget {facts.budgets[0]} to {facts.budgets[1]}"
    if facts.efforts is not None:
        yield f"effort: {', '.join(facts.efforts)}" if facts.efforts else "no effort"


def _line(row: Row) -> list[str]:
    """Names and facts of a row, over as many lines as it takes."""
    written = map(terminal.cyan, _wrapped(", ".join(row.names), "  "))
    text = "; ".join(words(row.facts)) or "no restrictions"
    return [*written, *_wrapped(text, "    ")]


def _page(name: str, found: Found, models: Models) -> list[str]:
    row = found.row
    assert row is not None
    maker = models.vendor_of(name)
    written = [f"{terminal.bold(terminal.clean(name))} ({row.vendor or maker or 'your own'})"]
    newest = " (no row of its own: the newest generation)" if found.pattern == "*" else ""
    origin = " (your own row)" if row.own else newest
    written.append(f"  {terminal.cyan('matches')} {found.pattern}{origin}")
    for key, value in _facts(row)["facts"].items():
        shown = value if isinstance(value, str) else encode(value).decode()
        written.append(f"  {terminal.cyan(key)} {shown}")
        written += map(terminal.dim, _wrapped(row.sources.get(key, ""), "    "))
    return [*written, ""]


def _nothing(name: str, models: Models) -> str:
    maker = models.vendor_of(name)
    whose = f" ({maker})" if maker else ""
    shown = terminal.bold(terminal.clean(name))
    return f"{shown}{whose}: unknown model, no restrictions"


def _facts(row: Row) -> dict[str, Any]:
    facts = to_builtins(row.facts)
    named = {name: facts[name] for name in FACTS if name in facts}
    return {"facts": named, "sources": {k: v for k, v in row.sources.items() if k in named}}


def _reply(name: str, found: Found, models: Models) -> dict[str, Any]:
    row = found.row or Row((), UNKNOWN)
    head = {"name": name, "vendor": models.vendor_of(name), "pattern": found.pattern}
    return head | {"own": row.own} | _facts(row)


def _wrapped(text: str, indent: str) -> list[str]:
    columns = min(terminal.width() or 80, terminal.WIDEST)
    return textwrap.wrap(
        text,
        columns,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        terminal.put(line)
