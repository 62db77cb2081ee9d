"""Writes ``docs/pictures``: what the commands really print, as SVG.

``--check`` only compares, and only the words: how rich draws them is its own business.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

FOLDER = Path(__file__).parent / "pictures"

# name -> how wide it is, and the command whose output it shows; they run in docs/pictures
PICTURES: dict[str, tuple[int, str]] = {
    "show": (84, "dragoman show travel.json"),
    "convert": (104, "dragoman convert -f anthropic -t openai-chat travel.json -o chat.json"),
    "check": (104, "dragoman check -f anthropic broken.json"),
}

# A calm night: what stands back is grey, and no colour shouts.
NIGHT = TerminalTheme(
    (22, 24, 31),
    (214, 217, 224),
    [
        (22, 24, 31), (236, 118, 118), (140, 194, 118), (224, 184, 108),
        (116, 168, 230), (190, 150, 232), (104, 190, 204), (214, 217, 224),
    ],
    [
        (110, 116, 128), (236, 118, 118), (140, 194, 118), (224, 184, 108),
        (116, 168, 230), (190, 150, 232), (104, 190, 204), (255, 255, 255),
    ],
)  # fmt: skip

# As rich draws a terminal, but with the fonts of the reader's machine: nothing is loaded.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <style>
    .{unique_id}-matrix {{
        font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
        font-size: {char_height}px;
        line-height: {line_height}px;
        font-variant-east-asian: full-width;
    }}
    .{unique_id}-title {{ font-size: 15px; font-family: system-ui, sans-serif; }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})"
       clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
"""


def draw(name: str) -> str:
    """One picture: the prompt, the command, and what a terminal shows of it."""
    columns, line = PICTURES[name]
    console = Console(
        record=True, file=io.StringIO(), width=columns, force_terminal=True, color_system="standard"
    )
    console.print(Text.assemble(("$ ", "bright_black"), (line, "bold")))
    console.print()
    console.print(Text.from_ansi(run(line, columns)))
    console.print()
    title = line.partition(" -")[0]
    picture = console.export_svg(title=title, theme=NIGHT, code_format=FRAME, unique_id=name)
    return BAR.sub(bar, picture)


# A bar is a letter, and letters leave gaps between lines; terminals close them, and so do we.
BAR = re.compile(r'<text class="([\w-]+)" x="([\d.]+)" y="([\d.]+)" [^>]*>┃(?:&#160;)?</text>')


def bar(found: re.Match[str]) -> str:
    x, y = float(found[2]) + 4, float(found[3]) - 19
    return f'<rect class="{found[1]}" x="{x:g}" y="{y:g}" width="3" height="25"/>'


def run(line: str, columns: int) -> str:
    """What a command prints to both streams, in colour; what it writes is thrown away."""
    words = [sys.executable, "-m", "dragoman", *line.split()[1:]]
    settings = {"FORCE_COLOR": "1", "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    here = {path.name for path in FOLDER.iterdir()}
    done = subprocess.run(
        words,
        cwd=FOLDER,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    for path in FOLDER.iterdir():
        if path.name not in here:
            path.unlink()
    return done.stdout.decode().rstrip("\n")


def words(picture: str) -> list[str]:
    return re.findall(r">([^<>]*)</text>", picture)


def main() -> int:
    check = "--check" in sys.argv
    stale = []
    for name in PICTURES:
        path, picture = FOLDER / f"{name}.svg", draw(name)
        old = path.read_text("utf-8") if path.exists() else ""
        if words(old) != words(picture) if check else old != picture:
            stale.append(path.name)
            if not check:
                path.write_text(picture, "utf-8")
    if stale and check:
        print(f"out of date: {', '.join(stale)}; run `make pictures`")
        return 1
    print(f"pictures: {', '.join(stale) or 'all'} {'written' if stale else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
