"""The database of a record, changed behind its back: by accident, or by somebody who makes results up."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cfbench.errors import RecordError
from cfbench.record.cells import CELLS
from cfbench.record.files import DATABASE_NAME
from cfbench.record.schema import MEASURES, SEARCHES, TIME_COLUMNS, Table, digest_of_values, sorted_text
from cfbench.record.store import Record

TABLES = {table.name: table for table in (CELLS, SEARCHES, MEASURES)}


def execute(path: Path, statement: str, *arguments: Any) -> list[Any]:
    """Run a statement on the database of the record at `path`."""
    with closing(sqlite3.connect(path / DATABASE_NAME, isolation_level=None)) as connection:
        return connection.execute(statement, arguments).fetchall()


def forge(path: Path, table: str, where: str = "1", **changes: Any) -> None:
    """Change rows and their digests; a value is in its one form, or, as bytes, in the stored one."""
    kind = TABLES[table]
    for values in execute(path, kind.select(where)):
        row = dict(zip(kind.columns, values, strict=False))
        for name, value in changes.items():
            store = kind.fields[name].store
            row[name] = value if store is None or value is None or isinstance(value, bytes) else store(value)
        write(path, kind, tuple(row.values()), values)


def write(path: Path, table: Table, values: tuple[Any, ...], old: tuple[Any, ...]) -> None:
    """Put a row of stored values in the place of another one."""
    names = [table.columns.index(name) for name in table.key]
    where = " AND ".join(f'"{name}" = ?' for name in table.key)
    execute(path, f"DELETE FROM {table.name} WHERE {where}", *(old[i] for i in names))
    execute(path, table.insert, *values, digest_of_values(values))


def damage(path: Path, table: str, where: str = "1", column: str = "mark") -> None:
    """Change a text of rows and leave their digests, as a flipped bit does."""
    execute(path, f"UPDATE {table} SET {column} = {column} || 'x' WHERE {where}")


def contents(path: Path) -> dict[str, list[Any]]:
    """Return all rows of all tables: two records with the same ones are the same."""
    return {name: sorted(execute(path, f"SELECT * FROM {name}"), key=repr) for name in ("study", "machines", *TABLES)}


def record_digest(path: Path) -> dict[str, str]:
    """Return a digest of each finished cell's content: coordinates, settings and rows, without the time columns.

    Two runs of one study agree in all of them. Raises RecordError if something in the record is damaged.
    """
    found = {}
    with Record.open(path) as record:
        for key in sorted(record.keys()):
            recorded = record.cell_of(key)
            if recorded.cell is None or not recorded.cell.mark:
                continue
            one = recorded.cell
            rows = [{n: v for n, v in row.items() if n not in TIME_COLUMNS} for row in recorded.finished.values()]
            text = sorted_text([asdict(one.info), one.content, one.eligible, rows])
            found[key] = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    if record.problems:
        raise RecordError("; ".join(record.problems))
    return found
