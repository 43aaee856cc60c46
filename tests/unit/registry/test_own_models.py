"""A model that the user names: which texts mean one, how it is loaded, and what is refused."""

from __future__ import annotations

from pathlib import Path

import joblib
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

from cfbench.errors import CfbenchError, ModelError
from cfbench.registry.own_models import UntrustedTypesError, entry_of, is_reference, references_among
from cfbench.registry.registry import RegistryOptions, build_registry

TREE = "sklearn.tree._tree.Tree"
"""What skops asks about in a tree of scikit-learn."""


def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0]], ["no", "yes"])


FILE = """
from sklearn.tree import DecisionTreeClassifier
from cfbench import ModelFamily, SklearnFamily

def fitted():
    return DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0]], ["no", "yes"])

def unfitted(seed):
    return DecisionTreeClassifier(random_state=seed)

def nothing():
    return None

def broken():
    return 1 / 0

Family = SklearnFamily(unfitted, {"max_depth": [2, 4]})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_tree.py").write_text(FILE)
    joblib.dump(tree(), tmp_path / "loans.joblib")
    skops.io.dump(tree(), tmp_path / "loans.skops")
    return tmp_path


def test_which_names_are_a_model_of_one_s_own() -> None:
    own = ["a.py:fitted", "./a/b.skops", "a.joblib", "a.pkl", "http://localhost:8000/predict", "a.py:F[max_depth=2]"]
    assert all(map(is_reference, own))
    assert not any(map(is_reference, ["random-forest", "xgboost[max_depth=2]", "a.py"]))
    assert references_among(["random-forest", "a.py:F[max_depth=2]", "a.py:F[max_depth=3]"]) == ("a.py:F",)


def test_a_function_a_family_and_stored_estimators_are_loaded(folder: Path) -> None:
    references = [f"{folder}/my_tree.py:fitted", f"{folder}/loans.joblib", f"{folder}/loans.skops"]
    models = (*references, f"{folder}/my_tree.py:Family")
    registry = build_registry(RegistryOptions(models=models, trust=True, trusted_types=(TREE,)))
    entries = [registry.model(reference).entry for reference in references]
    assert [entry.fitted.predict([[1.0]]).tolist() for entry in entries] == [["yes"]] * 3
    assert entries[0].name == "my-tree-fitted"
    assert entries[1].name == "loans"
    assert entries[2].name == f"loans-{entries[2].version[:6]}"  # the name is taken
    assert {entry.version for entry in entries} == {entries[0].version}  # one model, however it is stored
    assert registry.model(entries[0].version).entry is entries[0]
    family = registry.model(f"{folder}/my_tree.py:Family").entry
    assert family.fitted is None
    assert family.family.model_validate({"max_depth": 2}).grid() == {"max_depth": [2]}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("my_tree.py:absent", "there is no 'absent' in my_tree.py"),
        ("my_tree.py:nothing", "is a NoneType; it must be a function without arguments that returns a fitted"),
        ("my_tree.py:broken", "cannot be loaded: it raised ZeroDivisionError"),
        ("my_tree.py:unfitted", "cannot be loaded: it raised TypeError"),
        ("absent.skops", "there is no file .*absent.skops; a model of your own is named by FILE.py:NAME"),
        ("loans.joblib", "is a pickle, and loading it runs the code that it holds. .* add --trust"),
    ],
)
def test_what_is_no_model_is_refused_in_a_sentence(folder: Path, name: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        entry_of(f"{folder}/{name}", (), trust=False, types=())


class Own(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn brings no types
    """A type that skops does not know."""


def test_types_that_skops_does_not_know_are_listed_and_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "own.skops"
    skops.io.dump(Own().fit([[0.0], [1.0]], ["no", "yes"]), file)
    with pytest.raises(UntrustedTypesError) as refused:
        entry_of(str(file), (), trust=True, types=())
    names = refused.value.types
    assert TREE in names
    assert any(name.endswith("test_own_models.Own") for name in names)
    assert f"add: --trust-type {names[0]} --trust-type {names[1]}" in str(refused.value)
    entry = entry_of(str(file), (), trust=False, types=names)
    assert entry.fitted.predict([[0.0]]).tolist() == ["no"]


def test_an_unknown_model_s_message_says_how_own_ones_are_named() -> None:
    with pytest.raises(CfbenchError, match=r"fitted already is named by FILE.py:NAME, FILE.skops"):
        build_registry().model("loans")
