"""One's own record beside the published one: what fits stands there, what does not is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import cfbench
from cfbench.analysis.published import CombinedRecord, published_record
from cfbench.cli import cli
from cfbench.errors import RecordError
from cfbench.record.archive import pack_record
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]
TOY = Path(__file__).parents[2] / "toys" / "toy_plugin.py"


def content(searcher: str = "cogs", digest: str = "d1", fold: int = 2, **changes: Any) -> dict[str, Any]:
    return {
        "dataset": {"name": "credit", "digest": digest},
        "model": {"name": "random-forest"},
        "searcher": {"name": searcher},
        "objective": {"name": "none"},
        "fold": fold,
        "seed": 42,
        "query_budget": None,
        "time_limit": None,
    } | changes


@pytest.fixture
def put(make_row: MakeRow, info: CellInfo) -> Callable[..., str]:
    """Return what puts a cell into a record, and returns its key."""

    def into(
        record: Record, number: int, given: dict[str, Any], points: int = 2, mark: str = "f" * 32, **named: Any
    ) -> str:
        key = f"{number:032x}"
        own = replace(info, key=key, searcher=given["searcher"]["name"], fold=given["fold"], **named)
        rows = [make_row(point, cell_key=key, model_fingerprint=mark) for point in range(points)]
        record.adopt(own, given, 60, rows)
        return key

    return into


def test_what_fits_stands_beside_what_is_published(tmp_path: Path, put: Callable[..., str]) -> None:
    with Record.open(tmp_path / "own", write=True) as own, Record.open(tmp_path / "there", write=True) as there:
        published = put(there, 1, content())
        mine = put(own, 2, content("mine", seed=7, query_budget=1000))
        grown = put(own, 1, content(), points=5)
        assert grown == published
        values = {"metric": "k-robustness", "version": "1", "settings": "{}", "repetition": 0}
        for record, key, points in ((own, mine, 2), (there, published, 2), (own, grown, 5)):
            table = pd.DataFrame({"cell_key": key, **values, "point": range(points), "value": 0.25})
            record.write_measures(key, table)
        both = CombinedRecord(own, there)
        assert set(both.summaries()) == {published, mine}
        assert both.summaries()[published].searches == 5  # one's own has grown
        assert len(both.rows(published)) == 5
        assert len(both.searches(mine)) == 2
        assert both.measured()[mine] == {("k-robustness", "1", "{}")}
        (metric,) = both.point_values().metrics
        assert both.point_values().of(metric)[published].tolist() == [0.25] * 5
        assert both.yours == {published, mine}
        assert both.problems == []


def test_what_does_not_fit_is_left_out_and_told(tmp_path: Path, put: Callable[..., str]) -> None:
    with Record.open(tmp_path / "own", write=True) as own, Record.open(tmp_path / "there", write=True) as there:
        put(there, 1, content())
        fits = put(own, 2, content("mine"))
        put(own, 3, content("mine", digest="d2"))
        put(own, 4, content("mine", fold=3))
        put(own, 5, content("mine", respect_steps=True))
        put(own, 6, content("other"), mark="0" * 32)
        both = CombinedRecord(own, there)
        assert set(both.summaries()) == {f"{1:032x}", fits}
        (problem,) = both.problems
        task = "credit, random-forest, objective none, constraints on"
        not_on_it = "of tasks (model, objective, constraints, fold, steps) that are not on it"
        for case in (
            "1 cell of another table or annotation (credit)",
            f"2 cells {not_on_it} ({task}, fold 2; {task}, fold 3)",
            "that queried a model which was fitted differently (other versions, another processor) (credit, random-f",
        ):
            assert case in problem


def test_what_is_left_out_is_named(tmp_path: Path, put: Callable[..., str]) -> None:
    with Record.open(tmp_path / "own", write=True) as own, Record.open(tmp_path / "there", write=True) as there:
        put(there, 1, content())
        put(own, 2, content("mine"))
        for number, name in enumerate(("wine", "iris", "toys", "boats", "wine")):
            given = content("mine", fold=number) | {"dataset": {"name": name, "digest": name}}
            put(own, 3 + number, given, dataset=name)
        put(own, 9, content("mine", points="drawn"))
        (problem,) = CombinedRecord(own, there).problems
        assert "5 cells of data sets that are not on it (boats; iris; toys; and 1 more)" in problem
        assert "1 cell whose points were taken in another order, by another version of cfbench (credit, " in problem


def test_a_record_of_which_nothing_fits_is_refused(tmp_path: Path, put: Callable[..., str]) -> None:
    with Record.open(tmp_path / "own", write=True) as own, Record.open(tmp_path / "there", write=True) as there:
        put(there, 1, content())
        with pytest.raises(RecordError, match="it has no finished cell"):
            CombinedRecord(own, there)
        put(own, 3, content("mine", digest="d2"))
        with pytest.raises(RecordError, match=r"1 cell of another table .* `cfbench run --preset standard"):
            CombinedRecord(own, there)


def test_the_command_shows_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    study: dict[str, Any] = {
        "datasets": ["toy"],
        "models": ["threshold"],
        "folds": [0],
        "points": 2,
        "repetitions": 1,
        "tracking": "none",
    }
    for name, searcher in (("there", "toy-dice"), ("own", "toy-both")):
        cfbench.run({**study, "searchers": [searcher]}, plugins=[TOY], results=tmp_path / name)
    with Record.open(tmp_path / "there") as record:
        pack_record(record, tmp_path / "packed")
    monkeypatch.setattr("cfbench.analysis.published.published_record", lambda: tmp_path / "packed")
    arguments = ["leaderboard", "--results", str(tmp_path / "own"), "--plugin", str(TOY)]
    alone, both = (CliRunner().invoke(cli, [*arguments, *more]).stdout for more in ((), ("--with-published",)))
    assert "toy-both" in alone
    assert "toy-dice" not in alone
    assert "toy-both [yours]" in both
    assert "toy-dice" in both
    assert "toy-dice [yours]" not in both
    page = CliRunner().invoke(cli, [*arguments, "--with-published", "--format", "html"]).stdout
    assert "toy-dice" in page


@pytest.mark.slow
def test_the_tutorial_uses_data_sets_that_are_on_the_published_board() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "write-a-searcher.md").read_text(encoding="utf-8")
    used = set(re.findall(r"--dataset (\S+)", guide))
    with Record.open(published_record()) as record:
        published = {cell.info.dataset for cell in record.summaries().values()}
    assert used
    assert used <= published


@pytest.mark.slow
def test_the_published_record_comes_with_a_checkout() -> None:
    folder = published_record()
    with Record.open(folder) as record:
        cells = [cell for cell in record.summaries().values() if cell.searches]
        assert {"cogs", "sparse-sweep", "random-search"} <= {cell.info.searcher for cell in cells}
        bare = [cell.info.key for cell in cells if cell.info.dataset == "productivity"]
        assert bare
        assert all(row["x"] == [] and row["z"] is None for key in bare for row in record.rows(key))
    assert sum(file.stat().st_size for file in folder.iterdir()) < 10_000_000
