"""Content blocks of Messages by themselves: what each is read as, and how it is written again."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Malformed, dialects
from dragoman.dialects.anthropic_messages import blocks, tools
from dragoman.ledger import Ledger
from dragoman.model import (
    Block,
    Cache,
    Citation,
    Extras,
    Hosted,
    Media,
    Passage,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)

NAME = "anthropic-messages"
D: Any = dialects.get(NAME)
MARK = {"cache_control": {"type": "ephemeral"}}
CACHE = Cache(at="/b/0/cache_control")


def read(doc: Any, *custom: str) -> Block:
    (block,) = blocks.read_blocks(D, [doc], "/b", frozenset(custom))
    return block


def written(block: Block, same: bool = False) -> tuple[Any, list[str]]:
    log = Ledger(target=NAME)
    w = tools.writing(D, log, NAME if same else "native")
    (found,) = blocks.write_blocks(D, [block], w) or [None]
    return found, [f"{x.kind} {x.what} {x.path}" for x in log.losses]


def kept(**fields: Any) -> Extras:
    inner = tuple(key for key in ("citations", "source", "tool") if key in fields)
    return Extras(NAME, fields, inner=inner)


# -- services -----------------------------------------------------------------------------------

# https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview#server-tools
CALLED = {
    "web_search": "web_search", "web_fetch": "web_fetch", "code_execution": "code_execution",
    "bash_code_execution": "code_execution", "text_editor_code_execution": "code_execution",
    "tool_search_tool_regex": "tool_search", "tool_search_tool_bm25": "tool_search",
    "advisor": "advisor", "brand_new": "brand_new",
}  # fmt: skip
ANSWERED = {
    "web_search_tool_result": "web_search", "web_fetch_tool_result": "web_fetch",
    "code_execution_tool_result": "code_execution",
    "bash_code_execution_tool_result": "code_execution",
    "text_editor_code_execution_tool_result": "code_execution",
    "tool_search_tool_result": "tool_search", "advisor_tool_result": "advisor",
    "mcp_tool_result": "mcp", "mcp_tool_listing": "mcp",
}  # fmt: skip


@pytest.mark.parametrize(("name", "service"), CALLED.items())
def test_calls_of_hosted_tools(name: str, service: str) -> None:
    doc = {"type": "server_tool_use", "id": "s", "name": name, "input": {}}
    assert read(doc) == Hosted(NAME, service, doc, "call", id="s", at="/b/0")
    remote = {**doc, "type": "mcp_tool_use"}
    assert read(remote) == Hosted(NAME, "mcp", remote, "call", id="s", at="/b/0")
    assert written(read(doc), same=True) == (doc, [])


@pytest.mark.parametrize(("kind", "service"), ANSWERED.items())
def test_results_of_hosted_tools(kind: str, service: str) -> None:
    doc = {"type": kind, "tool_use_id": "s", "content": []}
    assert read(doc) == Hosted(NAME, service, doc, "result", id="s", at="/b/0")
    assert written(read(doc), same=True) == (doc, [])


# -- blocks -------------------------------------------------------------------------------------

PNG = {"type": "base64", "media_type": "image/png", "data": "aGk="}
IMAGE = Source("base64", "aGk=", "image/png")
URL = "https://example.com/a"

BLOCKS: list[tuple[Any, Block]] = [
    ({"type": "text", "text": "Hi"}, Text("Hi", at="/b/0")),
    ({"type": "text", "text": "Hi", "x": 1}, Text("Hi", at="/b/0", extras=kept(x=1))),
    ({"type": "text", "text": "Hi", **MARK}, Text("Hi", cache=CACHE, at="/b/0")),
    (
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        Reasoning(("Hm.",), signature=Signature("s", "anthropic"), at="/b/0"),
    ),
    (
        {"type": "thinking", "thinking": "", "signature": "s", "x": 1},
        Reasoning((), signature=Signature("s", "anthropic"), at="/b/0", extras=kept(x=1)),
    ),
    ({"type": "thinking", "thinking": "Hm.", "signature": ""}, Reasoning(("Hm.",), at="/b/0")),
    ({"type": "thinking", "thinking": "", "signature": ""}, Reasoning(("",), at="/b/0")),
    (
        {"type": "redacted_thinking", "data": "d", "x": 1},
        Reasoning(signature=Signature("d", "anthropic", "encrypted"), at="/b/0", extras=kept(x=1)),
    ),
    (
        {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
        ToolCall("c", "f", '{"a":1}', at="/b/0"),
    ),
    ({"type": "tool_use", "name": "f", "input": {}}, ToolCall(None, "f", "{}", at="/b/0")),
    (
        {"type": "tool_use", "id": "c", "name": "f", "input": {}, "x": 1, **MARK},
        ToolCall("c", "f", "{}", cache=CACHE, at="/b/0", extras=kept(x=1)),
    ),
    (
        {"type": "tool_use", "id": "c", "name": "f", "input": {}, "caller": {"type": "other"}},
        ToolCall("c", "f", "{}", at="/b/0", extras=kept(caller={"type": "other"})),
    ),
    (
        {"type": "tool_result", "tool_use_id": "c", "content": "1"},
        ToolResult("c", (Text("1", at="/b/0/content"),), at="/b/0"),
    ),
    ({"type": "tool_result", "tool_use_id": "c"}, ToolResult("c", (), at="/b/0")),
    (
        {"type": "tool_result", "tool_use_id": "c", "content": "1", "is_error": True, **MARK},
        ToolResult("c", (Text("1", at="/b/0/content"),), True, cache=CACHE, at="/b/0"),
    ),
    (
        {"type": "tool_result", "tool_use_id": "c", "is_error": False, "x": 1},
        ToolResult("c", (), False, at="/b/0", extras=kept(x=1)),
    ),
    (
        {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image", "source": PNG}]},
        ToolResult("c", (Media("image", IMAGE, at="/b/0/content/0"),), at="/b/0"),
    ),
    ({"type": "image", "source": PNG}, Media("image", IMAGE, at="/b/0")),
    (
        {"type": "image", "source": {**PNG, "x": 1}, "y": 2, **MARK},
        Media("image", IMAGE, cache=CACHE, at="/b/0", extras=kept(source={"x": 1}, y=2)),
    ),
    (
        {"type": "image", "source": {"type": "base64", "data": "aGk="}},
        Media("image", Source("base64", "aGk="), at="/b/0"),
    ),
    (
        {"type": "image", "source": {"type": "url", "url": URL}},
        Media("image", Source("url", URL), at="/b/0"),
    ),
    (
        {"type": "image", "source": {"type": "url", "url": URL, "media_type": "image/png"}},
        Media(
            "image", Source("url", URL), at="/b/0", extras=kept(source={"media_type": "image/png"})
        ),
    ),
    (
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        Media("image", Source("file", "f", issuer="anthropic"), at="/b/0"),
    ),
    (
        {
            "type": "document", "title": "T", "context": "C", "citations": {"enabled": True},
            "source": {"type": "text", "media_type": "text/plain", "data": "A"}, **MARK,
        },
        Media(
            "document", Source("text", "A", "text/plain"), title="T", context="C", citable=True,
            cache=CACHE, at="/b/0",
        ),
    ),
    (
        {
            "type": "document", "citations": {"enabled": False, "x": 1},
            "source": {"type": "text", "media_type": "text/csv", "data": "A", "y": 2}, "z": 3,
        },
        Media(
            "document", Source("text", "A", "text/csv"), citable=False, at="/b/0",
            extras=kept(z=3, source={"y": 2}, citations={"x": 1}),
        ),
    ),
    (
        {
            "type": "document",
            "source": {"type": "content", "content": [{"type": "text", "text": "A"}]},
        },
        Media(
            "document", Source("blocks", blocks=(Text("A", at="/b/0/source/content/0"),)), at="/b/0"
        ),
    ),
    (
        {
            "type": "search_result", "source": "s", "title": "t", "citations": {"enabled": True},
            "content": [{"type": "text", "text": "A"}], "x": 1, **MARK,
        },
        Passage(
            "s", "t", (Text("A", at="/b/0/content/0"),), True, CACHE, at="/b/0", extras=kept(x=1)
        ),
    ),
    ({"type": "new", "x": 1}, Raw(NAME, {"type": "new", "x": 1}, at="/b/0")),
    (
        {"type": "image", "source": {"type": "new"}},
        Raw(NAME, {"type": "image", "source": {"type": "new"}}, at="/b/0"),
    ),
    (
        {"type": "document", "source": {"type": "new"}},
        Raw(NAME, {"type": "document", "source": {"type": "new"}}, at="/b/0"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("doc", "block"), BLOCKS)
def test_a_block_as_it_is_read_and_written(doc: Any, block: Block) -> None:
    found = read(doc)
    assert found == block
    assert found.at == block.at
    out, lost = written(block, same=True)
    assert {**out, "content": out.get("content")} == {**doc, "content": doc.get("content")}
    assert lost == []


def test_what_says_nothing_is_not_written() -> None:
    direct = {"type": "tool_use", "id": "c", "name": "f", "input": {}, "caller": {"type": "direct"}}
    assert read(direct) == ToolCall("c", "f", "{}", at="/b/0")
    bare = {"type": "document", "source": {"type": "text", "data": "A"}}
    assert read(bare) == Media("document", Source("text", "A", "text/plain"), at="/b/0")
    for kind in (None, "text/plain"):  # "source.text.media_type: Input should be 'text/plain'"
        out, _ = written(Media("document", Source("text", "A", kind), at="/b"))
        assert out["source"] == {"type": "text", "media_type": "text/plain", "data": "A"}
    words = {"type": "document", "source": {"type": "content", "content": "A"}}
    found = read(words)
    assert isinstance(found, Media)
    assert found.source.blocks == (Text("A", at="/b/0/source/content"),)
    image = Media("image", IMAGE, title="T", context="C", citable=True, at="/b")
    assert written(image)[0] == {"type": "image", "source": PNG}


def test_freeform_calls_have_one_text() -> None:
    doc = {"type": "tool_use", "id": "c", "name": "f", "input": {"input": "x"}}
    assert read(doc, "f") == ToolCall("c", "f", "x", "custom", at="/b/0")
    assert read(doc) == read(doc, "g") == ToolCall("c", "f", '{"input":"x"}', at="/b/0")
    marked = read({**doc, "x": 1, **MARK}, "f")
    assert marked == ToolCall("c", "f", "x", "custom", cache=CACHE, at="/b/0", extras=kept(x=1))
    for given in ({"input": 5}, {"input": "x", "y": 1}, {}):
        block = read({**doc, "input": given}, "f")
        assert isinstance(block, ToolCall)
        assert block.kind == "function"
    assert written(ToolCall("c", "f", "x", "custom", at="/b"), same=True) == (doc, [])


@pytest.mark.parametrize(
    ("doc", "text", "code"),
    [
        ({"type": "tool_reference", "tool_name": "f"}, "Tool found: f", "tool_result.content"),
        ({"type": "tool_reference", "tool_name": ""}, None, "tool_result.content"),
        ({"type": "tool_reference", "tool_name": 5}, None, "tool_result.content"),
        ({"type": "compaction", "content": "A"}, "[Summary of the conversation so far]\nA\n",
         "compaction"),
        ({"type": "compaction", "content": None}, None, "compaction"),
    ],
)  # fmt: skip
def test_what_others_can_be_told(doc: Any, text: str | None, code: str) -> None:
    assert read(doc) == Raw(NAME, doc, text, code=code, at="/b/0")
    assert read({**doc, "x": 1}).extras == kept(x=1)


def test_a_tool_that_is_added() -> None:
    tool = {"name": "f", "input_schema": {"type": "object"}}
    doc = {"type": "tool_addition", "tool": {"type": "x", "definition": tool, "y": 1}, "z": 2}
    found = read(doc)
    assert isinstance(found, Raw)
    assert [(t.name, t.at) for t in found.tools or ()] == [("f", "/b/0/tool/definition")]
    assert (found.payload, found.extras) == (doc, kept(tool={"y": 1}, z=2))
    for odd in ({"type": "tool_addition"}, {"type": "tool_addition", "tool": {"type": "x"}}):
        assert read(odd) == Raw(NAME, odd, at="/b/0")


# -- citations ----------------------------------------------------------------------------------

DOCUMENT = {"cited_text": "q", "document_index": 1, "document_title": "T"}
CITED: list[tuple[Any, Citation]] = [
    (
        {"type": "char_location", **DOCUMENT, "start_char_index": 2, "end_char_index": 3},
        Citation("document", title="T", quote="q", document=1, location=("char", 2, 3), at="/c"),
    ),
    (
        {"type": "page_location", **DOCUMENT, "start_page_number": 2, "end_page_number": 3},
        Citation("document", title="T", quote="q", document=1, location=("page", 2, 3), at="/c"),
    ),
    (
        {"type": "content_block_location", **DOCUMENT, "start_block_index": 2, "end_block_index": 3,
         "file_id": "f"},
        Citation(
            "document", title="T", quote="q", document=1, location=("block", 2, 3), at="/c",
            extras=Extras(NAME, {"file_id": "f"}),
        ),
    ),
    (
        {"type": "search_result_location", "cited_text": "q", "search_result_index": 1,
         "source": "s", "title": "T", "start_block_index": 2, "end_block_index": 3},
        Citation(
            "passage", url="s", title="T", quote="q", document=1, location=("block", 2, 3), at="/c"
        ),
    ),
    (
        {"type": "web_search_result_location", "cited_text": "q", "url": URL, "title": "T",
         "encrypted_index": "e"},
        Citation(
            "url", url=URL, title="T", quote="q", at="/c",
            signature=Signature("e", "anthropic", "encrypted"),
        ),
    ),
    (
        {"type": "web_search_result_location", "cited_text": "q", "url": URL, "title": None,
         "encrypted_index": None, "x": 1},
        Citation("url", url=URL, quote="q", at="/c", extras=Extras(NAME, {"x": 1})),
    ),
    ({"type": "new"}, Citation("other", at="/c", extras=Extras(NAME, {"type": "new"}))),
]  # fmt: skip


@pytest.mark.parametrize(("doc", "cite"), CITED)
def test_a_citation_as_it_is_read_and_written(doc: Any, cite: Citation) -> None:
    found = blocks.read_citation(D, doc, "/c")
    assert found == cite
    assert found.at == "/c"
    block = Text("A", (cite,), at="/b")
    out, lost = written(block, same=True)
    assert (out, lost) == ({"type": "text", "text": "A", "citations": [doc]}, [])


def test_what_a_citation_from_elsewhere_lacks() -> None:
    def cited(cite: Citation) -> Any:
        return written(Text("A", (cite,), at="/b"))[0]["citations"][0]

    place = cited(Citation("document", document=1, location=("char", 2, 3), at="/c"))
    assert (place["cited_text"], place["document_title"]) == ("", None)
    passage = Citation("passage", document=1, location=("block", 2, 3), at="/c")
    assert cited(passage)["source"] == ""
    (same,) = written(Text("A", (passage,)), same=True)[0]["citations"]
    assert (same["source"], same["type"]) == (None, "search_result_location")
    for cite in (
        Citation("document", location=("char", 2, 3), at="/c"),
        Citation("document", document=1, at="/c"),
    ):
        assert cited(cite)["type"] == "web_search_result_location"


def test_quotes_that_are_empty() -> None:
    doc = {"type": "char_location", **DOCUMENT, "start_char_index": 2, "end_char_index": 3}
    assert blocks.read_citation(D, {**doc, "cited_text": ""}, "/c").quote is None
    text = read({"type": "text", "text": "A", "citations": [doc, doc]})
    assert isinstance(text, Text)
    assert [cite.at for cite in text.citations] == ["/b/0/citations/0", "/b/0/citations/1"]
    assert read({"type": "text", "text": "A", "citations": None}) == Text("A", at="/b/0")


# -- what makes no sense ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("doc", "at"),
    [
        (5, "/b/0"),
        ({}, "/b/0"),
        ({"type": 5}, "/b/0/type"),
        ({"type": "text"}, "/b/0"),
        ({"type": "text", "text": 5}, "/b/0/text"),
        ({"type": "text", "text": "A", "citations": 5}, "/b/0/citations"),
        ({"type": "text", "text": "A", "citations": [5]}, "/b/0/citations/0"),
        ({"type": "text", "text": "A", "citations": [{"type": "char_location"}]},
         "/b/0/citations/0"),
        ({"type": "text", "text": "A", "cache_control": 5}, "/b/0/cache_control"),
        ({"type": "text", "text": "A", "cache_control": {"ttl": 5}}, "/b/0/cache_control/ttl"),
        ({"type": "thinking", "signature": "s"}, "/b/0"),
        ({"type": "thinking", "thinking": "A", "signature": 5}, "/b/0/signature"),
        ({"type": "redacted_thinking"}, "/b/0"),
        ({"type": "tool_use", "input": {}}, "/b/0"),
        ({"type": "tool_use", "id": "c", "name": "f", "input": "{}"}, "/b/0/input"),
        ({"type": "tool_use", "id": 5, "name": "f", "input": {}}, "/b/0/id"),
        ({"type": "tool_result", "content": "1"}, "/b/0"),
        ({"type": "tool_result", "tool_use_id": "c", "content": 5}, "/b/0/content"),
        ({"type": "tool_result", "tool_use_id": "c", "content": [5]}, "/b/0/content/0"),
        ({"type": "tool_result", "tool_use_id": "c", "is_error": 5}, "/b/0/is_error"),
        ({"type": "image"}, "/b/0"),
        ({"type": "image", "source": {"type": "base64"}}, "/b/0/source"),
        ({"type": "image", "source": {"type": "url", "url": 5}}, "/b/0/source/url"),
        ({"type": "image", "source": {"type": "file"}}, "/b/0/source"),
        ({"type": "document", "source": {"type": "content", "content": 5}}, "/b/0/source/content"),
        ({"type": "document", "source": {"type": "text", "data": "A", "media_type": 5}},
         "/b/0/source/media_type"),
        ({"type": "document", "source": PNG, "title": 5}, "/b/0/title"),
        ({"type": "document", "source": PNG, "context": 5}, "/b/0/context"),
        ({"type": "search_result", "source": "s", "title": "t"}, "/b/0"),
        ({"type": "search_result", "content": [], "title": "t"}, "/b/0"),
        ({"type": "search_result", "content": [], "source": "s"}, "/b/0"),
        ({"type": "server_tool_use"}, "/b/0"),
        ({"type": "mcp_tool_use", "name": "f", "id": 5}, "/b/0/id"),
        ({"type": "mcp_tool_result", "tool_use_id": 5}, "/b/0/tool_use_id"),
    ],
)  # fmt: skip
def test_it_is_refused_at_its_place(doc: Any, at: str) -> None:
    with pytest.raises(Malformed) as raised:
        read(doc)
    found = raised.value.at
    assert found == at or found.rpartition("/")[0] == at  # of a key that is missing


# -- for others ---------------------------------------------------------------------------------


def test_reasoning_that_nobody_signed() -> None:
    out, lost = written(Reasoning(("A", "B"), at="/r"))
    assert out.keys() == {"type", "thinking", "signature"}
    assert (out["signature"], lost) == ("", ["invented reasoning.signature /r"])
    assert written(Reasoning(("A",), at="/r"), same=True)[1] == []
    mine = Reasoning(("A",), at="/r", extras=kept(x=1))
    assert written(mine) == ({"type": "thinking", "thinking": "A", "signature": "", "x": 1}, [])
    foreign = Reasoning(("A",), at="/r", extras=Extras("gemini", {"x": 1}))
    assert sorted(written(foreign, same=True)[1]) == [
        "dropped extras /r/x", "invented reasoning.signature /r",
    ]  # fmt: skip


def test_what_has_no_block_is_reported() -> None:
    for block in (Raw("gemini", {"x": 1}, at="/r"), Hosted("gemini", "maps", {}, "call", at="/r")):
        out, lost = written(block)
        assert out is None
        assert [entry.split()[2] for entry in lost] == ["/r"]


def test_marks_are_counted() -> None:
    """A model takes four of them: each is remembered with what it stands in."""
    w = tools.writing(D, Ledger(), "native")
    marked: tuple[Block, ...] = (Text("A", cache=Cache("1h", at="/a")), Text("B"))
    marked += (Media("image", IMAGE, cache=CACHE),)
    found = blocks.write_blocks(D, marked, w)
    assert [mark for _, mark in w.marks] == [Cache("1h", at="/a"), CACHE]
    assert [doc for doc, _ in w.marks] == [found[0], found[2]]
    assert found[0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    odd = read({"type": "text", "text": "A", "cache_control": {"type": "long", "x": 1}})
    assert isinstance(odd, Text)
    assert odd.cache is not None
    assert odd.cache.extras == Extras(NAME, {"type": "long", "x": 1})


def test_a_result_that_says_more_than_its_text() -> None:
    cited = Text("1", (Citation("other", at="/c", extras=kept(type="x")),), at="/t")
    for part in (cited, Text("1", cache=CACHE), Text("1", extras=kept(x=1))):
        out, _ = written(ToolResult("c", (part,), at="/r"))
        assert isinstance(out["content"], list)
    foreign = Text("1", extras=Extras("gemini", {"x": 1}), at="/t")
    assert written(ToolResult("c", (foreign,), at="/r"))[1] == ["dropped extras /t/x"]
    lost = ToolResult("c", (Text("1"),), at="/r", extras=Extras("gemini", {"x": 1}))
    assert written(lost)[1] == ["dropped extras /r/x"]
    out, _ = written(ToolResult("c", (Text("1"), Text("2")), True, at="/r"))
    assert out == {
        "type": "tool_result", "tool_use_id": "c", "is_error": True,
        "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}],
    }  # fmt: skip
    assert written(ToolResult("c", (), at="/r"))[0] == {"type": "tool_result", "tool_use_id": "c"}
