"""The machines that a record's searches ran on, each once, as readers of a board want to know."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from cfbench.files import explained, write_atomically

MOST = 100
"""So many machines are listed; a run on a thousand nodes of one kind is one."""


def read_machines(path: Path) -> list[dict[str, str]]:
    """Return the machines of the record at `path`; none where its list is missing or damaged, since no result is in it.

    Raises
    ------
    RecordError
        If the file may not be read.
    """
    file = path / "machines.json"
    with explained(file, "read"):
        if not file.is_file():
            return []
        data = file.read_bytes()
    try:
        listed = json.loads(data)
    except (ValueError, RecursionError):
        return []
    return machines_in(listed)


def machines_in(listed: object) -> list[dict[str, str]]:
    """Return what is a list of machines in JSON-like content from elsewhere."""
    machines = listed if isinstance(listed, list) else []
    kept = [{_text(key): _text(value) for key, value in one.items()} for one in machines if isinstance(one, Mapping)]
    return kept[:MOST]


def _text(value: object) -> str:
    """Return a value as text that can be shown and written: half a surrogate pair is none."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def add_machines(path: Path, machines: Iterable[Mapping[str, str]]) -> None:
    """Note machines in the record at `path`, those that it does not know; the caller holds its lock.

    Raises
    ------
    RecordError
        If the disk refuses.
    """
    known = read_machines(path)
    added = [dict(machine) for machine in machines if dict(machine) not in known]
    if added:
        with explained(path / "machines.json", "written"):
            write_atomically(path / "machines.json", json.dumps(machines_in(known + added), indent=1).encode("utf-8"))
