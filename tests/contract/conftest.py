"""The deliberately wrong searchers, loaded as a user's own plugin file is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfbench.registry.discovery import import_file

WRONG_SEARCHERS = Path(__file__).with_name("wrong_searchers.py")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "wrong" in metafunc.fixturenames:
        module: Any = import_file(WRONG_SEARCHERS)
        metafunc.parametrize("wrong", module.WRONG, ids=lambda one: one.entry.name)


@pytest.fixture(scope="session")
def wrong_searchers() -> Any:
    """Return the plugin's module."""
    return import_file(WRONG_SEARCHERS)
