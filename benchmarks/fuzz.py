"""Ten thousand files of every kind that cfbench reads and did not write: each is read, or refused in a sentence.

``python benchmarks/fuzz.py [INPUTS]``. Every run draws others; the seed is printed, and a second argument sets it.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cfbench.registry.discovery import import_file

targets: Any = import_file(Path(__file__).parents[1] / "tests" / "fuzz" / "targets.py")


def main() -> None:
    """Fuzz all kinds and print how many inputs there were; the first that breaks something ends it."""
    inputs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(2**32)
    print(f"seed {seed}")
    memory = Path("/dev/shm")  # noqa: S108 - small files, written and read again by the hundred thousand
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() and os.access(memory, os.W_OK) else None) as folder:
        for target in targets.make_targets(Path(folder)):
            began = time.process_time()
            with contextlib.redirect_stderr(io.StringIO()):
                count, longest = target.fuzz(inputs, seed=seed)
            seconds = time.process_time() - began
            print(
                f"{target.name:<24} {count:>7,} inputs, no traceback; {seconds:5.0f} s of CPU, at most {longest:.2f} s"
            )


if __name__ == "__main__":
    main()
