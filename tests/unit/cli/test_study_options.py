"""The options that make a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from cfbench.cli.run import study_from_options, study_options
from cfbench.errors import CfbenchError, StudyError
from cfbench.registry.registry import Registry
from cfbench.study.sources import folders_among
from cfbench.study.study import Study

FILE = """
datasets = ["wine"]
models = ["random-forest"]
searchers = ["cogs"]
points = 7
results = "kept-here"

[settings.cogs]
n_generations = 10

[[parts]]
folds = [0]

[[parts]]
folds = [1]
datasets = ["./folder-of-a-part"]
"""

Ask = Callable[..., tuple[Registry, Study]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Give options to a command and return what it makes of them, or raise what it raises."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(FILE, encoding="utf-8")

    def asked(*arguments: str) -> tuple[Registry, Study]:
        answers: list[tuple[Registry, Study]] = []

        @click.command()
        @study_options
        def command(**options: Any) -> None:
            answers.append(study_from_options(options))

        result = CliRunner().invoke(command, list(arguments))
        if isinstance(result.exception, CfbenchError):
            raise result.exception
        if result.exit_code:
            raise RuntimeError(result.output)
        return answers[0]

    return asked


def test_without_anything_it_is_the_preset_quick(ask: Ask) -> None:
    _, study = ask()
    assert (study.name, study.points, study.folds) == ("quick", 3, (0,))
    assert study.optional_datasets == study.datasets


def test_options_alone_change_the_preset_quick(ask: Ask) -> None:
    _, study = ask("--dataset", "credit", "--points", "all", "--time-limit", "none")
    assert (study.name, study.datasets, study.points, study.time_limit) == ("command-line", ("credit",), None, None)
    assert study.optional_datasets == ()
    assert study.models == ("random-forest", "neural-network")


def test_every_option_replaces_its_key(ask: Ask) -> None:
    _, study = ask(
        *("--preset", "quick", "--dataset", "wine", "--dataset", "credit", "--model", "random-forest"),
        *("--searcher", "cogs[population_size=500]", "--searcher", "cogs", "--objective", "none", "--metric", "loss"),
        *("--constraints", "both", "--fold", "3", "--fold", "1", "--points", "4", "--repetitions", "2"),
        *("--set", "cogs.n_generations=5", "--set", "cogs.mutation_extent=0.5", "--time-limit", "2.5"),
        *("--query-budget", "1000", "--respect-steps", "--workers", "1", "--seed", "7", "--tracking", "none"),
        *("--results", "elsewhere"),
    )
    assert study == Study(
        name="quick",
        datasets=("wine", "credit"),
        models=("random-forest",),
        searchers=("cogs[population_size=500]", "cogs"),
        objectives=("none",),
        metrics=("loss",),
        constraints=(False, True),
        folds=(3, 1),
        points=4,
        repetitions=2,
        seed=7,
        time_limit=2.5,
        query_budget=1000,
        respect_steps=True,
        workers=1,
        results=Path("elsewhere"),
        tracking="none",
        reference="cogs",
        settings={"cma-es": {"n_rows": 10_000}, "cogs": {"n_generations": 5, "mutation_extent": 0.5}},
    )


def test_options_alone_keep_the_searchers_own_defaults(ask: Ask) -> None:
    assert ask("--searcher", "cma-es")[1].settings == {}
    assert ask("--preset", "quick")[1].settings == {"cma-es": {"n_rows": 10_000}}


@pytest.mark.parametrize(("word", "values"), [("on", (True,)), ("off", (False,)), ("both", (False, True))])
def test_constraints_are_switched_by_words(ask: Ask, word: str, values: tuple[bool, ...]) -> None:
    assert ask("--constraints", word)[1].constraints == values


def test_a_file_is_changed_by_options_and_keeps_the_rest(ask: Ask) -> None:
    _, study = ask("study.toml", "--fold", "2", "--set", "cogs.population_size=300")
    assert (study.name, study.points, study.results) == ("study", 7, Path("kept-here"))
    assert study.settings == {"cogs": {"n_generations": 10, "population_size": 300}}
    assert study.folds == (2,)
    assert [part.folds for part in study.parts] == [None, None]


def test_results_default_to_the_studys_and_else_to_results(ask: Ask) -> None:
    assert ask("study.toml", "--results", "other")[1].results == Path("other")
    assert ask()[1].results == Path("results")


def test_steps_may_be_ignored_again(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "steps.toml").write_text(f"respect_steps = true\n{FILE}", encoding="utf-8")
    assert ask("steps.toml")[1].respect_steps
    assert not ask("steps.toml", "--ignore-steps")[1].respect_steps


def test_folders_of_the_file_or_of_the_options_reach_the_registry(ask: Ask, tmp_path: Path) -> None:
    registry, _ = ask("study.toml")
    assert registry.options.folders == (tmp_path / "folder-of-a-part",)
    registry, study = ask("study.toml", "--dataset", "./mine")
    assert registry.options.folders == (tmp_path / "mine",)
    assert study.datasets == ("./mine",)
    assert registry.dataset("./mine").entry.name == "mine"


def test_a_path_is_told_from_a_name_by_its_separator() -> None:
    here = Path.cwd()
    paths = folders_among(["credit", "./a", "b/c", ".", "b/../b/c", "credit-2"])
    assert paths == (here / "a", here / "b" / "c", here)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("study.toml", "--preset", "quick"), r"a study file \(study\.toml\) and --preset quick are two"),
        (("absent.toml",), "study file absent.toml: no such file or directory"),
        (("--points", "some"), 'command line: points = "some": must be a whole number of at least 1, or "all"'),
        (("--points", "2.5"), "command line: points = 2.5: must be a whole number"),
        (("--time-limit", "nan"), "command line: time_limit = NaN: must be"),
        (("--time-limit", "soon"), 'command line: time_limit = "soon": must be a number'),
        (("--query-budget", "1.5"), "command line: query_budget = 1.5: must be a whole number"),
        (("--searcher", "cogs[a"), r"command line: searchers\[0\] = .*must end with \]"),
        (("--set", "cogs=3"), r"--set 'cogs=3': write ENTRY\.SETTING=VALUE, as in cogs\.population_size=500"),
        (("--set", "cogs.a"), r"--set 'cogs\.a': write ENTRY\.SETTING=VALUE"),
        (("--set", "cogs.a=[1"), r"--set 'cogs\.a=\[1': expected a comma or \]"),
    ],
)
def test_a_wrong_option_is_refused_as_a_wrong_key_is(ask: Ask, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(StudyError, match=said):
        ask(*arguments)
