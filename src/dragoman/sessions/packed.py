"""Files of sessions that are packed."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..errors import MissingExtra

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK = 64 * 1024
PACKED_CHUNK = 1024
"""How much of zstd is unpacked at once: four bytes of it may stand for 128 kB."""


def unpacked(file: BinaryIO) -> BinaryIO:
    """What a file of zstd has in it; by the standard library (3.14), or by a package."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return cast(BinaryIO, zstd.ZstdFile(file, "rb"))
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstd", "zstd") from None
    unpacked = Unpacked(file, zstandard.ZstdDecompressor().decompressobj)
    return cast(BinaryIO, io.BufferedReader(unpacked, CHUNK))


def damaged() -> tuple[type[Exception], ...]:
    """What reading a packed file raises when its bytes make no sense; only what is loaded can."""
    loaded = (sys.modules.get(name) for name in ("zstandard", "compression.zstd"))
    return (EOFError, *(module.ZstdError for module in loaded if module is not None))


class Unpacked(io.RawIOBase):
    """Frames of zstd, unpacked; the package itself takes a file that breaks off for a whole one."""

    def __init__(self, file: BinaryIO, make: Callable[[], Any]) -> None:
        self._file, self._make = file, make
        self._frame = make()
        self._begun = False  # the frame has bytes, so it must have an end
        self._packed = b""  # what comes after the bytes that are being unpacked
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready:
            if self._frame.eof:
                self._packed = self._frame.unused_data + self._packed
                self._frame, self._begun = self._make(), False
            packed = self._packed or self._file.read(CHUNK)
            data, self._packed = packed[:PACKED_CHUNK], packed[PACKED_CHUNK:]
            if not data:
                if self._begun:
                    raise EOFError("the compressed data is truncated")
                return 0
            self._begun = True
            self._ready = memoryview(self._frame.decompress(data))
        taken, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        view[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self._file.close()
        super().close()
