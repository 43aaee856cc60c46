"""A clock that is set while a study runs: limits hold as before, and no search is lost to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cfbench import load_record

if TYPE_CHECKING:
    from tests.faults.studies import Study

pytestmark = pytest.mark.slow

CLOCK = str(Path(__file__).with_name("clock_plugin.py"))


def test_a_clock_that_jumps_ahead_ends_no_search(study: Study) -> None:
    study.searchers, study.time_limit = ("honest", "takes-its-time"), "30"
    whole = study.undisturbed()
    study.environment = {"CFBENCH_TEST_DAYS": "1"}
    assert study.run("--plugin", CLOCK)[0] == 0
    assert study.digest() == whole
    assert load_record(study.results)["wall_seconds"].between(0, 60).all()


def test_a_clock_that_jumps_back_spares_no_search_that_never_returns(study: Study) -> None:
    study.searchers, study.time_limit, study.points, study.repetitions = ("toy-hang",), "0.5", 1, 1
    study.environment = {"CFBENCH_TEST_DAYS": "-1"}
    assert study.run("--plugin", CLOCK)[0] == 0
    assert load_record(study.results)["reason"].tolist() == ["killed after its limit of 0.5 s"]
