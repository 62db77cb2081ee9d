"""Hooks of the site (``make site``): pages that stand outside of docs/, and links to them."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/agent.py": "examples/agent.py",
    "examples/proxy.py": "examples/proxy.py",
}
"""Files of the project that the site has as well, and under which names."""
SITES = {page: file for file, page in PAGES.items()}
LINK = re.compile(r"(!?)\[([^]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """One page for each dialect: the folder is the list."""
    pages = sorted(page.stem for page in (ROOT / "docs" / "dialects").glob("*.md"))
    config.nav.append({"Dialects": [{name: f"dialects/{name}.md"} for name in pages]})
    return config


def on_files(files: Files, config: Any) -> Files:
    for name, page in PAGES.items():
        content = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    return linked(markdown, page.file.src_uri)


def linked(markdown: str, page: str) -> str:
    """The text of a page with its links as the site has them.

    What the site does not have (a folder of the source) is named, and not linked to.
    """
    here = SITES.get(page, f"docs/{page}")

    def link(found: re.Match[str]) -> str:
        picture, text, to, anchor = found.groups()
        if not to or "://" in to or to.startswith("mailto:"):
            return found[0]
        file = normpath(f"{here}/../{to}")
        if file == "docs/dialects":
            file = "docs/formats.md"
        if file in PAGES:
            aim = PAGES[file]
        elif file.startswith("docs/") and (ROOT / file).is_file():
            aim = file.removeprefix("docs/")
        elif (ROOT / file).exists():
            return text
        else:
            return found[0]  # a dead link, which the build reports
        return f"{picture}[{text}]({relpath(aim, Path(page).parent.as_posix())}{anchor or ''})"

    return LINK.sub(link, markdown)
