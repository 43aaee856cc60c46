"""How the user reaches this command: hints repeat what works in the user's own shell."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def command_name() -> str:
    """Return what to type for this very ``cfbench``: the bare name where the shell finds it, else its path.

    In a virtual environment that is not activated, as after ``make quickstart``, that is ``.venv/bin/cfbench``.
    """
    called = Path(sys.argv[0])
    if called.name != "cfbench" or not called.exists():
        return "cfbench"
    found = shutil.which("cfbench")
    if found is not None and Path(found).samefile(called):
        return "cfbench"
    absolute = called.absolute()
    here = Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def this_command() -> str:
    """Return the command line that was given, as it may be given again."""
    return shlex.join([command_name(), *sys.argv[1:]])
