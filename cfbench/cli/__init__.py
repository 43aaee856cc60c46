"""The command line ``cfbench``: one module per command, imported when the command is called.

May import every package. Start with `run.py`; `options.py` has the options that several commands share.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any

import click

COMMANDS = {
    "run": "Run a study and show its leaderboard.",
    "plan": "Show what a run would do, and how long it may take.",
    "leaderboard": "Show the leaderboard of a record.",
    "compare": "Compare two searchers or two records point by point.",
    "explain": "Explain one case: what to change, and what could undo it.",
    "judge": "Judge results that were made elsewhere, from a file.",
    "export": "Write a fold's points and model for other programs.",
    "merge": "Merge records, such as the shards of a study, into one.",
    "measure": "Add metrics to a record, without any search.",
    "report": "Render a report from a record: pages, tables, figures.",
    "verify": "Judge a record's results again, and repeat some searches.",
    "drop": "Remove cells from a record.",
    "pack": "Pack a record into a few small files, to publish it.",
    "plugins": "List everything that is registered, and what failed to load.",
    "check": "Check that registered entries keep their contracts.",
    "new": "Start a plugin of your own from a template.",
    "datasets": "List, show or check data sets, or annotate a table of your own.",
    "tune": "Tune the models' hyper-parameters and keep them.",
    "fit": "Fit a study's models ahead of its run.",
    "sync": "Log the cells to MLflow that tracking missed.",
    "ui": "Start the MLflow UI on a study's tracking store.",
}
"""Every command with its line in ``cfbench --help``; its module ``cfbench.cli.<name>`` defines ``command``."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called, so that ``--help`` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of `cmd_name` and return its command."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"cfbench.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does; name the nearest ones if it is unknown."""
        from cfbench.cli.options import refuse_empty
        from cfbench.errors import UnknownNameError

        if not ctx.resilient_parsing:  # a shell that completes a line resolves commands, too
            refuse_empty(args)
            if args and args[0] not in COMMANDS and not args[0].startswith("-"):
                ctx.fail(str(UnknownNameError("command", args[0], COMMANDS)))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an interruption says how to go on."""
        from cfbench.running.interrupt import EXIT_CODE

        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(_how_to_go_on(), err=True)
            sys.exit(EXIT_CODE)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, importing none of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _install_completion(context: click.Context, _option: click.Parameter, shell: str | None) -> None:
    if shell is not None and not context.resilient_parsing:
        from cfbench.cli.completion import install

        install(context, shell)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="counterfactual-bench", prog_name="cfbench")
@click.option(
    "--install-completion",
    is_flag=False,
    flag_value="SHELL",
    metavar="[bash|zsh|fish]",
    is_eager=True,
    expose_value=False,
    callback=_install_completion,
    help="Write the completion script of your shell where the shell finds it, and exit.",
)
def cli() -> None:
    """Benchmark counterfactual explanations and their robustness.

    Start with `cfbench run`, then look at `cfbench leaderboard`.
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; an error of ours is one message, never a traceback."""
    from cfbench.running.interrupt import EXIT_CODE, SIGNALS, Interrupt

    _open_what_is_closed()
    try:
        with Interrupt(_how_to_go_on) as interrupt, interrupt.allowed():
            return _answered(arguments)
    except KeyboardInterrupt:  # before anything was done, or while an interruption was answered
        sys.exit(EXIT_CODE)
    except SystemExit as end:
        running = _threads_left_running()
        if arguments is None and (running or end.code == EXIT_CODE):
            # Python's own end would answer Ctrl-C with a traceback, or forget it and go on waiting for threads.
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
        if running:
            click.echo(
                "Warning: a plugin left threads running, and this command ends only when they do: "
                f"{', '.join(running)}. All results are written; Ctrl-C ends the command now",
                err=True,
            )
        raise


def _answered(arguments: list[str] | None) -> Any:
    from cfbench.cli.options import tell
    from cfbench.errors import CfbenchError

    try:
        return cli.main(args=arguments, prog_name="cfbench", standalone_mode=True)
    except CfbenchError as error:
        tell("Error", error)
        sys.exit(1)
    except OSError as error:  # a path that the system refuses: no permission, a name too long, a full disk
        tell("Error", f"{error.strerror or error}: {error.filename or 'standard output'}")
        sys.exit(1)


def _open_what_is_closed() -> None:
    """Put the null device where the caller has closed a standard stream, as in ``cfbench leaderboard >&-``.

    Python has None there, and the next file that is opened would get the stream's number: a library's message would go
    into a record.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            mode = "r" if number == 0 else "w"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process lives
            setattr(sys, name, stream)


def _how_to_go_on() -> str:
    from cfbench.cli.options import this_command

    return f"interrupted; what was finished is kept; go on with: {this_command()}"


def _threads_left_running() -> list[str]:
    """Return the names of threads that plugins have left running: Python waits for them at the end of a program."""
    module = sys.modules.get("cfbench.running.interrupt")  # loaded only where something was run
    return [] if module is None else list(module.unfinished_threads())
