"""Whether media are what they claim to be."""

from __future__ import annotations

import base64
import binascii

# The first bytes of each type; "RIFF" alone could be a recording as well.
MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
KNOWN = frozenset({"image/webp", *(media_type for _, media_type in MAGIC)})


def type_of(data: str) -> str | None:
    """The media type of base64 data, told by its first bytes; None where they do not tell."""
    head = _bytes(data[:64])
    return None if head is None else _type_of(head)


def verify(data: str, claimed: str | None) -> tuple[bool, str | None]:
    """Whether base64 data may be passed on, and as what.

    What is no base64 may not, nor what claims a type that can be told by its first bytes and is
    of none. What is of another type than it claims is passed on as what it is.
    """
    content = _bytes(data)
    if content is None:
        return False, claimed
    found = _type_of(content)
    if found is None:
        return claimed not in KNOWN, claimed
    return True, found


def _bytes(data: str) -> bytes | None:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def _type_of(content: bytes) -> str | None:
    for magic, media_type in MAGIC:
        if content.startswith(magic):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return None
