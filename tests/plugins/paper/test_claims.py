"""Verdicts: which side of a threshold an interval lies on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cfbench.space.space import FloatArray
from cfbench_paper.claims import (
    Claim,
    ClaimResult,
    Threshold,
    claims,
    claims_table,
    estimate,
    judged,
    local_claims_table,
    published_accidents,
)

ALL = ("credit", "random-forest")
FAR = np.array([0.7, 0.8, 0.9, 0.7, 0.8, 0.9])


def by_name(robust: pd.DataFrame) -> dict[str, Claim]:
    return {one.claim: one for one in claims(robust)}


def test_an_interval_of_equal_values_is_a_point() -> None:
    found = estimate({"a": np.full(5, 0.25), "b": np.full(3, 0.75)}, resample_strata=False)
    assert found is not None
    assert (found.mean, found.low, found.high, found.n, found.strata) == (0.5, 0.5, 0.5, 8, 2)


def test_drawing_strata_anew_widens_the_interval() -> None:
    samples = {"a": np.full(5, 0.25), "b": np.full(3, 0.75)}
    found = estimate(samples, resample_strata=True)
    assert found is not None
    assert (found.mean, found.low, found.high) == (0.5, 0.25, 0.75)  # both twice the same, with probability 1/4 each


def test_the_interval_is_that_of_a_mean() -> None:
    rng = np.random.default_rng(1)
    sample = rng.normal(3.0, 2.0, 400)
    found = estimate({"all": sample}, resample_strata=False)
    assert found is not None
    half = 1.96 * sample.std() / 20
    assert found.low == pytest.approx(sample.mean() - half, abs=0.02)
    assert found.high == pytest.approx(sample.mean() + half, abs=0.02)
    assert found == estimate({"all": sample}, resample_strata=False)  # the same every time


def test_what_is_absent_counts_nowhere() -> None:
    found = estimate({"a": np.array([1.0, np.nan]), "b": np.array([np.nan]), "c": np.empty(0)}, resample_strata=True)
    assert found is not None
    assert (found.n, found.strata, found.mean) == (1, 1, 1.0)
    assert estimate({"a": np.array([np.nan])}, resample_strata=False) is None


@pytest.mark.parametrize(
    ("threshold", "verdict"),
    [
        (Threshold(0.5, "above"), ClaimResult.HOLDS),
        (Threshold(1.0, "above"), ClaimResult.FAILS),
        (Threshold(0.8, "above"), ClaimResult.OPEN),
        (Threshold(0.5, "below"), ClaimResult.FAILS),
        (Threshold(1.0, "below"), ClaimResult.HOLDS),
        (Threshold(0.8, "below"), ClaimResult.OPEN),
        (Threshold(1.0, "at least"), ClaimResult.FAILS),
        (Threshold(0.5, "at most"), ClaimResult.FAILS),
        (Threshold(0.8, "at most"), ClaimResult.FAILS),  # a single value above it is enough
    ],
)
def test_verdicts(threshold: Threshold, verdict: ClaimResult) -> None:
    assert judged("c", "s", {ALL: FAR}, threshold).verdict is verdict


def test_always_means_always() -> None:
    least, most = Threshold(1.0, "at least"), Threshold(1.0, "at most")
    assert judged("c", "s", {ALL: np.ones(6)}, least).verdict is ClaimResult.HOLDS
    assert judged("c", "s", {ALL: np.ones(6)}, most).verdict is ClaimResult.HOLDS
    assert judged("c", "s", {ALL: np.append(np.ones(50), 0.99)}, least).verdict is ClaimResult.FAILS
    assert judged("c", "s", {ALL: np.append(np.ones(50), 1.01)}, most).verdict is ClaimResult.FAILS


def test_what_data_sets_in_general_leave_open_may_be_decided_on_each() -> None:
    samples = {
        ("credit", "random-forest"): np.full(8, 0.1),
        ("credit", "neural-network"): np.full(8, 0.3),
        ("housing", "random-forest"): np.full(8, 0.9),
    }
    found = judged("c", "s", samples, Threshold(0.5, "below"), across=True, local_authors={"credit": "0.4"}, goal=0.05)
    assert found.verdict is ClaimResult.OPEN
    assert [(one.dataset, one.verdict) for one in found.local] == [
        ("credit", ClaimResult.HOLDS),
        ("housing", ClaimResult.FAILS),
    ]
    rows = [[*row.heads, *(entry.text for entry in row.entries)] for row in local_claims_table([found]).rows]
    assert rows == [
        ["c", "Cre", "holds", "0.200 (n = 16)", "0.200 to 0.200", "0.000 (goal 0.05)", "below 0.5", "0.4"],
        ["c", "Hou", "does not hold", "0.900 (n = 8)", "0.900 to 0.900", "0.000 (goal 0.05)", "below 0.5", "-"],
    ]


def test_the_threshold_for_accidents_is_undecidable_on_the_authors_own_table() -> None:
    # C: (.42 + .04 + .84 + .57 + .37 + .27 + .02 + .97 + .89 + .56)/10
    assert np.mean([values[0] for values in published_accidents(("c",)).values()]) == pytest.approx(0.495)
    found = estimate(published_accidents(("c",)), resample_strata=True)
    assert found is not None
    assert found.low < 0.5 < found.high
    assert published_accidents(("c", "k", "ck"))["income", "random-forest"].tolist() == [pytest.approx(0.44 / 3)]


@pytest.mark.parametrize("values", [FAR[:5], np.empty(0)])
def test_too_few_values_decide_nothing(values: FloatArray) -> None:
    assert judged("c", "s", {ALL: values}, Threshold(0.5, "above")).verdict is ClaimResult.OPEN


@pytest.mark.slow
def test_the_claims_of_a_record(robust: pd.DataFrame) -> None:
    kept = robust["objective"] == "k"
    robust.loc[kept & (robust["dataset"] == "income"), "fixability/k/uniform"] += 0.4  # half of it in the mean of two
    robust.loc[robust["objective"] == "k[m=4]", "k-robustness"] += 0.3
    for distribution in ("uniform", "normal"):
        robust[f"fixability/c/{distribution}"] = 1.0
    robust.loc[robust["objective"] == "none", "relative-cost-published/c/uniform"] = 300.0
    robust.loc[robust["objective"] == "k", "relative-cost/k/normal"] -= 3.0
    found = by_name(robust)
    assert found["Setbacks are always fixable"].verdict is ClaimResult.HOLDS
    raised = found["Accounting for K raises fixability on Inc"]
    assert raised.verdict is ClaimResult.HOLDS
    assert raised.found is not None
    assert raised.found.n == 16
    assert raised.found.mean == pytest.approx(0.2)
    assert found["… except on Cre"].verdict is ClaimResult.HOLDS  # no rise at all
    assert found["Accounting for K raises fixability on Hou"].found is None
    # As many rows; seconds set no threshold, and are told.
    assert found["Accounting for C costs no time"].verdict is ClaimResult.HOLDS
    assert "0.500 (nothing), 0.700 (C), 0.700 (K with 64 samples)" in found["Accounting for C costs no time"].remark
    few = found["A few samples (m = 4) already help"]
    assert few.verdict is ClaimResult.HOLDS
    assert few.found is not None
    assert few.found.mean == pytest.approx(0.3)
    assert found["Relative costs of two orders of magnitude come from raw units"].verdict is ClaimResult.HOLDS
    assert found["… and are gone when setbacks are divided by the range"].verdict is ClaimResult.HOLDS
    assert found["Robustness is seldom found by accident"].verdict is ClaimResult.FAILS  # 0.535
    worth = found["Under perturbations to K, results that account for K cost less"]
    assert worth.verdict is ClaimResult.HOLDS
    assert [one.dataset for one in worth.local] == ["credit", "income"]
    assert [one.found.mean for one in worth.local] == pytest.approx([-1.5, -1.5])
    # 1 - fixability: 0.465 everywhere, on income with K 0.2 less: 0.465 and 0.365
    assert "cannot be walked back: 0.46 without, 0.36 with" in worth.remark
    assert len(found) == 16


@pytest.mark.slow
def test_nothing_to_raise_is_no_refutation(robust: pd.DataFrame) -> None:
    for distribution in ("uniform", "normal"):
        robust[f"fixability/k/{distribution}"] = 1.0
    found = by_name(robust)["Accounting for K raises fixability on Inc"]
    assert found.verdict is ClaimResult.OPEN
    assert "nothing to raise" in found.remark


@pytest.mark.slow
def test_points_are_matched_not_counted(robust: pd.DataFrame) -> None:
    # Half of the points of k are gone: differences are taken on the others alone.
    robust = robust[(robust["objective"] != "k") | (robust["row_id"] < 4)]
    found = by_name(robust)["Accounting for K raises fixability on Inc"].found
    assert found is not None
    assert found.n == 8
    assert found.mean == pytest.approx(0.0)


def test_an_empty_frame_leaves_every_claim_open(robust: pd.DataFrame) -> None:
    found = claims(robust.iloc[:0])
    assert {one.verdict for one in found} == {ClaimResult.OPEN}
    table = claims_table(found)
    assert [row.entries[1].text for row in table.rows] == ["no value (n = 0)"] * len(found)
