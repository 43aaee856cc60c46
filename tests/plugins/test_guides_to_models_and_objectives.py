"""docs/write-a-model.md and docs/write-an-objective.md: their code passes the checks, and their commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench import load_record
from cfbench.cli import cli
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench.testing import check_model, check_objective

DOCS = Path(__file__).parents[2] / "docs"


class Guide:
    """A guide's files in a folder of its own: a snippet that begins with a file's name begins a file."""

    def __init__(self, page: str, folder: Path) -> None:
        self.text = (DOCS / page).read_text(encoding="utf-8")
        self.files: list[Path] = []
        for snippet in self.snippets("python"):
            named = re.match(r"# (\w+\.py)\n", snippet)
            if named:
                self.files.append(folder / named[1])
            with self.files[-1].open("w" if named else "a", encoding="utf-8") as file:
                file.write(f"\n\n{snippet}" if not named else snippet)
        self.registry = build_registry(RegistryOptions(plugins=tuple(map(str, self.files))))
        assert not self.registry.problems

    def snippets(self, language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)^```", self.text, flags=re.DOTALL | re.MULTILINE)

    def run_commands(self) -> None:
        for script in self.snippets("sh"):
            commands = [shlex.split(line) for line in script.replace("\\\n", " ").splitlines()]
            assert [command[:2] for command in commands] == [["cfbench", "check"], ["cfbench", "run"]]
            for command in commands:
                more = ["--tracking", "none", "--workers", "1", "--time-limit", "none"] if command[1] == "run" else []
                result = CliRunner().invoke(cli, [*command[1:], *more], catch_exceptions=False)
                assert result.exit_code == 0, result.output


def test_the_guide_to_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    guide = Guide("write-a-model.md", tmp_path)
    for name, settings in (("my-tree", {"max_depth": 3}), ("my-means", {"power": 1})):
        for given in ({}, settings):
            report = check_model(guide.registry.model(name).entry, settings=given)
            assert report.passed, str(report)
    guide.run_commands()
    for folder, models in (
        ("trees", {"my-tree", "my-tree[max_depth=3]"}),
        ("means", {"my-means", "my-means[power=1]"}),
    ):
        frame = load_record(tmp_path / folder)
        assert set(frame["model"]) == models
        assert set(frame["status"]) == {"found"}


def test_the_guide_to_objectives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    guide = Guide("write-an-objective.md", tmp_path)
    for name in ("price-per-increase", "jitter"):
        report = check_objective(guide.registry.objective(name).entry)
        assert report.passed, str(report)
    guide.run_commands()
    frame = load_record(tmp_path / "results")
    assert set(frame["status"]) <= {"found", "budget_exhausted"}
    added = frame["objective_value"] - frame["loss"]
    assert (added >= 0).all()
    priced, shaken = (frame["objective"] == name for name in ("price-per-increase", "jitter"))
    steps = added[priced] * 13 / 0.1  # 0.1 for each increased feature, divided by the 13 features of wine
    assert steps.round(6).tolist() == steps.round().tolist()
    assert frame.loc[shaken, "robustness_queries"].min() > 0
    assert frame.loc[priced, "robustness_queries"].max() == 0
