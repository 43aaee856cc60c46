"""Checks of what an entry declares: that it is used, that it suffices, and that cells beyond it are skipped."""

from __future__ import annotations

from cfbench.contracts import ModelFamily
from cfbench.dataset import Dataset
from cfbench.entries import Handles, ModelEntry
from cfbench.harness.obstacles import obstacle
from cfbench.space import FloatArray
from cfbench.testing.cases import Case, Toll
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.problems import MIXED, NUMERICAL, with_lottery, with_toll
from cfbench.testing.searchers.bench import Bench
from cfbench.testing.searchers.faults import Fault

LOTTERIES = 8
"""Problems with noise. To return the luckiest of two re-evaluated candidates on all of them has probability 1/256."""


def asks_only_for_what_it_declares(bench: Bench) -> None:
    """It uses training data, probabilities and the model's structure only where its entry declares them.

    To mend: list in the entry's `needs` what it cannot do without, in `can_use` what it uses where it is there.
    """
    bench.expect_no(Fault.UNDECLARED)


def objective_used(bench: Bench) -> None:
    """It minimises the objective that it is given: two that favour different answers lead to different ones.

    To mend: compare candidates by `problem.loss` or the values of `problem.evaluate`, also where the last one is
    chosen; `problem.distance` knows nothing of objectives. A searcher that minimises the loss alone leaves
    Handles.OBJECTIVES out of its entry.
    """
    bench.expect_sound()
    cases = [with_toll(0), with_toll(1)]
    for case in cases:
        bench.expect_no_further(case)
    first, second = (bench.observe(case).verdict for case in cases)
    if first is None or first.z is None or second is None or second.z is None:
        raise NotApplicable("it found nothing on the problems whose objectives differ")
    # What the tolls come to where each objective has its own answer, and where the answers are exchanged.
    own = _toll(cases[0], first.z) + _toll(cases[1], second.z)
    exchanged = _toll(cases[0], second.z) + _toll(cases[1], first.z)
    if not own < exchanged:
        raise Failed(
            f"with moving {cases[0].space.names[0]} dear it returned {_shown(first.z)}, with moving "
            f"{cases[0].space.names[1]} dear {_shown(second.z)}: it does not minimise what the objectives add"
        )


def luck_not_returned(bench: Bench) -> None:
    """Where values are noisy, it does not return the candidate with the luckiest single value.

    To mend: evaluate candidates by `cfbench.Best`, and return what its `choose` returns. Or re-evaluate the best few
    yourself where `problem.has_draws` is true, and compare the means of the new values alone.
    """
    bench.expect_sound()
    lucky = 0
    for seed in range(LOTTERIES):
        case = with_lottery(seed)
        bench.expect_no_further(case)
        is_luckiest = bench.observe(case).is_luckiest
        if is_luckiest is False:
            return  # so will it be at nine of ten where ten candidates are re-evaluated, and once is enough
        lucky += is_luckiest is True
    if lucky < LOTTERIES / 2:
        raise NotApplicable("it found nothing, or evaluated fewer than two candidates, on the problems with noise")
    raise Failed(
        f"on {lucky} of {lucky} problems whose values are mostly noise it returned the very candidate with the "
        f"smallest single value: that one was lucky, and nothing shows that it is good"
    )


def skipped_where_not_declared(bench: Bench) -> None:
    """Cells that ask for what the entry does not declare are skipped, and those that it can take are not.

    To mend: this is the harness's own work; if it fails, please report it.
    """
    model = ModelEntry(name="rule", family=ModelFamily, shows_structure=True)
    cells: list[tuple[Case, bool, bool, Handles | None]] = [
        (NUMERICAL, False, False, None),
        (MIXED, False, False, Handles.CATEGORICAL),
        (NUMERICAL, True, False, Handles.CONSTRAINTS),
        (NUMERICAL, False, True, Handles.OBJECTIVES),
    ]
    for case, constraints, has_term, asked in cells:
        training = case.training()
        labels = ("undesired", "desired")
        dataset = Dataset(case.name, training.X.copy(), training.y.copy(), case.space, case.target, labels)
        reason = obstacle(bench.entry, model, dataset, "toll", has_term=has_term, constraints=constraints)
        is_beyond = asked is not None and asked not in bench.entry.handles
        if bool(reason) is not is_beyond:
            what = f"a cell that asks for {asked}" if asked else "a cell that asks for nothing special"
            raise Failed(f"{what} is skipped: {reason}" if reason else f"{what} is not skipped")


def _toll(case: Case, row: FloatArray) -> float:
    toll = case.objective
    assert isinstance(toll, Toll)
    i = toll.feature
    return toll.price * abs(float(row[i]) - case.x[i]) / float(case.space.ranges[i])


def _shown(row: FloatArray) -> str:
    return "[" + ", ".join(f"{value:g}" for value in row) + "]"
