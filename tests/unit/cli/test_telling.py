"""Texts of other people's plugins and data steer no terminal, no page, no spreadsheet and no typesetter."""

from __future__ import annotations

import csv
import re
import unicodedata
from pathlib import Path

import pytest

from cfbench.cli import main
from tests.toys.studies import CELL, ONCE, TOY

NASTY = "\x1b[2J\x1b]0;owned\x07\r=HYPERLINK(1)<script>alert(1)</script>\u202e\\input{/etc/passwd}"
PLUGIN = f"""
from typing import Any
from cfbench import CfbenchError, Handles, ModelEntry, ModelFamily, SearcherEntry, hookimpl

NASTY = {NASTY!r}


def nasty(problem, rng):
    raise ValueError(NASTY)


class Nasty(ModelFamily):
    def grid(self): return {{"a": [1]}}
    def tune(self, X, y, space): return {{"a": 1}}
    def fit(self, X, y, space, hyperparameters): raise ValueError(NASTY)


@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(name="nasty", searcher=nasty, handles=list(Handles), summary=NASTY)


@hookimpl
def cfbench_register_models():
    yield ModelEntry(name="nasty-model", family=Nasty, summary=NASTY)


@hookimpl
def cfbench_cell_finished(event):
    raise CfbenchError(NASTY)
"""
RUN = [
    *("run", *CELL, "--plugin", "./nasty.py", "--model", "nasty-model", "--searcher", "nasty"),
    *("--searcher", "toy-dice", "--points", "1", *ONCE),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "nasty.py").write_text(PLUGIN)
    return tmp_path


def said_by(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        main([*words])
    captured = capsys.readouterr()
    return captured.out + captured.err


def harmful(text: str) -> set[str]:
    """Return the signs in a text that a terminal obeys or that turn the direction of reading."""
    return {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf") and sign != "\n"}


def test_no_command_passes_on_what_steers_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_by(capsys, *RUN)
    for words in ("crashed: nasty", "Failed: ", "Warning: "):
        assert words in said
    assert "owned" in said
    plugins = ["--plugin", str(TOY), "--plugin", "./nasty.py"]
    said += said_by(capsys, "plugins", *plugins)
    said += said_by(capsys, "leaderboard", *plugins)
    said += said_by(capsys, "plan", *RUN[1:])
    said += said_by(capsys, *RUN, "--searcher", NASTY)
    said += said_by(capsys, "leaderboard", "--results", f"{NASTY}/none")
    assert "Error: " in said
    assert harmful(said) == set()


def test_no_form_of_the_board_passes_anything_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said_by(capsys, *RUN)
    for form in ("markdown", "csv", "json", "latex", "html"):
        assert harmful(said_by(capsys, "leaderboard", "--format", form, "--output", f"board.{form}")) == set()
        text = Path(f"board.{form}").read_text(encoding="utf-8")
        assert harmful(text) - {"\r"} == set(), form
        if form == "latex":
            assert not any("\\input{" in line for line in text.splitlines() if not line.startswith("%"))
        if form == "html":
            assert "<script>alert" not in text
            assert not re.search(r"<[a-z]+[^>]*\son[a-z]+=", text), "a handler"
    with Path("board.csv").open(newline="", encoding="utf-8") as file:
        assert not any(cell.startswith(("=", "+", "@")) for row in csv.reader(file) for cell in row)
