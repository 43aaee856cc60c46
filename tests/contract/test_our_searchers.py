"""Every searcher that cfbench ships keeps the contract, by the tests that a third party writes for its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cfbench.registry.discovery import OUR_DISTRIBUTION
from cfbench.registry.entries import SearcherEntry
from cfbench.registry.registry import build_registry
from cfbench.testing import parametrize_searchers

OURS: list[SearcherEntry] = [
    registered.entry
    for registered in build_registry().searchers.values()
    if registered.distribution == OUR_DISTRIBUTION
]


@pytest.mark.slow
@parametrize_searchers(*(entry for entry in OURS if not entry.unavailable))
def test_conformance(check: Callable[[], None]) -> None:
    check()


def test_the_papers_searchers_and_the_floors_are_there() -> None:
    papers = {"cogs", "dice-a", "dice-b", "growing-spheres", "growing-spheres-scaled", "lore", "nelder-mead"}
    assert papers | {"random-search", "nearest-unlike", "cma-es"} <= {entry.name for entry in OURS}
