"""What the packages import is what pyproject.toml declares."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = [ROOT / path for path in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
EXTRAS = PROJECT["project"]["optional-dependencies"]
OPTIONAL = {"cma": "cma", "dask": "dask", "distributed": "dask", "dice_ml": "dice", "raiutils": "dice", "numba": "fast"}
"""Modules that an extra brings, and the extra."""
BROUGHT_ALONG = {"markupsafe": "jinja2", "pydantic_core": "pydantic", "requests": "pooch", "sqlalchemy": "mlflow"}
"""Modules that are parts of what a dependency is made of, and the dependency."""


def normalised(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def imported(package: Path) -> Iterator[tuple[str, Path]]:
    """Yield the top-level modules that a package imports, wherever in its code."""
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
            if isinstance(node, ast.Import):
                yield from ((alias.name.partition(".")[0], file) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield str(node.module).partition(".")[0], file


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_import_is_declared(package: Path) -> None:
    ours = {one.name for one in PACKAGES}
    declared = {normalised(requirement) for requirement in PROJECT["project"]["dependencies"]}
    origins = packages_distributions()
    for module, file in imported(package):
        if module in sys.stdlib_module_names or module in ours:
            continue
        if module in OPTIONAL:
            assert OPTIONAL[module] in EXTRAS, f"{file}: {module}"
        elif module in BROUGHT_ALONG:
            assert BROUGHT_ALONG[module] in declared
            needs = {normalised(requirement) for requirement in requires(BROUGHT_ALONG[module]) or ()}
            assert needs & {normalised(name) for name in origins[module]}
        elif not (module == "pytest" and package.name == "cfbench"):  # cfbench.testing is used where pytest is
            brought = {normalised(name) for name in origins.get(module, [])}
            assert brought & declared, f"{file} imports {module}, which no dependency of pyproject.toml brings"
