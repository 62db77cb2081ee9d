"""Content blocks of Converse by themselves: what each is read as, and how it is written again."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Malformed, dialects
from dragoman.dialects.bedrock_converse import blocks
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

NAME = "bedrock-converse"
D: Any = dialects.get(NAME)
POINT = {"cachePoint": {"type": "default"}}
CACHE = Cache(at="/b/1/cachePoint")


def read(*docs: Any, custom: tuple[str, ...] = ()) -> list[Block]:
    return blocks.read_blocks(D, list(docs), "/b", frozenset(custom))


def written(*some: Block, same: bool = False) -> tuple[list[Any], list[str]]:
    log = Ledger(target=NAME)
    w = blocks.writing(D, log, NAME if same else "native")
    found = blocks.write_blocks(D, some, w)
    return found, [f"{x.kind} {x.what} {x.path}" for x in log.losses]


def kept(*inner: str, **fields: Any) -> Extras:
    return Extras(NAME, fields, inner=inner or tuple(fields))


# -- blocks -------------------------------------------------------------------------------------

BYTES = {"bytes": "aGk="}
WORDS = {"content": [{"text": "A"}]}
PDF = Source("base64", "aGk=", "application/pdf")


def document(source: Any, **more: Any) -> dict[str, Any]:
    return {"document": {"name": "d", "source": source, **more}}


BLOCKS: list[tuple[Any, Block]] = [
    ({"text": "Hi"}, Text("Hi", at="/b/0")),
    ({"text": "Hi", "x": 1}, Text("Hi", at="/b/0", extras=Extras(NAME, {"x": 1}))),
    (
        {"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": 1}}},
        ToolCall("c", "f", '{"a":1}', at="/b/0"),
    ),
    (
        {"toolUse": {"toolUseId": "c", "name": "f", "input": {}, "x": 1}},
        ToolCall("c", "f", "{}", at="/b/0", extras=kept(toolUse={"x": 1})),
    ),
    (
        {"toolUse": {"toolUseId": "c", "name": "f", "input": {}, "type": "other"}},
        ToolCall("c", "f", "{}", at="/b/0", extras=kept(toolUse={"type": "other"})),
    ),
    (
        {"toolUse": {"toolUseId": "c", "name": "f", "input": [1]}},
        ToolCall("c", "f", "[1]", at="/b/0"),
    ),
    (
        {"toolUse": {"toolUseId": "c", "name": "f", "input": "x"}},
        ToolCall("c", "f", "x", at="/b/0"),
    ),
    (
        {"toolResult": {"toolUseId": "c", "content": [{"text": "1"}]}},
        ToolResult("c", (Text("1", at="/b/0/toolResult/content/0"),), at="/b/0"),
    ),
    (
        {"toolResult": {"toolUseId": "c", "content": [], "status": "error"}},
        ToolResult("c", (), True, at="/b/0"),
    ),
    (
        {"toolResult": {"toolUseId": "c", "content": [], "status": "success", "x": 1}},
        ToolResult("c", (), False, at="/b/0", extras=kept(toolResult={"x": 1})),
    ),
    (
        {"toolResult": {"toolUseId": "c", "content": [], "status": "new"}},
        ToolResult("c", (), at="/b/0", extras=kept(toolResult={"status": "new"})),
    ),
    (
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
        Reasoning(("Hm.",), signature=Signature("s", "bedrock"), at="/b/0"),
    ),
    (
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}},
        Reasoning((), signature=Signature("s", "bedrock"), at="/b/0"),
    ),
    (
        {"reasoningContent": {"reasoningText": {"text": "Hm."}}, "x": 1},
        Reasoning(("Hm.",), at="/b/0", extras=Extras(NAME, {"x": 1})),
    ),
    (
        {"reasoningContent": {"redactedContent": "aGk="}},
        Reasoning(signature=Signature("aGk=", "bedrock", "encrypted"), at="/b/0"),
    ),
    (
        {"image": {"format": "png", "source": BYTES}},
        Media("image", Source("base64", "aGk=", "image/png"), at="/b/0"),
    ),
    (
        {"image": {"format": "png", "source": BYTES, "y": 2}, "z": 3},
        Media(
            "image", Source("base64", "aGk=", "image/png"), at="/b/0",
            extras=kept("image", z=3, image={"y": 2}),
        ),
    ),
    (
        {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://a"}}}},
        Media("video", Source("file", "s3://a", "video/mp4", "bedrock"), at="/b/0"),
    ),
    (
        {"audio": {"format": "mp3", "source": BYTES}},
        Media("audio", Source("base64", "aGk=", "audio/mpeg"), at="/b/0"),
    ),
    (
        document(BYTES, format="pdf", context="C", citations={"enabled": True}),
        Media("document", PDF, title="d", context="C", citable=True, at="/b/0"),
    ),
    (
        document({"text": "A"}, format="txt"),
        Media("document", Source("text", "A", "text/plain"), title="d", at="/b/0"),
    ),
    (
        document(WORDS),
        Media(
            "document",
            Source("blocks", blocks=(Text("A", at="/b/0/document/source/content/0"),)),
            title="d", at="/b/0",
        ),
    ),
    (
        {"searchResult": {"source": "s", "title": "t", "citations": {"enabled": False}, **WORDS}},
        Passage("s", "t", (Text("A", at="/b/0/searchResult/content/0"),), False, at="/b/0"),
    ),
    (
        {"searchResult": {"source": "s", "title": "t", **WORDS, "x": 1}},
        Passage(
            "s", "t", (Text("A", at="/b/0/searchResult/content/0"),), at="/b/0",
            extras=kept(searchResult={"x": 1}),
        ),
    ),
    (
        {"citationsContent": {"content": [{"text": "A"}], "citations": []}},
        Text("A", at="/b/0", extras=None),
    ),
    (
        {"guardContent": {"text": {"text": "A", "qualifiers": ["query"]}}},
        Text(
            "A", at="/b/0",
            extras=Extras(NAME, {"guardContent": {"text": {"text": "A", "qualifiers": ["query"]}}}),
        ),
    ),
]  # fmt: skip
RAW: list[Any] = [
    {"new": 1},
    POINT,
    {"image": {"error": {"message": "no"}}},
    {"image": {"format": "png", "source": {"new": 1}}},
    {"image": {"format": "png", "source": {**BYTES, "x": 1}}},
    {"document": {"format": "pdf", "name": "d", "source": {"new": 1}}},
    {"guardContent": {"image": {}}},
    {"guardContent": {"text": {"text": "A"}}, "x": 1},
    {"guardContent": {"text": {"text": "A"}, "x": 1}},
    {"guardContent": {"text": {"text": 5}}},
    {"citationsContent": {"content": [{"new": 1}]}},
    {"citationsContent": {"content": [{"text": "A", "x": 1}]}},
    {"citationsContent": {"content": "A"}},
    {"reasoningContent": {"new": 1}},
    {"reasoningContent": {"reasoningText": {"text": "A", "x": 1}}},
    {"reasoningContent": {"reasoningText": {"text": "A"}, "x": 1}},
    {"reasoningContent": {"reasoningText": "A"}},
]


@pytest.mark.parametrize(("doc", "block"), BLOCKS)
def test_a_block_as_it_is_read_and_written(doc: Any, block: Block) -> None:
    (found,) = read(doc)
    if "citationsContent" in doc:
        assert isinstance(found, Text)
        assert found.text == "A"
        return
    assert found == block
    assert found.at == "/b/0"
    assert written(block, same=True) == ([doc], [])


@pytest.mark.parametrize("doc", RAW)
def test_what_is_not_known_is_kept(doc: Any) -> None:
    assert read(doc) == [Raw(NAME, doc, at="/b/0")]
    assert written(*read(doc), same=True) == ([doc], [])


def test_what_says_nothing_is_not_written() -> None:
    assert read({"type": "text", "text": "A"}) == [Text("A", at="/b/0")]
    (found,) = read({"type": "other", "text": "A"})
    assert found.extras == Extras(NAME, {"type": "other"})
    call = {"toolUseId": "c", "name": "f", "input": {}}
    assert read({"toolUse": {**call, "type": "tool_use"}}) == [ToolCall("c", "f", "{}", at="/b/0")]
    (found,) = read({"toolUse": {**call, "type": "tool_use", "x": 1}})
    assert found.extras == kept(toolUse={"x": 1})
    assert read(document({"text": "A"})) == [
        Media("document", Source("text", "A", "text/plain"), title="d", at="/b/0")
    ]
    result = {
        "toolResult": {"toolUseId": "c", "content": [{"json": {"a": 1}}, {"json": 5, "x": 1}]}
    }
    (found,) = read(result)
    assert isinstance(found, ToolResult)
    assert found.content == (
        Text('{"a":1}', at="/b/0/toolResult/content/0"),
        Text("5", at="/b/0/toolResult/content/1", extras=Extras(NAME, {"x": 1})),
    )


def test_freeform_calls_have_one_text() -> None:
    doc = {"toolUse": {"toolUseId": "c", "name": "f", "input": {"input": "x"}}}
    (found,) = read(doc, custom=("f",))
    assert found == ToolCall("c", "f", "x", "custom", at="/b/0")
    assert written(found, same=True) == ([doc], [])
    assert read(doc) == read(doc, custom=("g",)) == [ToolCall("c", "f", '{"input":"x"}', at="/b/0")]
    for given in ({"input": 5}, {"input": "x", "y": 1}, {}, [1]):
        (found,) = read({"toolUse": {**doc["toolUse"], "input": given}}, custom=("f",))
        assert isinstance(found, ToolCall)
        assert found.kind == "function"
    (found,) = read({"toolUse": {**doc["toolUse"], "x": 1}}, custom=("f",))
    assert found.extras == kept(toolUse={"x": 1})


@pytest.mark.parametrize(
    ("given", "same", "others"),
    [("", {}, {}), (" ", {}, {}), ("[1]", [1], None),
      ("x{", "x{", None), ('{"a":1}', {"a": 1}, {"a": 1}),
     ("5", 5, None), ("null", None, None)],
)  # fmt: skip
def test_arguments_are_any_value_in_the_same_dialect(given: str, same: Any, others: Any) -> None:
    call = ToolCall("c", "f", given, at="/b")
    assert written(call, same=True)[0][0]["toolUse"]["input"] == same
    (out,), lost = written(call)
    assert out["toolUse"]["input"].__class__ is dict
    assert others is None or (out["toolUse"]["input"], lost) == (others, [])


def test_work_that_bedrock_does_itself() -> None:
    call = {
        "toolUse": {
            "toolUseId": "c",
            "name": "nova_grounding",
            "input": {},
            "type": "server_tool_use",
        }
    }
    answer = {"toolResult": {"toolUseId": "c", "content": [], "type": "nova_grounding_result"}}
    found = read(call, answer)
    assert found == [
        Hosted(NAME, "nova_grounding", call, "call", id="c", at="/b/0"),
        Hosted(NAME, "nova_grounding", answer, "result", id="c", at="/b/1"),
    ]
    assert written(*found, same=True) == ([call, answer], [])
    usual = {"toolResult": {"toolUseId": "c", "content": [], "type": "tool_result"}}
    assert isinstance(read(usual)[0], ToolResult)
    (inner,) = blocks.read_blocks(D, [usual], "/b", results=False)
    assert inner == Raw(NAME, usual, at="/b/0")
    (inner,) = blocks.read_blocks(D, [answer], "/b", results=False)
    assert isinstance(inner, Hosted)


# -- cache marks --------------------------------------------------------------------------------

MARKED: list[tuple[Any, Any]] = [
    ({"text": "A"}, Text),
    ({"image": {"format": "png", "source": BYTES}}, Media),
    ({"searchResult": {"source": "s", "title": "t", **WORDS}}, Passage),
    ({"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}, ToolCall),
    ({"toolResult": {"toolUseId": "c", "content": []}}, ToolResult),
]


@pytest.mark.parametrize(("doc", "kind"), MARKED)
def test_a_mark_belongs_to_the_block_before_it(doc: Any, kind: Any) -> None:
    (found,) = read(doc, POINT)
    assert isinstance(found, kind)
    assert found.cache == CACHE
    assert found.cache.at == "/b/1/cachePoint"
    assert written(found, same=True) == ([doc, POINT], [])
    assert written(found)[0][1:] == [POINT]


def test_marks_that_belong_to_nothing() -> None:
    text, odd = {"text": "A"}, {**POINT, "x": 1}
    reasoning = {"reasoningContent": {"reasoningText": {"text": "A"}}}
    assert read(text, odd)[1] == Raw(NAME, odd, at="/b/1")
    assert read(reasoning, POINT)[1] == Raw(NAME, POINT, at="/b/1")
    first, second = read(text, POINT, POINT)
    assert (first, second) == (Text("A", cache=CACHE, at="/b/0"), Raw(NAME, POINT, at="/b/2"))
    lasting = {"cachePoint": {"type": "default", "ttl": "1h", "x": 1}}
    (found,) = read(text, lasting)
    assert isinstance(found, Text)
    assert found.cache == Cache("1h", at="/b/1/cachePoint", extras=Extras(NAME, {"x": 1}))
    assert written(found, same=True)[0] == [text, lasting]
    strange = {"cachePoint": {"type": "new"}}
    (found,) = read(text, strange)
    assert isinstance(found, Text)
    assert found.cache is not None
    assert found.cache.extras == Extras(NAME, {"type": "new"})


def test_marks_are_counted_and_may_go_with_their_block() -> None:
    w = blocks.writing(D, Ledger(), "native")
    found = blocks.write_blocks(D, [Text("A", cache=CACHE), Text("B")], w)
    assert w.marks == [(found[1], CACHE)]


def test_a_result_has_one_mark_for_others() -> None:
    one, two = Cache(at="/1"), Cache(at="/2")
    inner = (Text("A", cache=one), Text("B", cache=two), Text("C"))
    found, lost = written(ToolResult("c", inner, at="/r"))
    assert found[1:] == [POINT]
    assert [doc.keys() for doc in found[0]["toolResult"]["content"]] == [{"text"}] * 3
    assert lost == ["approximated cache /1", "dropped cache /2"]
    found, lost = written(ToolResult("c", inner[:1], cache=two, at="/r"))
    assert (found[1:], lost) == ([POINT], ["dropped cache /1"])
    found, lost = written(ToolResult("c", inner[:1], at="/r"), same=True)
    assert (found[0]["toolResult"]["content"], found[1:]) == ([{"text": "A"}, POINT], [])


# -- citations ----------------------------------------------------------------------------------

QUOTE = {"title": "T", "sourceContent": [{"text": "q"}]}
PLACES: list[tuple[Any, Citation]] = [
    (
        {**QUOTE, "location": {"documentChar": {"documentIndex": 1, "start": 2, "end": 3}}},
        Citation("document", title="T", quote="q", document=1, location=("char", 2, 3), at="/c"),
    ),
    (
        {**QUOTE, "location": {"documentPage": {"documentIndex": 1, "start": 2, "end": 3}}},
        Citation("document", title="T", quote="q", document=1, location=("page", 2, 3), at="/c"),
    ),
    (
        {**QUOTE, "x": 1,
         "location": {"documentChunk": {"documentIndex": 1, "start": 2, "end": 3}}},
        Citation(
            "document", title="T", quote="q", document=1, location=("block", 2, 3), at="/c",
            extras=Extras(NAME, {"x": 1}),
        ),
    ),
    (
        {**QUOTE, "source": "s",
         "location": {"searchResultLocation": {"searchResultIndex": 1, "start": 2, "end": 3}}},
        Citation(
            "passage", url="s", title="T", quote="q", document=1, location=("block", 2, 3), at="/c"
        ),
    ),
    (
        {"location": {"web": {"url": "https://a"}}},
        Citation("url", url="https://a", at="/c"),
    ),
    (
        {**QUOTE, "source": "s", "location": {"web": {"url": "https://a"}}},
        Citation(
            "url", url="https://a", title="T", quote="q", at="/c",
            extras=Extras(NAME, {"source": "s"}),
        ),
    ),
]  # fmt: skip
ODD: list[Any] = [
    {"location": {}},
    {"location": {"web": {"domain": "a"}}},
    {"location": {"web": {"url": "a", "x": 1}}},
    {"location": {"new": {"documentIndex": 1, "start": 2, "end": 3}}},
    {"location": {"documentChar": {"documentIndex": 1, "start": 2}}},
    {"location": {"documentChar": {"documentIndex": 1, "start": 2, "end": "3"}}},
    {"location": {"documentChar": {"documentIndex": 1, "start": 2, "end": 3, "x": 1}}},
    {"location": {"documentChar": {"searchResultIndex": 1, "start": 2, "end": 3}}},
    {"title": "T"},
]


@pytest.mark.parametrize(("doc", "cite"), PLACES)
def test_a_citation_as_it_is_read_and_written(doc: Any, cite: Citation) -> None:
    found = blocks.read_citation(D, doc, "/c")
    assert found == cite
    assert found.at == "/c"
    out, lost = written(Text("A", (cite,), at="/b"), same=True)
    wanted = {"citationsContent": {"content": [{"text": "A"}], "citations": [doc]}}
    assert (out, lost) == ([wanted], [])
    (text,) = read(wanted)
    assert isinstance(text, Text)
    assert [c.at for c in text.citations] == ["/b/0/citationsContent/citations/0"]


@pytest.mark.parametrize("doc", ODD)
def test_a_citation_that_only_bedrock_knows(doc: Any) -> None:
    cite = Citation("other", at="/c", extras=Extras(NAME, doc))
    assert blocks.read_citation(D, doc, "/c") == cite
    (out,), _ = written(Text("A", (cite,), at="/b"), same=True)
    assert out["citationsContent"]["citations"] == [doc]


def test_the_domain_of_a_page_is_in_its_address() -> None:
    doc = {"location": {"web": {"url": "https://a", "domain": "a"}}}
    assert blocks.read_citation(D, doc, "/c") == Citation("url", url="https://a", at="/c")
    nowhere = Citation("document", location=("char", 2, 3), at="/c")
    (out,), _ = written(Text("A", (nowhere,), at="/b"))
    assert out["citationsContent"]["citations"] == [{"location": {"web": {"url": None}}}]


# -- documents from elsewhere -------------------------------------------------------------------


def named(*some: Media) -> tuple[list[str], list[str]]:
    found, lost = written(*some)
    return [doc["document"]["name"] for doc in found], lost


def pdf(**more: Any) -> Media:
    return Media("document", PDF, at="/d", **more)


def test_each_document_has_a_name_of_its_own() -> None:
    assert named(pdf(title="A b"), pdf(title="C")) == (["A b", "C"], [])
    names, lost = named(pdf(title="A"), pdf(title="A"), pdf(title="A_b"))
    assert len(set(names)) == 3
    assert lost == ["renamed media.title /d"] * 2
    assert named(pdf(title="A", filename="a.pdf"))[1] == ["dropped media.filename /d"]
    names, lost = named(pdf(filename="a.pdf"))
    assert (names, lost) == (["a"], ["approximated media.filename /d"])
    names, lost = named(pdf(), pdf())
    assert len(set(names)) == 2
    assert lost == ["invented media.title /d"] * 2
    (out,), lost = written(pdf(), same=True)
    assert (out["document"].keys(), lost) == ({"format", "source"}, [])
    (out,), lost = written(pdf(title="A_b", filename="x"), same=True)
    assert (out["document"]["name"], lost) == ("A_b", [])


def test_only_texts_stand_in_documents_and_passages() -> None:
    image = Media("image", Source("base64", "aGk=", "image/png"), at="/i")
    inner = (Text("A"), image)
    passage = Passage("s", "t", inner, at="/p")
    paper = Media("document", Source("blocks", blocks=inner), title="d", at="/p")
    for block in (passage, paper):
        (out,), lost = written(block)
        (held,) = out.values()
        assert held.get("source", {}) == {"content": [{"text": "A"}]} or held["content"] == [
            {"text": "A"}
        ]
        assert [entry.split()[2] for entry in lost] == ["/i"]
        (out,), lost = written(block, same=True)
        (held,) = out.values()
        assert len(held.get("content") or held["source"]["content"]) == 2
        assert lost == []


def test_the_status_of_a_result() -> None:
    forms = ((True, True, "error"), (False, True, "success"), (None, True, None))
    for failed, same, status in (*forms, (True, False, "error"), (False, False, None)):
        (out,), _ = written(ToolResult("c", (), failed, at="/r"), same=same)
        assert out["toolResult"].get("status") == status


def test_what_has_no_block_is_reported() -> None:
    for block in (Raw("gemini", {"x": 1}, at="/r"), Hosted("gemini", "maps", {}, "call", at="/r")):
        found, lost = written(block)
        assert found == []
        assert [entry.split()[2] for entry in lost] == ["/r"]


@pytest.mark.parametrize(
    ("doc", "at"),
    [
        (5, "/b/0"),
        ({"text": 5}, "/b/0/text"),
        ({"toolUse": 5}, "/b/0/toolUse"),
        ({"toolUse": {"toolUseId": "c"}}, "/b/0/toolUse"),
        ({"toolUse": {"name": "f", "input": {}}}, "/b/0/toolUse"),
        ({"toolUse": {"name": "f", "toolUseId": "c"}}, "/b/0/toolUse"),
        ({"toolUse": {"name": "f", "toolUseId": "c", "type": 5}}, "/b/0/toolUse/type"),
        ({"toolResult": {"content": []}}, "/b/0/toolResult"),
        ({"toolResult": {"toolUseId": "c"}}, "/b/0/toolResult"),
        ({"toolResult": {"toolUseId": "c", "content": [], "status": 5}}, "/b/0/toolResult/status"),
        ({"toolResult": {"toolUseId": "c", "content": [5]}}, "/b/0/toolResult/content/0"),
        ({"reasoningContent": {"redactedContent": 5}}, "/b/0/reasoningContent/redactedContent"),
        ({"reasoningContent": {"reasoningText": {"text": 5}}},
         "/b/0/reasoningContent/reasoningText/text"),
        ({"image": {"format": "png"}}, "/b/0/image"),
        ({"image": {"format": 5, "source": BYTES}}, "/b/0/image/format"),
        ({"image": {"source": {"bytes": 5}}}, "/b/0/image/source/bytes"),
        ({"image": {"source": {"s3Location": {"uri": 5}}}}, "/b/0/image/source/s3Location/uri"),
        ({"document": {"name": 5, "source": BYTES}}, "/b/0/document/name"),
        ({"document": {"context": 5, "source": BYTES}}, "/b/0/document/context"),
        ({"document": {"source": {"content": 5}}}, "/b/0/document/source/content"),
        ({"searchResult": {"source": "s", "title": "t"}}, "/b/0/searchResult"),
        ({"searchResult": {"content": [], "title": "t"}}, "/b/0/searchResult"),
        ({"searchResult": {"content": [], "source": "s"}}, "/b/0/searchResult"),
        ({"citationsContent": {"content": [], "citations": 5}}, "/b/0/citationsContent/citations"),
        ({"citationsContent": {"content": [], "citations": [5]}},
         "/b/0/citationsContent/citations/0"),
    ],
)  # fmt: skip
def test_it_is_refused_at_its_place(doc: Any, at: str) -> None:
    with pytest.raises(Malformed) as raised:
        read(doc)
    found = raised.value.at
    assert found == at or found.rpartition("/")[0] == at  # of a key that is missing


def test_parts_of_a_result_that_bear_no_mark() -> None:
    payload = {"new": 1}
    result = ToolResult("c", (Raw(NAME, payload, at="/p"), Text("A", at="/q")), at="/r")
    (out,), lost = written(result)
    assert (out["toolResult"]["content"], lost) == ([payload, {"text": "A"}], [])


def test_a_citation_of_which_nothing_is_known() -> None:
    (out,), _ = written(Text("A", (Citation("other", at="/c"),), at="/b"), same=True)
    assert out["citationsContent"]["citations"] == [{"location": {"web": {"url": None}}}]
