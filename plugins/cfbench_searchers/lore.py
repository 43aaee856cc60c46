"""LORE: a decision tree on a genetic neighbourhood of `x`, and one of its rules applied to `x`."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, field_validator

from cfbench import FeatureSpace, FloatArray, IntArray, Problem, Searcher
from cfbench_searchers.lore_rules import FactualRule, Rule, counterfactual_rules, factual_rule
from cfbench_searchers.plausible_box import PlausibleBox


class Lore(Searcher):
    """LOcal Rule-based Explanations, made to give one counterfactual.

    Two genetic populations around `x`, one of its class and one of another, make a neighbourhood; a decision tree is
    fitted to what the model says of it. Its counterfactual rules are the paths to leaves of the target class whose
    conditions `x` violates in as few features as possible. The shortest is applied to `x`; where the model does not say
    the target class then, the thresholds of the violated numerical conditions are passed by `epsilon`, doubled at each
    further attempt.

    Decisions: scikit-learn's tree with entropy stands in for C4.5. Of equally short rules the one that costs least is
    applied. The model is queried once per generation, and once for all attempts together. All candidates stay in the
    feasible box. A search that exhausts its query budget lets that pass: what it has queried until then is judged.

    The published experiments applied the factual rule, the path that `x` itself takes, instead of a counterfactual one
    (`rule="factual"`). Every numerical feature of that path moves to the threshold of its condition and from there
    *inwards* by `epsilon`; of an interval the nearer end is taken. The target class is ignored, and a single rule needs
    no order by length. So a result of the target class comes about where the tree's threshold is not the model's.

    Decisions for the factual rule: its attempts stay in the feasible box as well, where the published ones also counted
    outside the intervals. The published C4.5 tree has fewer numerical conditions and succeeds less often than ours.

    Parameters
    ----------
    population_size : int
        Of the neighbourhood: a multiple of 4, since it has two halves whose parents are paired.
    n_generations : int
    tournament_size : int
    crossover_probability : float
        Of a pair of parents.
    mutation_probability : float
        Of a child, and of each feature of a child that is mutated.
    n_attempts : int
        At passing the thresholds.
    epsilon : float
        In the features' units.
    rule : {"counterfactual", "factual"}
        Which rule of the tree is applied to `x`.

    References
    ----------
    Guidotti, Monreale, Ruggieri, Pedreschi, Turini and Giannotti, "Local rule-based explanations of black box decision
    systems", 2018, algorithms 1 and 2; Guidotti, Monreale, Giannotti, Pedreschi, Ruggieri and Turini, "Factual and
    counterfactual explanations for black box decision making", IEEE Intelligent Systems 34(6), 2019. The attempts:
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations",
    subsection "LORE".
    """

    population_size: int = Field(default=1000, ge=4)
    n_generations: int = Field(default=10, ge=1)
    tournament_size: int = Field(default=3, ge=1)
    crossover_probability: float = Field(default=0.5, ge=0, le=1)
    mutation_probability: float = Field(default=0.2, gt=0, le=1)
    n_attempts: int = Field(default=15, ge=0)
    epsilon: float = Field(default=1e-3, gt=0)
    rule: Literal["counterfactual", "factual"] = "counterfactual"

    @field_validator("population_size")
    @classmethod
    def _paired_halves(cls, size: int) -> int:
        if size % 4:
            raise ValueError(
                f"the population has two halves whose parents are paired, so {size} must be a multiple of 4; "
                f"try {size - size % 4} or {size - size % 4 + 4}"
            )
        return size

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return what the rule makes of `x`; None without a rule or a hit of the target class."""
        box = PlausibleBox(problem)
        x = box.nearest(problem.x)
        Z, classes = self.neighbourhood(problem, box, rng)
        seed = int(rng.integers(2**31))
        rule = self._rule(problem, box, x, Z, classes, seed)
        if rule is None:
            if self.rule == "factual":
                problem.give_reason("the rule of x has no numerical condition")
            return None
        pushes = np.append(0.0, self.epsilon * 2.0 ** np.arange(self.n_attempts))
        attempts = box.nearest(rule.applied(x, pushes))
        hits = np.flatnonzero(problem.predict(attempts) == problem.target)
        if not len(hits) and self.rule == "factual":
            problem.give_reason("no attempt at applying the rule of x is of the target class")
        return attempts[hits[0]] if len(hits) else None

    def _rule(
        self, problem: Problem, box: PlausibleBox, x: FloatArray, Z: FloatArray, classes: IntArray, seed: int
    ) -> Rule | FactualRule | None:
        """Return the rule to apply: that of `x`, or the shortest one of the target class; None without one.

        Of equally short rules it is the one that costs least.
        """
        if self.rule == "factual":
            return factual_rule(problem.space, x, Z, classes, seed=seed)
        rules = counterfactual_rules(problem.space, x, Z, classes, target=problem.target, seed=seed)
        if not rules:
            return None
        plain = box.nearest(np.concatenate([rule.applied(x, np.zeros(1)) for rule in rules]))
        lengths = [(len(rule.features), rule.n_conditions) for rule in rules]
        shortest = min(range(len(rules)), key=list(zip(lengths, problem.distance(plain), strict=True)).__getitem__)
        return rules[shortest]

    def neighbourhood(
        self, problem: Problem, box: PlausibleBox, rng: np.random.Generator
    ) -> tuple[FloatArray, IntArray]:
        """Evolve the neighbourhood of `x`; a generation of both populations is one question.

        The fitness of a neighbour is ``[it has the class wanted] + 1 - distance``, less 1 where it is `x` itself
        (Guidotti et al. 2018, the fitness functions of algorithm 2).

        Returns
        -------
        Z : ndarray of float64, shape (1 + population_size, d)
            `x` and both populations.
        classes : ndarray of int64, shape (1 + population_size,)
            What the model says of `Z`.
        """
        x = box.nearest(problem.x)[np.newaxis]
        class_of_x = problem.predict(x)
        pool = value_pool(problem, box, rng)
        half = self.population_size // 2
        Z = np.repeat(x, 2 * half, axis=0)
        classes = np.repeat(class_of_x, 2 * half)
        for _ in range(self.n_generations):
            wanted = classes == class_of_x
            wanted[half:] ^= True
            fitness = wanted + 1 - mixed_distance(problem.space, Z, x[0]) - np.all(Z == x, axis=1)
            Z = np.concatenate(
                [self._breed(Z[:half], fitness[:half], pool, rng), self._breed(Z[half:], fitness[half:], pool, rng)]
            )
            classes = problem.predict(Z)
        return np.concatenate([x, Z]), np.concatenate([class_of_x, classes])

    def _breed(
        self, parents: FloatArray, fitness: FloatArray, pool: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Select by tournaments, cross pairs between two points, mutate with values from `pool`; shape (n, d)."""
        n, d = parents.shape
        contenders = rng.integers(n, size=(n, self.tournament_size))
        chosen = parents[contenders[np.arange(n), np.argmax(fitness[contenders], axis=1)]]

        cuts = np.sort(rng.integers(d, size=(n // 2, 2), endpoint=True), axis=1)
        swapped = (cuts[:, :1] <= np.arange(d)) & (np.arange(d) < cuts[:, 1:])
        swapped &= rng.random((n // 2, 1)) < self.crossover_probability
        first, second = chosen[: n // 2], chosen[n // 2 :]
        children = np.concatenate([np.where(swapped, second, first), np.where(swapped, first, second)])

        mutated = rng.random((n, 1)) < self.mutation_probability
        mutated = mutated & (rng.random((n, d)) < self.mutation_probability)
        np.copyto(children, pool[rng.integers(len(pool), size=(n, d)), np.arange(d)], where=mutated)
        return children


def mixed_distance(space: FeatureSpace, Z: FloatArray, x: FloatArray) -> FloatArray:
    """Distance of each row of `Z` from `x`, in [0, 1], shape (n,).

    Simple match over the categorical features and the normalised Euclidean distance over the numerical ones, weighted
    by how many there are of each; numbers are taken as shares of their ranges.
    """
    share = space.is_categorical.mean()
    distance = np.zeros(len(Z))
    if share > 0:
        distance += share * np.mean((Z != x)[:, space.is_categorical], axis=1)
    if share < 1:
        moves = ((Z - x) / space.ranges)[:, ~space.is_categorical]
        distance += (1 - share) * np.sqrt(np.mean(moves**2, axis=1))
    return distance


def value_pool(problem: Problem, box: PlausibleBox, rng: np.random.Generator) -> FloatArray:
    """Collect the values that mutations draw from, those of a feature in its column; shape (m, d).

    The settings "discrete use probabilities" and "continuous function estimation" are off, as in the paper: categories
    that occur in the training fold, each as likely; numbers that occur there, and as many again from the normal
    distribution with their mean and deviation.
    """
    X = problem.training.X
    pool = np.concatenate([X, X.mean(axis=0) + X.std(axis=0) * rng.standard_normal(X.shape)])
    for i in np.flatnonzero(problem.space.is_categorical):
        pool[:, i] = rng.choice(np.unique(X[:, i]), size=len(pool))
    return box.nearest(pool)
