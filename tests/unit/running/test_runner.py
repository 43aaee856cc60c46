from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cfbench.record.store import Record, load_record
from cfbench.registry.events import CellFinished, RunFinished, SearchFinished
from cfbench.registry.hookspecs import hookimpl
from cfbench.registry.registry import build_registry
from cfbench.running.executors.local import Executor, ExecutorLost, Job
from cfbench.running.search import SearchTask
from tests.databases import record_digest

if TYPE_CHECKING:
    from tests.toys.runs import Toys


def test_a_run_records_every_search_once(toys: Toys, tmp_path: Path) -> None:
    report = toys.run(tmp_path / "r")
    assert (report.cells_done, report.cells_failed, report.searches_run) == (2, 0, 12)
    frame = load_record(tmp_path / "r")
    assert len(frame) == 12
    assert set(frame["status"]) == {"found"}
    assert set(frame["fold"]) == {0, 1}
    assert (frame["search_queries"] == 200).all()
    assert frame["loss"].between(0, 1).all()


@pytest.mark.slow
def test_serial_two_workers_and_resumed_runs_give_the_same_bytes(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "serial")
    toys.run(tmp_path / "processes", toys.processes(2), workers=2)
    toys.run(tmp_path / "grown", points=1, repetitions=1)
    toys.run(tmp_path / "grown", points=2, repetitions=2)
    grown = toys.run(tmp_path / "grown", toys.processes(2), workers=2)
    assert grown.searches_run == 4  # the third point's two repetitions in two folds
    expected = record_digest(tmp_path / "serial")
    assert len(expected) == 2
    assert record_digest(tmp_path / "processes") == expected
    assert record_digest(tmp_path / "grown") == expected


def test_a_finished_study_runs_nothing_again(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r")
    again = toys.run(tmp_path / "r")
    assert (again.cells_done, again.searches_run) == (2, 0)
    fewer = toys.run(tmp_path / "r", points=1)
    assert (fewer.cells_done, fewer.searches_run) == (2, 0)


@pytest.mark.parametrize(
    ("searcher", "status", "words"),
    [
        ("toy-crash", "crashed", "ValueError: cannot think today (toy_plugin.py:"),
        ("toy-leave", "crashed", "SystemExit: 3"),
        ("toy-give-up", "crashed", "GeneratorExit"),
        ("toy-wander", "not_found", ""),
    ],
)
def test_a_searcher_that_raises_is_a_result_and_the_rest_goes_on(
    toys: Toys, tmp_path: Path, searcher: str, status: str, words: str
) -> None:
    here = Path.cwd()
    report = toys.run(tmp_path / "r", searchers=(searcher, "toy-dice"), folds=(0,))
    assert Path.cwd() == here
    assert (report.cells_done, report.cells_failed) == (2, 0)
    frame = load_record(tmp_path / "r")
    bad = frame[frame["searcher"] == searcher]
    assert set(bad["status"]) == {status}
    assert bad["reason"].str.contains(words, regex=False).all()
    assert (frame[frame["searcher"] == "toy-dice"]["status"] == "found").all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("searcher", "words"),
    [("toy-die", "exit code 7"), ("toy-die-quietly", "exit code 0"), ("toy-segfault", "SIGSEGV")],
)
def test_a_searcher_that_kills_its_process_loses_its_own_search_alone(
    toys: Toys, tmp_path: Path, searcher: str, words: str
) -> None:
    report = toys.run(
        tmp_path / "r",
        toys.processes(2),
        workers=2,
        searchers=(searcher, "toy-dice"),
        folds=(0,),
        points=2,
        repetitions=1,
    )
    assert (report.cells_done, report.cells_failed) == (2, 0)
    frame = load_record(tmp_path / "r")
    bad = frame[frame["searcher"] == searcher]
    assert set(bad["status"]) == {"crashed"}
    assert bad["reason"].str.contains(words, regex=False).all()
    assert (frame[frame["searcher"] == "toy-dice"]["status"] == "found").all()


@pytest.mark.slow
@pytest.mark.parametrize("searcher", ["toy-hang", "toy-hang-deaf"])
def test_a_searcher_that_never_returns_is_killed_at_its_limit(toys: Toys, tmp_path: Path, searcher: str) -> None:
    asked: dict[str, Any] = {"folds": (0,), "points": 2, "repetitions": 1, "time_limit": 0.5}
    report = toys.run(tmp_path / "r", toys.processes(1), searchers=(searcher, "toy-dice"), **asked)
    assert (report.cells_done, report.cells_failed) == (2, 0)
    frame = load_record(tmp_path / "r")
    bad = frame[frame["searcher"] == searcher]
    assert bad["status"].tolist() == ["timed_out", "timed_out"]
    assert bad["reason"].tolist() == ["killed after its limit of 0.5 s"] * 2
    assert bad["z"].isna().all()
    assert (frame[frame["searcher"] == "toy-dice"]["status"] == "found").all()


def test_what_a_searcher_prints_stays_out_of_standard_output(
    toys: Toys, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toys.run(tmp_path / "r", searchers=("toy-talk",), folds=(0,), points=1, repetitions=1)
    heard = capsys.readouterr()
    assert "thinking aloud" not in heard.out
    assert "thinking aloud" in heard.err


def test_retry_runs_a_status_again_and_nothing_else(toys: Toys, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"searchers": ("toy-crash", "toy-dice"), "folds": (0,)}
    toys.run(tmp_path / "r", **asked)
    again = toys.run(tmp_path / "r", retry=("crashed",), **asked)
    assert again.searches_run == 6
    assert len(load_record(tmp_path / "r")) == 12


def test_of_a_set_the_best_valid_row_is_the_result(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", searchers=("toy-both",), folds=(0,), points=1, repetitions=1)
    row = load_record(tmp_path / "r").iloc[0]
    assert row["status"] == "found"
    assert row["z"][0] == 11.0
    assert row["candidates"].shape == (4, 3)


def test_an_oracle_that_the_models_own_predict_does_not_confirm_fails_the_cell(toys: Toys, tmp_path: Path) -> None:
    report = toys.run(
        tmp_path / "r", models=("threshold[lies=true]", "threshold"), searchers=("toy-dice[rows=4000]",), folds=(0,)
    )
    assert (report.cells_done, report.cells_failed) == (1, 1)
    assert "does not confirm" in report.failures[0]
    with Record.open(tmp_path / "r") as record:
        failed = [summary for summary in record.summaries().values() if summary.failure]
    assert len(failed) == 1


def test_a_model_that_always_says_the_target_stops_before_any_search(toys: Toys, tmp_path: Path) -> None:
    report = toys.run(tmp_path / "r", models=("threshold[shift=-100.0]",), folds=(0,))
    assert (report.cells_done, report.cells_failed, report.searches_run) == (0, 1, 0)


def test_failed_cells_of_earlier_settings_are_dropped_when_their_place_is_run_with_others(
    toys: Toys, tmp_path: Path
) -> None:
    def models_in_record() -> dict[str, bool]:
        with Record.open(tmp_path / "r") as record:
            return {cell.info.model: bool(cell.failure) for cell in record.cells() if cell.info.fold == 0}

    hopeless, lying = "threshold[shift=-100]", "threshold[lies=true]"
    toys.run(tmp_path / "r", models=(hopeless,))
    assert models_in_record() == {hopeless: True}
    toys.run(tmp_path / "r", models=("threshold[shift=-200]",), seed=7)  # another seed: another study
    assert models_in_record() == {hopeless: True, "threshold[shift=-200]": True}
    toys.run(
        tmp_path / "r", models=(lying,), folds=(0,), searchers=("toy-dice[rows=4000]",)
    )  # fails after its searches
    assert models_in_record() == {"threshold[shift=-200]": True, lying: True}
    toys.run(tmp_path / "r", models=("threshold",))
    assert models_in_record() == {"threshold[shift=-200]": True, lying: True, "threshold": False}
    with Record.open(tmp_path / "r") as record:
        assert {cell.info.model for cell in record.cells() if cell.info.fold == 1} == {
            "threshold[shift=-200]",
            "threshold",
        }


def test_a_record_of_another_model_is_not_added_to(toys: Toys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toys.run(tmp_path / "r", folds=(0,), points=1)
    executor = toys.serial()
    worker = executor._worker  # type: ignore[attr-defined]
    fitted_fold = worker.prepare(toys.plan(tmp_path / "r", folds=(0,)).cells[0])
    monkeypatch.setattr(worker, "prepare", lambda cell: type(fitted_fold)(fitted_fold.row_ids, "0" * 32))
    report = toys.run(tmp_path / "r", executor, folds=(0,), points=2)
    assert report.cells_failed == 1
    assert "fingerprint" in report.failures[0]
    assert len(load_record(tmp_path / "r")) == 2


def test_a_finished_cell_is_counted_once_beside_a_new_one_of_its_model(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", folds=(0,))
    report = toys.run(tmp_path / "r", folds=(0,), searchers=("toy-dice", "toy-both"))
    assert (report.cells_done, report.searches_run) == (2, 6)


class Ear:
    """Hears every event; one hook raises."""

    def __init__(self) -> None:
        self.events: list[object] = []

    @hookimpl
    def cfbench_search_finished(self, event: SearchFinished) -> None:
        self.events.append(event)

    @hookimpl
    def cfbench_cell_finished(self, event: CellFinished) -> None:
        raise OSError("no ink left")

    @hookimpl
    def cfbench_run_finished(self, event: RunFinished) -> None:
        self.events.append(event)


def test_a_reporter_that_raises_is_a_complaint_and_the_run_goes_on(toys: Toys, tmp_path: Path) -> None:
    ear = Ear()
    toys.registry = build_registry(toys.options, objects=[ear])
    report = toys.run(tmp_path / "r", folds=(0,))
    assert report.cells_done == 1
    assert any("no ink left" in complaint for complaint in report.complaints)
    assert isinstance(ear.events[-1], RunFinished)
    assert len(ear.events) == 7


class Watched:
    """An executor that counts the searches of each batch; after `lasts` batches its workers are gone."""

    slots = 1
    blocks = True

    def __init__(self, inner: Executor, lasts: int = 1000) -> None:
        self.inner = inner
        self.lasts = lasts
        self.batches: list[int] = []
        self.closed = False

    def submit(self, slot: int, job: Job) -> Future[Any]:
        if len(self.batches) == self.lasts:
            gone: Future[Any] = Future()
            gone.set_exception(ExecutorLost("the cluster is gone"))
            return gone
        if job.method == "search_all":
            self.batches.append(len(job.arguments[0]))
        return self.inner.submit(slot, job)

    def close(self) -> None:
        self.inner.close()
        self.closed = True


@pytest.mark.slow
def test_many_short_searches_travel_together_and_the_record_is_the_same(toys: Toys, tmp_path: Path) -> None:
    executor = Watched(toys.serial())
    asked: dict[str, Any] = {"folds": (0, 1), "searchers": ("toy-dice[rows=4]",), "points": 5, "repetitions": 40}
    toys.run(tmp_path / "together", executor, **asked)
    assert sum(executor.batches) == 400
    assert max(executor.batches) > 8
    toys.run(tmp_path / "grown", **{**asked, "repetitions": 1})
    toys.run(tmp_path / "grown", toys.processes(2), workers=2, **asked)
    assert record_digest(tmp_path / "together") == record_digest(tmp_path / "grown")


@pytest.mark.slow
def test_only_the_searches_that_kill_their_batch_are_lost(toys: Toys, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"folds": (0,), "searchers": ("toy-die-at-last",), "points": 1, "repetitions": 24}
    report = toys.run(tmp_path / "r", toys.processes(1), **asked)
    assert (report.cells_done, report.searches_run) == (1, 24)
    frame = load_record(tmp_path / "r")
    (cell,) = toys.plan(tmp_path / "r", **asked).cells
    for point, row_id, repetition, status in frame[["point", "row_id", "repetition", "status"]].to_numpy().tolist():
        seed = SearchTask(cell, point, row_id, repetition).seeds().searcher_seed()
        dies = np.random.default_rng(seed).random() < 0.05  # as the searcher decides
        assert status == ("crashed" if dies else "found")
    assert set(frame["status"]) == {"crashed", "found"}


def test_a_run_whose_workers_are_gone_ends_with_everything_in_the_record(toys: Toys, tmp_path: Path) -> None:
    executor = Watched(toys.serial(), lasts=1)
    with pytest.raises(ExecutorLost, match="the cluster is gone"):
        toys.run(tmp_path / "r", executor, folds=(0,))
    assert executor.closed
    report = toys.run(tmp_path / "r", folds=(0,))
    assert (report.searches_run, report.cells_failed) == (5, 0)
