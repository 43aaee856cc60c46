from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench.cli import main
from cfbench.cli.sync import record_from_tracking
from cfbench.errors import RecordError, TrackingError
from cfbench.record.store import Record
from cfbench.registry import CellFinished, RunStarted
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench_reporters.tracking import TrackingReporter

WholeCell = Callable[..., CellFinished]


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def registry() -> Registry:
    return build_registry(RegistryOptions())


@pytest.fixture
def address(store: Path, whole_cell: WholeCell) -> str:
    """A store with a cell in each of two studies."""
    address = f"sqlite:///{store}"
    for study, dataset in (("ours", "wine"), ("theirs", "housing")):
        reporter = TrackingReporter()
        reporter.cfbench_run_started(RunStarted(study, store.parent, address, (), 0, 0, 0, 1))
        reporter.cfbench_cell_finished(whole_cell(dataset=dataset))
    return address


def _datasets(path: Path) -> set[str]:
    with Record.open(path) as record:
        return {summary.info.dataset for summary in record.summaries().values()}


@pytest.mark.slow
def test_it_goes_into_the_cache_and_is_known_the_next_time(
    address: str, registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record_from_tracking(address, "", registry)
    assert path.is_relative_to(tmp_path / "cache")
    assert _datasets(path) == {"wine", "housing"}
    assert capsys.readouterr().err == f"{address} (ours, theirs): 2 cells fetched, 0 known; the record is {path}\n"
    assert record_from_tracking(address, "", registry) == path
    assert "0 cells fetched, 2 known" in capsys.readouterr().err


def test_an_empty_address_is_refused_instead_of_the_default_store(registry: Registry) -> None:
    with pytest.raises(TrackingError, match="--from-tracking has an empty address; write http"):
        record_from_tracking("", "", registry)


def test_one_study_has_a_record_of_its_own(address: str, registry: Registry) -> None:
    path = record_from_tracking(address, "ours", registry)
    assert _datasets(path) == {"wine"}
    assert path != record_from_tracking(address, "", registry)


def test_it_goes_where_it_is_told_but_never_over_a_record(address: str, registry: Registry, tmp_path: Path) -> None:
    assert _datasets(record_from_tracking(address, "ours", registry, tmp_path / "theirs")) == {"wine"}
    Record.open(tmp_path / "mine", write=True).close()
    with pytest.raises(RecordError, match="was not fetched"):
        record_from_tracking(address, "", registry, tmp_path / "mine")


def test_runs_whose_files_are_gone_are_named(
    address: str, registry: Registry, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(store.parent / "mlflow-artifacts")
    path = record_from_tracking(address, "", registry)
    assert _datasets(path) == set()
    assert capsys.readouterr().err.count("Note: left out: run ") == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("none", "names no server"),
        ("http://127.0.0.1:1", "refused"),
        ("./mlruns", "is read as a folder"),
        (
            "ftp://somewhere/runs",
            "ftp://somewhere/runs names no kind of store that MLflow tracks to; write http://HOST",
        ),
        ("sqlite:////nowhere/mlflow.db", "no such file"),
    ],
)
def test_an_address_that_cannot_be_read(wrong: str, message: str, registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=message):
        record_from_tracking(wrong, "", registry, tmp_path / "record")
    assert not (tmp_path / "record").exists()


def _leaderboard(*options: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["leaderboard", *options])
    return int(ended.value.code or 0)


@pytest.mark.slow
def test_the_leaderboard_of_a_server_and_what_is_left_of_it_when_it_is_gone(
    address: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _leaderboard("--from-tracking", address, "--study", "ours") == 0
    output = capsys.readouterr()
    assert "1 task: wine, random-forest" in output.out
    assert "cogs[population_size=50]" in output.out
    store.unlink()
    assert _leaderboard("--from-tracking", address, "--study", "ours") == 1
    message = capsys.readouterr().err
    assert "no such file" in message
    left = message.partition("as far as it was fetched is ")[2].partition(" (")[0]
    assert _datasets(Path(left)) == {"wine"}


def test_a_study_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert _leaderboard("--study", "ours") == 2
    assert "give --from-tracking ADDRESS" in capsys.readouterr().err
