"""What the index says of a cell: its summary, which searches its table holds, and a mark of the table's content."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from cfbench.record.checked import check_summary, checked_content, checked_info
from cfbench.record.lines import pack
from cfbench.record.rows import SearchId
from cfbench.record.summary import CellSummary

_SEQUENCES = ("fingerprints", "points", "row_ids", "tries", "successes", "results", "queries")
_NUMBERS = ("loss", "objective_value", "seconds")
_ADDED = ("points", "results")
"""What lines of earlier versions lack."""
NOTES = ("skipped", "failure")
"""What an index alone says of a cell, its table being without it."""
_PLAIN = [f.name for f in fields(CellSummary) if f.name not in ("info", *_SEQUENCES, *_NUMBERS)]


@dataclass(frozen=True)
class CellLine:
    """One line of the index.

    Parameters
    ----------
    summary : CellSummary
    mark : str
        Size and checksum of the table that was summarised; empty where there is none.
    done : dict of (int, int) to str
        (point, repetition) of the table's searches with their statuses.
    """

    summary: CellSummary
    mark: str
    done: dict[SearchId, str]

    def content(self) -> dict[str, Any]:
        """Return what is written, as JSON-like content."""
        return {**asdict(self.summary), "mark": self.mark, "done": _runs(self.done)}


def mark_of(data: bytes) -> str:
    """Return size and checksum of a file's content: tells a table from a later, a cut or a damaged one."""
    return f"{len(data)}-{zlib.crc32(data):08x}"


def summary_of(line: Mapping[str, Any]) -> CellSummary:
    """Read the summary back.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the line says something else.
    """
    values = {name: line[name] for name in _PLAIN} | {"content": checked_content(line["content"])}
    absent = {} if line.get("mark") else dict.fromkeys(_ADDED, ())  # without a table there is nothing to read it from
    values.update((name, tuple({**absent, **line}[name])) for name in _SEQUENCES)
    values.update((name, _numbers(line[name])) for name in _NUMBERS)
    summary = CellSummary(info=checked_info(line["info"]), **values)
    check_summary(summary)
    if summary.searches and not line.get("mark"):
        raise ValueError(f"it counts {summary.searches:,} searches of no table")
    return summary


def is_understood(line: Mapping[str, Any]) -> bool:
    """Whether a line says what this version writes."""
    try:
        summary_of(line)
        done_of(line)
    except (KeyError, TypeError, ValueError):
        return False
    return isinstance(line.get("mark"), str)


def is_outdated(line: Mapping[str, Any]) -> bool:
    """Whether an earlier version wrote a line, so that the cell's table says more."""
    return bool(line.get("mark")) and not all(name in line for name in _ADDED)


def contradicted(made: Mapping[str, Any], line: Mapping[str, Any]) -> list[str]:
    """Return what a line says otherwise than one that was made from the cell's table; why it was skipped aside.

    Parameters
    ----------
    made : mapping
        The content of a `CellLine`.
    line : mapping
        As the index holds it.
    """
    plain = json.loads(pack(made))
    return [name for name, value in plain.items() if name not in NOTES and line.get(name) != value]


def done_of(line: Mapping[str, Any]) -> dict[SearchId, str]:
    """Read back which searches the table holds.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the line says something else, or that they are not as many as it counts.
    """
    runs = [(status, repetition, range(first, last + 1)) for status, repetition, first, last in line["done"]]
    listed = sum(len(points) for _, _, points in runs)  # before they are written out: a line may say anything
    if listed != line["searches"]:
        raise ValueError(f"it counts {line['searches']!r:.30} searches and lists {listed:,}")
    return {(point, repetition): status for status, repetition, points in runs for point in points}


def results_of(line: Mapping[str, Any]) -> list[SearchId | None]:
    """Read back which search found each point's result; nothing from a line that does not say so.

    Raises
    ------
    TypeError, ValueError
        If the line says something else.
    """
    pairs = zip(line.get("points", ()), line.get("results", ()), strict=True)
    return [None if repetition is None else (point, repetition) for point, repetition in pairs]


def _runs(done: Mapping[SearchId, str]) -> list[tuple[str, int, int, int]]:
    """Shorten: neighbouring points that ended alike in one repetition are (status, repetition, first, last)."""
    runs: list[tuple[str, int, int, int]] = []
    for (point, repetition), status in sorted(done.items(), key=lambda item: item[0][::-1]):
        if runs and runs[-1][:2] == (status, repetition) and runs[-1][3] == point - 1:
            runs[-1] = (status, repetition, runs[-1][2], point)
        else:
            runs.append((status, repetition, point, point))
    return runs


def _numbers(values: Iterable[Any]) -> tuple[float | None, ...]:
    return tuple(None if value is None else float(value) for value in values)
