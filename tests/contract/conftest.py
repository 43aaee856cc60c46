"""The deliberately wrong searchers, loaded as a user's own plugin files are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cfbench.registry.discovery import import_file

if TYPE_CHECKING:
    from tests.contract.wrong.honest import Wrong

FOLDER = Path(__file__).parent / "wrong"
FILES = tuple(FOLDER / f"{name}.py" for name in ("honest", "endings", "answers", "side_effects", "spaces"))


def load_wrong() -> list[Wrong]:
    modules: list[Any] = [import_file(file) for file in FILES]
    return [one for module in modules[1:] for one in module.WRONG]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "wrong" in metafunc.fixturenames:
        metafunc.parametrize("wrong", load_wrong(), ids=lambda one: one.entry.name)


@pytest.fixture(scope="session")
def all_wrong() -> list[Wrong]:
    return load_wrong()


@pytest.fixture(scope="session")
def wrong_files() -> tuple[Path, ...]:
    return FILES
