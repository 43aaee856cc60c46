"""Relations between features: how they are written, when they hold, and the nearest rows that keep them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from cfbench import Constraint, Dataset, FeatureSpace, FeatureSpec, Kind
from cfbench.errors import DataError, NoFeasibleRowError, ProjectionError
from cfbench.space.dataset import require_kept_relations
from cfbench.space.region import FeasibleRegion
from cfbench.space.relations import contradiction

INCOME = FeatureSpec("income", Kind.NUMERICAL, 0, 10)
DEBT = FeatureSpec("debt", Kind.NUMERICAL, 0, 100)
SAVINGS = FeatureSpec("savings left", Kind.NUMERICAL, -50, 50)
JOB = FeatureSpec("job", Kind.CATEGORICAL, 0, 2, ("none", "low", "high"))
MARITAL = FeatureSpec("marital", Kind.CATEGORICAL, 0, 3, ("single", "married", "divorced", "widowed"))
FEATURES = (INCOME, DEBT, SAVINGS, JOB, MARITAL)
X = np.array([5.0, 20.0, 0.0, 1.0, 1.0])

AFFORDABLE = "debt <= 5 * income"
JOBLESS = {"if": {"job": "none"}, "then": {"income": "<= 1"}}
ONCE_MARRIED = {"feature": "marital", "from": "married", "to": ["single"]}


def space(*relations: object) -> FeatureSpace:
    return FeatureSpace(FEATURES, relations)


def region(
    *relations: object, x: Sequence[float] | np.ndarray[Any, Any] = X, respect_steps: bool = False
) -> FeasibleRegion:
    return FeasibleRegion(space(*relations), np.array(x, dtype=float), constraints=True, respect_steps=respect_steps)


def kept(relation: object, *rows: Sequence[float], x: np.ndarray[Any, Any] = X) -> list[bool]:
    kept: list[bool] = space(relation).keeps_relations(np.array(rows, dtype=float), x).tolist()
    return kept


# ------------------------------------------------------------------ reading


@pytest.mark.parametrize(
    "text",
    [
        "debt <= 5 * income",
        "5 * income >= debt",
        "debt - income * 5 <= 0",
        "  debt/5 <=income ",
        "-(income) <= -debt / (2 + 3)",
        "debt + 'savings left' <= 5 * income + 'savings left'",
    ],
)
def test_an_inequality_may_be_written_in_many_ways(text: str) -> None:
    assert kept(text, [2, 10, 0, 0, 0], [2, 10.001, 0, 0, 0], [2, 0, 0, 0, 0]) == [True, False, True]


def test_conditions_are_bounds_intervals_and_categories() -> None:
    relation = {"if": {"job": ["none", "low"], "debt": [10, 20]}, "then": {"income": ">= 3", "marital": "single"}}
    rows = [[2, 15, 0, 2, 1], [2, 25, 0, 0, 1], [2, 10, 0, 0, 0], [3, 20, 0, 1, 1], [3, 20, 0, 1, 0]]
    assert kept(relation, *rows) == [True, True, False, False, True]


def test_a_transition_is_forbidden_from_one_category_only() -> None:
    rows = [[5, 0, 0, 1, code] for code in range(4)]
    assert kept(ONCE_MARRIED, *rows) == [False, True, True, True]
    assert kept(ONCE_MARRIED, *rows, x=np.array([5.0, 0, 0, 1, 2])) == [True, True, True, True]


def test_relations_have_names_for_readers() -> None:
    texts = [relation.text for relation in space(AFFORDABLE, JOBLESS, ONCE_MARRIED).relations]
    assert texts == [
        "debt <= 5 * income",
        "if job = none then income <= 1",
        "marital never from married to single",
    ]


@pytest.mark.parametrize(
    ("relation", "complaint"),
    [
        ("dept <= 5 * income", "unknown feature 'dept'. Did you mean 'debt'?"),
        ("debt * income <= 5", "is not linear in 'debt * income'; allowed: sums of features"),
        ("debt ** 2 <= 5", "is not linear in 'debt ** 2'"),
        ("max(debt, income) <= 5", "is not linear in 'max(debt, income)'"),
        ("5 / income <= debt", "is not linear in '5 / income'"),
        ("debt / 0 <= income", "is not linear in 'debt / 0'"),
        ("debt < income", "compares with another sign; allowed: <= and >="),
        ("0 <= debt <= income", "is not one comparison"),
        ("debt", "is not one comparison"),
        ("savings left <= 3", "cannot be read; write it as in"),
        ("debt - debt <= 3", "depends on no feature"),
        ("debt <= 1e999", "has a number that is not finite"),
        ("job <= 3", "feature 'job' is categorical; inequalities are about numbers"),
        ("-" * 3000 + "debt <= 3", "inequality is '---"),
        ("-" * 1900 + "debt <= 3", "'-----"),
        ({"inequality": 3}, "inequality is '3'; it is a text"),
        ({"rule": "debt <= 3"}, "its keys are rule; a relation has the key inequality"),
        ({"if": {"job": "none"}}, "its keys are if; a relation has the key inequality"),
        (7, "it is 7; a relation has the key inequality"),
        ({"if": {"job": "nome"}, "then": {"income": "<= 1"}}, "unknown category 'nome'. Did you mean 'none'?"),
        ({"if": {"job": "none"}, "then": {"income": "< 1"}}, "feature 'income': the condition is '< 1'; allowed"),
        ({"if": {"job": "none"}, "then": {"income": [3, 1]}}, "the condition is [3, 1]"),
        ({"if": {}, "then": {"income": "<= 1"}}, "if is {}; it is a table such as"),
        ({"if": {"job": []}, "then": {"income": "<= 1"}}, "the list of categories is empty"),
        ({"feature": "job", "from": "low", "to": ["low"]}, "'low' stands in both from and to"),
        ({"feature": "job", "from": ["low"], "to": ["none"]}, "from is ['low']; it is one category"),
        ({"feature": "debt", "from": "low", "to": ["none"]}, "feature 'debt' is numerical; transitions are of categ"),
    ],
)
def test_what_cannot_be_read_is_named(relation: object, complaint: str) -> None:
    with pytest.raises(DataError) as refusal:
        space(AFFORDABLE, relation)
    assert str(refusal.value).startswith("relation 2: ")
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_relations_are_a_list() -> None:
    with pytest.raises(DataError, match="it must be a list of relations"):
        FeatureSpace(FEATURES, AFFORDABLE)


# ------------------------------------------------------------------ the space


def test_the_digest_of_a_space_without_relations_is_the_former_one() -> None:
    debt = FeatureSpec("debt", Kind.NUMERICAL, 0, 100, step=5, constraint=Constraint.ONLY_DOWN)
    features = (INCOME, debt, JOB)
    assert FeatureSpace(features).digest == "9a6ebc511176d0da5d1972bbc4858d54"
    digests = {
        FeatureSpace(features, relations).digest for relations in ([], [AFFORDABLE], [JOBLESS], ["debt <= 4*income"])
    }
    assert len(digests) == 4
    assert FeatureSpace(features, ["debt<=5*income"]).digest == FeatureSpace(features, [AFFORDABLE]).digest


def test_relations_count_as_constraints() -> None:
    poor = np.array([[5.0, 26, 0, 1, 1], [5, 25, 0, 1, 1], [5, 25, 0, 0, 1], [1, 5, 0, 0, 2], [1, 5, 0, 0, 0]])
    all_three = space(AFFORDABLE, JOBLESS, ONCE_MARRIED)
    assert all_three.is_feasible(poor, X, constraints=True).tolist() == [False, True, False, True, False]
    assert all_three.is_feasible(poor, X, constraints=False).all()
    reasons = [all_three.objection(row, X, constraints=True) for row in poor]
    assert reasons == [
        "it breaks the relation 'debt <= 5 * income'",
        None,
        "it breaks the relation 'if job = none then income <= 1'",
        None,
        "it breaks the relation 'marital never from married to single'",
    ]


def test_a_sum_may_exceed_its_limit_by_rounding_only() -> None:
    three = tuple(FeatureSpec(name, Kind.NUMERICAL, 0, 1) for name in "abc")
    relations = FeatureSpace(three, ["a + b <= c"])
    assert 0.1 + 0.2 > 0.3
    rows = np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.2999999999]])
    assert relations.keeps_relations(rows, rows[0]).tolist() == [True, False]


def test_an_inequality_on_one_number_is_a_bound() -> None:
    lower, upper = space("2 * income <= 8", "debt >= 30").feasible_bounds(X)
    assert (lower[0], upper[0], lower[1], upper[1]) == (0, 4, 30, 100)


def test_infinite_rows_keep_no_inequality() -> None:
    assert kept(AFFORDABLE, [np.inf, np.inf, 0, 0, 0], [np.nan, 0, 0, 0, 0]) == [False, False]


# ------------------------------------------------------------------ the nearest rows


def test_an_inequality_moves_the_features_with_the_lowest_price() -> None:
    # One unit of income is a tenth of its range and buys 5 of debt; 5 of debt are a twentieth of its range.
    found = region(AFFORDABLE).project(np.array([[4.0, 90, 0, 1, 1], [4, 20, 0, 1, 1]]))
    assert found.tolist() == [[4, 20, 0, 1, 1], [4, 20, 0, 1, 1]]
    fixed = FeatureSpace(
        (INCOME, FeatureSpec("debt", Kind.NUMERICAL, 0, 100, constraint=Constraint.ONLY_UP)), [AFFORDABLE]
    )
    near = FeasibleRegion(fixed, np.array([5.0, 20]), constraints=True, respect_steps=False)
    assert near.project(np.array([2.0, 40])).tolist() == [4, 20]  # debt may not fall below that of x


def test_the_projection_onto_an_inequality_is_that_of_a_linear_program() -> None:
    draws = np.random.default_rng(3)
    for _ in range(30):
        ends = np.sort(draws.uniform(-10, 10, size=(4, 2)), axis=1)
        features = tuple(FeatureSpec(f"f{i}", Kind.NUMERICAL, *end) for i, end in enumerate(ends))
        weights = draws.normal(size=4)
        least, most = np.sort(weights[:, np.newaxis] * ends, axis=1).sum(axis=0)
        limit = float(least + draws.random() * 0.6 * (most - least))
        text = " + ".join(f"{weight!r} * f{i}" for i, weight in enumerate(weights.tolist())) + f" <= {limit!r}"
        bound = FeatureSpace(features, [text])
        y = draws.uniform(-15, 15, size=4)
        near = FeasibleRegion(bound, bound.lower, constraints=True, respect_steps=False)
        found = near.project(y)
        assert bound.is_feasible(found[np.newaxis], bound.lower, constraints=True)[0]
        # min sum t, t >= |z - y| / range
        widths = bound.ranges
        rows = np.block([[np.diag(1 / widths), -np.eye(4)], [np.diag(-1 / widths), -np.eye(4)]])
        best = linprog(
            [0] * 4 + [1] * 4,
            A_ub=np.vstack([rows, [*weights, 0, 0, 0, 0]]),
            b_ub=[*(y / widths), *(-y / widths), limit],
            bounds=[*ends.tolist(), *[(0, None)] * 4],
        )
        assert (np.abs(found - y) / widths).sum() == pytest.approx(best.fun, abs=1e-7)


def test_an_implication_takes_the_cheaper_way() -> None:
    near = region(JOBLESS)
    # To lower the income from 1.5 to 1 costs 0.05, to change the job 1; from 10 it costs 0.9, still less.
    assert near.project(np.array([[1.5, 0, 0, 0, 1], [10, 0, 0, 0, 1]])).tolist() == [[1, 0, 0, 0, 1], [1, 0, 0, 0, 1]]
    both = {"if": {"job": "none"}, "then": {"income": "<= 1", "debt": "<= 0", "savings left": "<= 0"}}
    # All three consequences would cost 0.9 + 1 + 0.5: the job of x costs 1.
    assert region(both).project(np.array([10.0, 100, 50, 0, 1])).tolist() == [10, 100, 50, 1, 1]
    high = {"if": {"income": [2, 9]}, "then": {"job": "high"}}
    found = region(high).project(np.array([[3.0, 0, 0, 1, 1], [8.9, 0, 0, 1, 1], [1, 0, 0, 1, 1]]))
    assert found.tolist() == [
        [np.nextafter(2, 0), 0, 0, 1, 1],
        [np.nextafter(9, 10), 0, 0, 1, 1],
        [1, 0, 0, 1, 1],
    ]


def test_an_implication_keeps_steps() -> None:
    features = (FeatureSpec("n", Kind.NUMERICAL, 0, 20, step=2), JOB)
    near = FeasibleRegion(
        FeatureSpace(features, [{"if": {"n": [5, 13]}, "then": {"job": "high"}}]),
        np.array([0.0, 0]),
        constraints=True,
        respect_steps=True,
    )
    assert near.project(np.array([[6.0, 1], [11.4, 1], [4.9, 1]])).tolist() == [[4, 1], [14, 1], [4, 1]]


def test_a_forbidden_category_becomes_that_of_x() -> None:
    near = region(ONCE_MARRIED)
    assert near.project(np.array([[5.0, 20, 0, 2, 0], [5, 20, 0, 2, 3]])).tolist() == [
        [5, 20, 0, 2, 1],
        [5, 20, 0, 2, 3],
    ]


def test_one_number_is_exact_also_where_relations_share_it() -> None:
    near = region("income <= 4", AFFORDABLE)
    assert near.project(np.array([9.0, 90, 0, 1, 1])).tolist() == [4, 20, 0, 1, 1]


@pytest.mark.parametrize(
    ("relations", "respect_steps", "reason"),
    [
        ([AFFORDABLE, JOBLESS], False, "share the feature 'income'"),
        (["n <= debt"], True, "steps are respected, and relation 'n <= debt' has the step of 'n'"),
    ],
)
def test_without_a_closed_form_there_is_an_error_and_repair(
    relations: list[object], respect_steps: bool, reason: str
) -> None:
    features = (*FEATURES, FeatureSpec("n", Kind.NUMERICAL, 0, 20, step=2))
    bound = FeatureSpace(features, relations)
    x = np.append(X, 4)
    near = FeasibleRegion(bound, x, constraints=True, respect_steps=respect_steps)
    Z = near.box.sample(500, np.random.default_rng(1))
    with pytest.raises(ProjectionError, match=reason):
        near.project(Z)
    repaired = near.repair(Z)
    good = bound.is_feasible(Z, x, constraints=True, respect_steps=respect_steps)
    assert 50 < good.sum() < 450
    assert bound.is_feasible(repaired, x, constraints=True, respect_steps=respect_steps).all()
    assert (repaired[good] == Z[good]).all()
    assert (repaired[~good] == x).all(axis=1).sum() < 10  # they are repaired, not replaced


def test_features_that_may_not_change_share_nothing() -> None:
    fixed = FeatureSpec("income", Kind.NUMERICAL, 0, 10, constraint=Constraint.FIXED)
    bound = FeatureSpace((fixed, *FEATURES[1:]), [AFFORDABLE, "'savings left' <= 2 * income"])
    near = FeasibleRegion(bound, X, constraints=True, respect_steps=False)
    assert near.project(np.array([9.0, 60, 50, 1, 1])).tolist() == [5, 25, 10, 1, 1]


# ------------------------------------------------------------------ samples, and where x breaks a relation


def test_samples_are_uniform_below_the_line() -> None:
    Z = region("debt <= 10 * income").sample(20_000, np.random.default_rng(0))
    # Uniform on a triangle: the mean of income / 10 is 2/3, that of debt / 100 is 1/3, deviations are sqrt(1/18).
    deviation = np.sqrt(1 / 18 / 20_000)
    assert abs(Z[:, 0].mean() / 10 - 2 / 3) < 4 * deviation
    assert abs(Z[:, 1].mean() / 100 - 1 / 3) < 4 * deviation
    assert (Z[:, 1] <= 10 * Z[:, 0]).all()
    assert np.abs(np.bincount(Z[:, 3].astype(int)) / 20_000 - 1 / 3).max() < 0.02


def test_a_sample_without_end_is_refused() -> None:
    with pytest.raises(
        NoFeasibleRowError, match="0 of 1,000,480 rows drawn between the bounds keep the relations; a sample needs 5"
    ):
        region("debt >= 100 + 1e-9 * income").sample(5, np.random.default_rng(0))


def test_home_is_feasible_where_x_is_not() -> None:
    near = region(AFFORDABLE, x=[4, 80, 0, 1, 1])
    assert near.home.tolist() == [4, 20, 0, 1, 1]
    assert region(AFFORDABLE).home.tolist() == X.tolist()


def test_no_row_at_all_is_said() -> None:
    debt = FeatureSpec("debt", Kind.NUMERICAL, 0, 100, constraint=Constraint.ONLY_UP)
    bound = FeatureSpace((INCOME, debt), [AFFORDABLE])
    near = FeasibleRegion(bound, np.array([5.0, 80]), constraints=True, respect_steps=False)
    with pytest.raises(NoFeasibleRowError, match="no row between the bounds keeps the relations: debt <= 5"):
        near.project(np.array([5.0, 90]))
    with pytest.raises(NoFeasibleRowError):
        near.repair(np.array([5.0, 90]))
    narrow = FeasibleRegion(
        FeatureSpace((INCOME, debt), ["debt <= 50"]), np.array([5.0, 80]), constraints=True, respect_steps=False
    )
    with pytest.raises(NoFeasibleRowError):
        narrow.sample(1, np.random.default_rng(0))


# ------------------------------------------------------------------ contradictions and tables


@pytest.mark.parametrize(
    ("relations", "clashing"),
    [
        ([AFFORDABLE, JOBLESS, ONCE_MARRIED], []),
        (["debt >= 60", AFFORDABLE, "income <= 11"], [0, 1]),
        (["debt >= 101"], [0]),
        ([JOBLESS, {"if": {"debt": ">= 0"}, "then": {"job": "none"}}, "income >= 2", AFFORDABLE], [0, 1, 2]),
        ([{"if": {"job": ["none", "low", "high"]}, "then": {"income": "<= 1"}}, "income >= 1"], []),
    ],
)
def test_contradictions_are_found_with_as_few_relations_as_possible(
    relations: list[object], clashing: list[int]
) -> None:
    found = space(*relations).relations
    assert contradiction(found, FEATURES) == tuple(found[place] for place in clashing)


def test_a_table_without_a_row_that_keeps_the_relations_is_refused() -> None:
    X = np.tile([5.0, 20, 0, 1, 1], (6, 1))
    X[2:, 1] = 30
    y = np.arange(6) % 2
    labels = ("no", "yes")
    require_kept_relations(Dataset("loans", X, y, space(AFFORDABLE), target=1, class_labels=labels))
    never = Dataset("loans", X, y, space(AFFORDABLE, "debt >= 25", ONCE_MARRIED), target=1, class_labels=labels)
    with pytest.raises(DataError) as refusal:
        require_kept_relations(never)
    assert str(refusal.value) == (
        "data set 'loans': no row keeps the relations: 4 of 6 rows break the relation 'debt <= 5 * income', the first "
        "is row 3; 2 of 6 rows break the relation 'debt >= 25', the first is row 1. Correct the relations, or the table"
    )


# ------------------------------------------------------------------ many spaces


def drawn_region(draws: np.random.Generator) -> tuple[FeatureSpace, FeasibleRegion, np.ndarray[Any, Any], bool]:
    """Draw a space of four numbers and two categories, a feasible x, and relations that x keeps."""
    respect_steps = bool(draws.random() < 0.5)
    constraints = list(Constraint)
    features = [
        FeatureSpec(
            f"f{i}",
            Kind.NUMERICAL,
            0,
            20,
            step=[None, 0.5, 1.0][draws.integers(3)],
            constraint=constraints[draws.integers(4)] if draws.random() < 0.3 else Constraint.FREE,
        )
        for i in range(4)
    ]
    features += [FeatureSpec(name, Kind.CATEGORICAL, 0, 2, ("u", "v", "w")) for name in ("c", "e")]
    x = np.append(draws.integers(1, 20, 4), draws.integers(0, 3, 2)).astype(float)
    relations: list[object] = []
    for _ in range(draws.integers(1, 4)):
        match draws.integers(3):
            case 0:
                chosen = draws.choice(4, size=draws.integers(1, 4), replace=False)
                weights = draws.choice([-2.0, -1.0, 1.0, 3.0], size=len(chosen))
                limit = float(weights @ x[chosen] + draws.integers(0, 4))
                parts = [f"{weight} * f{i}" for weight, i in zip(weights.tolist(), chosen.tolist(), strict=True)]
                relations.append(f"{' + '.join(parts)} <= {limit}")
            case 1:
                i, j = draws.choice(4, size=2, replace=False)
                label = "uvw"[draws.integers(3)]
                relations.append(
                    {"if": {"c": label, f"f{i}": f">= {draws.integers(1, 20)}"}, "then": {f"f{j}": f"<= {x[j]}"}}
                )
            case _:
                origin = "uvw"[int(x[5])]
                relations.append({"feature": "e", "from": origin, "to": ["uvw"[(int(x[5]) + 1) % 3]]})
    drawn = FeatureSpace(tuple(features), relations)
    return drawn, FeasibleRegion(drawn, x, constraints=True, respect_steps=respect_steps), x, respect_steps


@pytest.mark.parametrize("seed", range(40))
def test_repaired_rows_are_feasible_and_no_feasible_row_is_nearer_than_the_projection(seed: int) -> None:
    draws = np.random.default_rng(seed)
    drawn, near, x, respect_steps = drawn_region(draws)
    Z = draws.uniform(-10, 30, size=(200, 6))
    Z[:, 4:] = draws.integers(0, 3, size=(200, 2))
    repaired = near.repair(Z)
    assert drawn.is_feasible(repaired, x, constraints=True, respect_steps=respect_steps).all()
    try:
        projected = near.project(Z)
    except ProjectionError:
        return
    assert (projected == repaired).all()
    inside = drawn.is_feasible(projected, x, constraints=True, respect_steps=respect_steps)
    assert inside.all()
    others = near.box.sample(20_000, draws)
    others = others[drawn.is_feasible(others, x, constraints=True, respect_steps=respect_steps)]
    for row, found in zip(Z[:50], projected, strict=False):
        least = drawn.gower(others, row).min(initial=np.inf)
        assert drawn.gower(found[np.newaxis], row)[0] <= least + 1e-12
