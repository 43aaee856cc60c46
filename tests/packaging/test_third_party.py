"""The third party's path: our wheel and theirs in a fresh environment, from listing to leaderboard."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.packaging.conftest import Fresh
from tests.packaging.sources import ROOT

EXAMPLE = ROOT / "examples" / "cfbench-example-searcher"
NAME = "example-searcher"


@pytest.mark.slow
def test_a_third_partys_searcher_comes_to_the_leaderboard(fresh: Fresh, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "theirs", ignore=shutil.ignore_patterns(".*_cache", "__pycache__"))
    fresh.run("pip", "install", "./theirs", home=tmp_path)
    code = "import cfbench, cfbench_searchers, cfbench_example_searcher as e; print(cfbench.__file__, e.__file__)"
    for file in fresh.run("python", "-c", code, home=tmp_path).split():
        assert Path(file).is_relative_to(fresh.folder), "what is tested is the wheel, not the checkout"

    listing = json.loads(fresh.run("cfbench", "plugins", "--check", "--json", home=tmp_path))
    (mine,) = [one for one in listing["searchers"] if one["name"] == NAME]
    assert mine["distribution"] == "cfbench-example-searcher"
    assert mine["handles"] == [
        "categorical features",
        "constraints",
        "custom objectives",
        "relations between features",
    ]
    assert "random rows, walked back" in fresh.run("cfbench", "plugins", home=tmp_path)

    (report,) = json.loads(fresh.run("cfbench", "check", NAME, "--json", home=tmp_path))
    assert report["name"] == NAME

    no_clock = ["--time-limit", "none", "--tracking", "none"]
    study = ["--dataset", "wine", "--model", "random-forest", "--fold", "0", "--points", "3", "--repetitions", "1"]
    searchers = ["--searcher", NAME, "--searcher", "nearest-unlike"]
    shown = fresh.run("cfbench", "run", *study, *searchers, "--workers", "2", *no_clock, home=tmp_path)
    assert NAME in shown

    board = json.loads(fresh.run("cfbench", "leaderboard", "--format", "json", home=tmp_path))
    rows = {row["searcher"]: row for row in board["rows"]}
    assert rows[NAME]["points"] == 3
    assert rows[NAME]["points_found"] == 3
    assert rows[NAME]["loss_median"] < rows["nearest-unlike"]["loss_median"]
