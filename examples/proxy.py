"""A proxy in one file: clients speak Anthropic Messages, the model speaks Chat Completions.

    UPSTREAM=http://localhost:8080/v1/chat/completions python examples/proxy.py
    ANTHROPIC_BASE_URL=http://localhost:4000 claude

It needs nothing but dragoman and the standard library. Whole replies and streams, tools under the
names that the client gave them, errors with the status that the client's SDK expects.
"""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import dragoman

CLIENT, UPSTREAM = "anthropic-messages", "openai-chat"


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = os.environ.get("UPSTREAM", "http://localhost:8080/v1/chat/completions")
    key = os.environ.get("UPSTREAM_KEY", "")
    model = os.environ.get("UPSTREAM_MODEL")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        exchange = dragoman.Exchange(
            client=CLIENT, upstream=UPSTREAM, model=self.model, now=time.time()
        )
        try:
            asked = exchange.request(body)
        except dragoman.DragomanError as problem:
            error = {"error": {"message": str(problem), "type": "invalid_request_error"}}
            return self.reply(exchange.error(error, 400))
        for loss in asked.losses:
            print(loss, file=sys.stderr)
        try:
            with self.ask(asked.to_json()) as reply:
                if exchange.asked.get("stream"):
                    self.stream(exchange.transcoder(), reply)
                else:
                    self.reply(exchange.response(reply.read()))
        except HTTPError as error:
            self.reply(exchange.error(error.read(), error.code))
        except (URLError, dragoman.DragomanError) as error:
            self.reply(exchange.error(str(error).encode(), 502))
        return None

    def ask(self, body: bytes) -> Any:
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.key}"}
        return urlopen(Request(self.upstream, body, headers))

    def reply(self, result: dragoman.Result) -> None:
        body = result.to_json()
        self.send_response(result.status or 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, transcoder: dragoman.Transcoder, reply: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        while data := reply.read1():
            self.wfile.write(transcoder.feed(data))
        self.wfile.write(transcoder.close())
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Requests are not logged: they hold what people say."""


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    with ThreadingHTTPServer(("127.0.0.1", port), Proxy) as server:
        print(json.dumps({"listening": f"http://127.0.0.1:{server.server_port}"}), flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
