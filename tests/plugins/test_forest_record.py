"""A record says the same with the extra `fast` and without it, and on scikit-learn alone: times aside, byte for byte."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import cfbench
from cfbench import Oracle, UnavailableError
from cfbench.harness.store.record_digest import record_digest
from cfbench_models import forest_oracle
from cfbench_models.random_forest import ForestModel

STUDY = {
    "name": "fast or not",
    "datasets": ["credit"],
    "models": ['random-forest[n_estimators=20, min_samples_split=8, max_features="sqrt"]'],
    "searchers": [
        "cogs[population_size=60, n_generations=4]",
        "nelder-mead[n_iterations=5]",
        "lore[population_size=40, n_generations=3]",
    ],
    "objectives": ["none", "k[m=20]", "ck[m=5]"],
    "constraints": [True],
    "metrics": ["success", "loss", "k-robustness[m=100]", "invalidity[draws=20]"],
    "folds": [0],
    "points": 2,
    "repetitions": 1,
    "tracking": "none",
}


def refused(model: ForestModel) -> Oracle:
    raise UnavailableError("no oracle today")


def test_the_oracle_changes_no_byte_of_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    records = {}
    for name in ("compiled", "tree by tree", "scikit-learn"):
        with monkeypatch.context() as patch:
            if name == "tree by tree":
                patch.setattr(forest_oracle, "compiled_questions", lambda: None)
            elif name == "scikit-learn":
                patch.setattr(forest_oracle, "forest_oracle", refused)
            result = cfbench.run(STUDY, results=tmp_path / name)
        assert result.report.cells_failed == 0, str(result)
        measures = sorted((tmp_path / name / "measures").rglob("*.parquet"))
        records[name] = record_digest(tmp_path / name), [file.read_bytes() for file in measures]
        frame = result.searches()
        assert (frame["status"] == "found").any()
        assert (frame["robustness_queries"] > 0).any()
    assert len(records["compiled"][0]) == 7
    assert len(records["compiled"][1]) == 7
    assert records["tree by tree"] == records["compiled"]
    assert records["scikit-learn"] == records["compiled"]
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 1
    assert "no oracle today" in warned[0].getMessage()
