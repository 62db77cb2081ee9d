"""Each door with each upstream: pictures, refusals, limits, errors, and tools with odd names.

The scripted model behind the second gateway chooses its reply by the name of the model.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from dragoman.model import Media, Request, Text, ToolCall, ToolResult
from gateways import DOORS, Model, chain
from sdk_clients import PNG, TALKS

LONG = "mcp__weather_server_of_the_municipality__look_up_the_weather_of_a_city_by_its_name"
DOTTED = "files.read"
PATCH = '*** Begin Patch\n*** Add File: a.py\n+print("ä")\n*** End Patch\n'
REPLIES: tuple[dict[str, Any], ...] = (
    {"text": "A dot.", "when": {"model": "seeing"}},
    {"refusal": "I cannot help with that.", "when": {"model": "refusing"}},
    {"text": "Once upon a", "stop": "length", "when": {"model": "long"}},
    {"error": {"kind": "rate-limit", "message": "slow down"}, "when": {"model": "limited"}},
    {"text": "one two three four five", "fail_after": 3, "when": {"model": "failing"}},
    {"calls": [{"name": "mcp__*", "arguments": {"city": "Pera"}},
               {"name": "files*read*", "arguments": {"city": "Galata"}}],
     "when": {"model": "naming"}},
    {"text": "Named.", "when": {"model": "naming"}},
    {"calls": [{"name": "apply_patch", "arguments": PATCH}], "when": {"model": "patching"}},
    {"text": "Patched.", "when": {"model": "patching"}},
    {"calls": [{"name": "*get*", "arguments": {"id": "7"}}], "when": {"model": "spaced"}},
    {"text": "Ada.", "when": {"model": "spaced"}},
    {"calls": [{"name": "tool_search*", "arguments": {"query": "customers"}}],
     "when": {"model": "searching"}},
    {"calls": [{"name": "*get*", "arguments": {"id": "7"}}], "when": {"model": "searching"}},
    {"text": "Ada.", "when": {"model": "searching"}},
)  # fmt: skip
LIMITED = ("max_tokens", "length", "incomplete", "MAX_TOKENS")
REFUSED = ("refusal", "stop", "completed", "incomplete", "SAFETY", "content_filter",
           "content_filtered")  # fmt: skip
"""OpenAI writes a refusal into a field of its own."""

ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
doors = pytest.mark.parametrize("door", list(TALKS))
Behind = tuple[str, str, Model]


@pytest.fixture(scope="module", params=list(DOORS))
def behind(request: pytest.FixtureRequest) -> Iterator[Behind]:
    with chain(request.param, *REPLIES) as (url, model):
        yield request.param, url, model


@doors
@ways
def test_a_picture_arrives(behind: Behind, door: str, stream: bool) -> None:
    _, url, model = behind
    with TALKS[door](url, model="seeing") as talk:
        assert talk.look("What is it?", PNG, stream).text == "A dot."
    text, picture = model.asked[-1].messages[-1].content
    assert isinstance(text, Text)
    assert text.text == "What is it?"
    assert isinstance(picture, Media)
    assert picture.kind == "image"
    assert base64.b64encode(PNG).decode() in str(picture.source)


@doors
@ways
def test_a_refusal_is_heard(behind: Behind, door: str, stream: bool) -> None:
    with TALKS[door](behind[1], model="refusing") as talk:
        heard = talk.ask("Hm?", stream)
    assert heard.text == "I cannot help with that."
    if "ollama" not in (door, behind[0]):  # which has no word for it
        assert heard.stop in REFUSED


@doors
@ways
def test_a_reply_that_was_cut_off_by_its_limit(behind: Behind, door: str, stream: bool) -> None:
    with TALKS[door](behind[1], model="long") as talk:
        heard = talk.ask("Tell me a story.", stream)
    assert heard.text == "Once upon a"
    assert heard.stop in LIMITED


@doors
@ways
def test_an_error_instead_of_a_reply(behind: Behind, door: str, stream: bool) -> None:
    with (
        TALKS[door](behind[1], model="limited") as talk,
        pytest.raises(Exception, match="slow down") as caught,
    ):
        talk.ask("Hm?", stream)
    assert status_of(caught.value) == 429


@doors
def test_an_error_inside_of_a_stream(behind: Behind, door: str) -> None:
    with (
        TALKS[door](behind[1], model="failing") as talk,
        pytest.raises(Exception, match="scripted failure"),
    ):
        talk.ask("Hm?", True)


def status_of(problem: Any) -> int | None:
    """The status that an SDK shows; botocore has it in the response."""
    response = getattr(problem, "response", None)
    if isinstance(response, dict):
        return int(response["ResponseMetadata"]["HTTPStatusCode"])
    return getattr(problem, "status_code", None) or getattr(problem, "code", None)


@doors
@ways
def test_tools_are_called_as_the_client_named_them(behind: Behind, door: str, stream: bool) -> None:
    upstream, url, model = behind
    tools = (LONG, DOTTED)
    with TALKS[door](url, model="naming") as talk:
        talk.history.append(talk.user("How warm is it?"))
        heard = talk.send(stream, tools)
        assert heard.calls == ((LONG, {"city": "Pera"}), (DOTTED, {"city": "Galata"}))
        assert talk.results(["14", "15"], stream, tools).text == "Named."
    told = [tool.name for tool in model.asked[-1].tools or ()]
    assert [block.name for block in calls_of(model.asked[-1])] == told
    if upstream != door:  # which gets what the client sends
        assert all(len(name) <= 128 for name in told)


def calls_of(tree: Request) -> list[ToolCall]:
    blocks = (block for message in tree.messages for block in message.content)
    return [block for block in blocks if isinstance(block, ToolCall)]


def results_of(tree: Request) -> list[ToolResult]:
    blocks = (block for message in tree.messages for block in message.content)
    return [block for block in blocks if isinstance(block, ToolResult)]


# -- tools that the API of Responses alone has -----------------------------------------------


class Codex:
    """A client of Responses that sends whatever items and tools it is told to."""

    def __init__(self, url: str, model: str, tools: list[Any], stream: bool) -> None:
        self.sdk = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, timeout=30)
        self.model, self.tools, self.stream = model, tools, stream
        self.history: list[Any] = []

    def __enter__(self) -> Codex:
        return self

    def __exit__(self, *_: object) -> None:
        self.sdk.close()

    def say(self, *items: Any) -> list[dict[str, Any]]:
        """Send items; the items of the reply, from their own events where it is streamed."""
        self.history += items
        asked: dict[str, Any] = {
            "model": self.model, "input": self.history, "tools": self.tools, "store": False,
        }  # fmt: skip
        if not self.stream:
            made = self.sdk.responses.create(**asked)
            output = [plain(item) for item in made.output]
        else:
            output, last = [], None
            with self.sdk.responses.create(**asked, stream=True) as events:
                for event in events:
                    if event.type == "response.output_item.done":
                        output.append(plain(event.item))
                    last = event
            assert last is not None
            assert last.type == "response.completed"
            assert [plain(item) for item in last.response.output] == output
        self.history += output
        return output


def plain(item: Any) -> dict[str, Any]:
    return dict(item.model_dump(exclude_none=True, mode="json"))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def written(items: list[dict[str, Any]]) -> str:
    return str(items[-1]["content"][0]["text"])


GET = {"type": "function", "name": "get", "strict": False, "parameters": {
    "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}  # fmt: skip
CRM = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [GET]}


@ways
def test_a_freeform_tool_stays_freeform(behind: Behind, stream: bool) -> None:
    _, url, model = behind
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
    tool = {"type": "custom", "name": "apply_patch", "description": "Edit.", "format": grammar}
    with Codex(url, "patching", [tool], stream) as codex:
        (call,) = codex.say(user("Write a.py"))
        assert (call["type"], call["name"]) == ("custom_tool_call", "apply_patch")
        assert call["input"] == PATCH
        done = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "Done"}
        assert written(codex.say(done)) == "Patched."
    (told,) = calls_of(model.asked[-1])
    assert told.arguments == PATCH
    assert len(results_of(model.asked[-1])) == 1


@ways
def test_a_tool_in_a_namespace(behind: Behind, stream: bool) -> None:
    _, url, model = behind
    with Codex(url, "spaced", [CRM], stream) as codex:
        (call,) = codex.say(user("Who is 7?"))
        assert (call["type"], call["name"], call["namespace"]) == ("function_call", "get", "crm")
        assert json.loads(call["arguments"]) == {"id": "7"}
        done = {"type": "function_call_output", "call_id": call["call_id"], "output": "Ada"}
        assert written(codex.say(done)) == "Ada."
    assert len(results_of(model.asked[-1])) == 1


@ways
def test_a_search_for_tools_that_the_client_runs(behind: Behind, stream: bool) -> None:
    _, url, model = behind
    query = {"type": "object", "properties": {"query": {"type": "string"}}}
    search = {"type": "tool_search", "execution": "client", "parameters": query}
    with Codex(url, "searching", [search], stream) as codex:
        (call,) = codex.say(user("Who is customer 7?"))
        assert (call["type"], call["execution"]) == ("tool_search_call", "client")
        assert call["arguments"] == {"query": "customers"}
        found = {"type": "tool_search_output", "call_id": call["call_id"], "execution": "client",
                 "status": "completed", "tools": [CRM]}  # fmt: skip
        (call,) = codex.say(found)
        assert (call["type"], call["name"], call["namespace"]) == ("function_call", "get", "crm")
        done = {"type": "function_call_output", "call_id": call["call_id"], "output": "Ada"}
        assert written(codex.say(done)) == "Ada."
    assert len(calls_of(model.asked[-1])) == 2
    assert len(results_of(model.asked[-1])) == 2
