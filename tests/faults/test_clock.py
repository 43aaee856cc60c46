"""A clock that is set while a study runs: limits hold as before, and no search is lost to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cfbench import load_record

if TYPE_CHECKING:
    from tests.faults.conftest import Study

CLOCK = str(Path(__file__).with_name("clock_plugin.py"))


@pytest.mark.slow
def test_a_clock_that_jumps_by_a_day_ends_no_search_and_spares_none(study: Study) -> None:
    study.searchers, study.repetitions, study.time_limit = ("honest", "toy-dice[rows=4]"), 10, "5"
    whole = study.undisturbed()
    study.searchers = ("toy-hang", *study.searchers)
    study.points, study.repetitions = 1, 1
    assert study.run("--plugin", CLOCK)[0] == 0
    study.points, study.repetitions, study.searchers = 2, 10, study.searchers[1:]
    assert study.run("--plugin", CLOCK)[0] == 0
    frame = load_record(study.results)
    assert frame.loc[frame["searcher"] == "toy-hang", "status"].tolist() == ["timed_out"]
    assert whole.items() <= study.digest().items()
    assert frame["wall_seconds"].between(0, 60).all()
