"""Merging real records of toy runs, whole and in parts, and everything that must be refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from cfbench.errors import RecordError
from cfbench.record.frames import MEASURE_SCHEMA
from cfbench.record.merge import MergeReport, merge_records
from cfbench.record.store import Record
from cfbench.running.runner import Run
from cfbench.study.shard import Shard, shard_of
from tests.databases import contents, damage, execute, forge, record_digest

if TYPE_CHECKING:
    from tests.toys.runs import Toys

STUDY: dict[str, Any] = {
    "searchers": ("toy-dice", "toy-both"),
    "folds": (0, 1, 2),
    "points": 2,
    "repetitions": 1,
    "metrics": ("success", "loss"),
}


def counts(report: MergeReport) -> tuple[int, int, int, int]:
    return report.cells, report.added, report.grown, report.same


def measures(path: Path) -> dict[str, pd.DataFrame]:
    with Record.open(path) as record:
        return {key: record.measures(key) for key in sorted(record.summaries())}


def run_shard(toys: Toys, results: Path, number: int, of: int) -> None:
    plan = shard_of(toys.plan(results, **STUDY), Shard(number, of))
    with Record.open(results, write=True) as record:
        Run(plan, record, toys.registry, toys.serial(), metrics=plan.metrics).go()


@pytest.mark.slow
def test_the_merged_shards_are_the_whole_study(toys: Toys, tmp_path: Path) -> None:
    parts = [tmp_path / str(number) for number in (1, 2, 3, 4)]
    for number, part in enumerate(parts, start=1):
        run_shard(toys, part, number, 4)
    toys.run(tmp_path / "whole", **STUDY)
    report = merge_records(parts, tmp_path / "merged")
    assert (counts(report), report.searches, report.complete) == ((6, 6, 0, 0), 12, True)
    assert record_digest(tmp_path / "merged") == record_digest(tmp_path / "whole")
    merged, whole = measures(tmp_path / "merged"), measures(tmp_path / "whole")
    assert merged.keys() == whole.keys()
    for key, table in whole.items():
        assert len(table) == 4
        pd.testing.assert_frame_equal(merged[key], table)
    again = toys.run(tmp_path / "merged", **STUDY)
    assert (again.cells_done, again.searches_run) == (6, 0)


def test_merging_one_after_the_other_and_once_more_changes_nothing(toys: Toys, tmp_path: Path) -> None:
    parts = [tmp_path / str(number) for number in (1, 2)]
    for number, part in enumerate(parts, start=1):
        run_shard(toys, part, number, 2)
    merge_records(parts, tmp_path / "at-once")
    assert counts(merge_records(parts[:1], tmp_path / "one-by-one")) == (3, 3, 0, 0)
    assert counts(merge_records(parts, tmp_path / "one-by-one")) == (6, 3, 0, 3)
    before = contents(tmp_path / "one-by-one")
    assert counts(merge_records([*parts, parts[0]], tmp_path / "one-by-one")) == (6, 0, 0, 6)
    assert contents(tmp_path / "one-by-one") == before
    assert record_digest(tmp_path / "one-by-one") == record_digest(tmp_path / "at-once")


def test_parts_of_a_cell_make_a_larger_one_that_has_to_be_measured_again(toys: Toys, tmp_path: Path) -> None:
    asked = {**STUDY, "folds": (0,), "searchers": ("toy-dice",)}
    toys.run(tmp_path / "points", **{**asked, "points": 4})
    toys.run(tmp_path / "repetitions", **{**asked, "repetitions": 3})
    report = merge_records([tmp_path / "points", tmp_path / "repetitions"], tmp_path / "merged")
    assert (counts(report), report.searches) == ((1, 1, 0, 0), 4 + 2 * 3 - 2)
    later = merge_records([tmp_path / "points"], tmp_path / "grown")
    assert later.unmeasured == 0
    later = merge_records([tmp_path / "repetitions"], tmp_path / "grown")
    assert (counts(later), later.searches, later.unmeasured) == ((1, 0, 1, 0), 4, 1)
    assert record_digest(tmp_path / "grown") == record_digest(tmp_path / "merged")
    done = toys.run(tmp_path / "grown", **{**asked, "points": 4, "repetitions": 3})
    assert done.searches_run == 12 - 8


def test_searches_of_a_cell_that_is_not_finished_come_along(toys: Toys, tmp_path: Path) -> None:
    asked = {**STUDY, "folds": (0,), "searchers": ("toy-dice",), "points": 4}
    toys.run(tmp_path / "whole", **asked)
    (cell,) = toys.plan(tmp_path / "whole", **asked).cells
    with Record.open(tmp_path / "whole") as whole:
        rows = {row["point"]: row for row in whole.rows(cell.info.key)}
    for name, points in (("a", (0, 1)), ("b", (1, 2))):
        with Record.open(tmp_path / name, write=True) as record:
            record.append_all([rows[point] for point in points])
    report = merge_records([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert (report.searches, report.waiting, report.complete) == (3, 1, True)
    assert merge_records([tmp_path / "a"], tmp_path / "merged").searches == 0
    assert toys.run(tmp_path / "merged", **asked).searches_run == 1
    assert record_digest(tmp_path / "merged") == record_digest(tmp_path / "whole")
    # And into a record that has the cell finished, or that waits for it itself.
    assert counts(merge_records([tmp_path / "b"], tmp_path / "whole")) == (1, 0, 0, 1)
    assert counts(merge_records([tmp_path / "whole"], tmp_path / "b")) == (1, 0, 1, 0)
    assert record_digest(tmp_path / "b") == record_digest(tmp_path / "whole")
    with Record.open(tmp_path / "b") as record:
        assert record.pending() == set()


def altered(path: Path, **changes: Any) -> None:
    """Give the first search of the first cell other values."""
    with Record.open(path, write=True) as record:
        key = min(record.summaries())
        stored = record.cell_of(key).cell
        assert stored is not None
        rows = sorted(record.rows(key), key=lambda row: (row["point"], row["repetition"]))
        rows[0] = {**rows[0], **changes}
        record.adopt(stored.info, stored.content, stored.eligible, rows)


def test_different_results_of_one_search_are_named_and_only_their_cell_is_left_out(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "a", **STUDY)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    altered(tmp_path / "b", loss=0.125, search_queries=7)
    merge_records([tmp_path / "a"], tmp_path / "merged")
    before = record_digest(tmp_path / "merged")
    report = merge_records([tmp_path / "b"], tmp_path / "merged")
    (conflict,) = report.conflicts
    for words in (
        min(before),
        str(tmp_path / "merged"),
        str(tmp_path / "b"),
        "point 0 repetition 0",
        "loss, search_que",
    ):
        assert words in conflict
    assert record_digest(tmp_path / "merged") == before
    fresh = merge_records([tmp_path / "a", tmp_path / "b"], tmp_path / "fresh")
    assert len(fresh.conflicts) == 1
    assert len(record_digest(tmp_path / "fresh")) == len(before) - 1


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"loss": 0.125, "search_queries": 7}, "the first differ in loss, search_queries"),
        ({"model_fingerprint": "0" * 32}, "the first differ in model_fingerprint"),
    ],
)
def test_a_changed_search_whose_summary_was_left_alone_is_a_conflict(
    toys: Toys, tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    toys.run(tmp_path / "a", **STUDY)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    merge_records([tmp_path / "a"], tmp_path / "merged")
    before = record_digest(tmp_path / "merged")
    forge(tmp_path / "b", "searches", f"cell_key = '{min(before)}' AND point = 0", **changes)
    conflict = merge_records([tmp_path / "b"], tmp_path / "merged", mixed_models=True).conflicts[0]
    assert min(before) in conflict
    assert named in conflict
    assert record_digest(tmp_path / "merged") == before


def test_a_model_that_no_summary_names_is_refused_without_the_flag(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "a", **{**STUDY, "folds": (0,), "points": 1})
    key = min(record_digest(tmp_path / "a"))
    forge(tmp_path / "a", "searches", f"cell_key = '{key}'", model_fingerprint="0" * 32)
    report = merge_records([tmp_path / "a"], tmp_path / "merged")
    (conflict,) = report.conflicts
    assert conflict == f"cell {key}: its searches are on differently fitted models; --mixed-models allows it"
    assert (report.cells, report.added) == (2, 1)
    assert merge_records([tmp_path / "a"], tmp_path / "merged", mixed_models=True).complete


def test_times_may_differ_and_so_may_what_the_clock_ended(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "a", **STUDY)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    altered(tmp_path / "b", wall_seconds=99.0)
    assert merge_records([tmp_path / "a", tmp_path / "b"], tmp_path / "merged").complete
    assert record_digest(tmp_path / "merged") == record_digest(tmp_path / "a")
    altered(tmp_path / "b", status="timed_out", z=None, loss=None)
    report = merge_records([tmp_path / "b"], tmp_path / "merged")
    assert (report.complete, report.kept_by_clock) == (True, 1)
    assert record_digest(tmp_path / "merged") == record_digest(tmp_path / "a")


def test_measures_are_joined_and_those_that_differ_are_named(toys: Toys, tmp_path: Path) -> None:
    asked = {**STUDY, "folds": (0,), "searchers": ("toy-dice",)}
    toys.run(tmp_path / "a", **{**asked, "metrics": ("success",)})
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    toys.run(tmp_path / "b", **{**asked, "metrics": ("success", "loss")})
    (key,) = record_digest(tmp_path / "a")
    assert merge_records([tmp_path / "a", tmp_path / "b"], tmp_path / "merged").complete
    assert set(measures(tmp_path / "merged")[key]["metric"]) == {"success", "loss"}
    with Record.open(tmp_path / "b", write=True) as record:
        frame = record.measures(key)
        record.write_measures(key, frame.assign(value=frame["value"] + 1)[MEASURE_SCHEMA.names])
    report = merge_records([tmp_path / "b"], tmp_path / "merged")
    assert "measures loss, success differently" in report.conflicts[0]


def test_models_of_one_fold_that_differ_are_refused_without_the_flag(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "a", **{**STUDY, "folds": (0,), "searchers": ("toy-dice",)})
    toys.run(tmp_path / "b", **{**STUDY, "folds": (0, 1), "searchers": ("toy-both",)})
    with Record.open(tmp_path / "b", write=True) as record:
        for key in record.summaries():
            stored = record.cell_of(key).cell
            assert stored is not None
            rows = [{**row, "model_fingerprint": "0" * 32} for row in record.rows(key)]
            record.adopt(stored.info, stored.content, stored.eligible, rows)
    with pytest.raises(RecordError) as refused:
        merge_records([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert "toy, threshold, fold 0" in str(refused.value)
    assert "fold 1" not in str(refused.value)
    assert "--mixed-models" in str(refused.value)
    assert not (tmp_path / "merged").exists()
    merge_records([tmp_path / "a"], tmp_path / "merged")
    with pytest.raises(RecordError, match="differently fitted models"):
        merge_records([tmp_path / "b"], tmp_path / "merged")
    assert counts(merge_records([tmp_path / "b"], tmp_path / "merged", mixed_models=True)) == (2, 2, 0, 0)


def test_what_is_no_record_of_this_version_is_refused_before_anything_is_written(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "a", **{**STUDY, "folds": (0,)})
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("mine")
    with pytest.raises(RecordError, match="there is no record in"):
        merge_records([tmp_path / "a", tmp_path / "foreign"], tmp_path / "merged")
    with pytest.raises(RecordError, match="there is no record in"):
        merge_records([tmp_path / "a", tmp_path / "nowhere"], tmp_path / "merged")
    with pytest.raises(RecordError, match="merged into itself"):
        merge_records([tmp_path / "a"], tmp_path / "x" / ".." / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "old")
    execute(tmp_path / "old", "UPDATE study SET value = '0' WHERE name = 'protocol'")
    with pytest.raises(RecordError, match="never mixed"):
        merge_records([tmp_path / "a", tmp_path / "old"], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    with pytest.raises(RecordError, match="holds other things"):
        merge_records([tmp_path / "a"], tmp_path / "foreign")


def test_a_damaged_search_is_named_and_everything_else_is_merged(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "a", **STUDY)
    key = min(record_digest(tmp_path / "a"))
    damage(tmp_path / "a", "searches", f"cell_key = '{key}' AND point = 0", "reason")
    report = merge_records([tmp_path / "a"], tmp_path / "merged")
    assert not report.complete
    assert f"searches of cell {key}, point 0, repetition 0: it is damaged" in report.damage[0]
    with Record.open(tmp_path / "merged") as record:
        assert sorted(summary.searches for summary in record.summaries().values()) == [1, 2, 2, 2, 2, 2]


def test_a_merge_that_is_stopped_leaves_the_target_as_it_was(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "a", **STUDY)
    toys.run(tmp_path / "b", **{**STUDY, "folds": (3,)})
    merge_records([tmp_path / "b"], tmp_path / "merged")
    before = contents(tmp_path / "merged")

    def stop(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge_records([tmp_path / "a"], tmp_path / "merged", progress=stop)
    assert contents(tmp_path / "merged") == before
    assert counts(merge_records([tmp_path / "a"], tmp_path / "merged")) == (6, 6, 0, 0)


def test_content_that_does_not_belong_to_its_key_is_refused(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "a", **{**STUDY, "folds": (0,), "searchers": ("toy-dice",)})
    with Record.open(tmp_path / "a", write=True) as record:
        (key,) = record.summaries()
        stored = record.cell_of(key).cell
        assert stored is not None
        record.adopt(stored.info, {**stored.content, "seed": 43}, stored.eligible, record.rows(key))
    report = merge_records([tmp_path / "a"], tmp_path / "merged")
    assert "it was altered" in report.conflicts[0]
    assert record_digest(tmp_path / "merged") == {}


def test_skipped_and_failed_cells_are_noted_until_somebody_has_run_them(toys: Toys, tmp_path: Path) -> None:
    plan = toys.plan(tmp_path / "a", **{**STUDY, "folds": (0, 1), "searchers": ("toy-dice",)})
    first, second = plan.cells
    with Record.open(tmp_path / "a", write=True) as record:
        record.skip(first.info, first.content, "not installed")
        record.fail(second.info, second.content, "no disk")
    assert counts(merge_records([tmp_path / "a"], tmp_path / "merged")) == (2, 2, 0, 0)
    with Record.open(tmp_path / "merged") as record:
        found = record.summaries()
    assert (found[first.info.key].skipped, found[second.info.key].failure) == ("not installed", "no disk")
    toys.run(tmp_path / "b", **{**STUDY, "folds": (0, 1), "searchers": ("toy-dice",)})
    merge_records([tmp_path / "b", tmp_path / "a"], tmp_path / "merged")
    with Record.open(tmp_path / "merged") as record:
        assert [summary.skipped + summary.failure for summary in record.summaries().values()] == ["", ""]
    assert counts(merge_records([tmp_path / "a"], tmp_path / "merged")) == (2, 0, 0, 2)
