"""Files of sessions that are packed."""

from __future__ import annotations

from typing import BinaryIO, cast

from ..errors import MissingExtra


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
    return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(file))
