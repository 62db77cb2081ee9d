"""What people read has the words of the field: reasoning, signature, repair, audio, video.

Looked at are the pages of the documentation, the help of the commands, what ``explain`` prints, and
the string literals of the modules. Code and names (``thought``, a key of Gemini) do not
count. Messages, moreover, may not have ``BANNED_IN_MESSAGES``: ``here`` for the target, for one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import places
from dragoman.cli.app import COMMANDS, app
from dragoman.explain import _everything

ROOT = places.ROOT
SOURCE = ROOT / "src" / "dragoman"

GENERATED = ("ledger.md", "matrix.md", "formats.md", "models-table.md")
QUOTING = ("designs.md",)  # the words of others

BANNED = re.compile(
    r"(?<![\w.-])(thoughts?|seals?|sealed|mend|mends|mended|mending|films?|recordings?)(?![\w-])"
    r"|goes without saying|go without saying|there is no place for|whoever read",
    re.IGNORECASE,
)
# In messages, the target has a name, and a field is no place.
BANNED_IN_MESSAGES = re.compile(
    r"\b(here|place for|behind|said by|is said|was said|bears?|nobody|goes by|go on with)\b"
    r"|\b(an|the|no) answers?\b|\bat rest\b|\bin (Claude's|its own) words\b|\bbit by bit\b"
    r"|\bblanks?\b|\bspeaks\b|\bsealed\b",
    re.IGNORECASE,
)
# A word that is right where it stands: (where, the words around it).
EXCEPTIONS = (
    ("cli/page.py", 'class="text thought"'),  # a name in a style sheet
    ("diff", "reasoning, seals, cache"),  # a value of --ignore
    ("dialects/hermes.py", "Here are the available"),  # a sentence of its template
    ("laws/edits.py", "nobody"),  # of a conversation
)


def banned_in(text: str, where: str, banned: re.Pattern[str] = BANNED) -> list[str]:
    """The banned words of a text, each with what is around it."""
    found = []
    for hit in banned.finditer(text):
        around = text[max(hit.start() - 30, 0) : hit.end() + 30].replace("\n", " ")
        if not any(place in where and words in around for place, words in EXCEPTIONS):
            found.append(f"{where}: ...{around}...")
    return found


def prose(page: str) -> str:
    """A Markdown page without its code."""
    without_blocks = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]+`", "", without_blocks)


def literals(module: str) -> Iterator[str]:
    """The strings of a module that have a space in them: messages, and no names. No docstrings."""
    tree = ast.parse(module)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            if " " in node.value:
                yield node.value


def pages() -> list[Path]:
    found = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]
    return [path for path in sorted(found) if path.name not in (*GENERATED, *QUOTING)]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_have_plain_words(path: Path) -> None:
    assert banned_in(prose(path.read_text("utf-8")), path.name) == []


def test_messages_have_plain_words() -> None:
    found = [
        word
        for path in sorted(SOURCE.rglob("*.py"))
        for text in literals(path.read_text("utf-8"))
        for banned in (BANNED, BANNED_IN_MESSAGES)
        for word in banned_in(text, path.relative_to(SOURCE).as_posix(), banned)
    ]
    assert found == []


def test_explanations_have_plain_words() -> None:
    found = [
        word
        for each in _everything()
        for text in (each.meaning, each.why, each.todo)
        for word in banned_in(text, each.name)
    ]
    assert found == []


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_has_plain_words(name: str) -> None:
    ctx = click.Context(app, info_name="dragoman")
    command: click.Command | None = app
    if name:
        command = app.get_command(ctx, name)
    assert command is not None
    help_text = command.get_help(click.Context(command, info_name=name, parent=ctx))
    assert banned_in(help_text, name) == []


def test_a_banned_word_is_found() -> None:
    assert banned_in("there is no place for a seal here", "x") == [
        "x: ...there is no place for a seal here...",
        "x: ...there is no place for a seal here...",
    ]
    assert banned_in("calls have no ids here", "x", BANNED_IN_MESSAGES) == [
        "x: ...calls have no ids here..."
    ]
    assert banned_in(prose("`reasoning.signature`, thoughtful; see\n```\na seal\n```\n"), "x") == []
    assert list(literals('"""A seal of it."""\nwhy = "a film of it"\nkey = "seal"\n')) == [
        "a film of it"
    ]
