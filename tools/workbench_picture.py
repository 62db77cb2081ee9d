"""Takes the picture of the workbench for the README: ``make workbench-picture``; needs Chromium."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from dragoman.gateway.testing import running
from dragoman.workbench.app import Workbench

PICTURE = Path(__file__).parents[1] / "docs/pictures/workbench.png"


def main() -> None:
    with running(Workbench(token="t")) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 760})
        page.goto(f"{url}/#token=t")
        page.get_by_label("Example").select_option("agent")
        page.locator(".loss", has_text="reasoning.signature").click()
        page.locator(".left .mark-active").first.wait_for()
        page.locator(".advice").wait_for()
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
