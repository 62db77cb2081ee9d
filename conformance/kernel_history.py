"""Semantic Kernel's own types load what we write, and what they print means the same.

It needs other versions of packages than the tests do, so it is run in an environment of its own:

    python -m venv /tmp/kernel && /tmp/kernel/bin/pip install -e . semantic-kernel
    /tmp/kernel/bin/python conformance/kernel_history.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from semantic_kernel.contents import ChatHistory

from dragoman import Unsayable, testing
from dragoman.testing import Document, load_corpus

NAME = "semantic-kernel"
GREAT = ("anthropic-messages", "openai-chat", "openai-responses", "gemini")
CORPUS = Path(__file__).parent.parent / "tests" / "corpus"


def turned(doc: Any, target: str) -> Any:
    try:
        return testing.converted(Document("", NAME, "", "messages", False, doc), target).document
    except Unsayable:
        return None


def faults(document: Document) -> list[str]:
    written = testing.converted(document, NAME).document
    loaded = ChatHistory.restore_chat_history(json.dumps(written))
    dump = json.loads(loaded.serialize())
    out: list[str] = []
    for target in GREAT:
        ours, theirs = turned(written, target), turned(dump, target)
        if ours != theirs:
            out.append(f"{document.name} > {target}: {testing.difference(theirs, ours)}")
    return out


def main() -> int:
    histories = [
        document
        for case in load_corpus(CORPUS)
        for document in case.documents
        if document.facet == "messages" and not document.degraded
    ]
    found = [fault for document in histories for fault in faults(document)]
    print(*found, f"{len(histories)} histories, {len(found)} faults", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
