"""The page in a real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

import places
from dragoman.gateway import Config, Gateway, Upstream, testing
from dragoman.gateway.testing import running
from dragoman.workbench import examples
from dragoman.workbench.app import Workbench
from dragoman.workbench.traffic import Traffic

pytestmark = pytest.mark.browser

TOKEN = "token-of-this-test"
AXE = places.ROOT / "web/node_modules/axe-core/axe.min.js"
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program is not None, "chromium is not installed: make chromium"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def bench() -> Iterator[str]:
    """The address of a page of its own."""
    with running(Workbench(token=TOKEN)) as url:
        yield f"{url}/"


Opening = Callable[..., Page]
PATIENCE = 60_000
"""How long a page may take, in milliseconds: a busy machine is no fault of it."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture
def opening(browser: Browser) -> Iterator[Opening]:
    """Opens a page; at the end, nothing went wrong in it and nothing was fetched elsewhere."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def opened(url: str, view: str = "convert", wrong: list[str] = wrong, **told: Any) -> Page:
        context = browser.new_context(**{"viewport": WIDE, **told})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        watch(page, url, wrong)
        page.goto(f"{url}#token={TOKEN}")
        if view != "convert":
            page.get_by_role("link", name=view, exact=True).click()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def watch(page: Page, url: str, wrong: list[str]) -> None:
    """What goes wrong in a page, and what it fetches from elsewhere, is written down."""

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            wrong.append(message.text)

    def asked(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            wrong.append(f"fetched {request.url}")

    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", said)
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on("request", asked)


def paste(page: Page, text: str) -> None:
    """Into the editor, as somebody does it."""
    page.get_by_label("Source document").click()
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")


def drop(page: Page, where: str, name: str, text: str) -> None:
    """A file that is dropped."""
    data = page.evaluate_handle(
        """([name, text]) => { const all = new DataTransfer();
        all.items.add(new File([text], name)); return all; }""",
        [name, text],
    )
    page.dispatch_event(where, "dragover", {"dataTransfer": data})
    page.dispatch_event(where, "drop", {"dataTransfer": data})


def result_of(page: Page) -> str:
    """All of the result; the editor has only the lines that can be seen."""
    page.get_by_role("button", name="Result", exact=True).click()
    expect(page.locator("#toast")).to_have_text("result copied")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def axe(page: Page) -> list[str]:
    """What is seriously wrong for those who do not see or use no mouse."""
    # The policy of the page lets no script in; it is run outside of it, as a debugger does.
    page.evaluate(AXE.read_text("utf-8"))
    found: Any = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['html'][:160]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


# -- convert --------------------------------------------------------------------------------------


def test_a_file_is_dropped_converted_and_its_losses_followed_both_ways(
    bench: str, opening: Opening
) -> None:
    page = opening(bench)
    expect(page).not_to_have_url(f"{bench}#token={TOKEN}")  # it does not stay in the address
    drop(page, ".convert", "agent.json", examples.text("agent"))
    expect(page.get_by_label("Dialect of the source")).to_contain_text("anthropic-messages (det")
    lost = page.locator(".loss", has_text="top_k")
    expect(lost).to_contain_text("dropped")

    # From the ledger to the source: the dropped line is struck and pointed at.
    lost.click()
    expect(page.locator(".left .mark-active")).to_have_text('"top_k": 40')
    expect(page.locator(".left .mark-gone", has_text="top_k")).to_have_css(
        "text-decoration-line", "line-through"
    )
    expect(page.locator(".advice")).to_be_visible()

    # From the source to the result, and to the loss.
    page.locator(".left .cm-line", has_text='"max_tokens"').click()
    expect(page.locator(".right .mark-active")).to_have_text('"max_completion_tokens": 4096')
    expect(page.locator(".here")).to_contain_text("/max_completion_tokens")

    # And back: what is in the result shows where it came from.
    page.locator(".right .cm-line", has_text='"safety_identifier"').click()
    expect(page.locator(".left .mark-active")).to_have_text('"user_id": "user-7f3a"')
    assert page.locator(".curves path").count() > 2


def test_calls_and_results_are_linked_where_the_formats_put_them(
    bench: str, opening: Opening
) -> None:
    page = opening(bench)
    drop(page, ".convert", "agent.json", examples.text("agent"))
    page.get_by_role("tab", name="gemini").click()
    page.locator(".loss").first.wait_for()
    page.locator(".left .cm-scroller").hover()
    page.mouse.wheel(0, 1200)
    page.locator(".left .cm-line", has_text='"toolu_01"').first.click()
    expect(page.locator(".here")).to_contain_text("call of get_weather")
    expect(page.locator(".right .mark-active", has_text="functionCall")).to_be_visible()
    expect(page.locator(".right .mark-active", has_text="Lisbon")).to_be_visible()


def test_a_session_is_linked_by_its_lines(bench: str, opening: Opening) -> None:
    page = opening(bench)
    first, _, rest = session(1, 40).partition("\n")
    drop(page, ".convert", "session.jsonl", f"{first}\n")  # of one line, which is no list
    page.get_by_label("Dialect of the source").select_option("claude-code")
    page.get_by_label("model").fill("gpt-5")  # which so short a session does not name
    page.get_by_role("tab", name="openai-chat").click()
    page.locator(".right .cm-line", has_text="question 0").click()
    expect(page.locator(".here")).to_contain_text("/0/message/content")
    expect(page.locator(".left .mark-active")).to_have_text('"content": "question 0"')
    drop(page, ".convert", "session.jsonl", f"{first}\n{rest}")
    expect(page.locator(".right")).to_contain_text("lorem ipsum")
    page.locator(".right .cm-line", has_text="lorem ipsum").click()
    expect(page.locator(".here")).to_contain_text("/2/message/content/0")
    expect(page.locator(".left .mark-active", has_text="tool_result").first).to_be_visible()


def test_options_are_those_of_the_command_line(bench: str, opening: Opening) -> None:
    page = opening(bench)
    drop(page, ".convert", "agent.json", examples.text("agent"))
    page.locator(".loss").first.wait_for()
    page.get_by_label("model").fill("gpt-5")
    page.get_by_label("fail on").fill("top_k")
    expect(page.locator(".loss.fails")).to_contain_text("top_k")
    page.get_by_text("carry, and the way home").click()
    expect(page.locator(".home")).to_contain_text("the same document")
    page.get_by_role("button", name="Command", exact=True).click()
    expect(page.locator("#toast")).to_have_text("command line copied")
    command = page.evaluate("navigator.clipboard.readText()")
    assert command == (
        "dragoman convert -f anthropic-messages -t openai-chat --model gpt-5 --fail-on top_k "
        "--carry capsule.json document.json"
    )
    assert json.loads(result_of(page))["model"] == "gpt-5"


def test_the_dialect_can_be_told_and_errors_say_where(bench: str, opening: Opening) -> None:
    page = opening(bench)
    paste(page, '{"messages": [{"role": "user", "content": 7}]}')
    page.get_by_label("Dialect of the source").select_option("openai-chat")
    expect(page.locator(".trouble")).to_contain_text("/messages/0/content")
    paste(page, '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}')
    expect(page.locator(".trouble")).to_have_count(0)
    page.get_by_label("Add a target").select_option("cohere")
    expect(page.get_by_role("tab", selected=True)).to_contain_text("cohere")


def test_a_document_is_repaired_after_a_preview(bench: str, opening: Opening) -> None:
    page = opening(bench)
    drop(page, ".convert", "broken.json", examples.text("broken"))
    expect(page.locator(".left .cm-lintRange-error").first).to_be_visible()
    expect(page.locator(".problems")).to_contain_text("5 problems")
    page.get_by_role("button", name="legal-tool-ids").click()
    preview = page.get_by_role("dialog")
    expect(preview.locator(".diff .cut")).to_contain_text("call 1")
    expect(preview).to_contain_text("tool_call.id")
    preview.get_by_role("button", name="Cancel").click()
    expect(page.locator(".problems")).to_contain_text("5 problems")  # nothing has changed
    page.get_by_role("button", name="Repair all").click()
    preview.get_by_role("button", name="Apply").click()
    expect(page.locator(".problems")).to_have_count(0)
    expect(page.locator(".left .cm-lintRange-error")).to_have_count(0)


def test_a_stream_is_replayed(bench: str, opening: Opening) -> None:
    page = opening(bench)
    page.get_by_label("Example").first.select_option("stream")
    page.get_by_role("tab", name="anthropic-messages").click()
    slider = page.get_by_role("slider", name="Frame")
    expect(page.locator(".growing")).to_contain_text("I look up a path.")
    slider.fill("3")
    expect(page.locator(".growing")).to_have_text("text Saturday is")
    written = page.get_by_label("Frames that were written")
    expect(written).to_contain_text("content_block_start")
    expect(written).not_to_contain_text(" sunny")
    page.get_by_role("button", name="one frame on").click()
    expect(written).to_contain_text(" sunny")
    page.get_by_role("button", name="64").click()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".player output")).to_have_text("20 / 20")
    expect(page.locator(".growing")).to_contain_text('{"city": "Lisbon", "hours": 3}')
    page.get_by_role("button", name="Whole").click()
    expect(page.get_by_label("Result", exact=True).last).to_contain_text("message_start")


def test_thousands_of_losses_are_listed_a_part_at_a_time(bench: str, opening: Opening) -> None:
    document = json.loads(examples.text("agent"))
    document["messages"] *= 400  # half a megabyte
    page = opening(bench)
    drop(page, ".convert", "long.json", json.dumps(document, indent=1))
    expect(page.locator(".kinds h2")).to_have_text("1,203 losses")
    expect(page.locator(".loss")).to_have_count(300)
    page.get_by_role("button", name="903 more losses").click()
    expect(page.locator(".loss")).to_have_count(1203)
    page.locator(".loss").last.click()
    expect(page.locator(".left .mark-active").first).to_be_visible()
    page.get_by_role("tab", name="gemini").click()  # which is written when it is looked at
    expect(page.get_by_role("tab", name="gemini")).to_have_text(re.compile(r"gemini\d+"))


def test_by_keyboard_alone(bench: str, opening: Opening) -> None:
    page = opening(bench)
    drop(page, ".convert", "agent.json", examples.text("agent"))
    page.locator(".loss").first.wait_for()
    page.keyboard.press("F8")
    expect(page.locator(".loss").first).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".loss").nth(1)).to_be_focused()
    expect(page.locator(".left .mark-active").first).to_contain_text("thinking")
    page.keyboard.press("Alt+2")
    expect(page.get_by_role("link", name="Conversation")).to_have_attribute("aria-current", "page")


# -- a conversation -------------------------------------------------------------------------------


def session(turns: int, size: int) -> str:
    """A session of Claude Code with calls, some of which fail."""
    lines: list[str] = []
    before: str | None = None
    for number in range(turns):
        told: list[dict[str, Any]] = []
        text = f"step {number} " + "lorem ipsum " * (size // 12)
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"n": number}}
        failed = {"is_error": True} if number % 1000 == 999 else {}
        reply = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text, **failed}
        usage = {"input_tokens": number, "cache_read_input_tokens": 9 * number, "output_tokens": 5}
        told.append({"role": "user", "content": f"question {number}"})
        said = [{"type": "text", "text": "I look."}, call]
        head = {"id": f"msg_{number}", "type": "message", "model": "c", "usage": usage}
        told.append({"role": "assistant", "content": said, **head})
        told.append({"role": "user", "content": [reply]})
        for message in told:
            here = f"u{len(lines)}"
            lines.append(json.dumps({
                "type": message["role"], "uuid": here, "parentUuid": before, "isSidechain": False,
                "sessionId": "s", "version": "2", "message": message}))  # fmt: skip
            before = here
    return "\n".join(lines) + "\n"


def test_fifty_megabytes_are_read_searched_and_scrolled(
    bench: str, opening: Opening, tmp_path: Path
) -> None:
    text = session(6000, 8_300)
    file = tmp_path / "session.jsonl"
    file.write_text(text)
    assert file.stat().st_size > 50_000_000
    page = opening(bench, "Conversation")
    with page.expect_file_chooser() as choosing:
        page.get_by_role("button", name="Open a file").click()
    choosing.value.set_files(file)
    expect(page.locator(".legend")).to_contain_text("12,000 turns")
    expect(page.get_by_text("question 0", exact=True)).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("90 % from the cache")
    assert page.locator("[data-row]").count() < 200  # of twelve thousand

    page.get_by_role("button", name="6 errors").click()
    expect(page.get_by_text("question 999", exact=True)).to_be_visible()
    expect(page.locator(".reply.failed").first).to_be_visible()
    page.get_by_label("Search").fill("question 5432")
    expect(page.get_by_role("button", name="1 turn", exact=True)).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("question 5432", exact=True)).to_be_visible()
    timeline = page.get_by_role("slider", name="Timeline")
    timeline.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("question 5999", exact=True)).to_be_visible()
    assert page.locator("[data-row]").count() < 200


def test_two_conversations_side_by_side(bench: str, opening: Opening, tmp_path: Path) -> None:
    other = json.loads(examples.text("agent"))
    other["messages"][3]["content"][0]["text"] = "Then Porto, by train."
    file = tmp_path / "other.json"
    file.write_text(json.dumps(other))
    page = opening(bench, "Conversation")
    page.locator(".conversation").get_by_label("Example").select_option("agent")
    expect(page.locator(".turn.user").first).to_contain_text("Is Saturday a good day")
    expect(page.locator(".call").first).to_contain_text("Sat: sunny")  # call and result together
    with page.expect_file_chooser() as choosing:
        page.get_by_role("button", name="Compare with").click()
    choosing.value.set_files(file)
    differs = page.locator(".both.differs")
    expect(differs).to_have_count(1)
    expect(differs).to_contain_text("Then Lisbon")
    expect(differs).to_contain_text("Then Porto, by train.")


def test_an_image_is_shown_if_its_bytes_are_one(bench: str, opening: Opening) -> None:
    page = opening(bench, "Conversation")
    page.locator(".conversation .start").wait_for()
    sources = [{"type": "base64", "media_type": "image/png", "data": data} for data in (PNG, SVG)]
    blocks = [{"type": "image", "source": source} for source in sources]
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}]}
    drop(page, ".conversation", "image.json", json.dumps(asked))
    expect(page.locator("figure")).to_have_count(2)
    expect(page.locator("figure img")).to_have_count(1)
    assert page.locator("figure img").evaluate("image => image.decode().then(() => image.width)")


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


# -- traffic --------------------------------------------------------------------------------------


@pytest.fixture
def gateway() -> Iterator[str]:
    """A gateway with its page; its upstream speaks Anthropic, another one Gemini."""
    with testing.scripted({"text": "Saturday is sunny."}) as model:
        up = Upstream(dialect="anthropic-messages", url=model.url, key="sk-upstream-1", retries=0)
        other = Upstream(dialect="gemini", url=model.url, key="sk-upstream-2", retries=0)
        traffic = Traffic(contents=True)
        config = Config(log="none", upstreams={"up": up, "other": other})
        with running(Workbench(Gateway(config, observer=traffic), traffic, token=TOKEN)) as url:
            yield url


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_exchange_of_the_official_sdk_is_watched_live(
    gateway: str, opening: Opening, stream: bool
) -> None:
    page = opening(f"{gateway}/workbench/", "Traffic")
    expect(page.locator(".lamp")).to_have_text("live")
    expect(page.locator("tbody tr")).to_have_count(0)
    client = openai.OpenAI(base_url=f"{gateway}/v1", api_key="sk-of-the-client", max_retries=0)
    asked: Any = {"model": "claude-x", "seed": 7, "messages": [{"role": "user", "content": "Hi"}]}
    with client:
        reply: Any = client.chat.completions.create(stream=stream, **asked)
        if stream:
            assert "sunny" in "".join(c.choices[0].delta.content or "" for c in reply if c.choices)

    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("claude-x")
    expect(row).to_contain_text("200")
    expect(row).to_contain_text("seed")
    row.click()
    opened = page.locator(".opened-exchange")
    expect(opened.locator(".left .mark-gone")).to_contain_text('"seed"')
    expect(opened.locator(".right .mark-invented")).to_have_text('"max_tokens": 8192')
    opened.get_by_role("button", name="Answer").click()
    opened.locator(".left .cm-line", has_text="sunny").click()
    expect(opened.locator(".right .mark-active", has_text="sunny")).to_be_visible()
    opened.get_by_role("button", name="Stream").click()
    expect(opened.locator(".pieces")).to_contain_text("sunny" if not stream else "message_start")
    opened.get_by_role("button", name="Headers").click()
    expect(opened).to_contain_text("user-agent")
    assert "sk-of-the-client" not in page.content()
    assert "sk-upstream" not in page.content()

    opened.get_by_label("Replay against").select_option("other")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody tr").first).to_contain_text("other")
    page.get_by_label("Filter").fill("replay")
    expect(page.locator("tbody tr")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_label("Export").select_option("har")
    entries = json.loads(Path(download.value.path()).read_text())["log"]["entries"]
    assert len(entries) == 1
    page.get_by_label("Filter").fill("")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("tbody tr")).to_have_count(0)


# -- the look -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "size"), [("light", WIDE), ("dark", WIDE), ("dark", NARROW)],
    ids=["light-1280", "dark-1280", "dark-400"],
)  # fmt: skip
def test_nothing_is_seriously_inaccessible(
    gateway: str, opening: Opening, scheme: str, size: Any
) -> None:
    page = opening(f"{gateway}/workbench/", color_scheme=scheme, viewport=size)
    page.locator(".start").wait_for()
    found = {"start": axe(page)}
    for name in ("agent", "broken", "stream"):
        page.locator(".convert").get_by_label("Example").select_option(name)
        page.locator(".frames li" if name == "stream" else ".loss").first.wait_for(state="attached")
        found[name] = axe(page)
        if name == "broken":
            page.get_by_role("button", name="Repair all").dispatch_event("click")
            page.get_by_role("dialog").wait_for()
            found["preview"] = axe(page)
            page.get_by_role("button", name="Cancel").click()
    page.get_by_role("link", name="Conversation").click()
    page.locator(".conversation").get_by_label("Example").select_option("agent")
    page.locator(".call").first.wait_for()
    found["conversation"] = axe(page)
    with openai.OpenAI(base_url=f"{gateway}/v1", api_key="k", max_retries=0) as client:
        messages: Any = [{"role": "user", "content": "Hi"}]
        client.chat.completions.create(model="m", seed=7, messages=messages)
    page.get_by_role("link", name="Traffic").click()
    page.locator("tbody tr").first.click()
    page.locator(".opened-exchange .cm-line").first.wait_for()
    found["traffic"] = axe(page)
    assert {name: each for name, each in found.items() if each} == {}


def test_a_narrow_page_scrolls_in_one_direction_and_shows_one_pane(
    bench: str, opening: Opening
) -> None:
    page = opening(bench, viewport=NARROW)
    drop(page, ".convert", "agent.json", examples.text("agent"))
    page.get_by_role("button", name="Ledger 6").click()
    expect(page.locator(".loss").first).to_be_visible()
    expect(page.locator(".left")).to_be_hidden()
    page.get_by_role("button", name="Result").first.click()
    wide = "document.documentElement.scrollWidth"
    for view in ("Convert", "Conversation", "Traffic"):
        page.get_by_role("link", name=view).click()
        assert page.evaluate(wide) <= 400, view


def test_the_theme_follows_the_system_until_it_is_chosen(bench: str, opening: Opening) -> None:
    page = opening(bench, color_scheme="dark")
    body = page.locator("body")
    expect(body).to_have_css("background-color", "rgb(20, 24, 27)")
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: dark").click()
    expect(body).to_have_css("background-color", "rgb(255, 255, 255)")
    page.reload()
    expect(body).to_have_css("background-color", "rgb(255, 255, 255)")


# -- hostile contents -----------------------------------------------------------------------------

HOSTILE = "".join((
    "<script>alert(1)</script>", '<img src="http://evil.example/x.png" onerror="alert(2)">',
    '<svg onload="alert(3)"><use href="http://evil.example/y.svg#a"/></svg>',
    "[click](javascript:alert(4)) ![x](http://evil.example/z.png)",
    "<iframe srcdoc='<script>alert(5)</script>'></iframe>", "\x1b[31mred\x1b[0m",
    "\u202egnp.exe\u202c", "\u200bhidden", "&lt;b&gt;", "{{constructor.constructor('alert(6)')()}}",
))  # fmt: skip
SVG = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4="


def hostile() -> str:
    image = {"type": "base64", "media_type": "image/svg+xml", "data": SVG}
    link = {"type": "url", "url": "http://evil.example/a.png"}
    call = {"type": "tool_use", "id": HOSTILE, "name": HOSTILE, "input": {HOSTILE: HOSTILE}}
    blocks = [{"type": "text", "text": HOSTILE}, {"type": "image", "source": image},
              {"type": "image", "source": link}]  # fmt: skip
    thinking = {"type": "thinking", "thinking": HOSTILE, "signature": HOSTILE}
    result = {"type": "tool_result", "tool_use_id": HOSTILE, "content": HOSTILE, "is_error": True}
    return json.dumps({
        "model": HOSTILE, "max_tokens": 9, "system": HOSTILE, HOSTILE: HOSTILE,
        "tools": [{"name": HOSTILE, "description": HOSTILE, "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": blocks},
                     {"role": "assistant", "content": [thinking, call]},
                     {"role": "user", "content": [result]}],
    })  # fmt: skip


def test_hostile_contents_are_text_and_nothing_is_fetched(bench: str, opening: Opening) -> None:
    """That nothing ran, and nothing was fetched, ``opening`` has seen."""
    page = opening(bench)
    drop(page, ".convert", f"{HOSTILE[:40]}.json", hostile())
    page.get_by_label("Dialect of the source").select_option("anthropic-messages")
    page.get_by_label("Facet of the source").select_option("request")
    page.locator(".loss").first.wait_for()
    for loss in page.locator(".loss").all()[:8]:
        loss.click()
    assert page.locator("#page script, #page iframe, #page svg use").count() == 0
    assert page.locator(".right .cm-content img:not(.cm-widgetBuffer)").count() == 0
    page.get_by_role("link", name="Conversation").click()
    drop(page, ".conversation", "hostile.json", hostile())
    turn = page.locator(".turn.user").first
    expect(turn).to_contain_text("<script>alert(1)</script>")
    expect(turn).to_contain_text("ESC")
    expect(turn).to_contain_text("U+202E")
    page.locator("details summary").first.click()
    assert page.locator(".turn img, .turn script, .turn iframe, .turn svg, .turn a").count() == 0
    assert "\x1b" not in page.locator(".virtual").inner_text()
    assert "\u202e" not in page.locator(".virtual").inner_text()


def test_the_policy_stops_what_a_fault_of_the_page_would_let_in(
    bench: str, opening: Opening
) -> None:
    stops: list[str] = []
    page = opening(bench, wrong=stops)
    page.locator(".start").wait_for()
    stopped = page.evaluate(
        """async () => {
        const tried = {};
        try { document.body.innerHTML = "<b>x</b>"; } catch { tried.markup = true; }
        try { await fetch("http://127.0.0.1:1/"); } catch { tried.fetched = true; }
        const script = document.createElement("script");
        try { script.src = "http://127.0.0.1:1/x.js"; } catch { tried.script = true; }
        return tried; }"""
    )
    assert stopped == {"markup": True, "fetched": True, "script": True}
    assert any("Content Security Policy" in each for each in stops)
