"""A process that has loaded cfbench and forks commands on request: processes of their own, without the imports' time.

It reads one JSON object a line: ``{"run": ARGUMENTS, ...}`` is answered with the command's process number,
``{"wait": NUMBER}`` with its exit code once it has ended.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import traceback
from typing import Any

LOADED = (
    "sklearn.ensemble",
    "pebble",
    "cfbench.cli.leaderboard",
    "cfbench.cli.run",
    "cfbench.running.session",
    "cfbench.record.frames",
    "cfbench.board.text",
    "cfbench_reporters.console",
    "cfbench_reporters.tracking",
)
"""What every run imports; none of them starts a thread."""


def run(order: dict[str, Any]) -> int:
    """Fork a command and return its process number."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, name in enumerate(("/dev/null", order["out"], order["err"])):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(name, flags, 0o600), number)
        os.chdir(order["cwd"])
        os.environ.update(order["environment"])
        for name, value in order["limits"].items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
        sys.argv = ["cfbench", *order["run"]]
        from cfbench.cli import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    end_of_process(code)
    return 0


def end_of_process(code: int) -> None:
    """End the fork as the interpreter would end a process of its own."""
    import atexit

    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve() -> None:
    for name in LOADED:
        importlib.import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "run" in order:
            print(json.dumps(run(order)), flush=True)
        else:
            _, status = os.waitpid(order["wait"], 0)
            print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)


if __name__ == "__main__":
    serve()
