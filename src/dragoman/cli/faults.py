"""Failures: a message with the place and the next step, and the exit code.

0 done · 1 a problem was found · 2 usage · 3 a loss was refused · 4 malformed input · 5 input or
output failed · 70 a bug in dragoman · 130 interrupted · 141 broken pipe
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import click

from ..errors import CapsuleError, Lossy, Malformed, MissingExtra, Unsayable, Unsupported
from . import terminal

DONE, FOUND, USAGE, LOSS, MALFORMED, IO = range(6)
BUG, INTERRUPTED, HUNG_UP = 70, 130, 141


class Fault(click.ClickException):
    """A failure that has been foreseen. ``hint`` says what to do next; ``excerpt`` shows it."""

    def __init__(
        self,
        message: str,
        code: int,
        *,
        where: str = "",
        hint: str = "",
        excerpt: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.where = where
        self.hint = hint
        self.excerpt = tuple(excerpt)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        return self.code

    def lines(self) -> list[str]:
        """The whole message: place and reason, the excerpt, what next."""
        where = f"{terminal.bold(self.where)}: " if self.where else ""
        written = [f"{where}{terminal.red('error')}: {terminal.clean(self.message)}"]
        written += [f"  {line}" for line in self.excerpt if line]
        if self.hint:
            written.append(f"  {terminal.dim('next:')} {terminal.harmless(self.hint)}")
        return written

    def show(self, file: object = None) -> None:
        for line in self.lines():
            terminal.say(line)


def usage(message: str, hint: str = "") -> Fault:
    """The command line itself makes no sense."""
    return Fault(message, USAGE, hint=hint)


def io_fault(problem: OSError, name: str) -> Fault:
    """A file that cannot be read or written, in plain words."""
    hints = {
        FileNotFoundError: "check the path",
        PermissionError: "check its permissions",
        IsADirectoryError: "name the files in it, e.g. with a glob",
    }
    what = problem.strerror or str(problem) or problem.__class__.__name__
    hint = hints.get(type(problem), "")
    return Fault(what[:1].lower() + what[1:], IO, where=name, hint=hint)


def explain(problem: Exception, *, name: str, data: bytes = b"", line: int | None = None) -> Fault:
    """The fault for what the library raised over a document.

    ``name`` is the file, ``data`` the document's bytes and ``line`` the line of the file on which
    they begin; where the place at fault can be found in them, it is shown.
    """
    if isinstance(problem, Fault):
        return problem
    at_line = f"{name}:{line}" if line else name
    if isinstance(problem, CapsuleError):  # whose place is none in this file
        return Fault(str(problem), MALFORMED, where=at_line)
    if isinstance(problem, Malformed):
        return _malformed(problem, name, data, line)
    if isinstance(problem, Unsayable):
        where, shown = _place(name, data, line, _offset(data, problem.at))
        written = f"{problem.what} - at {problem.at or 'the top of the document'}"
        hint = "the target cannot express this; choose another one"
        if "requires a model" in problem.what:
            written, hint = written.replace(": give model=", ""), "--model NAME"
        return Fault(written, LOSS, where=where, excerpt=shown, hint=hint)
    if isinstance(problem, MissingExtra):
        return Fault(str(problem), IO, where=at_line)
    if isinstance(problem, Unsupported):
        return Fault(str(problem), USAGE, where=at_line)
    if isinstance(problem, Lossy):
        count = len(problem.losses)
        written = f"refused: {count} {'loss' if count == 1 else 'losses'} that --fail-on forbids"
        return Fault(written, LOSS, where=at_line, excerpt=[terminal.clean(str(problem))])
    raise problem


def _malformed(problem: Malformed, name: str, data: bytes, line: int | None) -> Fault:
    if problem.what.startswith("not JSON") and not problem.at:
        offset, what, hint = _bad_json(problem.what, data)
        where, shown = _place(name, data, line, offset)
        return Fault(what, MALFORMED, where=where, excerpt=shown, hint=hint)
    where, shown = _place(name, data, line, _offset(data, problem.at))
    return Fault(str(problem), MALFORMED, where=where, excerpt=shown)


def _bad_json(what: str, data: bytes) -> tuple[int | None, str, str]:
    """Where JSON stops being JSON, why, and what may help."""
    if not data.strip():
        return None, "empty file, no document", "check whether the previous command succeeded"
    if b"\0" in data[:4]:
        return None, "not UTF-8; it looks like UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"
    if data.lstrip()[:6] in (b"data: ", b"event:"):
        return (
            None,
            "a stream of server-sent events, not JSON",
            "--facet stream, or dragoman collect",
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as bad:
        written = f"not UTF-8: byte 0x{data[bad.start]:02x} at offset {bad.start}"
        return bad.start, written, "save it as UTF-8"
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as bad:
        written = bad.msg[:1].lower() + bad.msg[1:]
        hint = "one document per line? name it .jsonl, or add --jsonl"
        return (
            len(text[: bad.pos].encode()),
            f"not JSON: {written}",
            hint * (bad.msg == "Extra data"),
        )
    except (ValueError, RecursionError):
        pass
    found = re.search(r"\(byte (\d+)\)", what)
    return int(found[1]) if found else None, what, ""


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _place(
    name: str, data: bytes, line: int | None, offset: int | None
) -> tuple[str, tuple[str, ...]]:
    """``file:line:column`` and an excerpt with a caret, as far as the offset is known."""
    if offset is None:
        return f"{name}:{line}" if line else name, ()
    row = data.count(b"\n", 0, offset) + (line or 1)
    start = data.rfind(b"\n", 0, offset) + 1
    end = data.find(b"\n", offset)
    text = data[start : end if end >= 0 else len(data)].decode("utf-8", "replace").rstrip("\r")
    column = len(data[start:offset].decode("utf-8", "replace"))
    return f"{name}:{row}:{column + 1}", terminal.excerpt(text, column)


def place(data: bytes, pointer: str, line: int | None = None) -> tuple[int | None, int | None]:
    """Line and column of what a pointer points to; ``line`` is the line the document begins on."""
    offset = _offset(data, pointer)
    if offset is None:
        return line, None
    start = data.rfind(b"\n", 0, offset) + 1
    column = len(data[start:offset].decode("utf-8", "replace")) + 1
    return data.count(b"\n", 0, offset) + (line or 1), column


def _offset(data: bytes, pointer: str) -> int | None:
    from .locate import locate

    return locate(data, pointer)
