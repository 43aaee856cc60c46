"""docs/write-a-metric.md: its code passes the checks, and its commands show the metrics on a board."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import cfbench
from cfbench.cli import cli
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench.study.sources import data_source, load_dataset
from cfbench.testing import check_metric

PAGE = (Path(__file__).parents[3] / "docs" / "write-a-metric.md").read_text(encoding="utf-8")
NAMES = ["largest-change", "spread", "extra-changes", "robust-share"]


def snippets(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file that the guide writes."""
    (tmp_path / "my_metrics.py").write_text("\n\n".join(snippets("python")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_its_metrics_pass_the_checks(folder: Path) -> None:
    registry = build_registry(RegistryOptions(plugins=(str(folder / "my_metrics.py"),)))
    assert not registry.problems
    for name in NAMES:
        report = check_metric(registry.metric(name).entry)
        assert report.passed, report.failures


def test_its_commands_show_a_third_partys_metrics_of_every_kind_on_a_board(folder: Path) -> None:
    (script,) = snippets("sh")
    commands = [shlex.split(line) for line in script.replace("\\\n", " ").splitlines()]
    assert [command[:2] for command in commands] == [["cfbench", name] for name in ("check", "run", "leaderboard")]
    for command in commands:
        more = ["--tracking", "none", "--workers", "1", "--time-limit", "none"] if command[1] == "run" else []
        result = CliRunner().invoke(cli, [*command[1:], *more], catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert all(word in result.output for word in ("largest", "spread", "extra-changes", "robust-share"))

    plugins = [str(folder / "my_metrics.py")]
    shown = cfbench.leaderboard(folder / "results", reference="nearest-unlike", columns=NAMES, plugins=plugins)
    board = shown.overall()
    record = cfbench.load_record(folder / "results")
    registry = build_registry()
    space = load_dataset(registry.dataset("wine").entry, data_source((), download=False)).space
    found = record[record["status"] == "found"]
    of = {name: part.set_index("point") for name, part in found.groupby("searcher")}
    reference = of["nearest-unlike"]
    for row in board.to_dict("records"):
        mine = of[row["searcher"]]
        assert len(mine) == len(reference) == 2
        changes = [np.max(np.abs(z - x) / space.ranges) for x, z in zip(mine["x"], mine["z"], strict=True)]
        assert row["largest-change"] == pytest.approx(np.mean(changes))
        assert row["spread"] == 0.0  # one counterfactual per search
        assert row["extra-changes"] == pytest.approx((mine["l0"] - reference["l0"]).mean())
    assert board.set_index("searcher")["robust_share_points"]["random-search"] > 0
