"""``dragoman completion``: the shell completion scripts."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .app import app
from .app import command as make_command

SHELLS = ("bash", "zsh", "fish")


@make_command("completion", "dragoman completion zsh", "dragoman completion fish")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the shell completion script for commands, options, dialects and codes.

    \b
    In ~/.bashrc:
      eval "$(dragoman completion bash)"
    In ~/.zshrc:
      eval "$(dragoman completion zsh)"
    In ~/.config/fish/config.fish:
      dragoman completion fish | source
    """
    found = get_completion_class(shell)
    assert found is not None
    # Only the names are put in; bash itself is not asked for its version.
    script = found(app, {}, "dragoman", "_DRAGOMAN_COMPLETE")
    click.echo(script.source_template % script.source_vars())
