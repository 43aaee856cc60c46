"""A table of cells as text, and reading it from a comma-separated file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cfbench import DataError
from cfbench_datasets.problems import refuse, refuse_device


@dataclass(frozen=True)
class Table:
    """Cells as text, blanks around them stripped.

    Parameters
    ----------
    origin : str
        Where it comes from, for messages.
    header : tuple of str
    rows : list of list of str
        Each as long as the header.
    lines : tuple of int
        The line of the file that each row ends on; empty where there is no file.
    """

    origin: str
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: tuple[int, ...] = ()

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


def read_csv(path: Path) -> Table:
    """Read a comma-separated file whose first line names the columns.

    Raises
    ------
    DataError
        Where it is missing, empty, unreadable, has a ragged row, or has a column without a name of its own.
    """
    refuse_device(path)
    lines: list[tuple[int, list[str]]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            lines.extend((reader.line_num, [cell.strip() for cell in row]) for row in reader)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; the data set's table is looked for there") from None
    except csv.Error as error:
        begins = lines[-1][0] + 1 if lines else 1
        raise DataError(
            f"{path} cannot be read from line {begins} on, where a row begins: {error}. A cell that begins with a "
            "double quote needs one at its end, and a quote inside of it is written twice"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}. It must be comma-separated text in UTF-8") from error
    filled = [(line, row) for line, row in lines if row not in ([], [""])]
    if not filled:
        raise DataError(f"{path} is empty; it needs a line with the columns' names and a line for every case")
    header = filled[0][1]
    body = filled[1:]
    problems = _header_problems(header)
    problems += [
        f"line {line} has {len(row)} cells, the header has {len(header)}; every row needs one cell a column "
        "(a comma inside a cell needs double quotes around the cell)"
        for line, row in body
        if len(row) != len(header)
    ]
    if not body:
        problems.append("it has a header and no row; add a line for every case")
    if problems:
        raise refuse(str(path), problems)
    return Table(str(path), tuple(header), [row for _, row in body], tuple(line for line, _ in body))


def _header_problems(header: Sequence[str]) -> list[str]:
    for separator in ";\t|":
        if len(header) == 1 and separator in header[0]:
            return [f"its columns seem to be separated by {separator!r}; write it with commas"]
    problems = [
        f"column {place + 1} has no name; name it, or leave it out (pandas writes its index so: "
        "use to_csv(..., index=False))"
        for place, name in enumerate(header)
        if not name
    ]
    problems += [
        f"column {name!r} occurs {header.count(name)} times; every column needs a name of its own"
        for name in dict.fromkeys(header)
        if name and header.count(name) > 1
    ]
    return problems
