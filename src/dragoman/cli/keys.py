"""The key that signs capsules: from a file or the environment, never from the command line itself,
which other users of the machine can read."""

from __future__ import annotations

import os
from pathlib import Path

from ..capsule.signing import SHORTEST
from .faults import io_fault, usage

VARIABLE = "DRAGOMAN_CAPSULE_KEY"
MOST = 4096


def read_key(name: str) -> bytes:
    """The first bytes of a file, without the end of its line."""
    try:
        with Path(name).open("rb") as file:
            data = file.read(MOST + 1)
    except OSError as problem:
        raise io_fault(problem, name) from None
    if len(data) > MOST:
        raise usage(f"{name} is not a key file: it has more than {MOST} bytes")
    return _checked(data.rstrip(b"\r\n"), name)


def key_of(told: bytes | None) -> bytes | None:
    """The key that was given, or else that of the environment."""
    if told is not None:
        return told
    found = os.environb.get(VARIABLE.encode()) if os.supports_bytes_environ else None
    if found is None and (text := os.environ.get(VARIABLE)):
        found = text.encode()
    return _checked(found, VARIABLE) if found else None


def _checked(key: bytes, name: str) -> bytes:
    if len(key) < SHORTEST:
        hint = "openssl rand -hex 32 > FILE"
        raise usage(f"{name}: a key needs at least {SHORTEST} bytes, this one has {len(key)}", hint)
    return key
