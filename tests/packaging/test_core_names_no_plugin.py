"""The core names nothing that a plugin registers: entries say themselves what the core wants to know of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields

import pytest

from cfbench.record.cells import TABLES, CellSummary
from cfbench.registry.registry import build_registry
from cfbench.robustness.random_perturbations import PerturbedPart
from tests.packaging.sources import ROOT, tree_of

MODULES = sorted((ROOT / "cfbench").rglob("*.py"))

OWN_WORDS = {
    # What a record holds of every search, whether a metric of that name is registered or not.
    *(field for table in TABLES for field in table.fields),
    *(field.name for field in fields(CellSummary)),
    # The parts of the features that perturbations concern; objectives are named after them.
    *PerturbedPart,
    # The loss alone: what a searcher is judged by that handles no objectives. Options are switched off with it, too.
    "none",
    # The key of a study; the preset of that name runs the families of models.
    "models",
}
"""Words of the core that are also names of entries."""


def registered() -> set[str]:
    registry = build_registry()
    kinds = ("datasets", "models", "searchers", "objectives", "metrics", "presets", "reports", "reporters")
    return {name for kind in kinds for name in getattr(registry, kind)}


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the string literals of a module with their lines, except docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_no_literal_of_the_core_is_the_name_of_a_plugins_entry() -> None:
    names = registered() - OWN_WORDS
    named = [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in MODULES
        for line, text in literals(tree_of(path))
        if text.partition("[")[0] in names
    ]
    assert named == [], "let the entry say what the core wants to know, or take the name from a setting"


def test_names_that_would_be_found() -> None:
    names = registered() - OWN_WORDS
    assert {"cogs", "wine", "random-forest", "k-exact", "k-robustness", "quick", "cfbench-tracking"} <= names
    assert OWN_WORDS & registered() == {"none", "c", "k", "ck", "loss", "gower", "l0", "queries", "seconds", "models"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""cogs is named here."""\nx = "cogs"', ["cogs"]),
        ('def f(searcher="cogs"):\n    """cogs"""', ["cogs"]),
        ('x = {"cogs": 1, "lore": f"{y}"}\n"a string that stands alone"', ["cogs", "lore"]),
    ],
)
def test_literals_are_found_wherever_they_stand_except_in_docstrings(text: str, found: list[str]) -> None:
    assert [value for _, value in literals(ast.parse(text))] == found
