"""The guides' snippets, run in their order as a reader would."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import Fresh
from tests.packaging.sources import ROOT

pytestmark = pytest.mark.slow

SNIPPET = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def snippets(page: str) -> list[tuple[str, str]]:
    """Return the language and the text of every snippet of a page."""
    return SNIPPET.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def test_the_way_from_nothing_to_the_leaderboard(fresh: Fresh, tmp_path: Path, empty_store: Path) -> None:
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    here = tmp_path
    said = ""
    for language, text in snippets("write-a-searcher.md"):
        match language:
            case "python":
                name = re.match(r"# (\w+\.py)\n", text)
                assert name is not None, "a file's snippet begins with its name"
                (here / name[1]).write_text(text, encoding="utf-8")
            case "toml":
                assert text in (here / "pyproject.toml").read_text(encoding="utf-8")
            case "sh":
                for line in text.splitlines():
                    script = f"{line}\npwd > '{tmp_path}/where'\n" if line.startswith("cd ") else line
                    code = 1 if line.endswith("# exits with 1") else 0
                    said = fresh.run("sh", "-c", script, home=tmp_path, folder=here, code=code)
                    if line.startswith("cd "):
                        here = Path((tmp_path / "where").read_text().strip())
            case _:
                raise AssertionError(f"a snippet in {language} is run by nobody")
    rows = re.findall(r"^ (?:\d+[= ]|- ) (\S+)", said, flags=re.MULTILINE)
    assert {"my-searcher", "cogs"} <= set(rows), "the last command shows the leaderboard"


def test_the_pages_for_the_start(fresh: Fresh, tmp_path: Path, empty_store: Path) -> None:
    """What installs cfbench is tested elsewhere; every command of cfbench runs, and the board is the one shown."""
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    said: dict[str, str] = {}
    shown = []
    for language, text in [*snippets("install.md"), *snippets("quickstart.md")]:
        if language == "text":
            shown.append(text)
        else:
            assert language == "sh"
            commands = [line for line in text.splitlines() if line.startswith("cfbench ")]
            said |= {line: fresh.run("sh", "-c", line, home=tmp_path) for line in commands}
    assert len(said) == 10
    assert (tmp_path / "board.html").is_file()
    (board,) = shown
    assert rows_without_seconds(board) == rows_without_seconds(said["cfbench leaderboard"])
    assert len(rows_without_seconds(board)) == 2


def rows_without_seconds(board: str) -> list[list[str]]:
    """Return the cells of a board's rows except the last but one, the seconds."""
    rows = [line.split() for line in board.splitlines() if re.match(r" \d ", line)]
    return [row[:-2] + row[-1:] for row in rows]


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_prints_what_the_manual_shows(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds and pictures may differ."""
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT, ROOT / "plugins", ROOT / "datasets"))))
    shutil.copytree(path.parent, tmp_path, dirs_exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "notebook",
        "--execute",
        "--inplace",
        str(tmp_path / path.name),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again = "run python -m nbconvert --to notebook --execute --inplace docs/notebooks/*.ipynb"
    assert printed(tmp_path / path.name) == printed(path), again


def printed(path: Path) -> list[list[str]]:
    """Return the texts that each cell of a notebook prints or shows, without seconds and without progress."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [
        [one for one in cell["outputs"] if one.get("name") != "stderr"] for cell in cells if cell["cell_type"] == "code"
    ]
    assert any(outputs)
    texts = [["".join(one.get("text", one.get("data", {}).get("text/plain", ""))) for one in cell] for cell in outputs]
    return [[re.sub(r"[\d.]+ s\b", "SECONDS", text) for text in cell] for cell in texts]


def test_the_page_on_python(fresh: Fresh, tmp_path: Path) -> None:
    found = snippets("python.md")
    assert {language for language, _ in found} == {"python"}
    (tmp_path / "page.py").write_text(as_script([text for _, text in found]), encoding="utf-8")
    said = fresh.run("python", "-W", "error", "page.py", home=tmp_path)
    assert said.startswith("2 cells done; 4 searches run: my-results\n4 []\n")
    assert "0 becomes 1 if " in said


def test_the_example_of_the_readme(fresh: Fresh, tmp_path: Path) -> None:
    (example,) = [
        text for language, text in SNIPPET.findall((ROOT / "README.md").read_text("utf-8")) if language == "python"
    ]
    assert len([line for line in example.splitlines() if line]) <= 20
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    said = fresh.run("python", "-W", "error", "example.py", home=tmp_path)
    assert "0 becomes 1 if " in said
    (alcohol,) = re.findall(r"^\d+ +alcohol +(\S+) +(\S+) +(\S+)$", said, flags=re.MULTILINE)
    factual, counterfactual, changed = alcohol
    assert (float(factual), float(counterfactual), changed) == (14.23, 14.23, "False")


def as_script(parts: list[str]) -> str:
    """Join snippets to one script under one guard: the workers that it starts import it."""
    body = "\n".join(part.replace('if __name__ == "__main__":', "if True:") for part in parts)
    indented = "".join(f"    {line}" if line.strip() else line for line in body.splitlines(keepends=True))
    return f'if __name__ == "__main__":\n{indented}'
