"""The parts of Chat Completions by themselves: what each is read as, and how it is written."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Malformed, dialects
from dragoman.core.writing import Writing
from dragoman.dialects.openai_chat import parts
from dragoman.ledger import Ledger
from dragoman.model import (
    Block,
    Cache,
    Citation,
    Extras,
    History,
    Hosted,
    Media,
    Message,
    Raw,
    Reasoning,
    Refusal,
    Source,
    Text,
    ToolCall,
    ToolResult,
)

CHAT: Any = dialects.get("openai-chat")
QWEN: Any = dialects.get("qwen")  # any audio, and cache marks of Anthropic's
VLLM: Any = dialects.get("vllm")
NAME = "openai-chat"
URL = "https://example.com/a.png"
PNG = "data:image/png;base64,aGk="
PDF = "data:application/pdf;base64,aGk="


def read(part: Any, d: Any = CHAT) -> Block:
    (block,) = parts.read_parts(d, [part], "/p")
    return block


def written(block: Block, d: Any = CHAT, same: bool = False) -> tuple[list[Any], list[str]]:
    log = Ledger(target=d.name)
    tree = History((Message("user", (block,), at="/m"),), dialect=d.name if same else "native")
    w: Writing = d.writing(log, tree.dialect)
    found = parts.write_parts(d, [block], w)
    return found, [f"{x.kind} {x.what} {x.path}" for x in log.losses]


# -- what is read -------------------------------------------------------------------------------


def media(kind: Any, source: Source, detail: str | None = None, **more: Any) -> Media:
    return Media(kind, source, detail, at="/p/0", **more)


BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
CONTROL = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

READ: list[tuple[Any, Block]] = [
    ("Hi", Text("Hi", at="/p/0")),
    ({"type": "text", "text": "Hi"}, Text("Hi", at="/p/0")),
    (
        {"type": "text", "text": "Hi", "x": 1},
        Text("Hi", at="/p/0", extras=Extras(NAME, {"x": 1})),
    ),
    (
        {"type": "text", "text": "Hi", **BREAKPOINT},
        Text("Hi", cache=Cache(at="/p/0/prompt_cache_breakpoint"), at="/p/0"),
    ),
    (
        {"type": "text", "text": "Hi", **CONTROL},
        Text("Hi", cache=Cache("1h", at="/p/0/cache_control"), at="/p/0"),
    ),
    (
        {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
        media("image", Source("url", URL), "low"),
    ),
    ({"type": "image_url", "image_url": URL}, media("image", Source("url", URL))),
    (
        {"type": "image_url", "image_url": {"url": PNG}},
        media("image", Source("base64", "aGk=", "image/png")),
    ),
    (
        {"type": "image_url", "image_url": {"url": URL, "x": 1}, **BREAKPOINT},
        media(
            "image", Source("url", URL), cache=Cache(at="/p/0/prompt_cache_breakpoint"),
            extras=Extras(NAME, {"image_url": {"x": 1}}, inner=("image_url",)),
        ),
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        media("audio", Source("base64", "aGk=", "audio/mpeg")),
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "flac", "x": 1}},
        media(
            "audio", Source("base64", "aGk=", "audio/flac"),
            extras=Extras(NAME, {"input_audio": {"x": 1}}, inner=("input_audio",)),
        ),
    ),
    (
        {"type": "file", "file": {"file_data": PDF, "filename": "a"}},
        media("document", Source("base64", "aGk=", "application/pdf"), filename="a"),
    ),
    ({"type": "file", "file": {"file_data": "aGk="}}, media("document", Source("base64", "aGk="))),
    ({"type": "file", "file": {"file_data": URL}}, media("document", Source("url", URL))),
    (
        {"type": "file", "file": {"file_id": "f1", "filename": "a"}},
        media("document", Source("file", "f1", issuer="openai"), filename="a"),
    ),
    (
        {"type": "file", "file": {"file_id": "f1", "file_data": "aGk="}},
        media(
            "document", Source("base64", "aGk="),
            extras=Extras(NAME, {"file": {"file_id": "f1"}}, inner=("file",)),
        ),
    ),
    (
        {"type": "refusal", "refusal": "No."},
        Refusal("No.", at="/p/0", extras=Extras(NAME, spelling={"place": "content"})),
    ),
    ({"type": "video_url", "video_url": {"url": URL}}, media("video", Source("url", URL))),
    ({"type": "file_url", "file_url": {"url": URL}}, media("document", Source("url", URL))),
    ({"type": "audio_url", "audio_url": {"url": URL}}, media("audio", Source("url", URL))),
    (
        {"type": "video_url", "video_url": {"url": URL, "fps": 2}, **CONTROL},
        media(
            "video", Source("url", URL), cache=Cache("1h", at="/p/0/cache_control"),
            extras=Extras(NAME, {"video_url": {"fps": 2}}, inner=("video_url",)),
        ),
    ),
]  # fmt: skip
RAW: list[Any] = [
    {"type": "file", "file": {"filename": "a"}},
    {"type": "video_url", "video_url": URL},
    {"type": "video_url", "video_url": {}},
    {"type": "new", "new": 1},
]


@pytest.mark.parametrize(("part", "block"), READ)
def test_what_a_part_is_read_as(part: Any, block: Block) -> None:
    found = read(part)
    assert found == block
    assert found.at == "/p/0"


@pytest.mark.parametrize("part", RAW)
def test_a_part_that_is_not_known_is_kept(part: Any) -> None:
    found = read(part)
    assert found == Raw(NAME, part, at="/p/0")
    assert written(found) == ([part], [])


@pytest.mark.parametrize(("part", "block"), READ)
def test_a_part_is_written_as_it_was(part: Any, block: Block) -> None:
    found, lost = written(block, same=True)
    assert lost == []
    assert [read(each) for each in found] == [block] or CONTROL["cache_control"] in part.values()
    if isinstance(part, dict) and not isinstance(part.get("image_url"), str):
        if "file_url" in part:  # the official name of the same
            part = {"type": "file", "file": {"file_data": URL}}
        (out,) = found
        assert out.keys() - {"prompt_cache_breakpoint"} == part.keys() - {*BREAKPOINT, *CONTROL}
        assert all(out[key] == part[key] for key in out.keys() & part.keys())


FAULTS: list[tuple[Any, str]] = [
    (5, "/p/0"),
    ({"x": 1}, "/p/0"),
    ({"type": 5}, "/p/0/type"),
    ({"type": "text"}, "/p/0"),
    ({"type": "text", "text": 5}, "/p/0/text"),
    ({"type": "text", "text": "a", "cache_control": 5}, "/p/0/cache_control"),
    ({"type": "text", "text": "a", "prompt_cache_breakpoint": 5}, "/p/0/prompt_cache_breakpoint"),
    ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": 5}},
     "/p/0/cache_control/ttl"),
    ({"type": "image_url"}, "/p/0"),
    ({"type": "image_url", "image_url": {}}, "/p/0/image_url"),
    ({"type": "image_url", "image_url": {"url": 5}}, "/p/0/image_url/url"),
    ({"type": "image_url", "image_url": {"url": URL, "detail": 5}}, "/p/0/image_url/detail"),
    ({"type": "input_audio", "input_audio": {"data": "a"}}, "/p/0/input_audio"),
    ({"type": "input_audio", "input_audio": {"format": "mp3"}}, "/p/0/input_audio"),
    ({"type": "input_audio", "input_audio": {"format": "mp3", "data": 5}},
     "/p/0/input_audio/data"),
    ({"type": "file", "file": 5}, "/p/0/file"),
    ({"type": "file", "file": {"file_data": 5}}, "/p/0/file/file_data"),
    ({"type": "file", "file": {"file_id": 5}}, "/p/0/file/file_id"),
    ({"type": "file", "file": {"file_id": "f", "filename": 5}}, "/p/0/file/filename"),
    ({"type": "refusal"}, "/p/0"),
    ({"type": "video_url", "video_url": {"url": 5}}, "/p/0/video_url/url"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "at"), FAULTS)
def test_what_makes_no_sense_is_refused_at_its_place(part: Any, at: str) -> None:
    with pytest.raises(Malformed) as raised:
        read(part)
    assert raised.value.at.startswith(at)
    assert raised.value.at in (at, f"{at}/{raised.value.at.rpartition('/')[2]}")


# -- cache marks --------------------------------------------------------------------------------


def test_of_two_marks_the_official_one_counts() -> None:
    found = read({"type": "text", "text": "a", **BREAKPOINT, **CONTROL})
    assert isinstance(found, Text)
    assert found.cache == Cache(at="/p/0/prompt_cache_breakpoint")
    assert found.extras is None  # the other says the same
    more = {"cache_control": {"type": "ephemeral", "x": 1}}
    found = read({"type": "text", "text": "a", **BREAKPOINT, **more})
    assert found.extras == Extras(NAME, {"cache_control": {"x": 1}}, inner=("cache_control",))


def test_a_mark_of_another_type_keeps_it() -> None:
    found = read({"type": "text", "text": "a", "cache_control": {"type": "long"}})
    assert isinstance(found, Text)
    assert found.cache is not None
    assert found.cache.extras == Extras(NAME, {"type": "long"})
    found = read(
        {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "x", "ttl": "1"}}
    )
    assert isinstance(found, Text)
    assert found.cache is not None
    assert (found.cache.ttl, found.cache.extras) == ("1", Extras(NAME, {"mode": "x"}))


def test_marks_are_written_as_the_server_knows_them() -> None:
    for cache, chat, qwen in (
        (Cache(at="/c"), {"mode": "explicit"}, {"type": "ephemeral"}),
        (
            Cache("1h", at="/c"),
            {"mode": "explicit", "ttl": "1h"},
            {"type": "ephemeral", "ttl": "1h"},
        ),
    ):
        block = Text("a", cache=cache, at="/b")
        assert written(block) == (
            [{"type": "text", "text": "a", "prompt_cache_breakpoint": chat}],
            [],
        )
        assert written(block, QWEN) == ([{"type": "text", "text": "a", "cache_control": qwen}], [])
    kept = Cache(at="/c", extras=Extras(NAME, {"x": 1}))
    (out,), lost = written(Text("a", cache=kept, at="/b"))
    assert (out["prompt_cache_breakpoint"], lost) == ({"mode": "explicit", "x": 1}, [])
    foreign = Cache(at="/c", extras=Extras("gemini", {"x": 1}))
    (out,), lost = written(Text("a", cache=foreign, at="/b"))
    assert (out["prompt_cache_breakpoint"], lost) == ({"mode": "explicit"}, ["dropped extras /c/x"])


# -- audio and files ----------------------------------------------------------------------------


def test_servers_that_take_any_audio() -> None:
    link = {"type": "input_audio", "input_audio": {"url": URL, "x": 1}}
    found = read(link, QWEN)
    assert found == media(
        "audio", Source("url", URL),
        extras=Extras("qwen", {"input_audio": {"x": 1}}, inner=("input_audio",)),
    )  # fmt: skip
    bare = {"type": "input_audio", "input_audio": {"data": "aGk="}}
    for server in (QWEN, VLLM):
        assert read(bare, server) == media("audio", Source("base64", "aGk="))
    assert written(media("audio", Source("base64", "aGk=")), VLLM) == ([bare], [])
    both = {"type": "input_audio", "input_audio": {"data": "aGk=", "url": URL, "format": "wav"}}
    assert read(both, QWEN) == media(
        "audio", Source("base64", "aGk=", "audio/wav"),
        extras=Extras("qwen", {"input_audio": {"url": URL}}, inner=("input_audio",)),
    )  # fmt: skip
    with pytest.raises(Malformed) as raised:
        read({"type": "input_audio", "input_audio": {"x": 1}}, QWEN)
    assert raised.value.at == "/p/0/input_audio"
    linked = media("audio", Source("url", URL))
    assert written(linked, VLLM)[0] == [{"type": "audio_url", "audio_url": {"url": URL}}]
    assert written(media("video", Source("url", URL)))[0] == [
        {"type": "video_url", "video_url": {"url": URL}}
    ]
    assert written(media("document", Source("url", "a.pdf")), same=True)[0] == [
        {"type": "file_url", "file_url": {"url": "a.pdf"}}
    ]


@pytest.mark.parametrize(
    ("media_type", "form"),
    [("audio/wav", "wav"), ("audio/mpeg", "mp3"), ("audio/flac", "flac"), ("audio/ogg", "ogg")],
)
def test_audio_has_the_word_of_its_type(media_type: str, form: str) -> None:
    block = media("audio", Source("base64", "aGk=", media_type))
    out = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": form}}
    assert written(block) == ([out], [])
    assert read(out) == block


@pytest.mark.parametrize(
    ("detail", "same", "kept"), [("auto", False, False), ("auto", True, True), ("low", False, True)]
)
def test_the_detail_of_an_image(detail: str, same: bool, kept: bool) -> None:
    (out,), _ = written(media("image", Source("url", URL), detail), same=same)
    assert out == {
        "type": "image_url",
        "image_url": {"url": URL} | ({"detail": detail} if kept else {}),
    }


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (Source("url", URL), URL),
        (Source("base64", "aGk=", "image/gif"), "data:image/gif;base64,aGk="),
        (Source("base64", "aGk="), "data:;base64,aGk="),
        (Source("file", "f"), None),
        (Source("text", "f"), None),
    ],
)
def test_the_address_of_a_medium(source: Source, value: str | None) -> None:
    assert parts.url_of(source) == value


def test_what_has_a_scheme() -> None:
    assert parts.has_scheme("https://a")
    assert parts.has_scheme("javascr://a")
    assert not parts.has_scheme("aGk=")
    assert not parts.has_scheme("aGkaGkaGkaGk://")


# -- blocks that have no part -------------------------------------------------------------------


def test_blocks_that_have_no_part_are_reported() -> None:
    for block in (
        Raw("gemini", {"x": 1}, at="/b"),
        Hosted("gemini", "maps", {"x": 1}, "call", at="/b"),
        Reasoning(("a",), at="/b"),
    ):
        found, lost = written(block)
        assert found == []
        assert len(lost) == 1
        assert lost[0].endswith(" /b")
    hosted = Hosted(NAME, "maps", {"type": "maps"}, "call", at="/b")
    assert written(hosted) == ([{"type": "maps"}], [])
    spelled = Refusal("No.", at="/b", extras=Extras(NAME, {"x": 1}))
    assert written(spelled) == ([{"type": "refusal", "refusal": "No.", "x": 1}], [])


def test_calls_and_results_among_the_parts_of_the_same_dialect() -> None:
    cache = Cache(at="/c")
    call = ToolCall("c", "f", '{"a":1}', cache=cache, at="/b")
    (out,), lost = written(call, same=True)
    assert {**out, "prompt_cache_breakpoint": 0} == {
        "type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}, "prompt_cache_breakpoint": 0,
    }  # fmt: skip
    assert lost == []
    assert written(call)[0] == []
    (out,), _ = written(ToolResult("c", (Text("1"),), cache=cache, at="/b"), same=True)
    assert (out["type"], out["tool_use_id"]) == ("tool_result", "c")


# -- content ------------------------------------------------------------------------------------


def test_content_in_any_of_its_forms() -> None:
    def content(value: Any) -> tuple[Block, ...]:
        return parts.read_content(CHAT, {"content": value}, "/m")

    assert content("a") == (Text("a", at="/m/content"),)
    assert content(None) == content([]) == parts.read_content(CHAT, {}, "/m") == ()
    assert content({"a": 1}) == (Text('{"a":1}', at="/m/content"),)
    assert content(["a"]) == (Text("a", at="/m/content/0"),)
    with pytest.raises(Malformed) as raised:
        content(5)
    assert raised.value.at == "/m/content"


def test_content_is_a_string_where_it_can_be() -> None:
    w = CHAT.writing(Ledger(), "native")
    assert parts.write_content(CHAT, [Text("a")], w) == "a"
    assert parts.write_content(CHAT, [], w) is None
    two = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert parts.write_content(CHAT, [Text("a"), Text("b")], w) == two
    image = [{"type": "image_url", "image_url": {"url": URL}}]
    assert parts.write_content(CHAT, [media("image", Source("url", URL))], w) == image
    marked = parts.write_content(CHAT, [Text("a", cache=Cache(at="/c"))], w)
    assert marked == [{"type": "text", "text": "a", **BREAKPOINT}]


@pytest.mark.parametrize(
    ("blocks", "failed", "texts"),
    [
        ((), False, []),
        ((Text("[tool error] no"), Text("b")), True, ["no", "b"]),
        ((Text("[tool error]"), Text("b")), True, ["b"]),
        ((Text("ok"), Text("b")), False, ["ok", "b"]),
        ((Text("[tool error]", cache=Cache(at="/c")), Text("b")), False, ["[tool error]", "b"]),
    ],
)
def test_a_result_that_failed(blocks: Any, failed: bool, texts: list[str]) -> None:
    found, left = parts.read_failed(blocks)
    assert (found, [b.text for b in left if isinstance(b, Text)]) == (failed, texts)
    image = media("image", Source("url", URL))
    assert parts.read_failed((image,)) == (False, (image,))


# -- citations ----------------------------------------------------------------------------------


def test_annotations() -> None:
    page = {"url": URL, "title": "A", "start_index": 1, "end_index": 2}
    docs: list[Any] = [
        {"type": "url_citation", "url_citation": page},
        {"type": "url_citation", "url_citation": {"url": URL, "start_index": 1, "x": 2}},
        {"type": "url_citation", "url_citation": {"end_index": 1}, "y": 1},
        {"type": "url_citation", "url_citation": URL},
        {"type": "file_citation", "url_citation": page},
    ]
    inner = ("url_citation",)
    assert parts.read_annotations(CHAT, docs, "/a") == (
        Citation("url", URL, "A", span=(1, 2), at="/a/0"),
        Citation(
            "url", URL, at="/a/1",
            extras=Extras(NAME, {"url_citation": {"start_index": 1, "x": 2}}, inner=inner),
        ),
        Citation(
            "url", at="/a/2",
            extras=Extras(NAME, {"url_citation": {"end_index": 1}, "y": 1}, inner=inner),
        ),
        Citation("other", at="/a/3", extras=Extras(NAME, docs[3])),
        Citation("other", at="/a/4", extras=Extras(NAME, docs[4])),
    )  # fmt: skip
    for number, key in enumerate(("url", "title", "start_index")):
        bad = [{"type": "x"}] * number + [{"type": "url_citation", "url_citation": {key: []}}]
        with pytest.raises(Malformed) as raised:
            parts.read_annotations(CHAT, bad, "/a")
        assert raised.value.at == f"/a/{number}/url_citation/{key}"
    with pytest.raises(Malformed) as raised:
        parts.read_annotations(CHAT, [5], "/a")
    assert raised.value.at == "/a/0"
