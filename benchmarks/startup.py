"""CPU time that commands need before they do anything: `cfbench --help`, building the registry, one import."""

from __future__ import annotations

import resource
import subprocess
import sys

REPEATS = 5

PROGRAMS = {
    "python alone": "pass",
    "import cfbench": "import cfbench",
    "cfbench --help": "from cfbench.cli import main; main(['--help'])",
    "building the registry": "from cfbench.registry.registry import build_registry; build_registry()",
    "cfbench plugins": "from cfbench.cli import main; main(['plugins'])",
}


def cpu_seconds(code: str) -> float:
    """Return the CPU time of a Python process that runs `code`, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the least of a few runs of each program: what else the machine does only adds to it."""
    for name, code in PROGRAMS.items():
        least = min(cpu_seconds(code) for _ in range(REPEATS))
        sys.stdout.write(f"{name:<24} {least:6.2f} s of CPU\n")


if __name__ == "__main__":
    main()
