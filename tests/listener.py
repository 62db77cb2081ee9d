"""The official clients on the other end of a line: what they make of a stream of bytes."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self, TypeAlias

import anthropic
import botocore.exceptions
import botocore.session
import cohere
import ollama
import openai
from botocore.credentials import Credentials
from google import genai
from google.genai.errors import APIError as GoogleError
from mistralai.client import Mistral
from mistralai.client.errors import MistralError

from apis import APIS

Json: TypeAlias = Any


class Line(BaseHTTPRequestHandler):
    """Says the bytes that its server was given, whatever it is asked."""

    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", self.server.content_type)
        self.end_headers()
        self.wfile.write(self.server.written)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    written = b""
    content_type = "text/event-stream"


class Heard(NamedTuple):
    """What a client that puts nothing together was told, and why the response ended."""

    text: str
    calls: list[tuple[str, Json]]
    ending: str | None

    @property
    def is_finished(self) -> bool:
        return self.ending is not None and self.ending.lower() != "error"


class Listener:
    """A server on this machine and the vendors' clients that listen to it."""

    def __init__(self) -> None:
        self.server = Server(("127.0.0.1", 0), Line)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        url = f"http://127.0.0.1:{self.server.server_port}"
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="-", max_retries=0)
        self.ways: dict[str, Callable[[], Json]] = {
            "openai-chat": self.chat,
            "openai-responses": self.responses,
            "anthropic-messages": self.messages,
        }
        options = genai.types.HttpOptions(base_url=url, api_version="v1beta")
        self.google = genai.Client(api_key="-", http_options=options)
        self.mistral = Mistral(api_key="-", server_url=url)
        self.ollama = ollama.Client(host=url)
        self.cohere = cohere.ClientV2(api_key="-", base_url=url)
        session = botocore.session.get_session()
        session._credentials = Credentials("-", "-")
        self.amazon = session.create_client("bedrock-runtime", "eu-central-1", endpoint_url=url)
        self.others: dict[str, Callable[[], Heard]] = {
            "bedrock-converse": self.converse,
            "cohere": self.v2_chat,
            "gemini": self.content,
            "gemini-interactions": self.interaction,
            "mistral": self.completion,
            "ollama": self.ollama_chat,
        }

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.openai.close()
        self.anthropic.close()
        self.google.close()
        self.amazon.close()
        self.mistral.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self.ollama._client.close()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def hear(self, written: bytes, dialect: str) -> Json:
        """The reply as the official client of a dialect puts it together."""
        self.server.written, self.server.content_type = written, APIS[dialect].content_type
        return tidy(self.ways[dialect]())

    def follow(self, written: bytes, dialect: str) -> Heard:
        """The response as the client of a vendor tells it, event by event."""
        self.server.written, self.server.content_type = written, APIS[dialect].content_type
        return self.others[dialect]()

    def chat(self) -> Json:
        asked: Json = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        with self.openai.chat.completions.stream(**asked) as stream:
            try:
                for _ in stream:
                    pass
            except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
                pass  # so it says that the reply is not whole; what there is of it, it has
            return stream.current_completion_snapshot.to_dict()

    def chunks(self, written: bytes) -> list[Json]:
        """The chunks of a chat, one by one."""
        self.server.written = written
        asked: Json = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        with self.openai.chat.completions.create(**asked, stream=True) as stream:
            return [chunk.to_dict() for chunk in stream]

    def responses(self) -> Json:
        with self.openai.responses.stream(model="m", input="Hi") as stream:
            last: Json = None
            for event in stream:
                last = event
                if event.type == "error":
                    raise openai.APIError(
                        event.message, request=stream._response.request, body=None
                    )
                if event.type == "response.failed":
                    raise Failed(event.response.to_dict())
            if last.type == "response.incomplete":
                return last.response.to_dict()  # there is no final response, says the client
            return stream.get_final_response().to_dict()

    def messages(self) -> Json:
        asked: Json = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        with self.anthropic.messages.stream(**asked, max_tokens=9) as stream:
            return stream.get_final_message().to_dict()

    def content(self) -> Heard:
        texts, calls = list[str](), list[tuple[str, Json]]()
        ending: Json = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of words that it does not know
            for chunk in self.google.models.generate_content_stream(model="m", contents="Hi"):
                if chunk.prompt_feedback is not None:
                    ending = chunk.prompt_feedback.block_reason or ending
                for candidate in chunk.candidates or ():
                    if candidate.index:
                        continue
                    ending = candidate.finish_reason or ending
                    for part in (candidate.content and candidate.content.parts) or ():
                        texts.append("" if part.thought else part.text or "")
                        if part.function_call is not None:
                            called = part.function_call
                            calls.append((called.name or "", called.args or {}))
        return Heard("".join(texts), calls, None if ending is None else ending.value)

    def interaction(self) -> Heard:
        texts, calls = list[str](), dict[int, tuple[str, list[str]]]()
        ending: Json = None
        stream: Any = self.google.interactions.create(model="m", input="Hi", stream=True)
        for event in stream:
            if event.event_type == "step.start" and event.step.type == "function_call":
                calls[event.index] = (event.step.name, [])
            elif event.event_type == "step.delta" and event.delta.type == "text":
                texts.append(event.delta.text)
            elif event.event_type == "step.delta" and event.delta.type == "arguments_delta":
                calls[event.index][1].append(event.delta.arguments or "")
            elif event.event_type == "interaction.completed":
                ending = event.interaction.status
        said = [(name, loaded("".join(given))) for name, given in calls.values()]
        return Heard("".join(texts), said, ending)

    def completion(self) -> Heard:
        texts, calls, ending = list[str](), list[tuple[str, Json]](), None
        messages: Json = [{"role": "user", "content": "Hi"}]
        for event in self.mistral.chat.stream(model="m", messages=messages):
            for choice in event.data.choices:
                if choice.index:
                    continue
                written = choice.delta.content or ""
                chunks: list[Json] = [] if isinstance(written, str) else list(written)
                texts += [written] if isinstance(written, str) else []
                texts += [chunk.text for chunk in chunks if chunk.type == "text"]
                for call in choice.delta.tool_calls or ():
                    calls.append((call.function.name, loaded(call.function.arguments)))
                ending = choice.finish_reason or ending
        return Heard("".join(texts), calls, ending)

    def ollama_chat(self) -> Heard:
        texts, calls, ending = list[str](), list[tuple[str, Json]](), None
        messages = [{"role": "user", "content": "Hi"}]
        for chunk in self.ollama.chat("m", messages, stream=True):
            texts.append(chunk.message.content or "")
            for call in chunk.message.tool_calls or ():
                calls.append((call.function.name, dict(call.function.arguments)))
            ending = chunk.done_reason or "done" if chunk.done else ending
        return Heard("".join(texts), calls, ending)

    def v2_chat(self) -> Heard:
        texts, calls, ending = list[str](), list[list[str]](), None
        messages: Json = [{"role": "user", "content": "Hi"}]
        for event in self.cohere.chat_stream(model="m", messages=messages):
            delta: Json = getattr(event, "delta", None)
            match event.type:
                case "content-delta":
                    texts.append(delta.message.content.text or "")
                case "tool-plan-delta":
                    texts.append(delta.message.tool_plan or "")
                case "tool-call-start":
                    function = delta.message.tool_calls.function
                    calls.append([function.name, function.arguments or ""])
                case "tool-call-delta":
                    calls[-1][1] += delta.message.tool_calls.function.arguments
                case "message-end":
                    ending = delta.finish_reason
        return Heard("".join(texts), [(name, loaded(text)) for name, text in calls], ending)

    def converse(self) -> Heard:
        texts, calls, ending = list[str](), dict[int, list[str]](), None
        messages = [{"role": "user", "content": [{"text": "Hi"}]}]
        reply = self.amazon.converse_stream(modelId="m", messages=messages)
        with closing(reply["stream"]) as events:
            for event in events:
                ((kind, written),) = event.items()
                if kind == "contentBlockStart" and "toolUse" in written["start"]:
                    if written["start"]["toolUse"].get("type") == "server_tool_use":
                        continue  # which the server runs itself
                    calls[written["contentBlockIndex"]] = [written["start"]["toolUse"]["name"], ""]
                elif kind == "contentBlockDelta":
                    texts.append(written["delta"].get("text", ""))
                    if "toolUse" in written["delta"] and written["contentBlockIndex"] in calls:
                        calls[written["contentBlockIndex"]][1] += written["delta"]["toolUse"][
                            "input"
                        ]
                elif kind == "messageStop":
                    ending = written["stopReason"]
        return Heard("".join(texts), [(n, loaded(text)) for n, text in calls.values()], ending)


def loaded(arguments: Json) -> Json:
    """Arguments as an object; some clients give the text of it."""
    return json.loads(arguments or "{}") if isinstance(arguments, str) else arguments


class Failed(Exception):
    """The client was told that the reply failed."""


REFUSALS = (
    Failed,
    openai.APIError,
    anthropic.APIError,
    botocore.exceptions.EventStreamError,
    GoogleError,
    MistralError,
    ollama.ResponseError,
)
ADDED = {"parsed", "parsed_arguments", "parsed_output"}  # by the helpers of the clients


def tidy(value: Json) -> Json:
    """Without what the clients add, and without what says nothing."""
    if isinstance(value, list):
        return [tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    empty = {key for key, item in value.items() if item is None or item == []}
    added = ADDED | ({"index"} if "function" in value or "custom" in value else set())
    return {key: tidy(item) for key, item in value.items() if key not in empty | added}
