"""The words that Bedrock has for media types, and the names that documents may bear."""

from __future__ import annotations

import re

from ...core.capabilities import Form

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html, and of the
# blocks beside it. The first word of a type is the one that is written.
IMAGES = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
DOCUMENTS = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
VIDEOS = {
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "mkv": "video/x-matroska",
    "webm": "video/webm",
    "flv": "video/x-flv",
    "mpeg": "video/mpeg",
    "mpg": "video/mpeg",
    "wmv": "video/x-ms-wmv",
    "three_gp": "video/3gpp",
}
AUDIOS = {
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "opus": "audio/opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "mp4": "audio/mp4",
    "m4a": "audio/mp4",
    "webm": "audio/webm",
    "pcm": "audio/pcm",
    "mkv": "audio/x-matroska",
    "mka": "audio/x-matroska",
    "x-aac": "audio/aac",
    "mpeg": "audio/mpeg",
    "mpga": "audio/mpeg",
}
TYPES = {"image": IMAGES, "document": DOCUMENTS, "video": VIDEOS, "audio": AUDIOS}
FORMATS = {
    kind: {media_type: word for word, media_type in reversed(words.items())}
    for kind, words in TYPES.items()
}
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


def document_name(name: str, taken: set[str]) -> str:
    """A name that a document may bear, and no other does.

    "Messages can't contain duplicate document names. Rename the document and retry your request."
    """
    given = name
    if not _is_name(name):
        given = _space.sub(" ", _strange.sub("-", name)).strip()[:190] or "document"
    return numbered(given[:190], taken) if given in taken else given


def numbered(name: str, taken: set[str]) -> str:
    """The name with the first number that makes it a new one."""
    number = 1
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"


def without_ending(filename: str, word: str | None) -> str:
    """A file name without the ending that says its format, which is said beside it."""
    stem, dot, ending = filename.rpartition(".")
    return stem if dot and stem and ending.lower() == word else filename
