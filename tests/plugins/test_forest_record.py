"""A record says the same with the extra `fast`, without it, and on scikit-learn alone: times aside, byte for byte."""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd
import pytest

import cfbench
from cfbench.errors import UnavailableError
from cfbench.problem import Oracle
from cfbench.record.store import Record
from cfbench_models.forest import oracle as forest_oracle
from cfbench_models.forest.family import ForestModel
from tests.databases import record_digest

STUDY = {
    "name": "fast or not",
    "datasets": ["recidivism"],
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


@pytest.mark.slow
def test_the_oracle_changes_no_byte_of_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    records, tables = {}, {}
    for name in ("compiled", "tree by tree", "scikit-learn"):
        with monkeypatch.context() as patch:
            if name == "tree by tree":
                patch.setattr(forest_oracle, "compiled_queries", lambda: None)
            elif name == "scikit-learn":
                patch.setattr(forest_oracle, "forest_oracle", refused)
            result = cfbench.run(STUDY, results=tmp_path / name)
        assert result.report.cells_failed == 0, str(result)
        with Record.open(tmp_path / name) as record:
            measures = pd.concat(record.measures(key) for key in sorted(record.summaries()))
        records[name] = record_digest(tmp_path / name)
        tables[name] = measures
        frame = result.searches()
        assert (frame["status"] == "found").any()
        assert (frame["robustness_queries"] > 0).any()
    assert len(records["compiled"]) == 7
    scores = tables["compiled"].query("metric == 'k-robustness[m=100]'")["value"]
    assert ((scores > 0) & (scores < 1)).any()
    for name in ("tree by tree", "scikit-learn"):
        assert records[name] == records["compiled"]
        pd.testing.assert_frame_equal(tables[name], tables["compiled"], check_exact=True)
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 1
    assert "no oracle today" in warned[0].getMessage()
