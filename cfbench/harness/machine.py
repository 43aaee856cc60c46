"""What a run ran on: versions and kind of machine, nothing that names a person or a host."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("counterfactual-bench", "numpy", "scipy", "scikit-learn", "numba")


def this_machine() -> dict[str, str]:
    """Return versions, system, processor and number of cores; seconds depend on them, results may in the last bits."""
    found = {
        "python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": str(os.cpu_count() or "unknown"),
    }
    return {key: " ".join(value.split()) for key, value in found.items()}


def processor() -> str:
    """Name the processor as well as the system knows it."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
