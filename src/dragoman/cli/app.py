"""The commands by name. Each is a module that is loaded when it is asked for."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from . import terminal
from .faults import BUG, HUNG_UP, INTERRUPTED, IO, USAGE, explain, io_fault

# Name -> what it does, in the order of the help. `convert` is in `convert.py`: its `command`.
COMMANDS: dict[str, str] = {
    "convert": "Convert a document or a stream to another dialect.",
    "detect": "Detect the dialect and facet of a document, with the evidence.",
    "show": "Show a conversation in readable form.",
    "check": "List what the real API would reject, rule by rule.",
    "repair": "Repair what an API would reject, by named passes.",
    "diff": "Compare two conversations by meaning.",
    "join": "Append a response to the history of its request.",
    "migrate": "Convert stored conversations in place, file by file, whole folders of them.",
    "collect": "Collect a stream into the response that it contains.",
    "decompose": "Write a response as a stream.",
    "sessions": "List the sessions that agents have stored on this machine, the newest first.",
    "move": "Write a session of an agent as a new one of another agent.",
    "dataset": "Convert sessions, logs and data sets to a training set.",
    "serve": "Serve any client with any model: a gateway between dialects.",
    "workbench": "Open a page that shows conversations, and what a conversion does to them.",
    "formats": "List the dialects; with -f and -t, what is lost between these two.",
    "models": "List facts about models; with NAMEs, the facts of these models and their sources.",
    "explain": "Explain a loss code, a rule of check or a pass of repair.",
    "schema": "Print the JSON Schema of the documents that a dialect reads.",
    "completion": "Print the shell completion script for commands, options, dialects and codes.",
}
HIDDEN = ("man",)
NARROW = 52
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": terminal.WIDEST}


class Narrow(click.Command):
    """A command whose help fits narrow terminals: click's has fifty columns at least."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        if (columns := shutil.get_terminal_size().columns) < NARROW:
            extra.setdefault("terminal_width", max(columns - 1, 20))
        return super().make_context(*args, **extra)


class Command(Narrow):
    """A command with examples, which its help shows and the tests run."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", SETTINGS)
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    for line in continued(example, formatter.width - formatter.current_indent):
                        formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def continued(command: str, width: int) -> list[str]:
    """A command on lines of so many columns, as a shell takes it.

    >>> print(*continued("dragoman show --full --pointers request.json", 30), sep="\\n")
    dragoman show --full \\
      --pointers request.json
    """
    if len(command) <= width:
        return [command]
    lines = textwrap.wrap(
        command, width - 2, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def command(name: str, *examples: str) -> Callable[[Callable[..., Any]], Command]:
    """Makes a function a command. Its docstring is the help; the examples are run by the tests."""
    return click.command(name, cls=Command, examples=examples)


class HungUp(Exception):
    """The reader of standard output has closed it."""


class App(Narrow, click.Group):
    """A group that loads its commands when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS and name not in HIDDEN:
            return None
        found: click.Command = import_module(f"{__package__}.{name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and name not in HIDDEN and not name.startswith("-"):
            hint = did_you_mean(name, COMMANDS) or f"; the commands are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"unknown command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise HungUp from None  # click would exit with 1

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def did_you_mean(word: str, known: Any) -> str:
    """``, did you mean 'chat'?``; empty where nothing is near."""
    import difflib  # needed for a mistyped name only

    close = difflib.get_close_matches(word, list(known), n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def _version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from dragoman import __version__

        click.echo(f"dragoman {__version__}")
        ctx.exit()


def _help(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


app = App(
    "dragoman",
    invoke_without_command=True,
    callback=click.pass_context(_help),
    context_settings=SETTINGS,
    help="""Any LLM conversation, in any format, and exactly what was lost on the way.

    Documents are written to standard output, notes and errors to standard error. Input is files or
    standard input (`-`). FILE.gz and FILE.zst are decompressed and compressed.""",
    epilog="`dragoman COMMAND --help` shows the options of a command, with examples.",
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Print the version.",
        )
    ],
)


def run(arguments: Sequence[str] | None = None) -> int:
    """One command line, from its arguments to its exit code; nothing of it raises."""
    try:
        result = app.main(
            None if arguments is None else list(arguments), "dragoman", standalone_mode=False
        )
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.UsageError as problem:
        return _misused(problem)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (HungUp, BrokenPipeError):
        _let_go_of_stdout()
        return HUNG_UP
    except OSError as problem:
        _let_go_of_stdout()
        io_fault(problem, str(problem.filename or "standard output")).show()
        return IO
    except Exception as problem:
        return _surprised(problem)


def _misused(problem: click.UsageError) -> int:
    """An invalid command line: what is wrong with it, and where to find help."""
    where = problem.ctx.command_path if problem.ctx else "dragoman"
    written = problem.format_message()
    if isinstance(problem, click.NoSuchOption):  # click words it differently in each version
        known = problem.possibilities or ()
        written = (
            f"unknown option {problem.option_name!r}{did_you_mean(problem.option_name, known)}"
        )
    terminal.say(f"{terminal.red('error')}: {terminal.clean(written)}")
    hint = getattr(problem, "hint", "") or f"{where} --help"
    terminal.say(f"  {terminal.dim('next:')} {terminal.harmless(hint)}")
    return USAGE


def _let_go_of_stdout() -> None:
    """The reader of standard output is gone. Python must not flush again, and complain, at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _surprised(problem: Exception) -> int:
    """An unexpected exception. The library's own errors have exit codes of their own."""
    from ..errors import DragomanError

    if isinstance(problem, DragomanError):
        fault = explain(problem, name="")
        fault.show()
        return fault.exit_code
    if os.environ.get("DRAGOMAN_DEBUG"):
        raise problem
    # Not the message: it may repeat what a document says.
    terminal.say(
        f"{terminal.red('bug')}: {type(problem).__name__} - please report it; "
        "DRAGOMAN_DEBUG=1 prints a traceback"
    )
    return BUG
