"""What people see of a conversation: in a terminal, in a pipe, on a page."""

from __future__ import annotations

import random
import re
import time
from html.parser import HTMLParser
from typing import Any

import pytest

import dragoman
import places
from dragoman.cli import lines
from dragoman.cli.images import protocol
from dragoman.cli.lines import Picture, Span, measure, paragraphs, render, visible, width, wrap
from dragoman.cli.page import page
from dragoman.cli.paint import Brush, paint, shortened_words, words
from dragoman.testing import Document, load_corpus
from dragoman.views.portrait import Call, Portrait, Thing, Words, draw

CORPUS = load_corpus(places.CORPUS)
DOCUMENTS = [d for case in CORPUS for d in case.documents]
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "".join(map(chr, range(0x20))) + "\x7f\x85\x9b31m\u202edrow\u2066\u200b\u2028\U000e0041"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def chat(*messages: dict[str, Any], **settings: Any) -> Portrait:
    doc = {"model": "m", "messages": list(messages)} | settings
    return draw(dragoman.read(doc, "openai-chat"))


def call(name: str, call_id: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def text_of(portrait: Portrait, **options: Any) -> str:
    return "\n".join(render(line, False) for line in paint(portrait, Brush(**options)))


def html_of(portrait: Portrait) -> str:
    return "".join(page("a page", [portrait]))


# -- every document, in all ways -------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_every_document_can_be_shown(document: Document) -> None:
    tree = dragoman.read(document.body, document.dialect, facet=document.facet)
    portrait = draw(tree)
    for columns in (32, 80):
        for full in (False, True):
            for line in paint(portrait, Brush(columns, full)):
                assert measure(line) <= columns, line
                coloured, plain = render(line, True), render(line, False)
                assert ESCAPES.sub("", coloured).rstrip() == plain
                assert "\x1b" not in plain
    check_page(html_of(portrait))


class Checker(HTMLParser):
    """No script, no link, nothing to load, and what is opened is closed."""

    VOID = ("meta", "img")
    TAGS = frozenset(
        re.findall(
            r"\w+",
            """html head meta title style body main article header footer section h1 h2 small ul div
            p pre code b span sup ol li details summary figure figcaption img""",
        )
    )
    ATTRIBUTES = frozenset(
        re.findall(
            r"[\w-]+",
            "lang charset http-equiv content name class dir open aria-label role src alt",
        )
    )

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.TAGS
        for name, value in attrs:
            assert name in self.ATTRIBUTES
            assert name != "src" or re.fullmatch(
                r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", value or ""
            )
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_page(text: str) -> None:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert not checker.open
    assert "default-src 'none'" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


# -- hostile text ----------------------------------------------------------------------------


def hostile_request() -> dict[str, Any]:
    bad = HOSTILE + "</div><script>alert(1)</script><img src=x onerror=y>\x1b]0;title\x07"
    return {
        "model": bad,
        "system": bad,
        "max_tokens": 5,
        "metadata": {"user_id": bad},
        "stop_sequences": [bad],
        bad: bad,
        "tools": [
            {"name": bad, "description": bad, "input_schema": {"properties": {bad: {}}}, bad: bad}
        ],
        "messages": [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": bad, "signature": bad},
                    {"type": "text", "text": bad, bad: bad, "citations": [
                        {"type": "web_search_result_location", "url": bad, "title": bad,
                         "encrypted_index": bad, "cited_text": bad}
                    ]},
                    {"type": "tool_use", "id": bad, "name": bad, "input": {bad: bad}},
                    {"type": bad, "payload": bad},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": bad, "content": bad, "is_error": True},
                    {"type": "tool_result", "tool_use_id": "no\x1b", "content": bad},
                    {"type": "image", "source": {"type": "url", "url": bad}},
                    {"type": "image",
                     "source": {"type": "base64", "media_type": bad, "data": "iVBORw0KGgo" + bad}},
                    {"type": "document", "title": bad,
                     "source": {"type": "text", "media_type": "text/plain", "data": bad}},
                ],
            },
        ],
    }  # fmt: skip


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("images", ["", "kitty", "iterm"])
def test_nothing_hostile_reaches_the_terminal(full: bool, images: str) -> None:
    portrait = draw(dragoman.read(hostile_request(), "anthropic-messages"))
    for line in paint(portrait, Brush(40, full, images)):
        assert not any(isinstance(span, Picture) for span in line)
        assert not re.search(
            r"[\x00-\x1f\x7f-\x9f\u200b\u2028\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]",
            ESCAPES.sub("", render(line, True)),
        )


def test_nothing_hostile_reaches_the_page() -> None:
    text = html_of(draw(dragoman.read(hostile_request(), "anthropic-messages")))
    check_page(text)
    assert "&lt;script&gt;" in text


def test_signs_say_what_was_there() -> None:
    assert visible("\x1b[2J\x00\x7f\x9b\u202e\U000e0041") == "␛[2J␀␡\\x9b\\u202e\\U000e0041"
    assert visible("as it is: é 東京 👩‍💻") == "as it is: é 東京 👩‍💻"
    assert list(paragraphs("a\r\nb\rc\td")) == ["a", "b␍c   d"]


# -- widths ----------------------------------------------------------------------------------


def lines_of(text: str, columns: int) -> list[str]:
    return [render(line, False) for line in wrap([Span(text)], columns)]


def test_words_are_kept_whole_and_indentation_is_kept() -> None:
    assert lines_of("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert lines_of("    indented words here", 14) == ["    indented", "    words here"]
    assert lines_of("- a point that is long", 12) == ["- a point", "  that is", "  long"]
    assert lines_of("abcdefghijklmnopqrstuvwxyz", 10) == ["abcdefghij", "klmnopqrst", "uvwxyz"]


def test_wide_and_combining_characters_take_the_room_they_take() -> None:
    assert lines_of("東京は日本の首都です", 8) == ["東京は日", "本の首都", "です"]
    assert width("e\u0301") == 1
    assert lines_of("e\u0301" * 12, 8) == ["e\u0301" * 8, "e\u0301" * 4]


@pytest.mark.parametrize("columns", [8, 13, 40])
def test_wrapping_loses_no_letter(columns: int) -> None:
    text = "  Alpha beta  gamma—δέλτα 東京 zeta/eta_theta\u0301iota " * 3
    lines = lines_of(text, columns)
    assert all(width(line) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


# -- pairs -----------------------------------------------------------------------------------


def test_results_stand_beside_their_calls_whatever_their_order() -> None:
    portrait = chat(
        {"role": "assistant", "content": None, "tool_calls": [call("a", "1"), call("b", "2")]},
        {"role": "tool", "tool_call_id": "2", "content": "of b"},
        {"role": "tool", "tool_call_id": "1", "content": "of a"},
    )
    assert text_of(portrait).splitlines()[-5:] == [
        "┃ → a()", "┃ ← of a", "┃", "┃ → b()", "┃ ← of b",
    ]  # fmt: skip
    assert len(portrait.turns) == 1


def test_a_result_that_comes_later_stays_where_it_is_and_names_its_call() -> None:
    portrait = chat(
        {"role": "assistant", "content": None, "tool_calls": [call("a", "1")]},
        {"role": "user", "content": "Well?"},
        {"role": "tool", "tool_call_id": "1", "content": "late"},
        {"role": "tool", "tool_call_id": "9", "content": "lost"},
    )
    assert [turn.role for turn in portrait.turns] == ["assistant", "user", "tool", "tool"]
    assert text_of(portrait).splitlines()[-7:] == [
        "┃ tool", "┃ ← a", "┃   late", "",
        "┃ tool", "┃ ← a result without its call (9)", "┃   lost",
    ]  # fmt: skip


def test_an_id_that_is_used_again_means_the_latest_call() -> None:
    portrait = chat(
        {"role": "assistant", "content": None, "tool_calls": [call("a", "1")]},
        {"role": "tool", "tool_call_id": "1", "content": "first"},
        {"role": "assistant", "content": None, "tool_calls": [call("b", "1")]},
        {"role": "tool", "tool_call_id": "1", "content": "second"},
    )
    shown = [item for turn in portrait.turns for item in turn.items if isinstance(item, Call)]
    assert [(c.name, len(c.replies)) for c in shown] == [("a", 1), ("b", 1)]


def test_errors_malformed_arguments_and_silence_are_marked() -> None:
    doc = hostile_request()
    doc["messages"][1]["content"][0]["content"] = "no such city"
    assert "✗ no such city" in text_of(draw(dragoman.read(doc, "anthropic-messages")))
    portrait = chat(
        {"role": "assistant", "content": None, "tool_calls": [call("a", "1", '{"city": "Par')]},
        {"role": "tool", "tool_call_id": "1", "content": ""},
    )
    assert '→ a  not JSON\n┃     {"city": "Par' in text_of(portrait)


def test_long_results_are_shortened_and_say_so() -> None:
    portrait = chat(
        {"role": "assistant", "content": None, "tool_calls": [call("a", "1")]},
        {"role": "tool", "tool_call_id": "1", "content": "\n".join(map(str, range(40)))},
    )
    assert "┃   … 28 more lines" in text_of(portrait)
    assert "┃   39" in text_of(portrait, full=True)
    assert "more lines" not in text_of(portrait, full=True)


@pytest.mark.parametrize("colour", [False, True])
def test_lines_are_counted_as_they_would_be_shown(colour: bool) -> None:
    """What is left out is counted without being painted."""
    pieces = (
        "word ",
        "東京",
        "  ",
        "**bold text** ",
        "`code`",
        "\n",
        "\t",
        "x" * 50,
        "e\u0301",
        "\x1b",
    )
    dice = random.Random(7)
    for _ in range(300):
        text = "".join(dice.choices(pieces, k=dice.randrange(120)))
        columns = dice.randrange(8, 60)
        item = Words(((text, ""),))
        every = list(words(item, Brush(columns, True, colour=colour)))
        brief = list(shortened_words(item, Brush(columns, colour=colour)))
        if len(every) > 14:
            assert brief[:12] == every[:12]
            assert render(brief[12], False) == f"… {len(every) - 12} more lines"
        else:
            assert brief == every


# -- images ----------------------------------------------------------------------------------


def image(data: str = PIXEL, media_type: str = "image/png") -> Portrait:
    part = {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}
    return chat({"role": "user", "content": [part]})


def test_an_image_is_a_placeholder_with_type_and_size() -> None:
    assert "▣ image image/png · 1x1 · 70 B" in text_of(image())


@pytest.mark.parametrize(
    ("environment", "start"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b_Ga=T,f=100,"),
        ({"TERM_PROGRAM": "ghostty"}, "\x1b_Ga=T,f=100,"),
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]1337;File=inline=1;"),
        ({"TERM_PROGRAM": "WezTerm"}, "\x1b]1337;File=inline=1;"),
        ({"TERM_PROGRAM": "iTerm.app", "TMUX": "1"}, ""),
        ({"TERM": "xterm-256color"}, ""),
    ],
)
def test_terminals_that_can_show_images_do(environment: dict[str, str], start: str) -> None:
    lines = paint(image(), Brush(images=protocol(environment)))
    shown = [span.sequence for line in lines for span in line if isinstance(span, Picture)]
    assert len(shown) == bool(start)
    assert all(sequence.startswith(start) and PIXEL in sequence for sequence in shown)


def test_what_is_not_a_raster_is_never_shown_as_one() -> None:
    svg = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="
    for portrait in (image(svg, "image/svg+xml"), image(svg), image(PIXEL[:-3] + '"x')):
        assert "<img" not in html_of(portrait)
        things = [i for turn in portrait.turns for i in turn.items if isinstance(i, Thing)]
        assert [thing.image for thing in things] == [None]
    assert f'<img src="data:image/png;base64,{PIXEL}"' in html_of(image())


def test_the_quick_way_to_wrap_is_the_slow_one(monkeypatch: Any) -> None:
    """Where all characters take one column, lines are found without looking at words."""
    rolls = random.Random(7)
    words = ["a", "bb", "ccc", " ", "  ", "- ", "d" * 24, "é", "…"]
    for _ in range(2000):
        columns = rolls.randint(10, 30)
        text = "".join(rolls.choice(words) for _ in range(rolls.randint(1, 25)))
        if len(text) - len(text.lstrip()) >= columns - 1:
            continue  # nothing but indentation
        cut = rolls.randint(0, len(text))
        quick = shown(lines.wrap([Span(text[:cut], "call"), Span(text[cut:])], columns))
        with monkeypatch.context() as patch:
            patch.setattr(lines, "_breaks", lines._uneven_breaks)
            assert quick == shown(lines.wrap([Span(text)], columns))


def shown(wrapped: Any) -> list[str]:
    return ["".join(span.text for span in line).rstrip() for line in wrapped]


@pytest.mark.parametrize("text", ["x" * 2_000_000, "東" * 500_000, "word " * 400_000])
def test_a_line_without_end_takes_no_time_without_end(text: str) -> None:
    begun = time.process_time()
    assert sum(1 for _ in lines.wrap([Span(text)], 80)) > 5_000
    assert time.process_time() - begun < 10
