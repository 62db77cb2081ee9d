"""``dragoman explain``: what a code, a rule or a pass means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from ..core.reading import encode
from ..explain import Explanation, explain, names
from . import options, terminal
from .app import command as make_command


def _names() -> Iterable[tuple[str, str]]:
    return [(name, explain(name)[0].meaning) for name in names()]


@make_command("explain", "dragoman explain reasoning.signature", "dragoman explain empty-text")
@click.argument("codes", nargs=-1, metavar="CODE...", type=options.Word("code", _names))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per meaning.")
def command(codes: tuple[str, ...], as_json: bool) -> None:
    """Explain a loss code, a rule of check or a pass of repair.

    Prints the meaning, the cause and what to do. Without a CODE, all are listed.
    """
    if not codes:
        rows = [(terminal.bold(name), written) for name, written in _names()]
        _print(terminal.table(rows, on_stdout=True))
    for code in codes:
        for group in _grouped(explain(code)):
            if as_json:
                terminal.put_json(encode(_entry(group)))
            else:
                _print(_page(group))


def _grouped(found: Iterable[Explanation]) -> list[list[Explanation]]:
    """Rules that several dialects have alike are explained once."""
    groups: dict[tuple[str, ...], list[Explanation]] = {}
    for each in found:
        kind = each.kind.partition(" of ")[0]
        groups.setdefault((kind, each.meaning, each.why, each.todo), []).append(each)
    return list(groups.values())


def _entry(group: list[Explanation]) -> dict[str, Any]:
    first = group[0]
    return {
        "name": first.name,
        "kinds": [each.kind for each in group],
        "meaning": first.meaning,
        "why": first.why,
        "todo": first.todo,
        **({"support": first.support} if first.support else {}),
    }


def _page(group: list[Explanation]) -> list[str]:
    first = group[0]
    kind, _, owner = first.kind.partition(" of ")
    owners = [each.kind.partition(" of ")[2] for each in group]
    of = f" of {', '.join(owners)}" if owner else ""
    written = [f"{terminal.bold(first.name)} ({kind}{of})", *_wrapped(first.meaning)]
    for title, text in (
        ("why", first.why),
        ("what to do", first.todo),
        ("supported by", first.support),
    ):
        if text:
            written += [f"  {terminal.cyan(title)}", *_wrapped(text, "    ")]
    return [*written, ""]


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    import textwrap

    columns = min(terminal.width() or 80, terminal.WIDEST)
    return textwrap.wrap(text, columns, initial_indent=indent, subsequent_indent=indent)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        terminal.put(line)
