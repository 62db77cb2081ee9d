"""Writes what the commands of the README print into it: ``python tests/readme.py``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"```shell-session\n(.*?)```", re.DOTALL)


def written() -> str:
    """The README with what its commands print now."""
    return BLOCK.sub(
        lambda found: f"```shell-session\n{printed(found[1])}```", README.read_text("utf-8")
    )


def printed(block: str) -> str:
    out = ""
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        out += f"$ {command}\n{ran(command)}"
    return out


def ran(command: str) -> str:
    words = command.replace("dragoman", f"{sys.executable} -m dragoman", 1)
    env = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    done = subprocess.run(
        words,
        shell=True,
        cwd=ROOT,
        env=env | {"COLUMNS": "100", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


if __name__ == "__main__":
    README.write_text(written(), "utf-8")
