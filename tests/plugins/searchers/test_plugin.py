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
        "sparse-sweep",
        "dice-a",
        "dice-b",
        "growing-spheres",
        "growing-spheres-scaled",
        "lore",
        "nelder-mead",
        "cma-es",
        "random-search",
        "nearest-unlike",
        "exact-trees",
        "exact-linear",
        "gradient-descent",
    ]


def test_entries_travel_to_other_processes_and_build_with_their_check_settings() -> None:
    for entry in entries():
        copy = pickle.loads(pickle.dumps(entry))
        assert copy == entry
        assert entry.summary
        assert isinstance(copy.searcher, type)
        assert issubclass(copy.searcher, Searcher)
        assert isinstance(copy.searcher(**(entry.check_settings or {})), Searcher)


def test_what_needs_a_package_says_how_to_install_it_where_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cfbench_searchers.plugin.find_spec", lambda name: None)
    missing = {entry.name: entry.unavailable for entry in entries() if entry.unavailable}
    dice = 'it needs the package dice-ml; install it with: pip install "dice-ml>=0.12,<0.13"'
    cma = 'it needs the package cma; install it with: pip install "cma>=4"'
    assert missing == {"dice-a": dice, "dice-b": dice, "cma-es": cma}


def test_packages_that_a_searcher_needs_are_those_of_the_extras() -> None:
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {package for extra in ("cma", "dice") for package in project["optional-dependencies"][extra]}
    assert {"cma>=4", "dice-ml>=0.12,<0.13"} == extras
