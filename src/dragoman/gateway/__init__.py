"""A gateway: clients speak one dialect, the models behind it another, and neither notices.

    client ── HTTP ──> door ──> route ──> exchange ──> upstream
           <─────────────────── reply, stream or error, in the client's dialect

- ``config``     what is configured: upstreams, routes, client keys, limits (TOML or Python)
- ``doors``      which dialect a path belongs to; each dialect brings its own path
- ``ui``         chats in pages, with the AI SDK's ``useChat``
- ``app``        the ASGI application: reads requests, writes replies
- ``handling``   one request from the door to the upstream and back
- ``sending``    what the client is sent: replies, streams, errors, signs of life
- ``upstreams``  who is asked: over HTTP, or the scripted model in this process
- ``policies``   what an operator wants changed in a request: system turns, defaults, caching
- ``script``     the scripted model: deterministic replies for tests and trials
- ``carrying``   signatures and encrypted reasoning that the client's dialect cannot hold
- ``store``      what is kept between requests: in memory, in SQLite or in Redis
- ``clients``    keys of clients, their limits
- ``watching``   log lines and metrics; ``tracing`` has spans for OpenTelemetry
- ``observing``  who watches exchanges as they happen: the hook for pages and recorders
- ``extras``     other paths of the vendors' APIs: lists of models, token counts, health

``Gateway(config)`` is an ASGI application that can be mounted in another one; ``dragoman serve``
runs it. ``dragoman.Exchange`` is what it is built on, for those who write their own.
"""

from __future__ import annotations

from .app import Gateway
from .config import Config, Upstream, load_config
from .observing import Observer
from .script import Script

__all__ = ["Config", "Gateway", "Observer", "Script", "Upstream", "load_config"]
