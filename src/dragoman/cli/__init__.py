"""The command line: one file per command, and what they share.

``app`` knows the commands by name and loads one when it is asked for; ``inputs`` and ``outputs``
know files, ``batch`` goes through them, ``ledger`` says what was lost, ``faults`` what went wrong
and with which exit code.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; gives its exit code."""
    from .app import run

    if arguments is None:
        _end_in_order()
    return run(arguments)


def _end_in_order() -> None:
    """Whoever is told to end cleans up first: no file is left that is not whole."""
    import signal
    import sys

    # What was begun is taken away, as it is after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))  # nohup is respected
