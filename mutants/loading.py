"""Tables that are looked up while modules are loaded: whoever reads them later has a copy.

A class attribute, another table or a default may be made of such a table, so it is not enough to
change the table. A mutant of it is loaded instead: in a process of its own all modules of the
project are loaded anew, one of them with the mutant in it, and the checks are made anew.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .checks import ROOT, Check
from .mutating import Module, names_at_load

SOURCE = ROOT / "src"
Key = tuple[str, str, int]
"""What a check is known by: its name, its law and its stamp."""


@cache
def loaders(path: Path, name: str) -> frozenset[Path]:
    """The files that look up a table of a module while they are loaded."""
    holders = [(path, name)]
    found: set[Path] = set()
    for holder, word in holders:
        if word in _parsed(holder)[1]:
            found.add(holder)
        for other in _sources():
            for origin, wanted, local in _parsed(other)[0]:
                if origin == _dotted(holder) and wanted == word:
                    holders += [(other, local)] if (other, local) not in holders else []
                elif f"{origin}.{wanted}" == _dotted(holder) and word in _parsed(other)[2]:
                    found.add(other)  # as an attribute of its module
    return frozenset(found)


@cache
def _sources() -> tuple[Path, ...]:
    return tuple(sorted((SOURCE / "dragoman").rglob("*.py")))


@cache
def _parsed(path: Path) -> tuple[list[tuple[str, str, str]], frozenset[str], frozenset[str]]:
    """What a file imports, as module, name and its own name; names and attributes at load."""
    tree = ast.parse(path.read_text("utf-8"))
    package = _dotted(path) if path.stem == "__init__" else _dotted(path).rpartition(".")[0]
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: None if node.level < 2 else 1 - node.level]
            origin = ".".join([*(parts if node.level else ()), *filter(None, [node.module])])
            imported += [(origin, each.name, each.asname or each.name) for each in node.names]
    return imported, *names_at_load(tree)


def _dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _Loader(SourceFileLoader):
    """Loads a module with a mutant in it."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _Finder(MetaPathFinder):
    """Finds one module, the mutant."""

    def __init__(self, path: Path, code: CodeType) -> None:
        self.path, self.code = path, code

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _dotted(self.path):
            return None
        loader = _Loader(fullname, str(self.path), self.code)
        inner = [str(self.path.parent)] if self.path.stem == "__init__" else None
        return spec_from_file_location(
            fullname, self.path, loader=loader, submodule_search_locations=inner
        )


def checks_with(module: Module, number: int) -> dict[Key, Check]:
    """Load all anew, with a mutant, and make the checks of the corpus anew.

    Tests that were collected hold on to the modules before, and are not among them.
    """
    sys.meta_path.insert(0, _Finder(module.path, module.compiled(number)))
    for name in [name for name, loaded in sys.modules.items() if _is_ours(loaded)]:
        del sys.modules[name]
    made: list[Check] = list(import_module("mutants.checks").corpus_checks())
    return {check[:3]: check for check in made}


def _is_ours(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None) or ""
    inside = [SOURCE, *(ROOT / each for each in ("tests", "fuzz", "mutants"))]
    return any(Path(file).is_relative_to(each) for each in inside)
