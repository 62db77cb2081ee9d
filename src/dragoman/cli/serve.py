"""``dragoman serve``: the gateway."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from ..errors import DragomanError, MissingExtra
from . import terminal
from .app import command as make_command
from .faults import USAGE, Fault

YOUNG = 20_000
"""How many objects there may be before the garbage collector looks for cycles among them."""


@make_command(
    "serve",
    "dragoman serve --check",
    "dragoman serve --check --upstream openai-chat=http://127.0.0.1:8000/v1",
)
@click.option("-c", "--config", "path", type=click.Path(dir_okay=False), help="A TOML file.")
@click.option(
    "-u", "--upstream", "upstreams", multiple=True, metavar="DIALECT=URL",
    help="Ask this server; a NAME: before the dialect names it in routes.",
)  # fmt: skip
@click.option(
    "-k", "--key-env", "keys", multiple=True, metavar="[UPSTREAM=]VARIABLE",
    help="The environment variable with the key of an upstream; default: of the first.",
)  # fmt: skip
@click.option(
    "-r", "--route", "routes", multiple=True, metavar="MODEL=UPSTREAM[/MODEL]",
    help="Ask this upstream for models of this name or pattern.",
)  # fmt: skip
@click.option("--script", type=click.Path(dir_okay=False), help="Replies of the embedded model.")
@click.option("--host", help="The address to listen on; default: 127.0.0.1.")
@click.option("-p", "--port", type=int, help="The port; default: 8700; 0: any that is free.")
@click.option("--fail-on", multiple=True, metavar="CODE", help="Answer 422 for such a loss.")
@click.option("--store", help="memory, sqlite:PATH or redis://...; default: a SQLite file.")
@click.option("--log", type=click.Choice(["text", "json", "none"]), help="Form of the log lines.")
@click.option("--ui", is_flag=True, help="Serve the workbench at /workbench/, with the traffic.")
@click.option(
    "--ui-contents", is_flag=True, help="Keep contents, in memory only, for the workbench to show."
)
@click.option("--check", is_flag=True, help="Check the configuration, print it, and exit.")
def command(
    path: str | None,
    upstreams: tuple[str, ...],
    keys: tuple[str, ...],
    routes: tuple[str, ...],
    script: str | None,
    host: str | None,
    port: int | None,
    fail_on: tuple[str, ...],
    store: str | None,
    log: str | None,
    ui: bool,
    ui_contents: bool,
    check: bool,
) -> int:
    """Serve any client with any model: a gateway between dialects.

    Clients may speak Anthropic, Chat, Responses, Gemini, Ollama, Bedrock or Cohere. They
    use the base URL of the gateway in the place of their vendor's. Without upstreams an embedded
    model replies, which repeats what it is told or replies from a script.
    """
    told = {
        "host": host, "port": port, "script": script, "fail_on": fail_on or None,
        "store": store, "log": log,
    }  # fmt: skip

    def configured() -> Any:
        return configuration(path, upstreams, keys, routes, {k: v for k, v in told.items() if v})

    try:
        config = configured()
        if port == 0:
            config = replace(config, port=0)
        if check:
            return describe(config)
        return run(config, configured, ui=ui or ui_contents, contents=ui_contents)
    except MissingExtra as missing:
        if "'dragoman[providers]'" in str(missing):  # which the gateway's extra contains
            raise MissingExtra("dragoman serve", "gateway") from None
        raise
    except (DragomanError, OSError) as problem:
        raise Fault(str(problem), USAGE) from None


def configuration(
    path: str | None,
    upstreams: tuple[str, ...],
    keys: tuple[str, ...],
    routes: tuple[str, ...],
    told: dict[str, Any],
) -> Any:
    """The configuration of a file, with what the command line says."""
    from ..gateway.config import Config, Upstream, checked, load_config

    config = load_config(path) if path is not None else Config()
    if config.store is None:
        config = replace(config, store=default_store())
    found = dict(config.upstreams)
    for text in upstreams:
        name, dialect, url = split_upstream(text)
        found[name] = Upstream(dialect=dialect, url=url or None)
    for text in keys:
        name, _, variable = text.rpartition("=")
        name = name or next(iter(found), "")
        if name not in found or not variable:
            raise Fault(f"--key-env {text}: expected UPSTREAM=VARIABLE", USAGE)
        if not os.environ.get(variable):
            raise Fault(f"--key-env {text}: {variable} is not set", USAGE)
        found[name] = replace(found[name], key_env=variable)
    ways = dict(config.routes)
    for text in routes:
        model, equals, aim = text.partition("=")
        if not equals:
            raise Fault(f"--route {text}: expected MODEL=UPSTREAM", USAGE)
        ways[model.strip()] = aim.strip()
    return checked(replace(config, upstreams=found, routes=ways, **told))


def split_upstream(text: str) -> tuple[str, str, str]:
    """``name:dialect=url``: the parts of what names an upstream."""
    head, equals, url = text.partition("=")
    if not equals and "://" in text:
        raise Fault(f"--upstream {text}: expected DIALECT=URL", USAGE)
    name, colon, dialect = head.partition(":")
    return (name, dialect, url) if colon else (head, head, url)


def default_store() -> str:
    """A file of the user's, where state belongs."""
    same = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return f"sqlite:{same}/dragoman/gateway.sqlite"


def describe(config: Any) -> int:
    """Print what a configuration amounts to."""
    from ..gateway.app import Gateway
    from ..gateway.config import SCRIPTED, goals

    Gateway(replace(config, store="memory"))
    terminal.put(f"listens on http://{config.host}:{config.port}")
    for name, upstream in config.upstreams.items():
        terminal.put(f"upstream {name}: {upstream.dialect} at {upstream.url or 'its vendor'}")
    if not config.upstreams:
        terminal.put(f"upstream {SCRIPTED}: the embedded model")
    for model, aims in config.routes.items():
        terminal.put(f"route {model}: {', '.join(goals(aims))}")
    keys = len(config.clients)
    terminal.put(f"clients: {keys} keys" if keys else "clients: anyone on this machine")
    return 0


def run(config: Any, configured: Any, *, ui: bool = False, contents: bool = False) -> int:
    """Serve until a signal ends it."""
    import asyncio

    try:
        import uvicorn
    except ModuleNotFoundError:
        raise MissingExtra("dragoman serve", "gateway") from None
    from ..gateway.app import Gateway
    from ..gateway.listening import protocol

    bench: Any = None
    if ui:
        from ..workbench.app import Workbench
        from ..workbench.traffic import Traffic

        traffic = Traffic(contents=contents)
        gateway = Gateway(config, observer=traffic)
        bench = Workbench(gateway, traffic)
    else:
        gateway = Gateway(config)
    server = uvicorn.Server(
        uvicorn.Config(
            bench or gateway,
            host=config.host,
            port=config.port,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            http=protocol(config.limits),
            ws_max_size=config.limits.body,
            timeout_graceful_shutdown=int(config.limits.shutdown),
            h11_max_incomplete_event_size=config.limits.headers,
        )
    )

    own: Any = contextlib.nullcontext  # which ends with 0 when open streams have ended
    server.capture_signals = own  # type: ignore[method-assign]

    async def live() -> None:
        loop = asyncio.get_running_loop()

        def stop(end: int) -> None:
            if bench is not None:
                bench.close()
            server.handle_exit(end, None)

        for end in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(end, stop, end)
        if hasattr(signal, "SIGHUP"):
            tasks: set[Any] = set()

            def again() -> None:
                try:
                    tasks.add(loop.create_task(gateway.reload(configured())))
                    terminal.say("configuration reloaded")
                except (DragomanError, OSError) as problem:
                    terminal.say(f"configuration kept: {problem}")

            loop.add_signal_handler(signal.SIGHUP, again)
        serving = loop.create_task(server.serve())
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            gc.collect()
            gc.freeze()  # what was made to start is there for good: nothing looks through it again
            gc.set_threshold(YOUNG)  # exchanges leave no cycles behind that hold documents
            port = server.servers[0].sockets[0].getsockname()[1]
            terminal.say(f"dragoman serves http://{config.host}:{port}")
            if bench is not None:
                terminal.say(f"the workbench is at {bench.address(f'http://{config.host}:{port}')}")
            sys.stderr.flush()
        await serving

    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(live())
    except KeyboardInterrupt:
        return 130
    return 0 if server.started else 1


def loop_factory() -> Any:
    """The event loop of uvloop, where that is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop
