from __future__ import annotations

import pickle

import pytest

from cfbench import Searcher, SearcherEntry
from cfbench_searchers.plugin import cfbench_register_searchers


def entries() -> list[SearcherEntry]:
    return list(cfbench_register_searchers())


def test_names_are_permanent() -> None:
    assert [entry.name for entry in entries()] == [
        "cogs",
        "growing-spheres",
        "growing-spheres-scaled",
        "lore",
        "nelder-mead",
        "cma-es",
        "random-search",
        "nearest-unlike",
    ]


def test_entries_travel_to_other_processes_and_build_with_their_check_settings() -> None:
    for entry in entries():
        copy = pickle.loads(pickle.dumps(entry))
        assert copy == entry
        assert entry.summary
        assert isinstance(copy.searcher, type)
        assert issubclass(copy.searcher, Searcher)
        assert isinstance(copy.searcher(**(entry.check_settings or {})), Searcher)


def test_cma_es_says_what_installs_it_where_its_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cfbench_searchers.plugin.find_spec", lambda name: None)
    missing = {entry.name: entry.unavailable for entry in entries() if entry.unavailable}
    assert missing == {"cma-es": 'it needs the package cma; install it with: pip install "cma>=4"'}
