"""A record as bytes, damage that no checksum tells, and everything that reads a record."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from cfbench import CfbenchError, load_record
from cfbench.analysis.published import opened_record
from cfbench.board.board import leaderboard_of
from cfbench.digests import DIGEST_BYTES
from cfbench.record.archive import pack_record
from cfbench.record.cells import TABLES
from cfbench.record.files import DATABASE_NAME
from cfbench.record.schema import digest_of_values, packed_numbers
from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.running.executors.local import SerialExecutor
from cfbench.running.runner import Run
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.study.plan import Plan, make_plan
from cfbench.study.study import Study
from cfbench.tracking.addresses import remember_tracking, remembered_tracking

TOYS = Path(__file__).parents[1] / "toys" / "toy_plugin.py"
Files = dict[str, bytes]

NUMBERS = st.integers() | st.sampled_from([2**63 - 1, 2**63, -1, 10**400]) | st.floats()
TEXTS = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["found", "../../x", "\x1b[2J", "=1+1", "<b>", "\ud800"]
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
JUNK = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))


class Template:
    """A small record of every kind of file, its packed form, and what is needed to read and to continue it."""

    def __init__(self, folder: Path) -> None:
        self._options = RegistryOptions(plugins=(str(TOYS),))
        self.registry: Registry = build_registry(self._options)
        self._source = DataSource(data_dirs=(), cache_dir=folder, download=False)
        self._setup = WorkerSetup(self._options, self._source, folder)
        self._worker = Worker(self._setup, self.registry)
        results, packed = folder / "results", folder / "packed"
        with Record.open(results, write=True) as record:
            self.run(record, results, points=2)
            plan = self._plan(results, points=3)
            rows = record.rows(plan.cells[0].info.key)
            record.append({**rows[0], "point": 2})
            failed = plan.cells[1].info
            record.fail(failed, plan.cells[1].content, "it has failed since")
            record.add_machines([{"cpu": "a processor", "python": "3.13"}])
            remember_tracking(results, "toys", "")
            pack_record(record, packed)
        self.files = _read(results)
        self.packed = _read(packed)

    def _plan(self, results: Path, points: int) -> Plan:
        asked: dict[str, Any] = {
            "name": "toys",
            "datasets": ("toy",),
            "models": ("threshold",),
            "searchers": ("toy-dice[rows=8]", "toy-both"),
            "metrics": ("success",),
            "folds": (0,),
            "repetitions": 2,
            "tracking": "none",
        }
        return make_plan(Study(**asked, points=points, results=results), self.registry, self._source)

    def run(self, record: Record, results: Path, *, points: int) -> None:
        """Run what the record lacks of the study."""
        plan = self._plan(results, points)
        Run(plan, record, self.registry, SerialExecutor(self._worker), metrics=plan.metrics).go()


def _read(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def written(files: Files, folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


# ------------------------------------------------------------------ damage


@st.composite
def damaged(draw: st.DrawFn, files: Files) -> Files:
    """Draw one or two files of a record that are not what cfbench wrote."""
    changed: Files = {}
    for name in draw(st.lists(st.sampled_from(sorted(files)), min_size=1, max_size=2, unique=True)):
        how = draw(st.integers(0, 3))
        changed[name] = draw(_other_content(name, files[name]) if how else _other_bytes(files[name]))
    return changed


@st.composite
def damaged_pack(draw: st.DrawFn, files: Files) -> Files:
    """Draw files of a packed record that are not what cfbench wrote; their digests fit more often than not."""
    changed: Files = {}
    name = draw(st.sampled_from(sorted(files)))
    how = draw(st.integers(0, 3))
    if name == "packed.json" or not how:
        return {name: draw(_other_content(name, files[name]) if how else _other_bytes(files[name]))}
    table = draw(_changed_table(pq.read_table(pa.BufferReader(files[name]))))
    sink = io.BytesIO()
    with contextlib.suppress(Exception):  # what parquet cannot hold cannot come out of a file
        pq.write_table(table, sink)
        changed[name] = sink.getvalue()
    about = json.loads(files["packed.json"])
    about["files"][name] = hashlib.blake2b(changed.get(name, files[name]), digest_size=DIGEST_BYTES).hexdigest()
    return {**changed, "packed.json": _json(about)}


def _other_bytes(data: bytes) -> st.SearchStrategy[bytes]:
    places = st.integers(0, max(len(data) - 1, 0))
    cut = places.map(lambda place: data[:place])
    flipped = st.builds(
        lambda place, bit: data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :] if data else b"",
        places,
        st.integers(0, 7),
    )
    inserted = st.builds(lambda place, more: data[:place] + more + data[place:], places, st.binary(max_size=20))
    return cut | flipped | inserted | st.binary(max_size=200)


@st.composite
def _other_content(draw: st.DrawFn, name: str, data: bytes) -> bytes:
    """Draw a file whose frame and checksums are right and whose content is not."""
    if name.endswith(".json"):
        return _json(draw(_changed(json.loads(data))))
    return draw(_other_database(data)) if name == DATABASE_NAME else data


@st.composite
def _other_database(draw: st.DrawFn, data: bytes) -> bytes:
    """Draw a database with another value in some rows of a table, digests that fit included."""
    table = draw(st.sampled_from(TABLES))
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(data)
        rows = connection.execute(table.select()).fetchall()
        for old in rows:
            if not draw(st.booleans()):
                continue
            place = draw(st.integers(0, len(table.columns) - 1))
            kind = table.fields[table.columns[place]]
            values = list(old[:-1])
            if kind.load is json.loads and draw(st.booleans()):
                values[place] = _json(draw(_changed(json.loads(values[place])))).decode("utf-8", "replace")
            else:
                values[place] = draw(_of_sql(kind.sql))
            where = " AND ".join(f'"{name}" = ?' for name in table.key)
            keys = [old[table.columns.index(name)] for name in table.key]
            with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeError):  # what no database can hold
                stored = (*values, digest_of_values(values))
                connection.execute(f"DELETE FROM {table.name} WHERE {where}", keys)
                connection.execute(table.insert, stored)
        return connection.serialize()


def _of_sql(kind: str) -> st.SearchStrategy[Any]:
    values: dict[str, st.SearchStrategy[Any]] = {
        "TEXT": TEXTS,
        "INTEGER": st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 3),
        "REAL": st.floats(),
        "BLOB": st.binary(max_size=40) | st.lists(st.floats(), max_size=4).map(packed_numbers),
    }
    return values[kind.split(maxsplit=1)[0]] | (st.nothing() if "NOT NULL" in kind else st.none())


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@st.composite
def _changed(draw: st.DrawFn, value: Any) -> Any:
    """Draw JSON-like content that differs from `value` in one place."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        how = draw(st.sampled_from(["deeper", "deeper", "deeper", "without", "renamed"]))
        rest = {name: item for name, item in value.items() if how == "deeper" or name != key}
        if how == "deeper":
            return {**rest, key: draw(_changed(value[key]))}
        return rest if how == "without" else {**rest, draw(TEXTS): value[key]}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        place = draw(st.integers(0, len(value) - 1))
        new: list[Any] = draw(
            st.sampled_from([[], [value[place]] * 2]) | _changed(value[place]).map(lambda item: [item])
        )
        return [*value[:place], *new, *value[place + 1 :]]
    return draw(JUNK)


@st.composite
def _changed_table(draw: st.DrawFn, table: pa.Table) -> pa.Table:
    """Draw a table of the same columns with other values in one of them, or with other rows."""
    rows = draw(st.lists(st.integers(0, max(len(table) - 1, 0)), max_size=len(table) + 1)) if len(table) else []
    if draw(st.booleans()):
        return table.take(pa.array(rows, type=pa.int64()))
    name = draw(st.sampled_from(table.column_names))
    values = table[name].to_pylist()
    field = table.schema.field(name)
    for place in range(len(values)):
        if draw(st.booleans()):
            values[place] = draw(_of_type(field.type))
    try:
        return table.set_column(table.schema.get_field_index(name), field, pa.array(values, type=field.type))
    except (pa.ArrowException, OverflowError, UnicodeError):
        return table


def _of_type(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_string(kind):
        return st.text(max_size=12) | st.sampled_from(["found", "{", "\x1b[2J", "=1+1"])
    if pa.types.is_integer(kind):
        return st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 3) | st.none()
    if pa.types.is_binary(kind):
        return st.binary(max_size=40) | st.lists(st.floats(), max_size=4).map(packed_numbers) | st.none()
    return st.floats() | st.none()


# ------------------------------------------------------------------ reading


def read_everything(template: Template, folder: Path) -> None:
    """Do with a record all that commands do with one; what is wrong with it may only be told in errors of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for read in (_summaries, _searches, _measures, load_record, _machines, remembered_tracking):
            with contextlib.suppress(CfbenchError):
                read(folder)
        with contextlib.suppress(CfbenchError):
            board = leaderboard_of(opened_record(folder), template.registry)
            for form in ("csv", "markdown"):
                board.render(form)


def run_again(template: Template, folder: Path) -> None:
    """Continue a record, as ``cfbench run`` does."""
    with contextlib.suppress(CfbenchError), Record.open(folder, write=True) as record:
        template.run(record, folder, points=2)


def _each(folder: Path) -> Iterator[tuple[Record, str]]:
    with Record.open(folder) as record:
        for key in sorted({*record.summaries(), *record.pending()}):
            yield record, key


def _summaries(folder: Path) -> None:
    for record, key in _each(folder):
        record.done(key)
        record.mark(key)


def _searches(folder: Path) -> None:
    for record, key in _each(folder):
        with contextlib.suppress(CfbenchError):
            record.searches(key)
        record.cell_of(key)


def _machines(folder: Path) -> None:
    with Record.open(folder) as record:
        record.machines()
        record.notes()


def _measures(folder: Path) -> None:
    for record, key in _each(folder):
        record.measures(key)
        record.measured()
        values = record.point_values()
        for metric in values.metrics:
            values.of(metric)
