"""The command line, by transcripts and by what transcripts cannot show.

``python tests/cli/test_commands.py --accept [PAGE]`` writes what happens now into the transcripts;
read the diff as you would read code.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import places
from dragoman.cli import app
from transcripts import blocks, dragoman, furnish, redraw, run

ROOT = places.ROOT
PAGES = [
    *sorted((ROOT / "tests" / "commands").glob("*.md")),
    *(p for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
      if any(block.kind == "console" for block in blocks(p.read_text("utf-8")))),
]  # fmt: skip


VARIABLES = (
    "COLUMNS", "NO_COLOR", "FORCE_COLOR", "DRAGOMAN_DEBUG", "CODEX_HOME", "CLAUDE_CONFIG_DIR",
)  # fmt: skip


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: Any) -> Path:
    """A folder with the files of the transcripts, and nothing of this machine around it."""
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "home")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_transcript(page: Path) -> None:
    text = page.read_text("utf-8")
    assert redraw(text) == text


COMMANDS = {name: app.app.get_command(None, name) for name in app.COMMANDS}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "example"),
    [(name, example) for name, c in COMMANDS.items() for example in getattr(c, "examples", ())],
)
def test_the_examples_of_the_help_run(name: str, example: str) -> None:
    outcome = run(example)
    assert outcome.exit in ((0, 1) if name in ("check", "diff") else (0,)), outcome.stderr
    assert outcome.stdout or outcome.exit == 0
    assert example.startswith(f"dragoman {name}") or f"| dragoman {name}" in example


SHOWN = [
    line.partition("  #")[0].strip()
    for line in (ROOT / "README.md").read_text("utf-8").splitlines()
    if line.startswith("dragoman ") and "  #" in line
]


@pytest.mark.parametrize("line", SHOWN)
def test_the_commands_of_the_readme_run(line: str) -> None:
    outcome = run(line)
    assert outcome.exit in ((0, 1) if line.split()[1] in ("check", "diff") else (0,)), (
        outcome.stderr
    )
    assert outcome.stdout or outcome.stderr or "-o" in line or "--in-place" in line


def test_the_readme_shows_commands() -> None:
    assert len(SHOWN) >= 10


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_has_two_examples_and_says_what_it_does(name: str) -> None:
    command = COMMANDS[name]
    assert isinstance(command, app.Command)
    assert command.name == name
    assert len(command.examples) >= 2
    assert (command.help or "").split("\n\n")[0] == app.COMMANDS[name]
    stdout, stderr, code = dragoman([name, "--help"])
    assert (stderr, code) == ("", 0)
    assert command.examples[0].encode() in stdout


def accept(names: list[str]) -> None:
    for page in PAGES:
        if names and page.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            furnish(Path(folder))
            os.chdir(folder)
            os.environ["HOME"] = "home"
            text = page.read_text("utf-8")
            new = redraw(text)
            if new != text:
                page.write_text(new, "utf-8")
                print(f"{page.relative_to(ROOT)}: written")


if __name__ == "__main__" and "--accept" in sys.argv:
    accept([name for name in sys.argv[1:] if name != "--accept"])
