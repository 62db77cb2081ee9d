"""The official clients on the other end of a line: what they make of a stream of bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

import anthropic
import openai

Json: TypeAlias = Any


class Line(BaseHTTPRequestHandler):
    """Says the bytes that its server was given, whatever it is asked."""

    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(self.server.said)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    said = b""


class Listener:
    """A server on this machine and the three clients that listen to it."""

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

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.openai.close()
        self.anthropic.close()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def hear(self, said: bytes, dialect: str) -> Json:
        """The answer as the official client of a dialect puts it together."""
        self.server.said = said
        return tidy(self.ways[dialect]())

    def chat(self) -> Json:
        asked: Json = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        with self.openai.chat.completions.stream(**asked) as stream:
            try:
                for _ in stream:
                    pass
            except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
                pass  # so it says that the answer is not whole; what there is of it, it has
            return stream.current_completion_snapshot.to_dict()

    def chunks(self, said: bytes) -> list[Json]:
        """The chunks of a chat, one by one."""
        self.server.said = said
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


class Failed(Exception):
    """The client was told that the answer failed."""


REFUSALS = (Failed, openai.APIError, anthropic.APIError)
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
