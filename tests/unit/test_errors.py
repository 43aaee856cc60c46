from __future__ import annotations

import inspect
import pickle

import pytest

from cfbench import errors
from cfbench.errors import CfbenchError, UnknownNameError, nearest_first


def test_every_error_has_the_one_root() -> None:
    classes = [one for _, one in inspect.getmembers(errors, inspect.isclass) if one.__module__ == errors.__name__]
    assert len(classes) >= 10
    assert all(issubclass(one, CfbenchError) for one in classes)


def test_nearest_first_sorts_by_likeness_then_by_the_alphabet() -> None:
    assert nearest_first("cogz", ["lore", "dice", "cogs"])[0] == "cogs"
    assert nearest_first("zzz", ["b", "a", "b"]) == ["a", "b"]
    assert nearest_first("COGS", ["lore", "cogs"])[0] == "cogs"


@pytest.mark.parametrize("name", ["cosg", "dice-c", "sparse", "zzz", "trees"])
def test_names_that_are_not_near_stand_in_one_order_whatever_was_looked_for(name: str) -> None:
    known = ["wine", "lore", "cogs", "dice-a", "dice-b", "sparse-sweep", "exact-trees", "cma-es"]
    listed = nearest_first(name, known)
    near = {"cosg": ["cogs"], "dice-c": ["dice-a", "dice-b"], "sparse": ["sparse-sweep"], "zzz": []}
    near["trees"] = ["exact-trees"]
    assert listed == [*near[name], *(one for one in sorted(known) if one not in near[name])]


def test_an_unknown_name_lists_the_known_ones_nearest_first() -> None:
    error = UnknownNameError("searcher", "cosg", ["lore", "cogs"], hint="Install it.")
    assert str(error) == "unknown searcher 'cosg'. Did you mean 'cogs'? Known: cogs, lore. Install it."


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert str(UnknownNameError("metric", "zzz", ["loss"])) == "unknown metric 'zzz'. Known: loss."
    assert str(UnknownNameError("metric", "zzz", [])) == "unknown metric 'zzz'. Known: none."


@pytest.mark.parametrize("hint", ["", "Install it."])
def test_an_unknown_name_survives_a_process_border(hint: str) -> None:
    error = UnknownNameError("searcher", "cosg", ["lore", "cogs"], hint)
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(back, UnknownNameError)
    assert (str(back), back.kind, back.name, back.known) == (str(error), "searcher", "cosg", ("cogs", "lore"))
