from __future__ import annotations

import pickle

from cfbench import Searcher, SearcherEntry
from cfbench_searchers.plugin import cfbench_register_searchers


def entries() -> list[SearcherEntry]:
    return list(cfbench_register_searchers())


def test_names_are_permanent() -> None:
    assert [entry.name for entry in entries()] == ["cogs"]


def test_entries_travel_to_other_processes_and_build_with_their_check_settings() -> None:
    for entry in entries():
        copy = pickle.loads(pickle.dumps(entry))
        assert copy == entry
        assert entry.summary
        assert isinstance(copy.searcher, type)
        assert issubclass(copy.searcher, Searcher)
        assert isinstance(copy.searcher(**(entry.check_settings or {})), Searcher)
