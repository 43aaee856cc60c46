"""The checks of objectives: what a term has to keep in every search."""

from __future__ import annotations

import pickle
import random

import numpy as np

from cfbench.problem import SeparableTerm
from cfbench.testing.check import Failed, NotApplicable
from cfbench.testing.objectives.bench import MIXED, N_CANDIDATES, SPACES, ObjectiveBench, candidates, guarded_call


def values_have_the_form(bench: ObjectiveBench) -> None:
    """A term gives one finite float64 number a candidate, for many candidates, for one, and for none.

    To mend: return an array of shape (n,) and dtype float64, without NaN and infinities.
    """
    term = bench.term()
    for n in (N_CANDIDATES, 1, 0):
        bench.values(term, candidates(MIXED)[:n])


def works_in_every_space(bench: ObjectiveBench) -> None:
    """It works where all features are numerical, all categorical, there is one alone, none is ever perturbed.

    To mend: the message names the space. Where there is nothing to be robust against, `bind` may return None.
    """
    for name, rule in SPACES.items():
        try:
            term = bench.bind(bench.context(rule))
            if term is not None:
                bench.values(term, candidates(rule), rule)
        except Failed as failure:
            raise Failed(f"space {name!r}: {failure}") from failure


def vectorised_equals_row_by_row(bench: ObjectiveBench) -> None:
    """Candidates have the values that they have when they are asked one by one, in the same order.

    To mend: key random draws by the number of the evaluation (count the candidates that the term was asked about), not
    by the question that a candidate was part of.
    """
    Z = candidates(MIXED)
    whole = bench.values_in_parts(Z, [len(Z)])
    for sizes in ([1] * len(Z), [5, len(Z) - 5]):
        parts = bench.values_in_parts(Z, sizes)
        if not np.array_equal(whole, parts):
            i = int(np.flatnonzero(whole != parts)[0])
            raise Failed(f"candidate {i} has {whole[i]!r} in one question, {parts[i]!r} in parts of {sizes[0]}")


def same_stream_same_values(bench: ObjectiveBench) -> None:
    """Its values are decided by the candidates and by the stream that it was given.

    To mend: derive all random draws from `context.stream`; keep nothing between two searches.
    """
    Z = candidates(MIXED)
    first = bench.values_in_parts(Z, [len(Z)])
    bench.values_in_parts(Z, [len(Z)], stream=8)
    if not np.array_equal(first, bench.values_in_parts(Z, [len(Z)])):
        raise Failed("two searches with the same stream and the same candidates have different values")


def own_stream_alone(bench: ObjectiveBench) -> None:
    """It neither uses nor disturbs the global random generators of Python and numpy.

    To mend: derive all random draws from `context.stream`, with cfbench.KNeighbours or a generator of its own.
    """
    Z = candidates(MIXED)
    found = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the generator that must not be used
        before = pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002 - as above
        found.append(bench.values_in_parts(Z, [len(Z)]))
        if before != pickle.dumps((random.getstate(), np.random.get_state())):  # noqa: NPY002 - as above
            raise Failed("it draws from a global random generator")
    if not np.array_equal(found[0], found[1]):
        raise Failed("its values hang on the state of a global random generator")


def asks_what_it_declares(bench: ObjectiveBench) -> None:
    """A candidate costs as many rows as `rows_per_candidate` says, and all of them are sound questions.

    To mend: return from `rows_per_candidate` what the term asks of `context.predict` for each candidate.
    """
    Z = candidates(MIXED)
    declared: object = guarded_call(bench.objective.rows_per_candidate, "rows_per_candidate")
    term = bench.term()
    bench.questions.clear()
    bench.values(term, Z)
    asked = sum(len(question) for question in bench.questions)
    if declared != asked / len(Z):
        raise Failed(f"it asked {asked} rows for {len(Z)} candidates, and declares {declared!r} rows a candidate")
    for question in bench.questions:
        if question.dtype != np.float64 or question.shape[1:] != (MIXED.space.d,) or not np.isfinite(question).all():
            raise Failed(f"it asked {question.dtype} of shape {question.shape}, or what is not finite")


def draws_as_declared(bench: ObjectiveBench) -> None:
    """Equal candidates have equal values where `draws_per_candidate` says 0.

    To mend: return from `draws_per_candidate` how many random draws one evaluation rests on, or None where that cannot
    be said. Searchers re-evaluate what they return unless it is 0.
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
        raise Failed(f"it declares 0 draws, and candidate {i} has {first[i]!r}, then {second[i]!r} in one search")


def candidates_not_mutated(bench: ObjectiveBench) -> None:
    """It writes into neither the candidates, nor their classes, nor the factual point.

    To mend: copy before you change.
    """
    context = bench.context()
    x, Z = context.x.copy(), candidates(MIXED)
    classes = MIXED.predict(Z)
    given, known = Z.copy(), classes.copy()
    term = bench.term(context)
    guarded_call(lambda: term(given, known), "its term")
    changed = [
        name
        for name, now, then in (("candidates", given, Z), ("classes", known, classes), ("x", context.x, x))
        if not np.array_equal(now, then)
    ]
    if changed:
        raise Failed(f"it wrote into {' and '.join(changed)}")


def judges_every_candidate_alike(bench: ObjectiveBench) -> None:
    """The judge's term gives a candidate one value, whatever else it is asked about and in whatever order.

    To mend: where `context.judging` is true, take the same draws for every candidate.
    """
    Z = candidates(MIXED)[:6]
    term = bench.term(bench.context(judging=True))
    first = bench.values(term, Z)
    for values in (bench.values(term, Z), bench.values(term, Z[::-1].copy())[::-1]):
        if not np.array_equal(first, values):
            raise Failed("the judge's term gave a candidate two values")


def parts_add_up(bench: ObjectiveBench) -> None:
    """A term that says it is a sum over the features is one: each part hangs on its own feature, and they add up.

    To mend: return from `parts` the shape (n, d), the part of a feature worked out from that column alone; or leave
    `parts` and `breaks` out.
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
            raise Failed(f"the part of feature {MIXED.space.names[i]} hangs on other features")


def speaks_clearly(bench: ObjectiveBench) -> None:
    """`remark` and `amounts_to` return strings.

    To mend: return an empty string where there is nothing to say.
    """
    for rule in SPACES.values():
        remark: object = guarded_call(lambda rule=rule: bench.objective.remark(rule.space), "remark")  # type: ignore[misc]
        if not isinstance(remark, str):
            raise Failed(f"remark returned {remark!r}")
    simpler: object = guarded_call(bench.objective.amounts_to, "amounts_to")
    if not isinstance(simpler, str):
        raise Failed(f"amounts_to returned {simpler!r}")
