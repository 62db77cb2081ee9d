"""Contents of the Interactions API by themselves: texts, what they cite, and media."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import Malformed, dialects
from dragoman.dialects.gemini_interactions import contents
from dragoman.dialects.gemini_interactions.contents import Places
from dragoman.ledger import Ledger
from dragoman.model import Block, Citation, Extras, Hosted, Media, Raw, Reasoning, Source, Text

NAME = "gemini-interactions"
D: Any = dialects.get(NAME)
FILES = "https://generativelanguage.googleapis.com/v1beta/files/f"
URL = "https://example.com/a"


def read(doc: Any) -> Block:
    (block,) = contents.read_contents(D, [doc], "/c")
    return block


def written(block: Block, same: bool = False) -> tuple[list[Any], list[str]]:
    log = Ledger(target=NAME)
    w = D.writing(log, NAME if same else "native")
    found = contents.write_contents(D, [block], w)
    return found, [f"{x.kind} {x.what} {x.path}" for x in log.losses]


def kept(**fields: Any) -> Extras:
    return Extras(NAME, fields)


# -- contents -----------------------------------------------------------------------------------

CONTENTS: list[tuple[Any, Block]] = [
    ({"type": "text", "text": "A"}, Text("A", at="/c/0")),
    ({"type": "text", "text": "A", "x": 1}, Text("A", at="/c/0", extras=kept(x=1))),
    (
        {"type": "image", "data": "aGk=", "mime_type": "image/png", "resolution": "low"},
        Media("image", Source("base64", "aGk=", "image/png"), "low", at="/c/0"),
    ),
    (
        {"type": "image", "data": "aGk=", "uri": URL, "x": 1},
        Media("image", Source("base64", "aGk="), at="/c/0", extras=kept(uri=URL, x=1)),
    ),
    (
        {"type": "audio", "uri": URL, "mime_type": "audio/wav"},
        Media("audio", Source("url", URL, "audio/wav"), at="/c/0"),
    ),
    (
        {"type": "video", "uri": FILES},
        Media("video", Source("file", FILES, issuer="google"), at="/c/0"),
    ),
    (
        {"type": "document", "uri": "gs://a/b", "mime_type": "application/pdf", "x": 1},
        Media(
            "document", Source("file", "gs://a/b", "application/pdf", "google"), at="/c/0",
            extras=kept(x=1),
        ),
    ),
    ({"type": "image", "x": 1}, Raw(NAME, {"type": "image", "x": 1}, at="/c/0")),
    ({"type": "new", "x": 1}, Raw(NAME, {"type": "new", "x": 1}, at="/c/0")),
]  # fmt: skip


@pytest.mark.parametrize(("doc", "block"), CONTENTS)
def test_a_content_as_it_is_read_and_written(doc: Any, block: Block) -> None:
    found = read(doc)
    assert found == block
    assert found.at == "/c/0"
    assert written(block, same=True) == ([doc], [])


def test_data_in_the_alphabet_for_urls() -> None:
    found = read({"type": "image", "data": "-_-_"})
    assert isinstance(found, Media)
    assert found.source.value == "+/+/"


def test_what_has_no_content_is_reported() -> None:
    blocks: tuple[Block, ...] = (
        Raw("gemini", {"x": 1}, at="/r"), Hosted("gemini", "maps", {}, "call", at="/r"),
        Reasoning(("A",), at="/r"),
    )  # fmt: skip
    for block in blocks:
        found, lost = written(block)
        assert found == []
        assert [entry.split()[2] for entry in lost] == ["/r"]
    foreign = Extras("gemini", {"x": 1})
    image = Media("image", Source("url", URL), at="/r", extras=foreign)
    assert written(Text("A", at="/r", extras=foreign))[1] == ["dropped extras /r/x"]
    assert written(image)[1] == ["dropped extras /r/x"]


@pytest.mark.parametrize(
    ("doc", "at"),
    [
        (5, "/c/0"),
        ({}, "/c/0"),
        ({"type": "text"}, "/c/0"),
        ({"type": "text", "text": "A", "annotations": 5}, "/c/0/annotations"),
        ({"type": "text", "text": "A", "annotations": [5]}, "/c/0/annotations/0"),
        ({"type": "text", "text": "A", "annotations": [{"type": 5}]}, "/c/0/annotations/0/type"),
        ({"type": "text", "text": "A", "annotations": [{"type": "url_citation", "url": 5}]},
         "/c/0/annotations/0/url"),
        ({"type": "text", "text": "A", "annotations": [{"type": "url_citation", "title": 5}]},
         "/c/0/annotations/0/title"),
        ({"type": "image", "data": 5}, "/c/0/data"),
        ({"type": "image", "uri": 5}, "/c/0/uri"),
        ({"type": "image", "data": 5, "uri": 5}, "/c/0/data"),
        ({"type": "image", "data": "a", "mime_type": 5}, "/c/0/mime_type"),
        ({"type": "image", "data": "a", "resolution": 5}, "/c/0/resolution"),
    ],
)  # fmt: skip
def test_it_is_refused_at_its_place(doc: Any, at: str) -> None:
    with pytest.raises(Malformed) as raised:
        read(doc)
    assert raised.value.at == at


# -- citations ----------------------------------------------------------------------------------

PAGE = {"type": "url_citation", "url": URL, "title": "T"}


@pytest.mark.parametrize(
    ("doc", "cite"),
    [
        (PAGE, Citation("url", URL, "T")),
        ({"type": "url_citation"}, Citation("url")),
        ({**PAGE, "start_index": 0, "end_index": 1}, Citation("url", URL, "T", span=(0, 1))),
        ({**PAGE, "start_index": 3, "end_index": 4, "x": 1},
         Citation("url", URL, "T", span=(2, 3), extras=kept(x=1))),
        ({**PAGE, "start_index": 1, "end_index": 4}, Citation("url", URL, "T", span=(1, 3))),
        ({**PAGE, "start_index": 2, "end_index": 3},
         Citation("url", URL, "T", extras=kept(start_index=2, end_index=3))),
        ({**PAGE, "start_index": 0},
         Citation("url", URL, "T", extras=kept(start_index=0))),
        ({"type": "place_citation", "x": 1},
         Citation("other", extras=kept(type="place_citation", x=1))),
    ],
)  # fmt: skip
def test_a_citation_as_it_is_read_and_written(doc: Any, cite: Citation) -> None:
    """Its place is counted in bytes: the second character of the text has two."""
    whole = {"type": "text", "text": "aéb", "annotations": [PAGE, doc]}
    found = read(whole)
    assert isinstance(found, Text)
    assert found.citations[1] == replace(cite, at="/c/0/annotations/1")
    assert [each.at for each in found.citations] == ["/c/0/annotations/0", "/c/0/annotations/1"]
    assert found.extras is None
    assert written(found, same=True) == ([whole], [])


def test_citations_of_others() -> None:
    cites = (
        Citation("url", URL, span=(1, 2), at="/q"),
        Citation("url", title="T", at="/q", extras=Extras("gemini", {"x": 1})),
    )
    (out,), lost = written(Text("éé", cites, at="/t"))
    assert out["annotations"] == [
        {"type": "url_citation", "url": URL, "start_index": 2, "end_index": 4},
        {"type": "url_citation", "title": "T"},
    ]
    assert lost == ["dropped extras /q/x"]


@pytest.mark.parametrize("text", ["", "abc", "aéb", "日本 go", "😀x😀", "é", "a\ud800b"])
def test_places_are_what_utf8_makes_of_them(text: str) -> None:
    """Whole or in pieces."""
    for size in (1, 2, 100):
        places = Places()
        for start in range(0, len(text), size):
            places.add(text[start : start + size])
        ends = [len(text[:n].encode("utf-8", "surrogatepass")) for n in range(len(text) + 1)]
        assert (places.chars, places.bytes) == (len(text), ends[-1])
        assert [places.byte(n) for n in range(len(text) + 1)] == ends
        chars = {byte: n for n, byte in enumerate(ends)}
        assert [places.char(b) for b in range(ends[-1] + 1)] == [
            chars.get(b) for b in range(ends[-1] + 1)
        ]
        assert len(places.wide) == sum(not char.isascii() for char in text)


@pytest.mark.parametrize(
    ("start", "end", "span"),
    [(0, 0, (0, 0)), (0, 1, (0, 1)), (1, 3, (1, 2)), (-1, 1, None), (3, 1, None), (None, 1, None),
     (0, None, None), (0.0, 1, None), (True, 1, None), (0, 2, None), (2, 3, None), (3, 3, (2, 2))],
)  # fmt: skip
def test_spans(start: Any, end: Any, span: Any) -> None:
    places = Places()
    places.add("aéb")
    assert places.span(start, end) == span


# -- the first content of a step ----------------------------------------------------------------


def test_a_step_is_remembered_by_its_first_content() -> None:
    text = Text("A", at="/s/content/0", extras=kept(y=2))
    step = Extras(NAME, {"x": 1}, inner=("x",))
    assert contents.mark(D, text, None, "/s", False) is text
    begun = contents.mark(D, text, None, "/s", True)
    assert begun == Text(
        "A", at="/s/content/0", extras=Extras(NAME, {"y": 2}, begun.extras.spelling)
    )
    assert begun.extras.spelling
    assert begun.at == "/s/content/0"
    marked = contents.mark(D, text, step, "/s", False)
    assert marked.at == "/s"
    assert marked.extras.fields == {"x": 1, "content/0": {"y": 2}}
    assert marked.extras.inner[:2] == ("x", "content/0")
    bare = contents.mark(D, Text("A", at="/s/content/0"), step, "/s", True)
    assert bare.extras.fields == {"x": 1}
    assert bare.extras.inner == ("x", "content/0")
    assert bare.extras.spelling == begun.extras.spelling


def test_steps_come_back() -> None:
    """Texts and media in steps, with keys of the step and of its first content."""

    def step(*items: Any, **more: Any) -> dict[str, Any]:
        return {"type": "user_input", "content": list(items), **more}

    text, image = {"type": "text", "text": "A"}, {"type": "image", "uri": URL}
    for steps in (
        [step(text)], [step(text), step(text)], [step(text, text)],
        [step(text, image), step(image)],
        [step(text, x=1)], [step({**text, "y": 1}, x=1)], [step({**text, "y": 1})],
        [step(image, text, x=1), step(text, x=1)],
    ):  # fmt: skip
        document = {"model": "m", "input": steps}
        log = Ledger()
        assert D.write(D.read(document, "request"), log)["input"] == steps
        assert log.losses == []
