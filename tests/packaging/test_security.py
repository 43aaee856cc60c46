"""What SECURITY.md promises about the code itself: where anything can be run or unpickled at all."""

from __future__ import annotations

import ast
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfbench.cli.ui import HOST
from cfbench.errors import RecordError
from cfbench.record.archive import FILES, file_digest
from cfbench.record.schema import checked_key
from cfbench.record.store import Record
from tests.databases import execute
from tests.packaging.sources import ROOT, tree_of

SOURCES = [path for root in ("cfbench", "plugins", "datasets") for path in sorted((ROOT / root).rglob("*.py"))]

UNPICKLE = {
    "cfbench/caches.py": "fitted models of the user's own cache",
    "cfbench/registry/own_models.py": "a user's own model, with --trust alone",
    "cfbench/running/worker.py": "what the main process of a Dask run has packed",
}
"""The only files that may load a pickle; `cfbench.testing` unpickles what it has pickled itself."""

LOADERS = {"load", "loads", "Unpickler", "read_pickle"}
RUNNERS = {"eval", "exec"}
PICKLES = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}


def calls(path: Path) -> Iterator[tuple[str, str]]:
    """Yield owner and name of everything that a file calls."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                owner = node.func.value
                yield (owner.id if isinstance(owner, ast.Name) else ""), node.func.attr
            elif isinstance(node.func, ast.Name):
                yield "", node.func.id


@pytest.mark.slow
def test_pickles_are_loaded_in_three_places_alone() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        for owner, name in calls(path)
        if (owner in PICKLES and name in LOADERS) or name == "read_pickle"
    }
    assert {path for path in found if not path.startswith("cfbench/testing/")} == set(UNPICKLE)


@pytest.mark.slow
def test_no_text_is_run_as_code() -> None:
    found = {
        str(path.relative_to(ROOT)) for path in SOURCES for owner, name in calls(path) if not owner and name in RUNNERS
    }
    assert found == set()
    imported = {
        alias.name.partition(".")[0]
        for path in SOURCES
        if str(path.relative_to(ROOT)) not in UNPICKLE
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert not imported & {"yaml", "joblib", "dill", "shelve", "marshal"}


@pytest.mark.slow
def test_no_shell_is_started() -> None:
    for path in SOURCES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.keyword) and node.arg == "shell":
                raise AssertionError(f"{path}: shell=")
        assert not any((owner, name) in {("os", "system"), ("os", "popen")} for owner, name in calls(path))


def test_the_ui_listens_on_loopback_alone() -> None:
    assert HOST == "127.0.0.1"


class Harm:
    """Unpickled, it leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def test_a_pickle_hidden_in_a_packed_record_is_not_unpickled(tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    hidden = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Harm(harm)),
    }
    for name, table in FILES.items():
        fields = [pa.field(column, pa.string(), metadata=hidden) for column in table.columns]
        pq.write_table(pa.schema(fields).empty_table(), tmp_path / name)
    digests = {name: file_digest((tmp_path / name).read_bytes()) for name in FILES}
    about = {"format": "cfbench packed record", "protocol": 1, "schema": 2, "machines": [], "files": digests}
    (tmp_path / "packed.json").write_text(json.dumps(about))
    with pytest.raises(RecordError, match="has other columns"):
        Record.open(tmp_path)
    assert not harm.exists()
    pickle.loads(hidden[b"ARROW:extension:metadata"])
    assert harm.exists(), "the pickle does no harm, so that the test shows nothing"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER harm AFTER INSERT ON searches BEGIN DELETE FROM cells; END",
        "CREATE VIEW harm AS SELECT 1",
        "ALTER TABLE machines RENAME COLUMN description TO harm",
        "DROP TABLE measures",
    ],
)
def test_a_database_that_does_things_of_its_own_is_refused(tmp_path: Path, statement: str) -> None:
    Record.open(tmp_path / "r", write=True).close()
    execute(tmp_path / "r", statement)
    for write in (False, True):
        with pytest.raises(RecordError, match="it has other tables, or does things of its own"):
            Record.open(tmp_path / "r", write=write)


@pytest.mark.parametrize("key", ["../../outside", "/etc/passwd", "a" * 31 + "/", "A" * 32, "", "a" * 32 + "\n"])
def test_no_key_leads_out_of_the_record(key: str) -> None:
    with pytest.raises(RecordError, match="is no cell's key"):
        checked_key(key)
