"""The report in a real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from dragoman.datasets import Job, Options, Run

pytestmark = pytest.mark.browser
SESSIONS = Path(__file__).parents[2] / "examples" / "sessions"


def heard(page: Page) -> tuple[list[str], list[str]]:
    """What a page asks for, and what it says on its console."""
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    return asked, said


def test_people_can_read_it_wide_and_narrow_light_and_dark(tmp_path: Path) -> None:
    run = Run(output=f"{tmp_path}/out/", workers=1)
    values = {"split": {"train": 0.6, "test": 0.4}, "seed": 2, "redact": ("keys", "emails")}
    Job([str(SESSIONS)], Options(target="functiongemma", **values), run).start()  # type: ignore[arg-type]
    counts = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["records"]
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program is not None, "chromium is not installed: make chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for width, scheme in ((1280, "light"), (400, "dark")):
            page = browser.new_page(
                viewport={"width": width, "height": 800},
                color_scheme=scheme,  # type: ignore[arg-type]
            )
            asked, said = heard(page)
            page.goto(f"file://{tmp_path}/out/report.html")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert (
                page.locator(".tile", has_text="written")
                .inner_text()
                .startswith(str(counts["written"]))
            )
            for bar in page.locator("svg rect").all():
                box = bar.bounding_box()
                assert box is not None
                assert box["x"] + box["width"] <= width
            for tile in page.locator(".tile b").all():
                assert tile.evaluate("e => e.scrollWidth <= e.clientWidth")
            assert page.locator("svg").count() >= 6
            assert (len(asked), said) == (1, [])
        browser.close()
