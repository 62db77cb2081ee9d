"""Transcripts of command lines: Markdown that shows a command, what it prints, and its exit code.

    ```json name=request.json        a file that the commands below find
    {"model": "m"}
    ```

    ```console
    $ dragoman convert -t anthropic request.json | dragoman detect
    what it prints on stdout
    ```

    ```stderr
    what it prints on stderr, of all commands of the block above
    ```

    Exit code 4.                     of the last command; 0 is not said

The files of ``tests/commands/files`` are there as well. Besides ``dragoman`` there are ``cat`` and
``ls``, pipes, ``<``, ``>`` and settings before a command (``NO_COLOR=1 dragoman ...``). A line
``# ...`` is a comment. All commands of a page run in one folder, one after the other.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.cli import main

FILES = Path(__file__).parent / "commands" / "files"
SESSIONS = Path(__file__).parents[1] / "examples" / "sessions"
FENCE = re.compile(r"^```([a-z]+)(?: name=(\S+))?\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
EXIT = re.compile(r"\AExit code (\d+)\.\n")


class Outcome(NamedTuple):
    stdout: str
    stderr: str
    exit: int


class Block(NamedTuple):
    """A fenced block of a page, from ``start`` to ``end``."""

    kind: str
    name: str | None
    body: str
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    return [Block(m[1], m[2], m[3], m.start(), m.end()) for m in FENCE.finditer(text)]


def redraw(text: str) -> str:
    """The page as it would be if what happens were what is expected. Runs in the current folder."""
    out, done = [], 0
    found = blocks(text)
    for index, block in enumerate(found):
        if block.name is not None:
            Path(block.name).parent.mkdir(parents=True, exist_ok=True)
            Path(block.name).write_text(block.body, "utf-8")
        if block.kind != "console":
            continue
        out.append(text[done : block.start])
        body, stderr, code = replay(block.body)
        out.append(f"```console\n{body}```\n")
        done = block.end
        following = found[index + 1] if index + 1 < len(found) else None
        if following and following.kind == "stderr" and not text[done : following.start].strip():
            done = following.end
        if stderr:
            out.append(f"\n```stderr\n{stderr}```\n")
        rest = text[done:]
        if written := EXIT.match(rest.lstrip("\n")):
            done += len(rest) - len(rest.lstrip("\n")) + written.end()
        if code:
            out.append(f"\nExit code {code}.\n")
    return "".join(out) + text[done:]


def replay(body: str) -> tuple[str, str, int]:
    """The block as it happens now, what goes to stderr, and the last exit code."""
    lines, errors, code = [], [], 0
    for line in body.splitlines():
        if line.startswith("# "):
            lines.append(line + "\n")
        if line.startswith("$ "):
            outcome = run(line[2:])
            lines.append(line + "\n" + outcome.stdout)
            if outcome.stdout and not outcome.stdout.endswith("\n"):
                lines.append("\n")
            errors.append(outcome.stderr)
            code = outcome.exit
    return "".join(lines), "".join(errors), code


def run(line: str) -> Outcome:
    """One line of a shell, of a very small one."""
    data, errors, code = b"", "", 0
    for part in split(shlex.split(line), "|"):
        words, source, target = redirect(part)
        if source is not None:
            data = Path(source).read_bytes()
        data, written, code = invoke(words, data)
        errors += written
        if target is not None:
            Path(target).write_bytes(data)
            data = b""
    return Outcome(data.decode(), errors, code)


def split(words: list[str], mark: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == mark:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def redirect(words: list[str]) -> tuple[list[str], str | None, str | None]:
    source = target = None
    left, coming = [], iter(words)
    for word in coming:
        if word == "<":
            source = next(coming)
        elif word == ">":
            target = next(coming)
        else:
            left.append(word)
    return left, source, target


def invoke(words: list[str], stdin: bytes) -> tuple[bytes, str, int]:
    settings = {}
    while words and re.match(r"[A-Z_]+=", words[0]):
        key, _, value = words.pop(0).partition("=")
        settings[key] = value
    match words:
        case ["dragoman", *arguments]:
            with environment(settings):
                return dragoman(arguments, stdin)
        case ["cat", *names]:
            return b"".join(Path(name).read_bytes() for name in names) or stdin, "", 0
        case ["ls", *names]:
            found = sorted(p.name for p in Path(names[0] if names else ".").iterdir())
            return "".join(f"{name}\n" for name in found).encode(), "", 0
    raise ValueError(f"this shell does not know {words}")


class Terminal(io.TextIOWrapper):
    """A text stream over bytes that can be looked at, as standard streams are."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), "utf-8", newline="", write_through=True)

    def bytes(self) -> bytes:
        self.flush()
        return self.buffer.getvalue()  # type: ignore[attr-defined, no-any-return]


def dragoman(arguments: list[str], stdin: bytes = b"") -> tuple[bytes, str, int]:
    """The command, in this process: what it prints, what it says, and its exit code."""
    streams = Terminal(stdin), Terminal(), Terminal()
    kept = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        code = main(arguments)
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
    return streams[1].bytes(), streams[2].bytes().decode(), code


@contextmanager
def environment(settings: dict[str, str]) -> Iterator[None]:
    kept: dict[str, Any] = {key: os.environ.get(key) for key in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for key, value in kept.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def furnish(folder: Path) -> None:
    """The files that every transcript finds."""
    shutil.copytree(FILES, folder, dirs_exist_ok=True)
    shutil.copytree(SESSIONS, folder / "examples" / "sessions", dirs_exist_ok=True)
