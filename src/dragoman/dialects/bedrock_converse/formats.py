"""The words that Bedrock has for media types, and the names that documents may have."""

from __future__ import annotations

import re
from collections.abc import Container

from ...core.capabilities import Form
from ...core.media import ENDINGS, endings_of

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html, and of the
# blocks beside it: the endings of file names, and some words more.
TYPES = ENDINGS | {
    "video": {"three_gp": "video/3gpp"} | ENDINGS["video"],
    "audio": ENDINGS["audio"]
    | {
        "pcm": "audio/pcm",
        "mkv": "audio/x-matroska",
        "mka": "audio/x-matroska",
        "x-aac": "audio/aac",
        "mpeg": "audio/mpeg",
        "mpga": "audio/mpeg",
    },
}
FORMATS = {kind: endings_of(types) for kind, types in TYPES.items()}
SYNONYMS = {"image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav"}
USUAL = {
    "image": "image/png",
    "document": "application/pdf",
    "video": "video/mp4",
    "audio": "audio/mpeg",
}

# "alphanumeric characters, whitespace characters (no more than one in a row), hyphens,
# parentheses, square brackets"
_is_name = re.compile(r"(?!.*\s\s)[A-Za-z0-9\s\-()\[\]]{1,200}", re.DOTALL).fullmatch
_strange = re.compile(r"[^A-Za-z0-9\s\-()\[\]]")
_space = re.compile(r"\s+")


def type_of(kind: str, word: str) -> str:
    """The media type that a word stands for."""
    top = "application" if kind == "document" else kind
    return TYPES[kind].get(word) or f"{top}/{word}"


def word_of(kind: str, media_type: str | None) -> str | None:
    """The word for a media type."""
    if media_type is None:
        return None
    return FORMATS[kind].get(media_type) or media_type.rpartition("/")[2]


def form_of(kind: str, sources: frozenset[str]) -> Form:
    """How media of a kind are taken: data have a format, and so have files, which are in S3."""
    return Form(
        sources=sources,
        typed=True,
        usual=USUAL[kind],
        pointed={"file": USUAL[kind]},
        types=frozenset(FORMATS[kind]),
        synonyms=SYNONYMS,
        encoded=True,
        files=("s3://",),
    )


def document_name(name: str, taken: Container[str]) -> str:
    """A name that a document may have, and no other does.

    "Messages can't contain duplicate document names. Rename the document and retry your request."
    """
    given = name
    if not _is_name(name):
        given = _space.sub(" ", _strange.sub("-", name)).strip()[:190] or "document"
    return numbered(given[:190], taken) if given in taken else given


def numbered(name: str, taken: Container[str]) -> str:
    """The name with the first number that makes it a new one."""
    number = 1
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"


def without_ending(filename: str, word: str | None) -> str:
    """A file name without the ending that says its format, which is written beside it."""
    stem, dot, ending = filename.rpartition(".")
    return stem if dot and stem and ending.lower() == word else filename
