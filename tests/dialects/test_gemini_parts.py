"""Parts of Gemini's contents by themselves: what each is read as, and how it is written again."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Malformed, dialects
from dragoman.dialects.gemini import parts
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
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)

NAME = "gemini"
D: Any = dialects.get(NAME)
FILES = "https://generativelanguage.googleapis.com/v1beta/files/f"


def read(doc: Any, *custom: str, called: dict[str, str] | None = None) -> Block:
    calls = {} if called is None else called
    (block,) = parts.read_parts(D, [doc], "/p", calls, frozenset(custom))
    return block


def written(block: Block, *, same: bool = False, called: Any = None) -> tuple[list[Any], list[str]]:
    log = Ledger(target=NAME)
    w = D.writing(log, NAME if same else "native")
    found = parts.write_parts(D, [block], w, {} if called is None else called)
    return found, [f"{x.kind} {x.what} {x.path}" for x in log.losses]


def converted(*messages: Message, dialect: str = "native") -> tuple[list[Any], list[str]]:
    log = Ledger()
    document = D.write(History(messages, dialect=dialect), log)
    return document["contents"], [f"{x.kind} {x.what} {x.path}" for x in log.losses]


def kept(*inner: str, signed: str | None = None, **fields: Any) -> Extras:
    signature = None if signed is None else Signature(signed, "google")
    return Extras(NAME, fields, inner=inner, signature=signature)


# -- parts --------------------------------------------------------------------------------------

PARTS: list[tuple[Any, Block]] = [
    ({"text": "A"}, Text("A", at="/p/0")),
    ({"text": "A", "x": 1}, Text("A", at="/p/0", extras=kept(x=1))),
    ({"text": "A", "thoughtSignature": "cw=="}, Text("A", at="/p/0", extras=kept(signed="cw=="))),
    (
        {"text": "A", "thoughtSignature": "cw==", "x": 1},
        Text("A", at="/p/0", extras=kept(signed="cw==", x=1)),
    ),
    ({"text": "A", "thought": True}, Reasoning(("A",), at="/p/0")),
    (
        {"text": "A", "thought": True, "thoughtSignature": "cw==", "x": 1},
        Reasoning(("A",), signature=Signature("cw==", "google"), at="/p/0", extras=kept(x=1)),
    ),
    (
        {"text": "", "thought": True, "thoughtSignature": "cw=="},
        Reasoning((), signature=Signature("cw==", "google"), at="/p/0"),
    ),
    (
        {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}},
        ToolCall("c", "f", '{"a":1}', at="/p/0"),
    ),
    ({"functionCall": {"name": "f", "args": {}}}, ToolCall(None, "f", "{}", at="/p/0")),
    (
        {"functionCall": {"name": "f", "args": {}, "x": 1}, "y": 2, "thoughtSignature": "cw=="},
        ToolCall(
            None, "f", "{}", at="/p/0",
            extras=kept("functionCall", signed="cw==", functionCall={"x": 1}, y=2),
        ),
    ),
    (
        {"functionResponse": {"id": "c", "name": "f", "response": {"output": "1"}}},
        ToolResult(
            "c", (Text("1", at="/p/0/functionResponse/response/output"),), None, "f", at="/p/0"
        ),
    ),
    (
        {"functionResponse": {"name": "f", "response": {"error": "no"}, "x": 1}, "y": 2},
        ToolResult(
            None, (Text("no", at="/p/0/functionResponse/response/error"),), True, "f", at="/p/0",
            extras=kept("functionResponse", functionResponse={"x": 1}, y=2),
        ),
    ),
    (
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        Media("image", Source("base64", "aGk=", "image/png"), at="/p/0"),
    ),
    (
        {"inlineData": {"mimeType": "text/plain", "data": "aGk=", "displayName": "a"}},
        Media("document", Source("text", "hi", "text/plain"), filename="a", at="/p/0"),
    ),
    (
        {"inlineData": {"mimeType": "text/plain", "data": "gICA"}},
        Media("document", Source("base64", "gICA", "text/plain"), at="/p/0"),
    ),
    (
        {"inlineData": {"mimeType": "audio/wav", "data": "aGk=", "x": 1},
         "thoughtSignature": "cw=="},
        Media(
            "audio", Source("base64", "aGk=", "audio/wav"), at="/p/0",
            extras=kept("inlineData", signed="cw==", inlineData={"x": 1}),
        ),
    ),
    (
        {"fileData": {"mimeType": "application/pdf", "fileUri": "https://a/b"}},
        Media("document", Source("url", "https://a/b", "application/pdf"), at="/p/0"),
    ),
    (
        {"fileData": {"mimeType": "video/mp4", "fileUri": FILES, "displayName": "a", "x": 1}},
        Media(
            "video", Source("file", FILES, "video/mp4", "google"), filename="a", at="/p/0",
            extras=kept("fileData", fileData={"x": 1}),
        ),
    ),
    (
        {"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b"}},
        Media("image", Source("file", "gs://a/b", "image/png", "google"), at="/p/0"),
    ),
    *(
        ({"fileData": {"fileUri": site}}, Media("video", Source("url", site), at="/p/0"))
        for site in ("https://youtu.be/", "https://www.youtube.com/", "https://youtube.com/")
    ),
]  # fmt: skip
RAW: list[Any] = [
    {"new": 1},
    {},
    {"text": "A", "functionCall": {"name": "f", "args": {}}},
    {"functionCall": {"id": "c", "args": {}}},
    {"functionCall": {"partialArgs": []}},
    {"fileData": {"mimeType": "image/png"}},
]


@pytest.mark.parametrize(("doc", "block"), PARTS)
def test_a_part_as_it_is_read_and_written(doc: Any, block: Block) -> None:
    found = read(doc)
    assert found == block
    assert found.at == "/p/0"
    assert written(block, same=True) == ([doc], [])


@pytest.mark.parametrize("doc", RAW)
def test_what_is_not_known_is_kept(doc: Any) -> None:
    assert read(doc) == Raw(NAME, doc, at="/p/0")
    assert written(read(doc), same=True) == ([doc], [])


@pytest.mark.parametrize(("doc", "block"), PARTS)
def test_keys_in_the_other_spelling(doc: Any, block: Block) -> None:
    """The protocol buffers' own names are accepted, too."""

    def snake(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        names = {key: "".join(f"_{c.lower()}" if c.isupper() else c for c in key) for key in value}
        keep = {"args": value.get("args"), "response": value.get("response")}
        return {names[k]: v if k in keep else snake(v) for k, v in value.items()}

    found = read(snake(doc))
    assert found.__class__ is block.__class__
    for field in ("text", "content", "source", "name", "filename", "arguments", "is_error"):
        if field != "content" or not isinstance(block, ToolResult):
            assert getattr(found, field, None) == getattr(block, field, None)
    (out,), lost = written(found, same=True)
    assert lost == []
    assert snake(out) == snake(doc)


def test_what_says_nothing_is_not_written() -> None:
    assert read({"text": "A", "thought": False}) == Text("A", at="/p/0")
    assert read({"text": "A", "thought": None, "functionCall": None}) == Text("A", at="/p/0")
    assert read({"text": "A", "thoughtSignature": ""}) == Text("A", at="/p/0")
    assert read({"text": "A", "thought": 1}).extras == kept(thought=1)
    assert read({"text": "", "thought": True}) == Reasoning(("",), at="/p/0")
    assert read({"functionCall": {"name": "f"}}) == ToolCall(None, "f", "", at="/p/0")
    urls = {"inlineData": {"mimeType": "image/png", "data": "-_-_"}}
    found = read(urls)
    assert isinstance(found, Media)
    assert found.source.value == "+/+/"


def test_freeform_calls_have_one_text() -> None:
    doc = {"functionCall": {"id": "c", "name": "f", "args": {"input": "x"}}}
    assert read(doc, "f") == ToolCall("c", "f", "x", "custom", at="/p/0")
    assert read(doc) == read(doc, "g") == ToolCall("c", "f", '{"input":"x"}', at="/p/0")
    for given in ({"input": 5}, {"input": "x", "y": 1}, {}):
        found = read({"functionCall": {"name": "f", "args": given}}, "f")
        assert isinstance(found, ToolCall)
        assert found.kind == "function"
    assert written(ToolCall("c", "f", "x", "custom", at="/b"), same=True) == ([doc], [])


# https://ai.google.dev/api/caching#ToolType
SERVICES = {
    "GOOGLE_SEARCH_WEB": "web_search", "GOOGLE_SEARCH_IMAGE": "image_search",
    "URL_CONTEXT": "web_fetch", "GOOGLE_MAPS": "maps", "FILE_SEARCH": "file_search",
    "BRAND_NEW": "brand_new",
}  # fmt: skip


@pytest.mark.parametrize(("word", "service"), SERVICES.items())
@pytest.mark.parametrize(("key", "phase"), [("toolCall", "call"), ("toolResponse", "result")])
def test_work_of_googles_tools(key: str, phase: Any, word: str, service: str) -> None:
    doc = {key: {"toolType": word, "id": "i"}}
    assert read(doc) == Hosted(NAME, service, doc, phase, id="i", at="/p/0")
    assert written(read(doc), same=True) == ([doc], [])
    bare: dict[str, Any] = {key: {}}
    assert read(bare) == Hosted(NAME, "", bare, phase, at="/p/0")


def test_code_that_is_run() -> None:
    for key, phase in (("executableCode", "call"), ("codeExecutionResult", "result")):
        doc = {key: {"language": "PYTHON", "id": "i"}}
        found = read(doc)
        assert found == Hosted(NAME, "code_execution", doc, phase, id="i", at="/p/0")  # type: ignore[arg-type]


# -- calls and results --------------------------------------------------------------------------


def test_the_name_of_a_result_says_nothing_beside_its_call() -> None:
    called: dict[str, str] = {}
    for doc in (
        {"functionCall": {"id": "c", "name": "f", "args": {}}},
        {"functionCall": {"id": "d", "name": "g", "args": {}, "x": 1}},
    ):
        read(doc, called=called)
    assert called == {"c": "f", "d": "g"}
    for call_id, name, left in (
        ("c", "f", None),
        ("c", "g", "g"),
        ("d", "g", None),
        ("e", "f", "f"),
    ):
        doc = {"functionResponse": {"id": call_id, "name": name, "response": {"output": "1"}}}
        result = read(doc, called=called)
        assert isinstance(result, ToolResult)
        assert result.name == left
        messages = parts.read_results([doc], "/p", called)
        if left is None:
            assert messages == [Message("tool", (result,), at="/p/0")]
        else:
            assert messages is None  # not as its call is


@pytest.mark.parametrize(
    "doc",
    [
        5, {}, {"text": "A"}, {"functionResponse": 5}, {"functionResponse": {"name": "f"}},
        {"functionResponse": {"name": "f", "response": {}}},
        {"functionResponse": {"name": "f", "response": {"output": 5}}},
        {"functionResponse": {"name": 5, "response": {"output": "1"}}},
        {"functionResponse": {"id": 5, "name": "f", "response": {"output": "1"}}},
        {"functionResponse": {"id": None, "name": "f", "response": {"output": "1"}}},
        {"functionResponse": {"name": "f", "response": {"output": "1", "x": 1}}},
        {"functionResponse": {"name": "f", "response": {"output": "1"}, "x": 1}},
        {"functionResponse": {"name": "f", "response": {"output": "1"}}, "x": 1},
    ],
)  # fmt: skip
def test_results_that_are_not_usual(doc: Any) -> None:
    assert parts.read_results([doc], "/p", {}) is None
    usual = {"functionResponse": {"name": "f", "response": {"output": "1"}}}
    (found,) = parts.read_results([usual], "/p", {}) or []
    assert found == Message("tool", (read(usual),), at="/p/0")
    assert parts.read_results([usual], "/p", {"c": "f"}) is None


@pytest.mark.parametrize(
    ("response", "text", "failed", "place"),
    [
        ({"output": "1"}, "1", None, "/output"),
        ({"error": "no"}, "no", True, "/error"),
        ({"output": {"a": 1}}, '{"a":1}', None, "/output"),
        ({"output": 0}, "0", None, "/output"),
        ({"error": {"a": 1}}, '{"a":1}', True, "/error"),
        ({"error": False}, '{"error":false}', None, ""),
        ({"error": 0}, '{"error":0}', None, ""),
        ({"error": "no", "x": 1}, '{"error":"no","x":1}', True, ""),
        ({"error": "no", "output": "1"}, '{"error":"no","output":"1"}', None, ""),
        ({"error": None, "x": 1}, '{"error":null,"x":1}', None, ""),
        ({"a": 1}, '{"a":1}', None, ""),
        ({}, None, None, ""),
        (None, None, None, ""),
    ],
)
def test_the_forms_of_a_response(response: Any, text: Any, failed: Any, place: str) -> None:
    result = read({"functionResponse": {"name": "f", "response": response, "x": 1}})
    assert isinstance(result, ToolResult)
    assert result.is_error is failed
    at = f"/p/0/functionResponse/response{place}"
    assert result.content == (() if text is None else (Text(text, at=at),))


def test_media_of_a_result() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    doc = {"functionResponse": {"name": "f", "response": {"output": "1"}, "parts": [image]}}
    result = read(doc)
    assert isinstance(result, ToolResult)
    assert result.content[1] == Media(
        "image", Source("base64", "aGk=", "image/png"), at="/p/0/functionResponse/parts/0"
    )
    assert result.extras is None
    assert written(result, same=True) == ([doc], [])


def test_a_result_names_its_tool() -> None:
    text = (Text("1", at="/t"),)
    for result, called, name, lost in (
        (ToolResult("c", text, at="/r"), {"c": "f"}, "f", []),
        (ToolResult("c", text, name="g", at="/r"), {"c": "f"}, "g", []),
        (ToolResult("c", text, name="f", at="/r"), {"c": "f"}, "f",
         ["approximated tool_result.name /r"]),
        (ToolResult("c", text, at="/r"), {}, "unknown", ["invented tool_result.name /r"]),
        (ToolResult(None, text, at="/r"), {}, "unknown", ["invented tool_result.name /r"]),
        (ToolResult(None, text, at="/r"), {"c": "f"}, "unknown",
         ["invented tool_call.id /r", "invented tool_result.name /r"]),
    ):  # fmt: skip
        (out,), found = written(result, called=called)
        assert (out["functionResponse"]["name"], found) == (name, lost)
        assert out["functionResponse"].get("id") == result.call_id
        assert out["functionResponse"]["response"] == {"output": "1"}
    (out,), found = written(ToolResult("c", text, at="/r"), same=True)
    assert (out["functionResponse"].keys(), found) == ({"id", "response"}, [])
    (out,), found = written(ToolResult("c", text, name="f"), same=True, called={"c": "f"})
    assert (out["functionResponse"]["name"], found) == ("f", [])


def test_a_result_without_words() -> None:
    (out,), lost = written(ToolResult("c", (), True, "f", at="/r"))
    assert out["functionResponse"]["response"] == {"error": ""}
    assert lost == ["invented text.empty /r"]
    (out,), lost = written(ToolResult("c", (), True, "f", at="/r"), same=True)
    assert (out["functionResponse"]["response"], lost) == ({"error": ""}, [])
    (out,), lost = written(ToolResult("c", (), None, "f", at="/r"))
    assert (out["functionResponse"]["response"], lost) == ({}, [])
    failed = ToolResult("c", (Text("no", at="/t"),), True, at="/r")
    (out,), lost = written(failed, called={"c": "f"})
    assert (out["functionResponse"]["response"], lost) == ({"error": "no"}, [])


def test_keys_of_others_are_lost() -> None:
    foreign = Extras("cohere", {"x": 1})
    call = ToolCall("c", "f", "{}", at="/r", extras=foreign)
    result = ToolResult("c", (Text("1", at="/t", extras=foreign),), at="/r")
    image = Media("image", Source("base64", "aGk=", "image/png"), at="/r", extras=foreign)
    signed = Extras("cohere", signature=Signature("s", "cohere"))
    for block, lost in (
        (Text("A", at="/r", extras=foreign), "dropped extras /r/x"),
        (Reasoning(("A",), at="/r", extras=foreign), "dropped extras /r/x"),
        (call, "dropped extras /r/x"),
        (result, "dropped extras /t/x"),
        (ToolResult("c", (Text("1"),), at="/r", extras=foreign), "dropped extras /r/x"),
        (image, "dropped extras /r/x"),
        (Text("A", at="/r", extras=signed), "dropped reasoning.signature /r"),
    ):
        assert written(block, called={"c": "f"})[1] == [lost]


def test_calls_tell_their_names() -> None:
    called: dict[str, str] = {}
    assert written(ToolCall("c", "f", "{}", at="/r"), called=called)[0] == [
        {"functionCall": {"id": "c", "name": "f", "args": {}}}
    ]
    written(ToolCall("d", "a name", "", at="/r"), called=called)
    assert called.keys() == {"c", "d"}
    assert called["c"] == "f"
    for call in (
        ToolCall(None, "f", '{"a":1}', at="/r"),
        ToolCall(None, "f", '{"a":1}', at="/r", cache=Cache(at="/c")),
    ):
        assert written(call)[0] == [{"functionCall": {"name": "f", "args": {"a": 1}}}]
    assert written(ToolCall("c", "f", "", at="/r"))[0][0]["functionCall"]["args"] == {}


# -- media --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "key", "inner"),
    [
        (Source("base64", "aGk=", "image/png"), "inlineData",
         {"mimeType": "image/png", "data": "aGk="}),
        (Source("text", "hi", "text/plain"), "inlineData",
         {"mimeType": "text/plain", "data": "aGk="}),
        (Source("url", "https://a", "image/png"), "fileData",
         {"mimeType": "image/png", "fileUri": "https://a"}),
        (Source("file", "gs://a", "image/png", "google"), "fileData",
         {"mimeType": "image/png", "fileUri": "gs://a"}),
    ],
)  # fmt: skip
def test_where_a_medium_is(source: Source, key: str, inner: Any) -> None:
    kind: Any = "document" if source.kind == "text" else "image"
    assert written(Media(kind, source, at="/m")) == ([{key: inner}], [])
    out, _ = written(Media(kind, source, filename="a", at="/m"))
    assert out == [{key: {**inner, "displayName": "a"}}]


def test_a_medium_without_a_type() -> None:
    linked = Media("image", Source("url", "https://a/b"), at="/m")
    assert written(linked)[1] == ["approximated media.type /m"]
    assert written(linked, same=True) == ([{"fileData": {"fileUri": "https://a/b"}}], [])
    assert written(Media("video", Source("url", "https://youtu.be/x"), at="/m"))[1] == []


def test_text_that_comes_back_as_it_was() -> None:
    assert parts.plain_text("aGk=") == "hi"
    for data in ("gICA", "aGk", "aGl=", "?", "aG k="):
        assert parts.plain_text(data) is None


def test_what_has_no_part_is_reported() -> None:
    for block in (Raw("cohere", {"x": 1}, at="/r"), Hosted("cohere", "maps", {}, "call", at="/r")):
        found, lost = written(block)
        assert found == []
        assert [entry.split()[2] for entry in lost] == ["/r"]


def test_texts_that_say_more_than_words() -> None:
    cited = Text("A", (Citation("url", "https://a", at="/c"),), at="/t")
    for block in (cited, Text("A", cache=Cache(at="/c"), at="/t"), Text("", at="/t")):
        (out,), _ = written(block)
        assert out == {"text": block.text}


@pytest.mark.parametrize(
    ("doc", "at"),
    [
        (5, "/p/0"),
        ({"text": 5}, "/p/0/text"),
        ({"text": "A", "thoughtSignature": 5}, "/p/0/thoughtSignature"),
        ({"text": "A", "thought": True, "thoughtSignature": 5}, "/p/0/thoughtSignature"),
        ({"functionCall": 5}, "/p/0/functionCall"),
        ({"function_call": 5}, "/p/0/function_call"),
        ({"functionCall": {"name": 5}}, "/p/0/functionCall/name"),
        ({"functionCall": {"name": "f", "id": 5}}, "/p/0/functionCall/id"),
        ({"functionCall": {"name": "f", "args": 5}}, "/p/0/functionCall/args"),
        ({"functionResponse": 5}, "/p/0/functionResponse"),
        ({"functionResponse": {"name": 5}}, "/p/0/functionResponse/name"),
        ({"functionResponse": {"id": 5}}, "/p/0/functionResponse/id"),
        ({"functionResponse": {"response": 5}}, "/p/0/functionResponse/response"),
        ({"functionResponse": {"parts": 5}}, "/p/0/functionResponse/parts"),
        ({"functionResponse": {"parts": [5]}}, "/p/0/functionResponse/parts/0"),
        ({"inlineData": 5}, "/p/0/inlineData"),
        ({"inlineData": {}}, "/p/0/inlineData"),
        ({"inlineData": {"data": "aGk=", "mimeType": 5}}, "/p/0/inlineData/mimeType"),
        ({"inlineData": {"data": "aGk=", "displayName": 5}}, "/p/0/inlineData/displayName"),
        ({"fileData": 5}, "/p/0/fileData"),
        ({"fileData": {"fileUri": 5}}, "/p/0/fileData/fileUri"),
        ({"fileData": {"fileUri": "a", "mimeType": 5}}, "/p/0/fileData/mimeType"),
        ({"toolCall": 5}, "/p/0/toolCall"),
        ({"toolCall": {"toolType": 5}}, "/p/0/toolCall/toolType"),
        ({"toolCall": {"id": 5}}, "/p/0/toolCall/id"),
    ],
)
def test_it_is_refused_at_its_place(doc: Any, at: str) -> None:
    with pytest.raises(Malformed) as raised:
        read(doc)
    assert raised.value.at == at
