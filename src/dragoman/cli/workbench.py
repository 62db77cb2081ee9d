"""``dragoman workbench``: a local page that shows conversations and converts them."""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path
from typing import Any

import click

from ..errors import MissingExtra
from . import terminal
from .app import command as make_command
from .faults import USAGE, Fault

PORT = 8710
MOST = 256 * 2**20
"""How many bytes the file may have that the page opens with."""


@make_command(
    "workbench",
    "dragoman workbench --check",
    "dragoman workbench --check request.json",
)
@click.argument("file", required=False, type=click.Path(dir_okay=False, exists=True))
@click.option("-p", "--port", type=int, default=PORT, help="The port; 0: any that is free.")
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.")
@click.option("--check", is_flag=True, help="Say what would be opened, and exit.")
def command(file: str | None, port: int, browser: bool, check: bool) -> int:
    """Open a page that shows conversations, and what a conversion does to them.

    The page is served on this machine alone, to whoever has the token in the address that is
    printed; it fetches nothing from anywhere else. `dragoman serve --ui` adds the traffic of a
    gateway.
    """
    given = None if file is None else (Path(file).name, read(Path(file)))
    if check:
        what = "" if given is None else f" with {given[0]} ({len(given[1]):,} bytes)"
        terminal.put(f"the workbench{what} at http://127.0.0.1:{port}/")
        return 0
    return run(given, port, browser)


def read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MOST + 1)
    if len(data) > MOST:
        raise Fault(f"{path}: more than {MOST:,} bytes", USAGE)
    return data


def run(given: tuple[str, bytes] | None, port: int, browser: bool) -> int:
    """Serve the page until a signal ends it."""
    import asyncio

    try:
        import uvicorn
    except ModuleNotFoundError:
        raise MissingExtra("dragoman workbench", "gateway") from None
    from ..workbench.app import Workbench

    bench = Workbench(given=given)
    server = uvicorn.Server(
        uvicorn.Config(
            bench, host="127.0.0.1", port=port, log_level="warning", access_log=False,
            server_header=False, date_header=False, proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
    )  # fmt: skip

    own: Any = contextlib.nullcontext  # which ends with 0, whatever signal ended it
    server.capture_signals = own  # type: ignore[method-assign]

    async def live() -> None:
        for end in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):  # as on Windows
                asyncio.get_running_loop().add_signal_handler(end, server.handle_exit, end, None)
        serving = asyncio.ensure_future(server.serve())
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            tell(bench, server, browser)
        await serving

    try:
        asyncio.run(live())
    except KeyboardInterrupt:
        return 130
    return 0 if server.started else 1


def tell(bench: Any, server: Any, browser: bool) -> None:
    """Say where the page is, and open it."""
    port = server.servers[0].sockets[0].getsockname()[1]
    address = bench.address(f"http://127.0.0.1:{port}")
    terminal.say(f"the workbench is at {address}")
    sys.stderr.flush()
    if browser:
        import webbrowser

        webbrowser.open(address)
