"""The dialects, one file or folder each. The file name is the registration.

``openai_chat`` here is the dialect ``openai-chat``: the module holds its ``DIALECT``. Packages
elsewhere register one under the entry point group ``dragoman.dialects``. All load on demand.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ..dialect import Dialect
from ..errors import Unsupported

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "dragoman.dialects"

# Short names that are promises. A dialect's own `aliases` work as well; these spare the search.
SHORT = {
    "chat": "openai-chat",
    "anthropic": "anthropic-messages",
    "responses": "openai-responses",
}


def names() -> tuple[str, ...]:
    """Every dialect there is, by name."""
    return tuple(sorted({*_builtin(), *_installed()}))


_own: dict[str, Dialect] = {}


def register(dialect: Dialect, name: str | None = None) -> None:
    """Makes a dialect known under a name (its own), in place of one that had the name before."""
    _own[name or dialect.name] = dialect
    get.cache_clear()


@cache
def get(name: str) -> Dialect:
    """The dialect of that name or alias."""
    if name in _own:
        return _own[name]
    name = SHORT.get(name, name)
    if (dialect := _load(name)) is not None:
        return dialect
    if name in (installed := _installed()):
        plugin: Dialect = installed[name].load()
        return plugin
    for candidate in names():
        dialect = get(candidate)
        if name in dialect.aliases:
            return dialect
    raise Unsupported(f"unknown dialect {name!r}{_hint(name)}")


def _hint(name: str) -> str:
    """Names and aliases that are near, or of which it is a part: ``openai``, ``claud``."""
    import difflib  # only those who mistype need it

    aliases = [alias for candidate in names() for alias in get(candidate).aliases]
    word = name.lower().replace("_", "-")
    known = [*names(), *SHORT, *aliases]
    near = [each for each in known if each == word]
    parts = [each for each in names() if len(word) > 2 and word in each.split("-")]
    near = near or sorted(parts, key=lambda each: _rank(each, word))
    near = near or difflib.get_close_matches(word, known, n=1)
    near = near or [each for each in known if len(word) > 3 and each.startswith(word)]
    if not near:  # ``openia``: near to a part of several
        parts = [part for each in names() for part in each.split("-") if len(part) > 3]
        close = difflib.get_close_matches(word, parts, n=1)
        near = [each for each in names() if close and each.startswith(close[0])]
        near.sort(key=lambda each: _rank(each, close[0]))
    if not near:
        return f"; there are: {', '.join(names())}"
    return f", did you mean {' or '.join(map(repr, near[:3]))}?"


def _rank(name: str, start: str) -> tuple[bool, bool]:
    """Names that begin so go first, and of these the APIs, before the formats of files."""
    return not name.startswith(start), not get(name).endpoints


@cache
def _builtin() -> frozenset[str]:
    import pkgutil  # only those who list need it

    found = (module.name for module in pkgutil.iter_modules(__path__))
    return frozenset(name.replace("_", "-") for name in found if name[0] != "_")


def _load(name: str) -> Dialect | None:
    """The dialect in the file of that name, if there is one."""
    module = f"{__name__}.{name.replace('-', '_')}"
    if not name.replace("-", "_").isidentifier() or "_" in name:
        return None
    try:
        dialect: Dialect = import_module(module).DIALECT
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
        return None
    return dialect


@cache
def _installed() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and rarely needed

    return {point.name: point for point in entry_points(group=GROUP)}
