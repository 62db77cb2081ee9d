"""What media really are: whether data are base64, and of which type, by their first bytes.

Only the beginning is looked at to tell a type; a type without a known beginning is never doubted.
"""

from __future__ import annotations

import base64
import binascii
import re

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

_PREFIX = 32  # characters of base64: 24 bytes, more than any beginning above
_ALPHABET = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def is_base64(data: str) -> bool:
    """Whether a text is base64 as the APIs take it: padded, and without line breaks.

    >>> is_base64("iVBORw0KGgo="), is_base64("https://example.com/a.png"), is_base64("a=b=")
    (True, False, False)
    """
    return len(data) % 4 == 0 and _ALPHABET.fullmatch(data) is not None


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
