"""Studies: what a file may say, and what a wrong one is told."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.errors import StudyError
from cfbench.registry.registry import build_registry
from cfbench.study.study import Study, make_study, read_study

SMALL: dict[str, Any] = {"datasets": ["credit"], "models": ["random-forest"], "searchers": ["cogs"]}
TEXT = 'datasets = ["credit"]\nmodels = ["random-forest"]\nsearchers = ["cogs"]\n'
DOCS = Path(__file__).parents[3] / "docs" / "studies.md"


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(**keys: Any) -> str:
    with pytest.raises(StudyError) as caught:
        make_study({**SMALL, **keys}, "mine.toml")
    return str(caught.value)


def test_a_file_with_three_keys_is_a_study_by_the_papers_protocol(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, TEXT))
    assert study == Study(
        name="mine",
        datasets=("credit",),
        models=("random-forest",),
        searchers=("cogs",),
        objectives=("none",),
        metrics=None,
        constraints=(False,),
        folds=(0, 1, 2, 3, 4),
        points=None,
        repetitions=5,
        seed=42,
        time_limit=None,
        query_budget=None,
        respect_steps=False,
        workers=1,
        results=Path("results"),
        tracking="",
    )


def test_every_key_of_the_documentations_example_is_read(tmp_path: Path) -> None:
    text = DOCS.read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    whole = read_study(written(tmp_path, examples[0]))
    assert whole.model_fields_set == set(Study.model_fields)
    assert whole.points is None
    assert whole.settings == {"cogs": {"population_size": 500}}
    assert whole.parts[1].constraints == (True,)
    assert whole.at_most["cogs"].points == 10
    for further in examples[1:]:
        read_study(written(tmp_path, further))


def test_the_documentation_has_a_row_for_every_key() -> None:
    section = DOCS.read_text(encoding="utf-8").split("## Every key")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)`", section, flags=re.MULTILINE)
    assert sorted(rows) == sorted(Study.model_fields)


def test_the_documentation_names_the_default_metrics() -> None:
    (row,) = re.findall(r"^\| `metrics` \|.*$", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert tuple(re.findall(r"`([\w-]+)`", row.split("|")[3])) == build_registry().default_metrics


@pytest.mark.parametrize("folder", ["./my\u3000loans", "./my\u00a0loans", "./my\u00adloans", "./m\udcfcller"])
def test_folders_may_have_blanks_of_other_scripts_hyphens_and_undecodable_bytes(folder: str) -> None:
    assert make_study({**SMALL, "datasets": [folder]}).datasets == (folder,)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("name", "", 'name = "": must not be empty'),
        ("name", "a\x1b[31m", r'name = "a\u001b[31m": must hold no control characters'),
        ("name", "a\u2028b", "must hold no control characters and no line breaks; it holds U+2028"),
        ("datasets", [], "datasets = []: must not be empty"),
        ("datasets", "credit", 'datasets = "credit": must be a list in [ ]'),
        ("datasets", ["credit", "wine", "credit"], 'must name each value once, but "credit" is repeated'),
        ("models", [3], "models[0] = 3: must be a string"),
        ("searchers", ["cogs[population_size]"], "expected = after 'population_size'"),
        ("searchers", ["cogs[a=1"], "must end with ]"),
        ("searchers", ["[a=1]"], "has no name"),
        ("constraints", ["on"], 'constraints[0] = "on": must be true or false'),
        ("constraints", [1], "constraints[0] = 1: must be true or false"),
        ("folds", [5], "folds[0] = 5: must be at most 4"),
        ("folds", [0, -1], "folds[1] = -1: must be at least 0"),
        ("folds", [True], "folds[0] = true: must be a whole number"),
        ("folds", [1.5], "folds[0] = 1.5: must be a whole number"),
        ("points", 0, 'points = 0: must be a whole number of at least 1, or "all"'),
        ("points", True, 'points = true: must be a whole number of at least 1, or "all"'),
        ("points", "some", 'points = "some": must be a whole number of at least 1, or "all"'),
        ("repetitions", 0, "repetitions = 0: must be at least 1"),
        ("repetitions", "5", 'repetitions = "5": must be a whole number'),
        ("seed", -1, "seed = -1: must be at least 0"),
        ("seed", 1.0, "seed = 1.0: must be a whole number"),
        ("time_limit", 0, "time_limit = 0: must be greater than 0"),
        ("time_limit", float("inf"), "time_limit = Infinity: must be a finite number"),
        ("time_limit", "20 s", 'time_limit = "20 s": must be a number'),
        ("query_budget", 0, "query_budget = 0: must be at least 1"),
        ("respect_steps", 1, "respect_steps = 1: must be true or false"),
        ("workers", 0, "workers = 0: must be at least 1"),
        ("workers", 100_000, "workers = 100000: must be at most 4096"),
        ("repetitions", 10**11, "repetitions = 100000000000: must be at most 1000000"),
        ("results", 3, "results = 3: must be a path"),
        ("results", " ", 'results = " ": must not be empty; the current directory is "."'),
        ("settings", [], "settings = []: must be a table"),
        ("settings", {"cogs": 500}, "settings.cogs = 500: must be a table"),
        ("settings", {"a\x1bb": 3}, r'settings."a\u001bb" = 3: must be a table'),
        ("parts", [{"folds": [9]}], "parts[0].folds[0] = 9: must be at most 4"),
        ("parts", [{"fold": [0]}], "parts[0].fold: unknown key 'fold'. Did you mean 'folds'?"),
        ("at_most", {"lore": {"points": 0}}, "at_most.lore.points = 0: must be at least 1"),
        ("at_most", {"lore": {"point": 1}}, "unknown key 'point'. Did you mean 'points'? Known: points, repetitions."),
        ("serchers", ["cogs"], "serchers: unknown key 'serchers'. Did you mean 'searchers'? Known: searchers, "),
    ],
)
def test_a_fault_names_the_key_the_value_and_what_is_allowed(key: str, value: object, said: str) -> None:
    message = refusal(**{key: value})
    assert message.startswith("mine.toml: ")
    assert said in message
    assert "\n" not in message


def test_all_faults_are_told_at_once() -> None:
    message = refusal(points=0, folds=[7], workrs=2)
    lines = message.splitlines()
    assert lines[0] == "mine.toml: 3 faults:"
    assert [line.split()[0] for line in lines[1:]] == ["folds[0]", "points", "workrs:"]


def test_a_missing_key_is_named() -> None:
    with pytest.raises(StudyError, match=r"^mine\.toml: searchers: missing"):
        make_study({"datasets": ["credit"], "models": ["random-forest"]}, "mine.toml")


def test_a_long_value_is_shortened() -> None:
    assert '"xxx' in refusal(points="x" * 10_000)
    assert len(refusal(points="x" * 10_000)) < 250


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("datasets = [", r"mine\.toml: not TOML: .*end of document"),
        ('datasets = ["a"]\nname == 3\n', r"not TOML: .*\(at line 2, column 7\)"),
        ("points = 1\npoints = 2\n", r"not TOML: .*line 2"),
        ("a = " + "[" * 5000, r"mine\.toml: its tables or lists are nested too deeply"),
        ("seed = " + "9" * 10_000, r"mine\.toml: it has a number of thousands of digits"),
        ("when = 2024-02-30", r"mine\.toml: "),
        ("[settings.cogs]\nsince = 2024-02-03\n", r"settings\.cogs = .*must be made of finite numbers.*'since' is not"),
    ],
)
def test_a_file_that_is_no_study_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        read_study(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"absent\.toml: no such file or directory; give the path of a TOML file"):
        read_study(tmp_path / "absent.toml")
    with pytest.raises(StudyError, match="is a directory"):
        read_study(tmp_path)
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'name = "\xe9"')
    with pytest.raises(StudyError, match="byte 8 is not UTF-8"):
        read_study(latin)
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(StudyError, match=r"pipe\.toml is a pipe or a device"):
        read_study(tmp_path / "pipe.toml")


def test_a_mark_of_the_byte_order_is_no_part_of_a_study(tmp_path: Path) -> None:
    assert read_study(written(tmp_path, "\ufeffseed = 7\n" + TEXT)).seed == 7


@given(st.text(max_size=60) | st.from_regex(r"(name|points|folds|settings\.a) = [\[\{\"0-9a-z\]\}.,=-]{0,12}"))
def test_no_text_is_answered_with_anything_but_a_study_or_a_study_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = written(tmp_path_factory.getbasetemp(), text)
    with pytest.raises(StudyError):  # no such text names data sets, models and searchers
        read_study(path)


def test_a_study_survives_pickling_and_cannot_be_changed() -> None:
    study = make_study({**SMALL, "points": 3, "parts": [{"folds": [1]}]})
    assert pickle.loads(pickle.dumps(study)) == study
    with pytest.raises(Exception, match="frozen"):
        study.points = 4


def test_a_folder_at_home_is_meant_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert make_study({**SMALL, "results": "~/x"}).results == Path("/home/somebody/x")
    assert make_study({**SMALL, "results": "x/~"}).results == Path("x/~")
    assert 'results = "~nobody-here/x": begins with ~ and an unknown user name' in refusal(results="~nobody-here/x")


def test_a_path_with_a_nul_is_refused() -> None:
    assert (
        refusal(results="a\0b")
        == r'mine.toml: results = "a\u0000b": must hold no NUL character, which no path can have'
    )


@pytest.mark.slow
def test_of_very_many_faults_the_first_are_told() -> None:
    many = {f"key{number}": number for number in range(200_000)}
    lines = refusal(**many).splitlines()
    assert lines[0] == "mine.toml: 200,000 faults:"
    assert lines[1].startswith("  key0: unknown key 'key0'. Known: ")
    assert lines[-1] == "  and 199,980 more; fix these first"
    assert len(refusal(**{"x" * 1_000_000: 1})) < 1_000
