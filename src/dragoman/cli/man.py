"""The manual page, made from the commands themselves; ``docs/generate.py`` writes it."""

from __future__ import annotations

import re
from typing import Any

import click

from .app import COMMANDS, app
from .app import command as make_command

EXITS = {
    0: "Done. What was lost is in the ledger.",
    1: "A problem was found: by check, diff or detect, or one that repair cannot mend; "
    "or show --grep found nothing.",
    2: "The command line makes no sense, a dialect cannot do what is asked, or must be named (-f).",
    3: "A loss was refused (--fail-on), or the target has no form for the conversation at all.",
    4: "An input is malformed. Other documents were worked on, unless --stop was said.",
    5: "A file cannot be read or written, or a folder holds no conversation. "
    "Other files were worked on.",
    70: "A bug. Please report it; DRAGOMAN_DEBUG=1 shows where.",
    130: "Interrupted (143: terminated). No partial file is left.",
    141: "Whoever read the output has gone. Nothing is said.",
}
VARIABLES = {
    "NO_COLOR": "No colour, whatever standard error is.",
    "FORCE_COLOR": "Colour, though it is no terminal.",
    "DRAGOMAN_CAPSULE_KEY": "The key that signs capsules, unless --key-file names one.",
    "DRAGOMAN_MAX_SIZE": "What --max-size is, where it is not said: 64M, 2G, none.",
    "DRAGOMAN_DEBUG": "A traceback where a bug would be one line.",
}
FILES = {
    "*.json": "One document.",
    "*.jsonl, *.ndjson": "One document per line, never in memory as a whole.",
    "*.sse": "A stream of server-sent events.",
    "*.har": "HTTP traffic: the requests and responses in it.",
    "*.capsule.json": "What migrate has left beside a document, to bring it back.",
    "*.gz, *.zst": "The same, packed: unpacked when read, packed when written.",
}


@make_command("man")
def command() -> None:
    """Print the manual page (roff): dragoman man | man -l -"""
    click.echo(man_page(), nl=False)


def man_page() -> str:
    """dragoman(1), in roff."""
    ctx = click.Context(app, info_name="dragoman")
    lines = [
        r".\" Made by docs/generate.py from the commands themselves.",
        '.TH DRAGOMAN 1 "" dragoman "dragoman manual"',
        ".SH NAME",
        r"dragoman \- any LLM conversation, in any format, and what was lost on the way",
        ".SH SYNOPSIS",
        r".B dragoman",
        r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIFILE\fR]...",
        ".SH DESCRIPTION",
        *_paragraphs(app.help or ""),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        found = app.get_command(ctx, name)
        assert found is not None
        lines += _command(found, click.Context(found, info_name=name, parent=ctx))
    lines += [".SH EXIT STATUS", *_list({str(code): said for code, said in EXITS.items()})]
    lines += [".SH FILES", *_list(FILES)]
    lines += [".SH ENVIRONMENT", *_list(VARIABLES)]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, ctx: click.Context) -> list[str]:
    usage = " ".join(command.collect_usage_pieces(ctx))
    lines = [f".SS dragoman {_text(command.name or '')} {_text(usage)}"]
    lines += _paragraphs(command.help or "")
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record is not None:
            lines += [".TP", rf"\fB{_text(record[0])}\fR", _line(record[1])]
    examples = getattr(command, "examples", ())
    if examples:
        lines += [".PP", "Examples:", ".nf", ".RS", *map(_line, examples), ".RE", ".fi"]
    return lines


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines += [".PP", _line(" ".join(paragraph.split()))]
    return lines


def _list(entries: dict[str, str]) -> list[str]:
    return [line for k, v in entries.items() for line in (".TP", rf"\fB{_text(k)}\fR", _line(v))]


def _line(text: str) -> str:
    """A line of its own: what begins with a dot or a quote would be a request."""
    said = _text(text)
    return rf"\&{said}" if said[:1] in (".", "'") else said


def _text(text: Any) -> str:
    return str(text).replace("\\", r"\e").replace("-", r"\-")
