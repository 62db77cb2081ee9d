"""The corpus: a folder of cases, each of which is one conversation in many dialects."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..dialect import FACETS
from ..model import Json
from . import transcript


class Document(NamedTuple):
    """One file of a case, or a degraded document of its transcript."""

    case: str
    dialect: str
    spelling: str
    facet: str
    degraded: bool
    body: Json

    @property
    def name(self) -> str:
        return f"{self.case}/{self.dialect}{self.spelling and '~' + self.spelling}.{self.facet}"


class Case(NamedTuple):
    name: str
    title: str
    documents: tuple[Document, ...]
    unofficial: tuple[str, ...]
    """dialects whose file here the vendor's own types refuse, on purpose"""
    degrades: dict[str, dict[str, list[str]]]
    """facet -> ``"source > target"`` -> the losses, as ``"kind code path"``"""

    def losses(self, source: Document, target: str) -> list[str]:
        written = f"{source.dialect}{source.spelling and '~' + source.spelling} > {target}"
        return sorted(self.degrades.get(source.facet, {}).get(written, []))

    def expected(self, target: str, facet: str) -> Document | None:
        """The document that a conversion to a dialect must give."""
        for document in self.documents:
            if (document.dialect, document.facet, document.spelling) == (target, facet, ""):
                return document
        return None


TRANSCRIPT = "degraded.txt"


def load_case(folder: Path) -> Case:
    settings = tomllib.loads((folder / "case.toml").read_text("utf-8"))
    whole = load_whole(folder)
    told = transcript.read(load_transcript(folder), bodies(whole))
    degraded = [
        Document(folder.name, dialect, "", facet, True, body)
        for (facet, dialect), body in told.documents.items()
    ]
    documents = tuple(sorted([*whole, *degraded], key=lambda document: document.name))
    unofficial = tuple(settings.get("unofficial", ()))
    return Case(folder.name, settings["title"], documents, unofficial, told.losses)


def load_whole(folder: Path) -> list[Document]:
    """The files of a case, which all mean the same."""
    return [_load_document(folder.name, path) for path in sorted(folder.glob("*.json"))]


def load_transcript(folder: Path) -> str:
    """What is lost of a case; empty where nothing is."""
    path = folder / TRANSCRIPT
    return path.read_text("utf-8") if path.exists() else ""


def bodies(whole: Iterable[Document]) -> dict[transcript.Kind, Json]:
    """The documents that a transcript refers to."""
    return {(d.facet, d.dialect): d.body for d in whole if not d.degraded and not d.spelling}


@cache
def load_corpus(root: Path) -> tuple[Case, ...]:
    """The cases of a folder. They are read once; after a change of files, use ``load_case``.

    Their documents must not be changed; no conversion does.
    """
    return tuple(load_case(path.parent) for path in sorted(root.glob("*/case.toml")))


def _load_document(case: str, path: Path) -> Document:
    who, _, facet = path.name.removesuffix(".json").partition(".")
    dialect, _, spelling = who.partition("~")
    if facet not in FACETS:
        raise ValueError(f"{path.name} is not <dialect>[~spelling].<facet>.json")
    return Document(case, dialect, spelling, facet, False, json.loads(path.read_text("utf-8")))
