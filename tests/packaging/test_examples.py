"""Every public name has an example in its docstring, and the example runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import cfbench

SLOW = {"Best", "Leaderboard", "StudyResult", "leaderboard", "load_record", "run"}


def docstring(name: str) -> str:
    """Return the docstring of a public name; for a constant, the string below its assignment."""
    value: Any = getattr(cfbench, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        return inspect.cleandoc(value.__doc__ or "")
    lines = Path(cfbench.__file__).read_text(encoding="utf-8").splitlines()
    (module,) = (line.split()[1] for line in lines if line.endswith(f" import {name} as {name}"))
    source = importlib.import_module(module).__file__
    assert source is not None
    statements = ast.parse(Path(source).read_text(encoding="utf-8")).body
    for statement, following in pairwise(statements):
        match statement, following:
            case (
                ast.Assign(targets=[ast.Name(id=assigned)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ) if assigned == name:
                return inspect.cleandoc(text)
    return ""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in cfbench.__all__
        if name != "__version__"
    ],
)
def test_the_example_of_a_public_name_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = docstring(name)
    _, heading, section = text.partition("\nExamples\n--------\n")
    example = doctest.DocTestParser().get_doctest(section, {"__name__": name}, name, None, None)
    assert heading, f"cfbench.{name}: its docstring has no section Examples"
    assert example.examples, f"cfbench.{name}: its section Examples has no line that begins with >>>"
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not results.failed, "".join(report)
    assert not list(tmp_path.iterdir()), f"cfbench.{name}: its example leaves files behind"
