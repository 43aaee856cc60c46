"""CoGS, Counterfactual Genetic Search: a genetic algorithm whose operators work on the whole population at once."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from cfbench import BudgetExhausted, FloatArray, Problem, Searcher
from cfbench_searchers.incumbent import Incumbent
from cfbench_searchers.plausible_box import PlausibleBox
from cfbench_searchers.variation import cross, mutate, winners


class Cogs(Searcher):
    """Counterfactual Genetic Search.

    Candidates are drawn from the plausible box with some features copied from `x`. A generation shuffles and pairs the
    parents, crosses and mutates them, and lets their children replace them through tournaments. With the defaults a
    search asks 1,000 + 100 x 1,000 = 101,000 rows.

    Decisions where the text leaves room: a pair gives two complementary children; every child is mutated; mutation is
    clipped to what is plausible, so that no candidate ever leaves it; tournaments run over random permutations; the
    best candidate ever seen is kept beside the population and returned. A search that uses up its query budget returns
    the best that it has seen.

    Parameters
    ----------
    population_size : int
        Even, since parents are paired.
    n_generations : int
    tournament_size : int
        Contenders a tournament, at most `population_size`.
    mutation_extent : float
        Largest change of a numerical feature by a mutation, upwards and downwards together, as a share of the
        feature's range (the paper's s_mut), in (0, 1].

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
        """Return the best row of the target class that was ever seen; None if there was none."""
        best = Incumbent(problem)
        with suppress(BudgetExhausted):
            self._evolve(problem, rng, best)
        return best.z

    def _evolve(self, problem: Problem, rng: np.random.Generator, best: Incumbent) -> None:
        box = PlausibleBox(problem)
        # Where steps hold, a mutation reaches at least the next one: few-valued features would never move otherwise.
        largest_step = np.maximum(self.mutation_extent / 2 * problem.space.ranges, box.spacing)
        population = initial_population(box, problem.x, self.population_size, rng)
        best.ask(population)
        parents = np.arange(len(population))
        for _ in range(self.n_generations):
            population = cross(population, parents[rng.permutation(len(parents))], rng)
            mutate(population, box, largest_step, rng)
            parents = winners(best.ask(population), self.tournament_size, rng)


def initial_population(box: PlausibleBox, x: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw `n` candidates from `box`, copying each feature from `x` with probability ``2/d``; shape (n, d).

    Decision: with one or two features the probability is 1/2. Nothing but copies of `x` would be drawn otherwise, and a
    search that starts there cannot cross a plateau: every step away from `x` costs.
    """
    population = box.sample(n, rng)
    d = population.shape[1]
    copied = rng.random(population.shape) < (2 / d if d > 2 else 0.5)
    np.copyto(population, box.nearest(x), where=copied)
    return population
