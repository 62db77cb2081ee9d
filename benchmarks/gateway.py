"""The gateway beside a minimal byte relay on the same stack, and beside peers.

    python -m benchmarks.gateway [--quick] [--litellm PATH] [--rosetta PATH]

Everything is on loopback, bounded in number and time. Three kinds of exchange: a small request, a
stream of 100 deltas at once, and one whose deltas come one by one, as those of models do; each
converted (a Chat client, an Anthropic upstream) and of the same dialect. The upstream replies from
memory. Of a stream that comes at once nobody knows in how many pieces it is read: it depends on
what else the machine does, and the figures with it. The relay reads a request, sends it on and
passes the bytes of the reply: what any gateway on uvicorn and aiohttp costs. The gateway is
``dragoman serve``; peers are the commands ``litellm`` and ``llm-rosetta-gateway`` of environments
of their own. All are asked in turn, in many short rounds, since machines are shared: CPU time of
the process per request (that of the best round) and its ratio to the relay's say more than times,
which are printed as well. Then memory with 256 streams that are open at once, and after them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = os.sysconf("SC_PAGE_SIZE")
TEXT = "The weather in Pera is mild. "
DELTAS = 100
PACED, GAP = "one by one", 0.002
"""A word in the text of a request whose stream comes so, and the seconds between two frames."""
OPEN, HELD = 256, 8
"""Streams that are open at once, and for how many seconds."""


class Case(NamedTuple):
    name: str
    path: str
    body: bytes
    stream: bool
    paced: bool = False


def chat(stream: bool, text: str = TEXT * 3) -> bytes:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    return json.dumps({"model": "m", "messages": messages, "stream": stream}).encode()


def claude(stream: bool, text: str = TEXT * 3) -> bytes:
    messages = [{"role": "user", "content": text}]
    asked = {"model": "m", "max_tokens": 100, "messages": messages, "stream": stream}
    return json.dumps({**asked, "system": "Be brief."}).encode()


CASES = (
    Case("small, converted", "/v1/chat/completions", chat(False), False),
    Case("stream, converted", "/v1/chat/completions", chat(True), True),
    Case("stream one by one, converted", "/v1/chat/completions", chat(True, PACED), True, True),
    Case("small, same dialect", "/v1/messages", claude(False), False),
    Case("stream, same dialect", "/v1/messages", claude(True), True),
    Case("stream one by one, same dialect", "/v1/messages", claude(True, PACED), True, True),
)


# -- servers, each in a process of its own ------------------------------------------------------


def reply() -> bytes:
    content = [{"type": "text", "text": TEXT * 4}]
    usage = {"input_tokens": 40, "output_tokens": 30}
    document = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    return json.dumps(document).encode()


def frames() -> list[bytes]:
    """The events of a stream, as Anthropic sends them."""
    usage = {"input_tokens": 40, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    block = {"type": "text", "text": ""}
    events.append({"type": "content_block_start", "index": 0, "content_block": block})
    delta = {"type": "text_delta", "text": "mild and "}
    events += [{"type": "content_block_delta", "index": 0, "delta": delta}] * DELTAS
    events.append({"type": "content_block_stop", "index": 0})
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 300}})
    events.append({"type": "message_stop"})
    return [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events]


class Static:
    """An upstream that replies from memory; a stream frame by frame."""

    def __init__(self) -> None:
        self.whole, self.frames = reply(), frames()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        stream = b'"stream": true' in body or b'"stream":true' in body
        kind = b"text/event-stream" if stream else b"application/json"
        headers = [(b"content-type", kind)]
        if not stream:
            headers.append((b"content-length", str(len(self.whole)).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        held, gap = b'"held"' in body, GAP if PACED.encode() in body else 0
        for number, frame in enumerate(self.frames if stream else ()):
            if held and number == DELTAS // 2:
                await asyncio.sleep(HELD)
            await send({"type": "http.response.body", "body": frame, "more_body": True})
            await asyncio.sleep(gap)
        last = b"" if stream else self.whole
        await send({"type": "http.response.body", "body": last, "more_body": False})


HOP = frozenset(
    {
        b"connection", b"content-length", b"host", b"keep-alive", b"proxy-authenticate",
        b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"transfer-encoding",
        b"upgrade",
    }
)  # fmt: skip
"""Headers of one connection, which a relay does not pass on."""


class Relay:
    """Bytes there and bytes back: the least that a relay on this stack does, as its libraries'
    documentation has it. Headers are passed on both ways, bodies are not decompressed, connections
    are used again; nothing is looked at. The server has the settings of ``dragoman serve``.
    """

    def __init__(self, url: str) -> None:
        self.url = f"{url}/v1/messages"
        self.session: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        import aiohttp

        if self.session is None:
            jar, connector = aiohttp.DummyCookieJar(), aiohttp.TCPConnector(limit=0)
            self.session = aiohttp.ClientSession(
                connector=connector, cookie_jar=jar, auto_decompress=False
            )
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {
            k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"] if k not in HOP
        }
        async with self.session.post(self.url, data=body, headers=headers) as reply:
            told = [(k, v) for k, v in reply.raw_headers if k.lower() not in HOP]
            length = int(reply.headers.get("content-length", -1))
            if length >= 0:
                told.append((b"content-length", str(length).encode()))
            await send({"type": "http.response.start", "status": reply.status, "headers": told})
            async for data in reply.content.iter_any():
                length -= len(data)
                await send({"type": "http.response.body", "body": data, "more_body": length != 0})
        if length != 0:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def serve(role: str, port: int, upstream: str) -> None:
    """What a process of its own runs."""
    import uvicorn

    application: Any
    if role == "static":
        application = Static()
    else:
        application = Relay(upstream)
    uvicorn.run(
        application, port=port, log_level="error", access_log=False,
        server_header=False, date_header=False, proxy_headers=False,
    )  # fmt: skip


@contextmanager
def process(command: tuple[str, ...], port: int) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    if not command[0].startswith(sys.prefix):  # a peer, in an environment of its own
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        environment["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        environment["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"
    started = subprocess.Popen(
        command,
        env=environment,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        asyncio.run(listening(port, started))
        yield started
    finally:
        started.terminate()
        started.wait()


async def listening(port: int, started: subprocess.Popen[bytes]) -> None:
    for _ in range(6000):  # a peer may take minutes on a busy machine
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            if started.poll() is not None:
                raise SystemExit("a server did not start") from None
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise SystemExit("a server did not listen")


# -- load ---------------------------------------------------------------------------------------


class Figures(NamedTuple):
    rate: float
    p50: float
    p99: float
    cpu: float
    errors: int


def cpu_of(pid: int) -> float:
    """Seconds of CPU time of a process, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def memory_of(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 2**20


async def client(port: int, case: Case, count: int, times: list[float]) -> int:
    """Requests on one connection, one after the other; how many failed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {case.path} HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n"
    message = f"{head}content-length: {len(case.body)}\r\n\r\n".encode() + case.body
    failed = 0
    for _ in range(count):
        began = time.perf_counter()
        if reader.at_eof():  # a peer that closes after each reply
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(message)
        ok = await replied(reader)
        times.append((time.perf_counter() - began) * 1000)
        failed += not ok
    writer.close()
    return failed


async def replied(reader: asyncio.StreamReader) -> bool:
    """Read one reply to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    if b"content-length: " in lower:
        length = int(lower.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
    else:
        while True:
            size = int(await reader.readuntil(b"\r\n"), 16)
            await reader.readexactly(size + 2)
            if not size:
                break
    if b"connection: close" in lower:
        await reader.read()
    return head.startswith(b"HTTP/1.1 200")


async def loaded(port: int, pid: int, case: Case, connections: int, total: int) -> Figures:
    times: list[float] = []
    before, began = cpu_of(pid), time.perf_counter()
    each = max(total // connections, 1)
    failed = await asyncio.gather(*(client(port, case, each, times) for _ in range(connections)))
    took, spent = time.perf_counter() - began, cpu_of(pid) - before
    times.sort()
    count = len(times)
    return Figures(
        count / took, times[count // 2], times[int(count * 0.99)], spent / count * 1000, sum(failed)
    )


def best(rounds: list[Figures]) -> Figures:
    """The least of each: what the others did to the machine is not counted."""
    return Figures(
        max(f.rate for f in rounds),
        min(f.p50 for f in rounds),
        min(f.p99 for f in rounds),
        min(f.cpu for f in rounds),
        sum(f.errors for f in rounds),
    )


def row(name: str, found: Figures, base: Figures) -> str:
    ratio = f"{found.cpu / base.cpu:.2f}" if base.cpu else ""
    added = f"{found.p50 - base.p50:8.2f} {found.p99 - base.p99:8.2f}"
    figures = f"{found.rate:9.0f} {found.p50:8.2f} {found.p99:8.2f} {added} {found.cpu:8.3f}"
    return f"{name:14} {figures} {ratio:>6}" + (f"  {found.errors} errors" if found.errors else "")


class Server(NamedTuple):
    """Who is measured."""

    name: str
    command: tuple[str, ...]
    port: int
    share: float = 1.0
    """of the requests that the others get"""


def servers(told: argparse.Namespace, upstream: str) -> Iterator[Server]:
    here = [sys.executable, "-m", "benchmarks.gateway", "--serve"]
    yield Server("relay", (*here, "relay", "8791", upstream), 8791)
    serve = [sys.executable, "-m", "dragoman", "serve", "--log", "none", "--store", "memory"]
    own = (*serve, "--port", "8792", "--upstream", f"anthropic-messages={upstream}")
    yield Server("dragoman", own, 8792)
    folder = ROOT / ".cache"
    folder.mkdir(exist_ok=True)
    if told.litellm:
        path = folder / "litellm.yaml"
        params = f"{{model: anthropic/m, api_base: '{upstream}', api_key: k}}"
        path.write_text(f"model_list: [{{model_name: m, litellm_params: {params}}}]\n")
        yield Server("litellm", (told.litellm, "--config", str(path), "--port", "8793"), 8793, 0.05)
    if told.rosetta:
        path = folder / "rosetta.jsonc"
        config = {
            "providers": {"anthropic": {"api_key": "k", "base_url": upstream}},
            "models": {"m": "anthropic"},
            "server": {"host": "127.0.0.1", "port": 8794, "open_on_no_keys": True},
        }
        path.write_text(json.dumps(config))
        options = ["--config", str(path), "--no-banner", "--log-level", "error"]
        command = (told.rosetta, *options, "--data-dir", str(folder))
        yield Server("llm-rosetta", command, 8794, 0.05)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("--litellm", metavar="PATH", help="the command litellm")
    asked.add_argument("--rosetta", metavar="PATH", help="the command llm-rosetta-gateway")
    asked.add_argument("--serve", nargs=3, metavar=("ROLE", "PORT", "UPSTREAM"))
    told = asked.parse_args()
    if told.serve:
        serve(told.serve[0], int(told.serve[1]), told.serve[2])
        return 0
    here = [sys.executable, "-m", "benchmarks.gateway", "--serve"]
    upstream = "http://127.0.0.1:8790"
    with ExitStack() as stack:
        stack.enter_context(process((*here, "static", "8790", upstream), 8790))
        measured = {
            server: stack.enter_context(process(server.command, server.port)).pid
            for server in servers(told, upstream)
        }
        for server in measured:
            for case in CASES:
                asyncio.run(client(server.port, case, 2 if case.paced else 20, []))
        for case in CASES:
            for connections in (1, 16) if told.quick else (1, 16, 256):
                measure(case, connections, measured, quick=told.quick)
        for server, pid in measured.items():
            asyncio.run(held(server, pid))
    return 0


def measure(case: Case, connections: int, measured: dict[Server, int], *, quick: bool) -> None:
    """One case with all gateways in turn."""
    print(f"\n{case.name}, {connections} connections; load {os.getloadavg()[0]:.1f}")
    print(f"{'':14} {'per s':>9} {'p50 ms':>8} {'p99 ms':>8} {'+p50':>8} {'+p99':>8} {'cpu ms':>8}")
    rounds: dict[Server, list[Figures]] = {server: [] for server in measured}
    for _ in range(10 if quick else 20):
        for server, pid in measured.items():
            count = 100 if not case.stream else 25
            total = max(int(count * server.share), connections, 10)
            if case.paced:  # which takes its time
                total = max(4, connections)
            if server.share < 1 and len(rounds[server]) >= 2:
                continue
            rounds[server].append(asyncio.run(loaded(server.port, pid, case, connections, total)))
    base = best(rounds[next(iter(measured))])
    for server, found in rounds.items():
        print(row(server.name, best(found), base), flush=True)


async def held(server: Server, pid: int) -> None:
    """Memory with many open streams."""
    before = memory_of(pid)
    body = claude(True).replace(b'"model": "m"', b'"model": "m", "metadata": {"a": "held"}')
    case = Case("held", "/v1/messages", body, stream=True)
    tasks = [asyncio.ensure_future(client(server.port, case, 1, [])) for _ in range(OPEN)]
    await asyncio.sleep(HELD / 2)
    during = memory_of(pid)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    failed = sum(result != 0 for result in results)
    again = [asyncio.ensure_future(client(server.port, case, 1, [])) for _ in range(OPEN)]
    await asyncio.gather(*again, return_exceptions=True)
    after = memory_of(pid)
    print(
        f"{server.name:14} {OPEN} open streams: {failed} errors, memory before {before:.0f} MiB, "
        f"during {during:.0f}, after {after:.0f} (after twice as many)",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
