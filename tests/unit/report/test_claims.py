"""Verdicts: which side of a threshold an interval lies on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfbench.report.bootstrap import estimate
from cfbench.report.claims import Claim, Verdict, claims_table, judged
from cfbench.report.paper_claims import claims
from cfbench.space import FloatArray

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
        ({"above": 0.5}, Verdict.HOLDS),
        ({"above": 1.0}, Verdict.FAILS),
        ({"above": 0.8}, Verdict.OPEN),
        ({"below": 0.5}, Verdict.FAILS),
        ({"below": 1.0}, Verdict.HOLDS),
        ({"below": 0.8}, Verdict.OPEN),
        ({"at_least": 1.0}, Verdict.FAILS),
    ],
)
def test_verdicts(threshold: dict[str, Any], verdict: Verdict) -> None:
    assert judged("c", "s", {"all": FAR}, **threshold).verdict is verdict


def test_always_means_always() -> None:
    assert judged("c", "s", {"all": np.ones(6)}, at_least=1.0).verdict is Verdict.HOLDS
    once = np.append(np.ones(50), 0.99)
    assert judged("c", "s", {"all": once}, at_least=1.0).verdict is Verdict.FAILS


@pytest.mark.parametrize("values", [FAR[:5], np.empty(0)])
def test_too_few_values_decide_nothing(values: FloatArray) -> None:
    assert judged("c", "s", {"all": values}, above=0.5).verdict is Verdict.OPEN


def test_the_claims_of_a_record(robust: pd.DataFrame) -> None:
    kept = robust["objective"] == "k"
    robust.loc[kept & (robust["dataset"] == "income"), "fixability/k/uniform"] += 0.4  # half of it in the mean of two
    robust.loc[robust["objective"] == "k[m=4]", "k-robustness"] += 0.3
    for distribution in ("uniform", "normal"):
        robust[f"fixability/c/{distribution}"] = 1.0
    robust.loc[robust["objective"] == "none", "relative-cost-raw/c/uniform"] = 300.0
    found = by_name(robust)
    assert found["Setbacks are always fixable"].verdict is Verdict.HOLDS
    raised = found["Accounting for K raises fixability on Inc"]
    assert raised.verdict is Verdict.HOLDS
    assert raised.found is not None
    assert raised.found.n == 16
    assert raised.found.mean == pytest.approx(0.2)
    assert found["… except on Cre"].verdict is Verdict.HOLDS  # no rise at all
    assert found["Accounting for K raises fixability on Hou"].found is None
    assert found["Accounting for C costs no time"].verdict is Verdict.FAILS  # twice the time
    few = found["A few samples (m = 4) already help"]
    assert few.verdict is Verdict.HOLDS
    assert few.found is not None
    assert few.found.mean == pytest.approx(0.3)
    assert found["Relative costs of two orders of magnitude come from raw units"].verdict is Verdict.HOLDS
    assert found["… and are gone when setbacks are divided by the range"].verdict is Verdict.HOLDS
    assert found["Robustness is seldom found by accident"].verdict is Verdict.FAILS  # 0.535
    assert found["Under perturbations to K, results that account for K cost less"].verdict is Verdict.OPEN


def test_nothing_to_raise_is_no_refutation(robust: pd.DataFrame) -> None:
    for distribution in ("uniform", "normal"):
        robust[f"fixability/k/{distribution}"] = 1.0
    found = by_name(robust)["Accounting for K raises fixability on Inc"]
    assert found.verdict is Verdict.OPEN
    assert "nothing to raise" in found.remark


def test_points_are_matched_not_counted(robust: pd.DataFrame) -> None:
    # Half of the points of k are gone: differences are taken on the others alone.
    robust = robust[(robust["objective"] != "k") | (robust["row_id"] < 4)]
    found = by_name(robust)["Accounting for K raises fixability on Inc"].found
    assert found is not None
    assert found.n == 8
    assert found.mean == pytest.approx(0.0)


def test_an_empty_frame_leaves_every_claim_open(robust: pd.DataFrame) -> None:
    found = claims(robust.iloc[:0])
    assert {one.verdict for one in found} == {Verdict.OPEN}
    table = claims_table(found)
    assert [row.entries[1].text for row in table.rows] == ["no value (n = 0)"] * len(found)
