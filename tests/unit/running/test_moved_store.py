from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench.errors import TrackingError
from cfbench.registry import CellFinished
from cfbench_reporters.mirror import Mirror

FinishedCell = Callable[..., CellFinished]


def _open(results: Path) -> Mirror:
    return Mirror(f"sqlite:///{results}/mlflow.db", "quick", results)


def test_a_store_that_was_moved_or_copied_is_refused_and_nothing_is_written_to_the_old_place(store: Path) -> None:
    results = store.parent
    _open(results)
    _open(results)
    copy = results.parent / "a copy"
    shutil.copytree(results, copy)
    for place in (copy, results.rename(results.parent / "moved")):
        with pytest.raises(TrackingError, match=r"was moved or copied.*Delete mlflow\.db and the folder"):
            _open(place)
    assert not results.exists()
    assert not list(copy.glob("mlflow-artifacts/*"))


def test_a_place_for_artifacts_that_the_user_chose_stays(store: Path) -> None:
    from mlflow.tracking import MlflowClient

    MlflowClient(tracking_uri=f"sqlite:///{store}").create_experiment("quick", artifact_location="file:///data/ours")
    _open(store.parent)
