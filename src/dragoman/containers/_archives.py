"""Zip files of exports: the JSON files in them that have conversations, by their names.

Nothing is unpacked to the disk, and no more is read than the limit allows.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from ..core.surrogates import parse_exactly
from ..errors import Malformed
from ..model import Json

SIGN = b"PK\x03\x04"
WANTED = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")
MOST = 100_000
"""How many files an archive may have."""


class Members(dict[str, Json]):
    """What the files of an archive hold, by their names."""


def load(data: bytes, limit: int | None) -> Members:
    """The conversations of an archive."""
    found, left = Members(), limit
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.infolist()
            if len(names) > MOST:
                raise Malformed(f"an archive of more than {MOST:,} files")
            for info in names:
                parts = info.filename.replace("\\", "/").split("/")
                if ".." in parts or parts[0].endswith(":") or info.filename.startswith("/"):
                    raise Malformed("the name of a file in the archive leads out of it")
            for info in sorted(names, key=lambda info: info.filename):
                if not WANTED.search(info.filename):
                    continue
                if info.flag_bits & 1:
                    raise Malformed("the archive is encrypted")
                text = _read(archive, info, left)
                left = None if left is None else left - len(text)
                try:
                    found[info.filename] = parse_exactly(text)
                except Malformed as problem:
                    raise Malformed(f"{info.filename}: {problem.what}", problem.at) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as problem:
        raise Malformed(f"damaged: {problem}") from None
    return found


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int | None) -> bytes:
    with archive.open(info) as file:
        text = file.read() if limit is None else file.read(limit + 1)
    if limit is not None and len(text) > limit:
        raise Malformed(f"{info.filename}: a file of more than {limit:,} bytes, decompressed")
    return text
