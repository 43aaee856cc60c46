"""Explanations of a user's own model: a rule whose closest counterfactuals can be worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfbench
from cfbench import (
    Constraint,
    FeatureSpace,
    FeatureSpec,
    Handles,
    Kind,
    Need,
    NumericalPerturbation,
    Problem,
    Searcher,
)
from cfbench.errors import DataError
from cfbench.explaining.explain import PATIENCE
from cfbench.problem.oracle import random_rows
from cfbench.registry import SearchFunction
from cfbench.registry.contracts import PrepareContext
from cfbench.space import FloatArray
from tests.unit.explaining.loans import SPACE, Granting, X, buy, earn_fifty, entry, explained, grant


def test_what_changes_is_told_in_the_users_terms() -> None:
    found = explained(entry(buy))
    assert found.status == "found"
    assert found.found
    assert (found.class_before, found.class_after, found.target) == ("refused", "granted", "granted")
    # Gower: (10/100 + 0 + 1) / 3; two of three features change.
    assert found.loss == pytest.approx(0.5 * 1.1 / 3 + 0.5 * 2 / 3)
    assert found.queries == 0
    assert found.changes.to_dict("list") == {
        "feature": ["income", "home"],
        "before": [20.0, "rents"],
        "after": [30.0, "owns"],
        "change": [10.0, pytest.approx(np.nan, nan_ok=True)],
        "unit": ["k", ""],
    }
    head, *lines = str(found).splitlines()
    assert head.startswith("found: mine, objective none, constraints off: 0 queries, ")
    assert lines == [
        "'refused' becomes 'granted' if 2 of 3 features change. Loss 0.517, the mean of Gower's distance,",
        "  0.367, and of the share of changed features, 0.667.",
        "",
        "To change:",
        "  feature  now    then  change  unit",
        "  income   20     30    +10     k",
        "  home     rents  owns",
        "",
        "To keep:",
        "  feature  now",
        "  age      40",
        "",
        "No feature has an annotated perturbation, so nothing can happen to this counterfactual.",
    ]
    assert "<td>owns</td>" in found._repr_html_()
    assert "&#x27;granted&#x27; if 2 of 3" in found._repr_html_()


@pytest.mark.parametrize(
    "x",
    [
        np.array(X),
        {"home": "rents", "age": 40, "income": 20},
        pd.Series({"age": 40, "income": 20, "home": 0}),
        pd.Series(X),
        [20, 40, "rents"],
    ],
)
def test_a_case_may_be_given_in_any_common_form(x: Any) -> None:
    assert explained(entry(buy), x).x.tolist() == X


@pytest.mark.slow
def test_a_registered_searcher_beats_the_obvious_answers() -> None:
    found = explained("cogs[population_size=100,n_generations=30]")
    assert found.status == "found"
    # Alone, income has to reach 50: 0.5 * 0.3 / 3 + 0.5 / 3. Buying as well costs more.
    assert found.loss == pytest.approx(0.05 + 1 / 6, abs=0.01)
    assert found.changes["feature"].tolist() == ["income"]
    again = explained("cogs[population_size=100,n_generations=30]")
    assert again.z is not None
    assert found.z is not None
    assert again.z.tolist() == found.z.tolist()
    assert found.searcher == "cogs[population_size=100,n_generations=30]"


def test_the_constraints_of_the_space_hold_where_asked_for() -> None:
    def age(problem: Problem, rng: np.random.Generator) -> FloatArray:
        return np.array([60.0, 41.0, 0.0])

    assert explained(entry(age)).found
    refused = explained(entry(age), constraints=True)
    assert (refused.status, refused.found) == ("invalid", False)
    assert refused.reason == "age = 41.0 breaks the constraint '=' on 40.0"
    head, wanted, *case = refused.text(width=200).splitlines()
    assert head.endswith("breaks the constraint '=' on 40.0")
    assert wanted == "No counterfactual was found: the class stays 'refused', the target is 'granted'."
    assert case == [
        "",
        "The case:",
        "  feature  now    unit",
        "  income   20     k",
        "  age      40",
        "  home     rents",
    ]


def test_perturbations_are_looked_at_where_the_space_has_any() -> None:
    moved = NumericalPerturbation(10, 5)
    perturbed = FeatureSpace((replace(SPACE.features[0], perturbation=moved), *SPACE.features[1:]))
    found = explained(entry(earn_fifty), space=perturbed)
    assert found.perturbations is not None
    assert found.queries == 1, "the questions about perturbations are not the search's"
    # 50 is just enough: every setback loses it, and the longest, 10 of the 30 gained, costs half of 10 / 100 / 3.
    assert [one.survived for one in found.perturbations.survivals] == [0]
    assert "Worst setback: income back by 10 to 40 k: it loses the class." in found.text(width=400)
    assert "adds 0.017, 0.233 in all." in found.text(width=400)
    content = json.loads(json.dumps(found.content(), allow_nan=False))
    assert content["perturbations"]["worst_setback"]["to"] == {"income": 40}
    assert content["perturbations"]["survived"] == {"c": {"survived": 0, "n": 1000}}
    assert content["loss"] == pytest.approx(0.05 + 1 / 6)
    home = content["features"][2]
    assert (home["feature"], home["before"], home["after"], home["change"]) == ("home", "rents", "rents", None)
    assert explained(entry(earn_fifty), space=perturbed, draws=0).perturbations is None
    with pytest.raises(cfbench.CfbenchError, match="draws is -1; it must be a whole number of at least 0"):
        explained(entry(earn_fifty), draws=-1)


def test_narrow_text_keeps_to_its_width_and_names_no_terminal_commands() -> None:
    labels = ("rents a small flat in a large town", "owns\x1b[31m it", "neither")
    spec = FeatureSpec("home", Kind.CATEGORICAL, 0, 2, categories=labels)
    found = explained(entry(buy), space=FeatureSpace((*SPACE.features[:2], spec)))
    lines = found.text(width=48).splitlines()
    assert max(map(len, lines)) <= 48
    assert "\x1b" not in found.text()
    assert any("rents a" in line for line in lines)


def test_queries_are_counted_and_bounded() -> None:
    assert explained(entry(earn_fifty)).queries == 1
    assert explained(entry(earn_fifty), query_budget=1).queries == 1

    def ask_twice(problem: Problem, rng: np.random.Generator) -> FloatArray:
        earn_fifty(problem, rng)
        return buy(problem, rng) if problem.predict(problem.x[np.newaxis])[0] else earn_fifty(problem, rng)

    found = explained(entry(ask_twice), query_budget=1)
    assert (found.status, found.queries, found.found) == ("budget_exhausted", 1, True)


def test_a_search_without_a_result_says_why() -> None:
    def give_up(problem: Problem, rng: np.random.Generator) -> None:
        problem.predict(problem.x[np.newaxis])

    lost = explained(entry(give_up), target="Granted")
    assert (lost.status, lost.z, lost.class_after, len(lost.changes)) == ("not_found", None, None, 0)
    assert lost.reason == "no queried row is of class 'Granted'; the model returned: 'refused'"

    def fail(problem: Problem, rng: np.random.Generator) -> None:
        raise ValueError("no idea")

    assert explained(entry(fail)).reason.startswith("ValueError: no idea (test_explain.py:")


def test_a_model_that_was_fitted_on_a_frame_gets_frames() -> None:
    class Framed(Granting):
        feature_names_in_ = np.array(["home", "age", "income"])

        def predict(self, rows: Any) -> Any:
            assert list(rows.columns) == ["home", "age", "income"]
            return grant(rows[["income", "age", "home"]])

    assert explained(entry(buy), model=Framed()).found

    class Other(Granting):
        feature_names_in_ = np.array(["income", "age", "house"])

    with pytest.raises(cfbench.errors.ModelError, match="not annotated: 'house'; the features are income, age, home"):
        explained(entry(buy), model=Other())


def test_what_a_searcher_declares_is_what_it_gets() -> None:
    def look(problem: Problem, rng: np.random.Generator) -> FloatArray:
        assert problem.predict_proba(problem.x[np.newaxis]).tolist() == [[0, 1]]
        assert problem.target == 0
        assert problem.training is not None
        best: FloatArray = problem.training.X[problem.training.y == problem.target][0]
        return best

    needs = [Need.PROBABILITIES, Need.TRAINING_DATA]
    frame = pd.DataFrame([[1, 60, 30], [0, 20, 0]], columns=["home", "income", "age"])
    found = explained(entry(look, needs=needs), model=Granting(), training=(frame, ["granted", "refused"]))
    assert found.z is not None
    assert found.z.tolist() == [60, 30, 1]

    def look_up(problem: Problem, rng: np.random.Generator) -> None:
        problem.give_reason(f"training is {problem.training}")

    assert explained(entry(look_up, can_use=needs)).reason == "training is None"
    assert "NotDeclaredError" in explained(entry(look_up)).reason


def test_relations_apply_where_constraints_do() -> None:
    related = FeatureSpace(SPACE.features, ["income <= age - 12", {"feature": "home", "from": "rents", "to": ["owns"]}])
    all_handled = [Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.RELATIONS]
    rows = []

    def earn(problem: Problem, rng: np.random.Generator) -> FloatArray:
        rows.append(problem.project(np.array([60.0, 40, 1])))
        return np.array([60.0, 40, 0])

    found = explained(entry(earn, handles=all_handled), space=related, constraints=True)
    assert found.status == "invalid"
    assert found.reason == "it breaks the relation 'income <= age - 12'"
    # The age is fixed, so the income falls to 40 - 12; the forbidden home becomes that of x.
    assert rows[-1].tolist() == [28, 40, 0]
    assert explained(entry(earn, handles=all_handled), space=related).status == "found"
    with pytest.raises(cfbench.errors.StudyError, match="mine does not handle relations between features"):
        explained(entry(earn, handles=all_handled[:2]), space=related, constraints=True)


class Prepared(Searcher):
    """Answers with the number of relations that its preparation saw, as an income."""

    def prepare(self, context: PrepareContext) -> SearchFunction:
        income = 60.0 + len(context.space.relations)
        return lambda problem, rng: np.array([income, *problem.x[1:]])


def test_a_preparation_knows_the_relations() -> None:
    related = FeatureSpace(SPACE.features, ["income <= 90"])
    found = explained(entry(Prepared, handles=[*Handles]), space=related, constraints=True)
    assert found.z is not None
    assert found.z[0] == 61


def test_a_search_without_any_feasible_row_ends_with_the_reason() -> None:
    fixed = [replace(feature, constraint=Constraint.FIXED) for feature in SPACE.features]
    never = FeatureSpace(tuple(fixed), ["income >= age"])
    searcher = entry(
        lambda problem, rng: problem.repair(problem.x),
        handles=[Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.RELATIONS],
    )
    found = explained(searcher, space=never, constraints=True)
    assert found.status == "not_found"
    assert "rows drawn between the bounds keep the relations" in found.reason


def test_a_plugin_may_be_named_for_the_call() -> None:
    found = explained("mine", plugins=[entry(buy)])
    assert found.found


PERTURBED = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0, 100, unit="k", perturbation=NumericalPerturbation(10, 0)),
        FeatureSpec("age", Kind.NUMERICAL, 18, 98, perturbation=NumericalPerturbation(2, 2)),
        FeatureSpec("home", Kind.CATEGORICAL, 0, 2, categories=("rents", "owns", "neither")),
    )
)


def test_the_frame_of_an_explanation_has_every_feature_and_what_it_survives() -> None:
    frame = explained(entry(buy), space=PERTURBED).counterfactuals()
    assert frame[["feature", "factual", "counterfactual", "changed", "unit"]].to_numpy().tolist() == [
        ["income", 20.0, 30.0, True, "k"],
        ["age", 40.0, 40.0, False, ""],
        ["home", "rents", "owns", True, ""],
    ]
    assert set(frame["searcher"]) == {"mine"}
    assert set(frame["target"]) == {"granted"}
    assert frame["loss"].tolist() == pytest.approx([0.5 * 1.1 / 3 + 0.5 * 2 / 3] * 3)
    assert frame["survived_c"].tolist() == [0.0] * 3  # any setback of the income is below the 30 that a home needs
    assert frame["survived_k"].tolist() == [1.0] * 3  # the rule does not look at the age
    assert frame["survived_alone"].fillna(-1).tolist() == [-1, 1.0, -1]
    nothing = explained(entry(lambda problem, rng: None)).counterfactuals()
    assert nothing.empty
    assert "counterfactual" in nothing


def test_an_explanation_is_drawn_with_its_values() -> None:
    income, kept = explained(entry(buy), space=PERTURBED).plot()
    assert [bar.get_width() for bar in income.patches] == [pytest.approx(0.1), 1.0]  # 10 of 100; another category
    assert [text.get_text() for text in income.texts] == ["20 to 30 k", "rents to owns"]
    assert [tick.get_text() for tick in income.get_yticklabels()] == ["income", "home"]
    assert [bar.get_width() for bar in kept.patches] == [0.0]
    (alone,) = explained(entry(buy)).plot()
    assert alone.get_title() == "refused becomes granted (loss 0.517)"
    with pytest.raises(cfbench.CfbenchError, match="no counterfactual was found"):
        explained(entry(lambda problem, rng: None)).plot()


def test_values_are_written_with_as_many_digits_as_tell_them_apart() -> None:
    wide = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 2e6, unit="DM"),))
    found = explained(
        entry(lambda problem, rng: np.array([1_235_001.0])),
        [1_234_900.0],
        space=wide,
        model=lambda rows: np.where(np.asarray(rows)[:, 0] > 1_235_000, "granted", "refused"),
    )
    assert "  income   1,234,900  1,235,001  +101    DM" in str(found).splitlines()


def test_an_interval_is_written_exactly() -> None:
    far = FeatureSpace((FeatureSpec("time", Kind.NUMERICAL, 1e15, 1e15 + 8),))
    with pytest.raises(DataError, match=r"time = 5\.0 is outside \[1000000000000000, 1000000000000008\]"):
        explained(entry(buy), [5.0], space=far)


def labelled(rows: FloatArray) -> pd.DataFrame:
    """Rows with the labels of homes, as a user's table has them."""
    frame = pd.DataFrame(rows, columns=SPACE.names)
    return frame.assign(home=[SPACE.features[2].categories[int(code)] for code in rows[:, 2]])


def test_a_pipeline_on_labels_is_explained_in_labels_and_by_its_fast_oracle() -> None:
    rows = random_rows(SPACE, 200, np.random.default_rng(0))
    encoder = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    pipeline = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(labelled(rows), grant(rows))
    x = pd.DataFrame({"home": ["rents"], "age": [40], "income": [20.0]})
    common: dict[str, Any] = {"space": SPACE, "target": "granted", "searcher": "cogs[n_generations=10]"}
    own = cfbench.explain(x, model=pipeline, **common)
    plain = cfbench.explain(X, model=lambda Z: pipeline.predict(labelled(Z)), **common)
    assert own.found
    np.testing.assert_array_equal(own.z, plain.z)
    assert own.queries == plain.queries > PATIENCE  # most rows were answered by the fast oracle
    taught = cfbench.explain(
        x, model=pipeline, training=(labelled(rows), grant(rows)), **{**common, "searcher": "nearest-unlike"}
    )
    assert taught.found
    with pytest.raises(cfbench.CfbenchError, match="the training rows have no column age"):
        cfbench.explain(x, model=pipeline, training=(labelled(rows).drop(columns="age"), grant(rows)), **common)
    with pytest.raises(cfbench.CfbenchError, match="x is a data frame of 200 rows"):
        cfbench.explain(labelled(rows), model=pipeline, **common)
