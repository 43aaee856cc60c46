"""Conformance checks of objectives: the term, its draws, and what it may change."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from cfbench.problem.oracle import random_rows
from cfbench.problem.problem import SeparableTerm, Term
from cfbench.registry.contracts import FittedModel, Objective, ObjectiveContext
from cfbench.registry.entries import ModelEntry, ObjectiveEntry
from cfbench.space.space import (
    CategoricalPerturbation,
    FeatureSpace,
    FeatureSpec,
    FloatArray,
    IntArray,
    Kind,
    NumericalPerturbation,
)
from cfbench.study.variants import build_settings, make_variant
from cfbench.testing.check import Check, Failed, NotApplicable, Report, generator_states, guarded_call, report_of
from cfbench.testing.problems import ScoreClassifier
from cfbench.testing.searcher_bench import N_ROWS, fitted, model_that_shows

Number, Choice = Kind.NUMERICAL, Kind.CATEGORICAL
_SIZE = FeatureSpec("size", Number, 0, 10, perturbation=NumericalPerturbation(2, 1))
_DEBT = FeatureSpec("debt", Number, -4, 4, perturbation=NumericalPerturbation(0.5, 0.25, relative=True))
_JOB = FeatureSpec("job", Choice, 0, 2, ("a", "b", "c"), perturbation=CategoricalPerturbation((0, 2)))
_AGE, _HOME = FeatureSpec("age", Number, 18, 98), FeatureSpec("home", Choice, 0, 1, ("x", "y"))

MIXED = ScoreClassifier(
    FeatureSpace((_SIZE, _DEBT, _JOB, _AGE, _HOME)), (1.0, -0.5, (0.0, 0.1, 0.3), 0.1, (0.0, 0.2)), (0.45,)
)
SPACES = {
    "mixed": MIXED,
    "all numerical": ScoreClassifier(FeatureSpace((_SIZE, _DEBT)), (1.0, -0.5), (0.3,)),
    "all categorical": ScoreClassifier(FeatureSpace((_JOB, _HOME)), ((0.0, 0.3, 0.6), (0.0, 0.2)), (0.5,)),
    "one feature": ScoreClassifier(FeatureSpace((_SIZE,)), (1.0,), (0.5,)),
    "never perturbed": ScoreClassifier(FeatureSpace((_AGE, _HOME)), (1.0, (0.0, 0.2)), (0.5,)),
    "three classes": replace(MIXED, cuts=(0.35, 0.6)),
}
"""Models in closed form, by what is special about their spaces."""

N_CANDIDATES = 24


class ObjectiveBench:
    """An objective with its settings, and its terms on small problems; it keeps their queries.

    Raises UnavailableError if the objective uses the model's structure, and no registered model shows it.
    """

    def __init__(self, entry: ObjectiveEntry, settings: Mapping[str, Any] | None = None) -> None:
        variant = make_variant(entry, settings or {})
        self.objective: Objective = build_settings(entry.objective, variant.settings, entry.name)
        self.queries: list[FloatArray] = []
        shown = model_that_shows(needs, entry) if (needs := self.objective.needs_one_of[:1]) else None
        self._model = cache(lambda name: None if shown is None else _fitted(shown, SPACES[name]))

    def context(self, space: str = "mixed", *, stream: int = 7, judging: bool = False) -> ObjectiveContext:
        """Return a search's context in a space."""
        rule = SPACES[space]

        def predict(Z: FloatArray) -> IntArray:
            self.queries.append(Z)
            return rule.predict(Z)

        return ObjectiveContext(
            x=candidates(rule, seed=1)[0],
            target=1,
            space=rule.space,
            predict=predict,
            stream=stream,
            judging=judging,
            model=self._model(space),
        )

    def term(self, context: ObjectiveContext | None = None) -> Term:
        """Return the term; not applicable if the objective adds none."""
        term = guarded_call(lambda: self.objective.bind(context or self.context()), "bind")
        if term is None:
            raise NotApplicable("it adds no term to the loss")
        return term

    def values(self, term: Term, Z: FloatArray, rule: ScoreClassifier = MIXED) -> FloatArray:
        """Return the term's values; fail if they have not the form."""
        found: object = guarded_call(lambda: term(Z, rule.predict(Z)), "its term")
        received = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
        if not isinstance(found, np.ndarray) or found.dtype != np.float64 or found.shape != (len(Z),):
            raise Failed(f"for {len(Z)} candidates it returned a {received}, not float64 of shape ({len(Z)},)")
        if not np.isfinite(found).all():
            raise Failed(f"one of its values is {found[~np.isfinite(found)][0]}")
        return found

    def values_in_parts(self, Z: FloatArray, sizes: Sequence[int], *, stream: int = 7) -> FloatArray:
        """Return one search's values of candidates that are evaluated in several batches."""
        term = self.term(self.context(stream=stream))
        return np.concatenate([self.values(term, part) for part in np.split(Z, np.cumsum(sizes)[:-1])])


def candidates(rule: ScoreClassifier, *, seed: int = 2, n: int = N_CANDIDATES) -> FloatArray:
    """Draw rows of a space; about half of each row's values are those of the first row of seed 1."""
    rng = np.random.default_rng(seed)
    Z = random_rows(rule.space, n, rng)
    return Z if seed == 1 else np.where(rng.random(Z.shape) < 0.5, candidates(rule, seed=1)[0], Z)


def _fitted(entry: ModelEntry, rule: ScoreClassifier) -> FittedModel:
    X = candidates(rule, seed=3, n=N_ROWS)
    return next(fitted(entry, X, rule.predict(X), rule.space))


def values_have_the_form(bench: ObjectiveBench) -> None:
    """A term returns one finite float64 number per candidate, for many candidates, for one, and for none.

    To fix: return an array of shape (n,) and dtype float64, without NaN and infinities.
    """
    term = bench.term()
    for n in (N_CANDIDATES, 1, 0):
        bench.values(term, candidates(MIXED)[:n])


def works_in_every_space(bench: ObjectiveBench) -> None:
    """The objective works if all features are numerical, all categorical, if there is only one, and if none is ever
    perturbed.

    To fix: the message names the space. If there are no perturbations, `bind` may return None.
    """
    for name, rule in SPACES.items():
        try:
            bench.values(bench.term(bench.context(name)), candidates(rule), rule)
        except NotApplicable:  # without perturbations, an objective may add no term
            continue
        except Failed as failure:
            raise Failed(f"space {name!r}: {failure}") from failure


def vectorised_equals_row_by_row(bench: ObjectiveBench) -> None:
    """Candidates have the same values in one batch as one by one, in the same order.

    To fix: key random draws by the number of the evaluation (count the candidates that the term has evaluated), not by
    the batch of the candidate.
    """
    Z = candidates(MIXED)
    whole = bench.values_in_parts(Z, [len(Z)])
    for sizes in ([1] * len(Z), [5, len(Z) - 5]):
        parts = bench.values_in_parts(Z, sizes)
        if not np.array_equal(whole, parts):
            i = int(np.flatnonzero(whole != parts)[0])
            raise Failed(f"candidate {i} has {whole[i]!r} in one batch, {parts[i]!r} in parts of {sizes[0]}")


def same_stream_same_values(bench: ObjectiveBench) -> None:
    """Values depend only on the candidates and on the given stream.

    To fix: derive all random draws from `context.stream`; keep nothing between two searches.
    """
    Z = candidates(MIXED)
    first = bench.values_in_parts(Z, [len(Z)])
    bench.values_in_parts(Z, [len(Z)], stream=8)
    if not np.array_equal(first, bench.values_in_parts(Z, [len(Z)])):
        raise Failed("two searches with the same stream and the same candidates have different values")


def own_stream_alone(bench: ObjectiveBench) -> None:
    """The objective neither uses nor changes the global random generators of Python and numpy.

    To fix: derive all random draws from `context.stream`, with cfbench.robustness.KNeighbours or a generator.
    """
    Z = candidates(MIXED)
    found = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the generator that must not be used
        before = generator_states()
        found.append(bench.values_in_parts(Z, [len(Z)]))
        if before != generator_states():
            raise Failed("it draws from a global random generator")
    if not np.array_equal(found[0], found[1]):
        raise Failed("its values depend on the state of a global random generator")


def asks_what_it_declares(bench: ObjectiveBench) -> None:
    """A candidate costs as many queries as `rows_per_candidate` says, and all of them are valid.

    To fix: return from `rows_per_candidate` how many rows per candidate the term passes to `context.predict`.
    """
    Z = candidates(MIXED)
    declared: object = guarded_call(bench.objective.rows_per_candidate, "rows_per_candidate")
    term = bench.term()
    bench.queries.clear()
    bench.values(term, Z)
    asked = sum(len(query) for query in bench.queries)
    if declared != asked / len(Z):
        raise Failed(f"it queried {asked} rows for {len(Z)} candidates, and declares {declared!r} rows per candidate")
    for query in bench.queries:
        if query.dtype != np.float64 or query.shape[1:] != (MIXED.space.d,) or not np.isfinite(query).all():
            raise Failed(f"it queried {query.dtype} of shape {query.shape}, or values that are not finite")


def draws_as_declared(bench: ObjectiveBench) -> None:
    """Equal candidates have equal values if `draws_per_candidate` returns 0.

    To fix: return from `draws_per_candidate` how many random draws one evaluation uses, or None if the number is
    unknown. Unless it is 0, searchers re-evaluate what they return.
    """
    term = bench.term()
    declared: object = guarded_call(bench.objective.draws_per_candidate, "draws_per_candidate")
    if declared is not None and not (type(declared) is int and declared >= 0):
        raise Failed(f"draws_per_candidate returned {declared!r}; it must be None or a whole number of at least 0")
    if declared != 0:
        return
    Z = candidates(MIXED)
    first, second = bench.values(term, Z), bench.values(term, Z)
    if not np.array_equal(first, second):
        i = int(np.flatnonzero(first != second)[0])
        raise Failed(f"it declares 0 draws, but candidate {i} has {first[i]!r}, then {second[i]!r} in one search")


def candidates_not_mutated(bench: ObjectiveBench) -> None:
    """The term changes neither the candidates, nor their classes, nor the factual point.

    To fix: copy before you change.
    """
    context = bench.context()
    x, Z = context.x.copy(), candidates(MIXED)
    classes = MIXED.predict(Z)
    given, known = Z.copy(), classes.copy()
    term = bench.term(context)
    guarded_call(lambda: term(given, known), "its term")
    for name, now, then in (("candidates", given, Z), ("classes", known, classes), ("x", context.x, x)):
        if not np.array_equal(now, then):
            raise Failed(f"it wrote into {name}")


def judges_every_candidate_alike(bench: ObjectiveBench) -> None:
    """The judge's term gives a candidate one value, whatever the other candidates and their order.

    To fix: if `context.judging` is true, use the same draws for every candidate.
    """
    Z = candidates(MIXED)[:6]
    term = bench.term(bench.context(judging=True))
    first = bench.values(term, Z)
    for values in (bench.values(term, Z), bench.values(term, Z[::-1].copy())[::-1]):
        if not np.array_equal(first, values):
            raise Failed("the judge's term gave a candidate two values")


def parts_add_up(bench: ObjectiveBench) -> None:
    """A term that declares that it is a sum over the features is one: each part depends on its own feature, and the
    parts add up.

    To fix: return from `parts` the shape (n, d), with each feature's part computed from that column only; or leave out
    `parts` and `breaks`.
    """
    term, Z = bench.term(), candidates(MIXED)
    if not isinstance(term, SeparableTerm):
        raise NotApplicable("its term does not say that it is a sum over the features")
    parts = guarded_call(lambda: term.parts(Z), "parts")
    if parts.shape != Z.shape or not np.allclose(parts.sum(axis=1), bench.values(term, Z), rtol=1e-9, atol=1e-12):
        raise Failed("its parts do not add up to its values")
    for i in range(MIXED.space.d):
        others = np.where(np.arange(MIXED.space.d) == i, Z, Z[::-1])
        if not np.array_equal(guarded_call(lambda others=others: term.parts(others), "parts")[:, i], parts[:, i]):  # type: ignore[misc]
            raise Failed(f"the part of feature {MIXED.space.names[i]} depends on other features")


def speaks_clearly(bench: ObjectiveBench) -> None:
    """`remark` and `amounts_to` return strings.

    To fix: return an empty string if there is nothing to say.
    """
    for rule in SPACES.values():
        remark: object = guarded_call(lambda rule=rule: bench.objective.remark(rule.space), "remark")  # type: ignore[misc]
        if not isinstance(remark, str):
            raise Failed(f"remark returned {remark!r}")
    simpler: object = guarded_call(bench.objective.amounts_to, "amounts_to")
    if not isinstance(simpler, str):
        raise Failed(f"amounts_to returned {simpler!r}")


OBJECTIVE_CHECKS: tuple[Check[ObjectiveEntry, ObjectiveBench], ...] = (
    Check(values_have_the_form),
    Check(works_in_every_space),
    Check(vectorised_equals_row_by_row),
    Check(same_stream_same_values),
    Check(own_stream_alone),
    Check(asks_what_it_declares),
    Check(draws_as_declared),
    Check(candidates_not_mutated),
    Check(judges_every_candidate_alike),
    Check(parts_add_up),
    Check(speaks_clearly),
)
"""Each guards one thing, so that an objective with one fault fails one check."""


def check_objective(entry: ObjectiveEntry, *, settings: Mapping[str, Any] | None = None) -> Report:
    """Run all conformance checks of an objective.

    Parameters
    ----------
    entry : ObjectiveEntry
    settings : mapping, optional
        Settings of the objective; the others have their defaults.

    Raises
    ------
    UnknownNameError, StudyError
        If a setting is unknown or impossible.
    """
    return report_of(OBJECTIVE_CHECKS, ObjectiveBench(entry, settings), entry)
