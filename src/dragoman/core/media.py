"""What media really are: whether data are base64, and of which type, by their first bytes.

Only the beginning is looked at to tell a type; a type without a known beginning is never doubted.
"""

from __future__ import annotations

import base64
import binascii
import re

from ..model import MediaKind

# https://www.iana.org/assignments/media-types; the bytes are those of the formats themselves.
MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),  # after "RIFF" and a length
    (b"%PDF-", 0, "application/pdf"),
)
KNOWN = frozenset(media_type for _, _, media_type in MAGIC)
"""The types that can be told by their first bytes."""

ENDINGS: dict[str, dict[str, str]] = {
    "image": {
        "png": "image/png",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "gif": "image/gif",
        "webp": "image/webp",
    },
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "html": "text/html",
        "htm": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "video": {
        "mp4": "video/mp4",
        "mov": "video/quicktime",
        "mkv": "video/x-matroska",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpeg",
        "wmv": "video/x-ms-wmv",
        "3gp": "video/3gpp",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "wav": "audio/wav",
        "opus": "audio/opus",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "ogg": "audio/ogg",
        "mp4": "audio/mp4",
        "m4a": "audio/mp4",
        "webm": "audio/webm",
    },
}
"""The types of files by the endings of their names; of two for one type, the usual one first."""

_PREFIX = 32  # characters of base64: 24 bytes, more than any beginning above
_ALPHABET = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def is_base64(data: str) -> bool:
    """Whether a text is base64 as the APIs take it: padded, and without line breaks.

    >>> is_base64("iVBORw0KGgo="), is_base64("https://example.com/a.png"), is_base64("a=b=")
    (True, False, False)
    """
    return len(data) % 4 == 0 and _ALPHABET.fullmatch(data) is not None


def standard(data: str) -> str:
    """Base64 in the usual alphabet, padded; protobuf's JSON takes that for URLs as well.

    >>> standard("-_8"), standard("+/8=")
    ('+/8=', '+/8=')
    """
    if "-" not in data and "_" not in data:
        return data
    data = data.replace("-", "+").replace("_", "/")
    return data + "=" * (-len(data) % 4)


def sniff(data: str) -> str | None:
    """The media type of base64 data by their first bytes; None where they tell nothing.

    >>> sniff("iVBORw0KGgoAAAANSUhEUg=="), sniff("SGVsbG8=")
    ('image/png', None)
    """
    try:
        head = binascii.a2b_base64(data[:_PREFIX])
    except (ValueError, binascii.Error):  # not ASCII, or not base64
        return None
    for magic, offset, media_type in MAGIC:
        if head[offset : offset + len(magic)] == magic:
            return media_type if offset == 0 or head.startswith(b"RIFF") else None
    return None


def plain_type(media_type: str) -> str:
    """A media type without its parameters: ``Image/PNG; x=y`` is ``image/png``."""
    return media_type.partition(";")[0].strip().lower()


def lies(data: str, media_type: str | None) -> str | None:
    """Why data are not what they claim to be; None where nothing speaks against them."""
    if not is_base64(data):
        return "the data is not base64"
    if media_type is not None and plain_type(media_type) in KNOWN and sniff(data) is None:
        return f"the data does not begin like {plain_type(media_type)}"
    return None


def text_of(data: str) -> str | None:
    """The text that base64 data hold; None where they hold none."""
    try:
        text = base64.b64decode(data, validate=True).decode()
    except ValueError:  # not base64, or not UTF-8
        return None
    return text if text and "\0" not in text else None


def type_by_ending(kind: str, address: str) -> str | None:
    """The media type of a file, by the ending of its name.

    >>> type_by_ending("image", "https://example.com/a.JPG?x=1.png")
    'image/jpeg'
    """
    name = address.partition("?")[0].rpartition("/")[2]
    return ENDINGS[kind].get(name.rpartition(".")[2].lower())


def endings_of(types: dict[str, str]) -> dict[str, str]:
    """The first ending of each type."""
    return {media_type: ending for ending, media_type in reversed(types.items())}


def kind_of(media_type: str | None) -> MediaKind:
    """What a medium is, by its type."""
    head = plain_type(media_type or "").partition("/")[0]
    return head if head in ("image", "audio", "video") else "document"  # type: ignore[return-value]
