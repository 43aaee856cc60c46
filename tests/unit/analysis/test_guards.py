"""A sound record passes the guards; one with a result below the optimum, or with an impossible score, does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import cfbench
from cfbench.record.store import Record
from cfbench.registry.registry import build_registry
from tests.unit.analysis import guards
from tests.unit.analysis.guards import guard

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("guarded") / "results"
    cfbench.run(
        {
            "datasets": ["credit"],
            "models": ["random-forest[n_estimators=5,min_samples_split=8,max_features=sqrt]"],
            "searchers": ["exact-trees", "random-search[n_rows=2000]", "nearest-unlike"],
            "objectives": ["none", "c"],
            "metrics": ["k-robustness", "k-probability"],
            "constraints": [True],
            "folds": [0],
            "points": 3,
            "repetitions": 1,
            "results": path,
            "tracking": "none",
        }
    )
    return path


def test_a_real_record_is_sound(results: Path) -> None:
    with Record.open(results) as record:
        guarded = guard(record, build_registry())
    assert guarded.violations == []
    assert guarded.gaps >= 12
    assert guarded.scores >= 12


@pytest.mark.parametrize(
    ("kept", "lower", "upper", "rejected"),
    [
        (500, 0.495, 0.505, False),
        (640, 0.495, 0.505, True),  # nine standard deviations
        (360, 0.495, 0.505, True),
        (1000, 0.999, 1.0, False),
        (999, 1.0, 1.0, True),  # what is certain never fails
        (1, 0.0, 0.0, True),
        (0, 0.0, 0.0, False),
    ],
)
def test_scores_are_rejected_beyond_the_level(kept: int, lower: float, upper: float, rejected: bool) -> None:
    assert guards._is_rejected(kept, 1000, lower, upper) is rejected
