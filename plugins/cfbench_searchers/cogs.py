"""CoGS, Counterfactual Genetic Search: a genetic algorithm whose operators work on the whole population at once."""

from __future__ import annotations

from contextlib import suppress
from types import ModuleType
from typing import Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from cfbench import Best, BudgetExhausted, FeatureSpace, FeatureSpec, Kind, Problem, Searcher
from cfbench.compilation import Kernels
from cfbench.space import FeasibleBox, FloatArray, IntArray

KERNELS = Kernels(modules=("cfbench_searchers.cogs_kernels",), warmup=__name__, sources=("cfbench.space.box",))


def _compiled() -> ModuleType | None:
    modules = KERNELS.load_if_compiled()
    return None if modules is None else modules[0]


def cross(population: FloatArray, parents: IntArray, rng: np.random.Generator) -> FloatArray:
    """Give two complementary children for each pair of parents, every feature swapped with probability 1/2.

    Parameters
    ----------
    population : ndarray of float64, shape (n, d)
    parents : ndarray of int64, shape (n,)
        Rows of it, an even number: place ``i`` of the first half is paired with place ``i`` of the second.
    rng : Generator

    Returns
    -------
    ndarray of float64, shape (n, d)
        The children of pair ``i``, in the same places.
    """
    half = len(parents) // 2
    luck = rng.random((half, population.shape[1]))
    kernels = _compiled()
    if kernels is not None and population.flags.carray:
        children: FloatArray = kernels.cross(population, parents, luck)
        return children
    # Where values are swapped, both get the bits in which they differ; a copy under a mask takes five times as long.
    bits = population.take(parents, axis=0).view(np.uint64)
    first, second = bits[:half], bits[half:]
    differing = (first ^ second) * (luck < 0.5)
    first ^= differing
    second ^= differing
    return bits.view(np.float64)


def mutate(children: FloatArray, box: FeasibleBox, largest_step: FloatArray, rng: np.random.Generator) -> None:
    """Alter each feature of each child with probability ``1/d``, in place.

    A categorical feature takes another of its feasible categories, a numerical one moves by up to its `largest_step`
    and stops at the sides of `box`.

    Parameters
    ----------
    children : ndarray of float64, shape (n, d)
    box : FeasibleBox
    largest_step : ndarray of float64, shape (d,)
        ``s_mut / 2`` times the range of each feature.
    rng : Generator
    """
    # About one feature a child is altered: working on those alone costs a d-th of working on the matrix.
    places = np.flatnonzero(rng.random(children.shape) < 1 / children.shape[1])
    shares = rng.random(len(places))
    kernels = _compiled()
    if kernels is not None and children.flags.carray:
        kernels.mutate(children, places, shares, largest_step, box.arrays)
        return
    rows, features = np.divmod(places, children.shape[1])
    values = children[rows, features]
    moved = box.nearest(values + (2 * shares - 1) * largest_step[features], features)
    turned = box.another(values, features, shares)
    children[rows, features] = np.where(box.is_categorical[features], turned, moved)


def winners(values: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """Hold tournaments of `size` contenders until there are as many winners as contenders.

    Each round cuts a random permutation into tournaments. Where `size` divides `n`, every candidate takes part exactly
    `size` times, and the best one wins each time; otherwise a round leaves a few out.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Smaller is better.
    size : int
    rng : Generator

    Returns
    -------
    ndarray of int64, shape (n,)
        Positions in `values`.
    """
    n = len(values)
    a_round = n // size
    rounds = -(-n // a_round)
    contenders = np.concatenate([rng.permutation(n)[: a_round * size] for _ in range(rounds)]).reshape(-1, size)
    kernels = _compiled()
    chosen: IntArray
    if kernels is not None and values.flags.carray:
        chosen = kernels.winners(values, contenders)
    else:
        chosen = contenders[np.arange(len(contenders)), np.argmin(values[contenders], axis=1)]
    return chosen[:n]


def warm_up() -> None:
    """Call every kernel."""
    modules = KERNELS.load()
    assert modules is not None
    population, places, numbers = np.zeros((2, 1)), np.zeros(1, dtype=np.int64), np.zeros(1)
    space = FeatureSpace((FeatureSpec("size", Kind.NUMERICAL, 0, 1),))
    box = FeasibleBox(space, numbers, constraints=False, respect_steps=False)
    children = modules[0].cross(population, np.arange(2), np.zeros((1, 1)))
    modules[0].winners(np.zeros(2), np.zeros((2, 1), dtype=np.int64))
    modules[0].mutate(children, places, numbers, numbers, box.arrays)


N_FINALISTS = 20
"""Candidates of the last generation that are re-evaluated under an objective with draws."""


class Cogs(Searcher):
    """Counterfactual Genetic Search.

    Candidates are drawn from the feasible box with some features copied from `x`. A generation shuffles and pairs the
    parents, crosses and mutates them, and lets their children replace them through tournaments. With the defaults a
    search evaluates 1,000 + 100 x 1,000 = 101,000 candidates.

    Decisions where the text leaves room: a pair gives two complementary children; every child is mutated; mutation is
    clipped to what is feasible, so that no candidate ever leaves it; children that break a relation between features
    are repaired; tournaments run over random permutations.

    Decision, the result: under an objective without draws it is the best candidate that was ever evaluated. Under an
    objective with draws (`k`, `ck`) the smallest value of a whole search is small by luck, so only the last generation
    counts: its 20 best distinct candidates of the target class are re-evaluated, and the one with the smallest mean is
    returned. Each is evaluated until at least 1,024 fresh draws are averaged: 16 evaluations with 64 draws, which are
    20 x 16 x 65 = 20,800 rows for all. These are reserved from the query budget in advance, at most half of it, and
    without a budget they are added. If the budget ends the search within a generation, the candidates of that
    generation that were evaluated are compared together with those of the one before. If no candidate of the last
    generation is of the target class, the generation before it counts.

    Decision, the end: all generations run. The published code also stops when all parents of a generation are equal.
    The text does not mention it, and mutation prevents it: it occurred in none of 800 generations on credit and income.

    Parameters
    ----------
    population_size : int
        Even, since parents are paired.
    n_generations : int
    tournament_size : int
        Candidates per tournament, at most `population_size`.
    mutation_extent : float
        Largest change of a numerical feature by a mutation, upwards and downwards together, as a share of the
        feature's range (the paper's s_mut), in (0, 1].
    final : {"re-evaluated", "authors"}
        How the result is chosen from the last generation under an objective with draws. ``"authors"`` is the rule of
        the published code: the candidate with the smallest single value, without re-evaluation. Without draws both are
        the same.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", section
    "Counterfactual search algorithms", subsection "CoGS", and the table of settings there.
    """

    population_size: int = Field(default=1000, ge=2)
    n_generations: int = Field(default=100, ge=1)
    tournament_size: int = Field(default=2, ge=1)
    mutation_extent: float = Field(default=0.25, gt=0, le=1)
    final: Literal["re-evaluated", "authors"] = "re-evaluated"

    @field_validator("population_size")
    @classmethod
    def _pairs(cls, size: int) -> int:
        if size % 2:
            raise ValueError(f"parents are paired, so {size} must be an even number; try {size - 1} or {size + 1}")
        return size

    @model_validator(mode="after")
    def _contenders(self) -> Self:
        if self.tournament_size > self.population_size:
            raise ValueError(
                f"a tournament of {self.tournament_size} needs as many contenders, and population_size is "
                f"{self.population_size}; lower tournament_size or raise population_size"
            )
        return self

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return the best row of the target class, or None."""
        best = Best(problem, n_kept=1 if self.final == "authors" else N_FINALISTS)
        with suppress(BudgetExhausted):
            self._evolve(problem, rng, best)
        return best.choose()

    def _evolve(self, problem: Problem, rng: np.random.Generator, best: Best) -> None:
        box = problem.box
        # Where steps hold, a mutation reaches at least the next one: few-valued features would never move otherwise.
        largest_step = np.maximum(self.mutation_extent / 2 * problem.space.ranges, box.spacing)
        population = self._repaired(problem, initial_population(box, problem.x, self.population_size, rng))
        best.evaluate(population)
        parents = np.arange(len(population))
        for _ in range(self.n_generations):
            population = cross(population, parents[rng.permutation(len(parents))], rng)
            mutate(population, box, largest_step, rng)
            population = self._repaired(problem, population)
            values, _ = best.evaluate(population, replace=problem.has_draws)
            parents = winners(values, self.tournament_size, rng)

    def _repaired(self, problem: Problem, population: FloatArray) -> FloatArray:
        return problem.repair(population) if problem.has_relations else population


def initial_population(box: FeasibleBox, x: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw `n` candidates from `box`, copying each feature from `x` with probability ``2/d``; shape (n, d).

    Decision: with one or two features the probability is 1/2. Nothing but copies of `x` would be drawn otherwise, and a
    search that starts there cannot cross a plateau: every step away from `x` costs.
    """
    population = box.sample(n, rng)
    d = population.shape[1]
    copied = rng.random(population.shape) < (2 / d if d > 2 else 0.5)
    np.copyto(population, box.nearest(x), where=copied)
    return population
