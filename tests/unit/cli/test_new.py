"""``cfbench new``: what it makes works at once, and nothing is ever overwritten."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.cli import cli
from cfbench.cli.new import LONGEST_NAME, TEMPLATES, rendered
from cfbench.errors import CfbenchError
from cfbench.registry.registry import RegistryOptions, build_registry

EXAMPLE = Path(__file__).parents[3] / "examples" / "cfbench-example-searcher"
GUIDE = Path(__file__).parents[3] / "docs" / "write-a-searcher.md"
GENERATED = {
    ".gitignore",
    "README.md",
    "pyproject.toml",
    "src/cfbench_my_search/__init__.py",
    "src/cfbench_my_search/py.typed",
    "src/cfbench_my_search/searcher.py",
    "tests/test_conformance.py",
}


def new(*arguments: str, kind: str = "searcher") -> Result:
    result = CliRunner().invoke(cli, ["new", kind, *arguments])
    if isinstance(result.exception, CfbenchError):
        raise result.exception
    return result


def files_in(folder: Path) -> dict[str, str]:
    litter = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and not litter & set(path.parts)
    }


def test_it_makes_a_distribution_and_says_how_to_go_on(tmp_path: Path) -> None:
    result = new("my-search", "--path", str(tmp_path / "deep" / "down"))
    folder = tmp_path / "deep" / "down" / "cfbench-my-search"
    assert set(files_in(folder)) == GENERATED
    lines = [line.strip() for line in result.output.splitlines()]
    assert lines[1:4] == [f"cd {folder}", "pip install --editable .", "cfbench check my-search"]
    registry = build_registry(RegistryOptions(plugins=(str(folder / "src" / "cfbench_my_search" / "searcher.py"),)))
    assert registry.searcher("my-search").entry.summary


def test_without_a_path_it_is_made_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert new("my-search").output.startswith("cfbench-my-search holds a working searcher")
    assert (tmp_path / "cfbench-my-search" / "pyproject.toml").is_file()


@pytest.mark.parametrize("there", ["folder", "empty folder", "file", "link"])
def test_what_exists_is_never_overwritten(tmp_path: Path, there: str) -> None:
    folder = tmp_path / "cfbench-my-search"
    match there:
        case "folder":
            folder.mkdir()
            (folder / "pyproject.toml").write_text("mine")
        case "empty folder":
            folder.mkdir()
        case "file":
            folder.write_text("mine")
        case "link":
            folder.symlink_to(tmp_path / "nowhere")
    with pytest.raises(CfbenchError, match="exists already, and nothing is ever overwritten; choose another name"):
        new("my-search", "--path", str(tmp_path))
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] in ([], ["mine"])
    assert not (folder / "src").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("My Search", "'My Search' is no name for an entry; use kebab-case: .*, such as my-search"),
        ("MySearch", "such as my-search"),
        ("my_search", "such as my-search"),
        ("my--search", "such as my-search"),
        ("../escape", "such as escape"),
        ("s" * (LONGEST_NAME + 1), f"has {LONGEST_NAME + 1} characters; a name has {LONGEST_NAME} at most"),
        ("cogs", r"the name 'cogs' is taken by counterfactual-bench 0\.1\.0; choose another"),
        ("searchers", "there is a package cfbench_searchers here already"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(CfbenchError, match=words):
        new(name, "--path", str(tmp_path / "here"))
    assert not (tmp_path / "here").exists()


def test_a_folder_that_cannot_be_made_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CfbenchError, match="choose another"):
        new("my-search", "--path", str(tmp_path / "file" / "below"))


def test_the_example_is_what_the_command_makes() -> None:
    assert files_in(EXAMPLE) == {str(path): text for path, text in rendered("searcher", "example-searcher").items()}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_every_kind_is_registered_under_its_name(tmp_path: Path, kind: str) -> None:
    result = new("my-own", "--path", str(tmp_path), kind=kind)
    folder = tmp_path / "cfbench-my-own"
    assert f"src/cfbench_my_own/{kind}.py" in files_in(folder)
    assert f'cfbench-my-own = "cfbench_my_own.{kind}"' in (folder / "pyproject.toml").read_text()
    assert "NAME" not in result.output
    registry = build_registry(RegistryOptions((str(folder / "src" / "cfbench_my_own" / f"{kind}.py"),)))
    assert not registry.problems
    assert registry.kinds[f"{kind}s"]["my-own"].entry.summary
    with pytest.raises(CfbenchError, match="is taken by counterfactual-bench"):
        new(
            {"searcher": "cogs", "model": "random-forest", "objective": "k", "metric": "loss", "dataset": "wine"}[kind],
            kind=kind,
        )


@pytest.mark.slow
@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("name", ["s", "2-opt", "s" * LONGEST_NAME])
def test_what_it_makes_passes_ruff_at_once(tmp_path: Path, name: str, kind: str) -> None:
    new(name, "--path", str(tmp_path), kind=kind)
    run(["ruff", "check"], tmp_path / f"cfbench-{name}")
    run(["ruff", "format", "--check"], tmp_path / f"cfbench-{name}")


@pytest.mark.slow
def test_the_guides_files_pass_the_templates_ruff_as_they_stand(tmp_path: Path) -> None:
    new("my-searcher", "--path", str(tmp_path))
    folder = tmp_path / "cfbench-my-searcher"
    snippets = re.findall(
        r"^```python\n(# my_searcher\.py\n.*?)^```", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(snippets) == 2
    for snippet in snippets:
        (folder / "src" / "cfbench_my_searcher" / "searcher.py").write_text(snippet)
        run(["ruff", "check"], folder)
        run(["ruff", "format", "--check"], folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TEMPLATES)
def test_what_it_makes_passes_mypy_at_once(tmp_path: Path, kind: str) -> None:
    new("2-opt", "--path", str(tmp_path), kind=kind)
    assert "Success" in run(["mypy"], tmp_path / "cfbench-2-opt")


@pytest.mark.slow
@pytest.mark.parametrize("kind", TEMPLATES)
def test_what_it_makes_passes_its_own_test_and_the_check_at_once(tmp_path: Path, kind: str) -> None:
    new("my-own", "--path", str(tmp_path), kind=kind)
    folder = tmp_path / "cfbench-my-own"
    said = run(["pytest", "-q", "-p", "no:cacheprovider"], folder)
    assert " passed" in said
    assert "failed" not in said
    file = folder / "src" / "cfbench_my_own" / f"{kind}.py"
    checked = CliRunner().invoke(cli, ["check", "my-own", "--plugin", str(file)])
    assert checked.exit_code == 0, checked.output


def run(command: list[str], folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    ended = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
