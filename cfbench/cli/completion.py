"""``cfbench --install-completion``: click's completion script, written where the shell looks for it."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from cfbench.errors import CfbenchError
from cfbench.files import write_atomically

SHELLS = ("bash", "zsh", "fish")
FROM_ENVIRONMENT = "SHELL"
"""The value of the option that is given without one, and the variable that then names the shell."""


def install(context: click.Context, shell: str) -> None:
    """Write the completion script, say where, and exit."""
    if shell == FROM_ENVIRONMENT:
        shell = Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise CfbenchError(
            f"there is no completion for the shell {shell!r}; name one of {', '.join(SHELLS)}: "
            f"`cfbench --install-completion {SHELLS[0]}`"
        )
    path = place(shell)
    completion = get_completion_class(shell)
    assert completion is not None
    write_atomically(path, completion(context.command, {}, "cfbench", "_CFBENCH_COMPLETE").source().encode("utf-8"))
    click.echo(f"Wrote {path}. {next_step(shell, path)}")
    context.exit()


def place(shell: str) -> Path:
    """Return where a shell looks for the user's completion of ``cfbench``."""
    data = folder("XDG_DATA_HOME", ".local/share")
    match shell:
        case "bash":
            return folder("BASH_COMPLETION_USER_DIR", data / "bash-completion") / "completions" / "cfbench"
        case "zsh":
            return data / "zsh" / "site-functions" / "_cfbench"
        case _:
            return folder("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "cfbench.fish"


def folder(variable: str, default: str | Path) -> Path:
    """Return the folder that a variable names, else the default, relative to the user's home."""
    return Path(os.environ.get(variable) or Path.home() / default)


def next_step(shell: str, path: Path) -> str:
    """Say how the script comes into effect."""
    match shell:
        case "bash":
            return (
                "New shells use it if the package bash-completion is installed; "
                f"else add this line to ~/.bashrc: source '{path}'"
            )
        case "zsh":
            return (
                "New shells use it if ~/.zshrc has this line, before any other compinit: "
                f"fpath=('{path.parent}' $fpath); autoload -U compinit && compinit"
            )
        case _:
            return "New shells use it."
