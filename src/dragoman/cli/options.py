"""The options that commands share: dialects, facets, losses; each completes in the shell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from . import inputs
from .app import did_you_mean

# Which is generic since click 8.2, and in types only.
if TYPE_CHECKING:
    Kind = click.ParamType[Any]
else:
    Kind = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])

FACETS = ("request", "messages", "tools", "tool-choice", "response", "error", "stream")


class Word(Kind):
    """One word of a list; a word that is not in it fails with the nearest that is."""

    def __init__(self, name: str, words: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self.name = name
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Any:
        known = [word for word, _ in self.words()]
        if value not in known:
            hint = did_you_mean(value, known) or f"; known: {', '.join(known)}"
            self.fail(f"unknown {self.name} {value!r}{hint}", param, ctx)
        return value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        return [
            CompletionItem(word, help=written)
            for word, written in self.words()
            if word.startswith(incomplete)
        ]


class Words(Word):
    """Several of them, with commas between."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        words = (word.strip() for word in value.split(","))
        return tuple(super(Words, self).convert(word, param, ctx) for word in words if word)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        done, comma, last = incomplete.rpartition(",")
        found = super().shell_complete(ctx, param, last)
        return [CompletionItem(done + comma + item.value, help=item.help) for item in found]


class DialectName(Kind):
    """A dialect by its name or an alias; the value is the name."""

    name = "dialect"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> str:
        from .. import dialects
        from ..errors import Unsupported

        try:
            if isinstance(value, str) and value.startswith("template:"):
                from ..templates import load

                return load(value)
            return dialects.get(value).name
        except Unsupported as unknown:
            self.fail(str(unknown), param, ctx)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        from .. import dialects

        names = [*dialects.SHORT, *dialects.names()]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _facets() -> Iterable[tuple[str, str]]:
    return ((facet, "") for facet in FACETS)


def _losses() -> Iterable[tuple[str, str]]:
    from ..ledger import CODES, KINDS

    return [*((kind, "a kind of loss") for kind in KINDS), *CODES.items()]


class ModelsFile(Kind):
    """A file of rows for the table of models; the value is the table with them."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Any:
        from .tables import read_models

        return read_models(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class KeyFile(Kind):
    """A file with a key; the value is the key, without the end of its line."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Any:
        from .keys import read_key

        return read_key(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


DIALECT = DialectName()
FACET = Word("facet", _facets)
LOSSES = Words("loss", _losses)
# One that cannot be read is reported when its turn comes, and the others are done.
PATH = click.Path(readable=False)


def files(name: str = "files", *, nargs: int = -1) -> Callable[[F], F]:
    """The files to read: any number, folders of them, or standard input."""

    def decorate(function: F) -> F:
        argument = click.argument(name, nargs=nargs, metavar="[FILE|DIR]...", type=PATH)
        return argument(max_size_option(function))

    return decorate


class Size(Kind):
    """So many bytes: ``64M``, ``2G``, ``1000000``; ``none`` is no limit."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value.lower() == "none":
            return inputs.ENDLESS
        found = re.fullmatch(r"(\d{1,15})(?:([kmgt])i?b?|b)?", value.strip().lower())
        if not found or not int(found[1]):
            self.fail(f"{value!r} is not a size such as 64M, 2G or none", param, ctx)
        return int(found[1]) * 1024 ** (" kmgt".index(found[2]) if found[2] else 0)


def max_size_option(function: F) -> F:
    """How much is read into memory; ``inputs.limit`` knows it wherever something is read."""

    def remember(ctx: click.Context, param: click.Parameter, size: int) -> None:
        ctx.meta[inputs.MAX_SIZE] = size

    return click.option(
        "--max-size",
        type=Size(),
        default=inputs.LIMIT,
        show_default="256M",
        envvar="DRAGOMAN_MAX_SIZE",
        metavar="SIZE",
        expose_value=False,
        is_eager=True,  # other options read files
        callback=remember,
        help="The maximum size of one document, line, frame or collected stream, decompressed; "
        "none: no limit.",
    )(function)


def source_option(function: F) -> F:
    return click.option(
        "-f", "--from", "source", type=DIALECT, help="The dialect of the input; default: detected."
    )(function)


def target_option(function: F) -> F:
    return click.option(
        "-t", "--to", "target", type=DIALECT, required=True, help="The target dialect."
    )(function)


def facet_option(function: F) -> F:
    return click.option(
        "--facet",
        type=FACET,
        help="The kind of document; default: detected. One of " + _listed(FACETS),
    )(function)


class JsonlOption(click.Option):
    """``--jsonl/--no-jsonl``. The help says nothing of the old spelling of the second."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        return record and (record[0].replace(", --json", ""), record[1])


JSONL = "Whether the input has one document per line; default: by file name and content."


def jsonl_option(function: F) -> F:
    """For commands that print JSON for programs with ``--json``."""
    return click.option("--jsonl/--no-jsonl", "lines", default=None, help=JSONL)(function)


def old_jsonl_option(function: F) -> F:
    """For those that do not: ``--json`` said there, and still says, what ``--no-jsonl`` does."""
    return click.option(
        "--jsonl/--no-jsonl", " /--json", "lines", cls=JsonlOption, default=None, help=JSONL
    )(function)


class Pointer(Kind):
    """A JSON pointer; ``*`` as a token is every item."""

    name = "pointer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> str:
        if not isinstance(value, str) or not value.startswith("/"):
            self.fail(f"{value!r} is not a JSON pointer: it must begin with a slash", param, ctx)
        return value


def at_option(function: F) -> F:
    return click.option(
        "--at",
        type=Pointer(),
        multiple=True,
        metavar="POINTER",
        help="The place of the conversation in its file, e.g. /messages or /sessions/*/history.",
    )(function)


def models_option(function: F) -> F:
    return click.option(
        "--models",
        type=ModelsFile(),
        metavar="FILE",
        help="Rows of your own (TOML or JSON) for the table of model facts.",
    )(function)


def key_option(function: F) -> F:
    return click.option(
        "--key-file",
        "key",
        type=KeyFile(),
        metavar="FILE",
        help="Sign capsules with this key, and reject those not signed with it.",
    )(function)


def quiet_option(function: F) -> F:
    return click.option("-q", "--quiet", is_flag=True, help="Print only errors on stderr.")(
        function
    )


def quiet_options(function: F) -> F:
    return quiet_option(
        click.option("-v", "--verbose", is_flag=True, help="Print more on stderr.")(function)
    )


def ledger_options(function: F) -> F:
    """How losses are told: ``--report``, ``--fail-on``, ``--quiet``, ``--verbose``."""
    function = quiet_options(function)
    function = click.option(
        "--report",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the ledger as JSON; .jsonl: one line per document.",
    )(function)
    return fail_on_option(function)


def fail_on_option(function: F) -> F:
    return click.option(
        "--fail-on",
        type=LOSSES,
        default=(),
        metavar="LIST",
        help="Fail (exit 3) on these kinds and codes of losses, e.g. dropped,tool.schema.",
    )(function)


def append_option(function: F) -> F:
    return click.option(
        "--append", is_flag=True, help="Append lines to the -o FILE.jsonl instead of replacing it."
    )(function)


def output_options(function: F) -> F:
    """Where documents go and how they look: ``--output``, ``--in-place``, ``--compact``."""
    function = click.option("--in-place", is_flag=True, help="Replace each input with its result.")(
        function
    )
    return new_output_options(function)


def new_output_options(function: F) -> F:
    """The same for results that are something else than their inputs: never in their place."""
    function = click.option(
        "--compact/--indent",
        default=False,
        help="Documents on one line, or indented (the default).",
    )(function)
    return to_option(function)


def to_option(function: F) -> F:
    return click.option(
        "-o",
        "--output",
        type=click.Path(),
        metavar="FILE|DIR",
        help="A file (.jsonl: one line per document), or a folder (one file per input); "
        "default: standard output.",
    )(function)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) + "."
