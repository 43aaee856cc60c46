"""The problem that a searcher is given: one factual case, a target class, and a metered way to query the model.

Next to it stand its parts: the term that an objective adds, the budget, and the measures of a candidate that need no
query. What the searcher may use of the model and of the training fold is in `access.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from cfbench.errors import CfbenchError
from cfbench.forests.structure import ForestStructure
from cfbench.linear.structure import LinearStructure
from cfbench.problem.access import Gradients, ModelAccess, Need, TrainingFold
from cfbench.problem.oracle import Meter
from cfbench.problem.trace import Shortlist, Trace
from cfbench.space.box import FeasibleBox
from cfbench.space.region import FeasibleRegion
from cfbench.space.space import BoolArray, FeatureSpace, FloatArray, IntArray

Term = Callable[[FloatArray, IntArray], FloatArray]
"""An objective bound to one problem: candidates (n, d) and their classes (n,) in, a term on the loss (n,) out."""


@runtime_checkable
class SeparableTerm(Protocol):
    """A term that is a sum over the features, each part a function of that feature's value alone.

    An objective whose `bind` returns one can be minimised exactly where the model can be read.
    """

    @property
    def breaks(self) -> tuple[FloatArray, ...]:
        """A feature each: values between which, and beyond which, the part of a number is concave.

        The factual value is one of them, whether it is named or not. Of no meaning for categorical features.
        """
        ...

    def parts(self, Z: FloatArray) -> FloatArray:
        """Return the parts of candidates, shape (n, d): row sums are the term."""
        ...

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        """Return the term, shape (n,)."""
        ...


@dataclass(frozen=True)
class SearchBudget:
    """What a search may spend.

    Parameters
    ----------
    max_queries : int or None
        Maximum number of queries, including the objective's.
    time_limit : float or None
        Wall-clock seconds; a search past it is killed and has no result.
    """

    max_queries: int | None = None
    time_limit: float | None = None


UNBOUNDED = SearchBudget()


class CandidateMeasure:
    """Measures candidates on their way from one factual point."""

    def __init__(self, space: FeatureSpace, x: FloatArray, *, constraints: bool, respect_steps: bool) -> None:
        self._space = space
        self._x = x
        self._bounds = space.feasible_bounds(x) if constraints else (space.lower, space.upper)
        self._respect_steps = respect_steps
        self._has_relations = constraints and bool(space.relations)

    def cost(self, Z: FloatArray) -> FloatArray:
        """Return the cost of each row of `Z`, shape (n,)."""
        return self._space.cost(Z, self._x)

    def is_feasible(self, Z: FloatArray) -> BoolArray:
        """Return which rows of `Z` are feasible, whatever their class, shape (n,)."""
        return self._keeping(Z, self._space.is_within(Z, *self._bounds, respect_steps=self._respect_steps))

    def measure(self, Z: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return `cost` and `is_feasible` of each row."""
        return self.cost(Z), self.is_feasible(Z)

    def _keeping(self, Z: FloatArray, within: BoolArray) -> BoolArray:
        """Return which rows of the box are feasible: those that keep the relations."""
        return within & self._space.keeps_relations(Z, self._x) if self._has_relations else within


N_FINALISTS = 10
"""Candidates that are re-evaluated before one of them is a result, under an objective with draws."""

ENOUGH_DRAWS = 1024
"""Draws that a re-evaluation rests on at least."""

UNKNOWN_TIMES = 16
"""Evaluations that make a re-evaluation where an objective does not say how many draws one rests on."""

LONGEST_REASON = 500
"""Characters of a searcher's own reason that a row keeps."""


class Problem:
    """One search, as the searcher sees it. The harness creates it.

    Parameters
    ----------
    x : ndarray of float64, shape (d,)
        The factual point; stored as a read-only copy.
    target : int
        The class wanted (the paper's t).
    space : FeatureSpace
    meter : Meter
        The only way to the model.
    constraints : bool
        Whether the constraints hold.
    respect_steps : bool
        Whether values off a feature's steps are infeasible.
    budget : SearchBudget
    term : callable or None
        The objective's term on the loss; None where the loss alone is minimised.
    term_rows : int
        Rows that the term asks of the model for each candidate.
    term_draws : int or None
        Random draws that one value of the term rests on; 0: none; None: not known, treated as if there were some.
    needs : iterable of Need
        What the searcher's entry declares.
    training : TrainingFold or None
        The rows that the model was trained on; None if there are none.
    model : object or None
        The fitted model, for searchers that look inside.
    measure : type of CandidateMeasure
        What measures candidates.

    Examples
    --------
    >>> from cfbench import FeatureSpace, FeatureSpec, Kind, SearcherEntry, explain
    >>> def middle(problem, rng):
    ...     _, upper = problem.bounds()
    ...     z = (problem.x + upper) / 2
    ...     return z if problem.predict(z.reshape(1, -1))[0] == problem.target else None
    >>> explanation = explain(
    ...     [20],
    ...     model=lambda Z: (Z[:, 0] > 50).astype(int),
    ...     space=FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),)),
    ...     target=1,
    ...     searcher=SearcherEntry(name="middle", searcher=middle),
    ... )
    >>> explanation.z.tolist(), explanation.queries
    ([60.0], 1)
    """

    def __init__(
        self,
        x: FloatArray,
        target: int,
        space: FeatureSpace,
        meter: Meter,
        *,
        constraints: bool = False,
        respect_steps: bool = False,
        budget: SearchBudget = UNBOUNDED,
        term: Term | None = None,
        term_rows: int = 0,
        term_draws: int | None = None,
        needs: Iterable[Need] = (),
        training: TrainingFold | None = None,
        model: object | None = None,
        measure: type[CandidateMeasure] = CandidateMeasure,
    ) -> None:
        self._x = np.array(x, dtype=np.float64)
        self._x.setflags(write=False)
        self._target = int(target)
        self._space = space
        self._meter = meter
        self._constraints = constraints
        self._respect_steps = respect_steps
        self._budget = budget
        self._term = term
        self._term_rows = term_rows
        self._term_draws = 0 if term is None or isinstance(term, SeparableTerm) else term_draws
        self._access = ModelAccess(space, self._target, meter, needs, training, model)
        self._measure = measure(space, self._x, constraints=constraints, respect_steps=respect_steps)
        self._trace = Trace(Shortlist(N_FINALISTS if self.has_draws else 1))

    @property
    def x(self) -> FloatArray:
        """The factual point, shape (d,), read-only."""
        return self._x

    @property
    def target(self) -> int:
        """The class wanted."""
        return self._target

    @property
    def space(self) -> FeatureSpace:
        """Intervals, categories, constraints, perturbations."""
        return self._space

    @property
    def constraints(self) -> bool:
        """Whether the constraints hold."""
        return self._constraints

    @property
    def respect_steps(self) -> bool:
        """Whether values off a feature's steps are infeasible."""
        return self._respect_steps

    @property
    def has_relations(self) -> bool:
        """Whether relations between features apply, so that rows between `bounds()` may be infeasible."""
        return self._constraints and bool(self._space.relations)

    @property
    def budget(self) -> SearchBudget:
        """What the search may spend."""
        return self._budget

    @property
    def queries_left(self) -> int | None:
        """Rows that may still be asked; None where there is no budget."""
        return self._meter.queries_left

    @property
    def evaluations_left(self) -> int | None:
        """Candidates that `loss` may still be asked for; None where there is no budget.

        Smaller than `queries_left` if the objective queries rows of its own for each candidate.
        """
        left = self._meter.queries_left
        return None if left is None else left // (1 + self._term_rows)

    @property
    def training(self) -> TrainingFold | None:
        """The training fold; None if there is none, as in `cfbench.explain` without training rows.

        It is always there for an entry with ``needs=[Need.TRAINING_DATA]``.

        Raises
        ------
        NotDeclaredError
            If the searcher's entry does not declare ``Need.TRAINING_DATA``.
        """
        return self._access.training

    @property
    def forest(self) -> ForestStructure:
        """The model's trees, laid open. Reading them is no query.

        Raises
        ------
        NotDeclaredError
            If the searcher's entry does not declare ``Need.FOREST``.
        UnavailableError
            If the model shows no forest.
        """
        return self._access.forest

    @property
    def linear(self) -> LinearStructure:
        """The model's weights, intercepts and inputs. Reading them is no query.

        Raises
        ------
        NotDeclaredError
            If the searcher's entry does not declare ``Need.LINEAR``.
        UnavailableError
            If the model shows no linear structure.
        """
        return self._access.linear

    @property
    def model(self) -> object:
        """The fitted model itself. What it is queried for directly is not counted, so the searcher is a white box.

        Raises
        ------
        NotDeclaredError
            If the searcher's entry does not declare ``Need.MODEL``.
        """
        return self._access.model

    @property
    def has_term(self) -> bool:
        """Whether the objective adds a term to the loss."""
        return self._term is not None

    @property
    def has_draws(self) -> bool:
        """Whether the objective's values rest on random draws, so that equal candidates have different values.

        If it is true, the smallest of many values is too good to be true. `Best` re-evaluates candidates for this case.
        """
        return self._term_draws != 0

    @property
    def times_to_re_evaluate(self) -> int:
        """Evaluations of one candidate that together rest on at least 1,024 draws; 1 if the objective has no draws.

        16 for the objective `k` with 64 draws per evaluation, and if the objective does not say how many it takes.
        """
        if self._term_draws is None:
            return UNKNOWN_TIMES
        return -(-ENOUGH_DRAWS // self._term_draws) if self._term_draws else 1

    @property
    def separable_term(self) -> SeparableTerm | None:
        """The objective's term where it is a sum over the features; None where it is not, or where there is none."""
        return self._term if isinstance(self._term, SeparableTerm) else None

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The box (two arrays of shape (d,)) of all feasible answers, narrowed by the constraints where they hold."""
        if self._constraints:
            return self._space.feasible_bounds(self._x)
        return self._space.lower, self._space.upper

    @cached_property
    def _region(self) -> FeasibleRegion:
        return FeasibleRegion(self._space, self._x, constraints=self._constraints, respect_steps=self._respect_steps)

    @property
    def box(self) -> FeasibleBox:
        """The box of `bounds`, narrowed to the outermost feasible values, with the spacing of discrete ones.

        Relations between several features may make rows of it infeasible.
        """
        return self._region.box

    @property
    def home(self) -> FloatArray:
        """A feasible row near `x`, shape (d,): `x` itself if only its class is wrong.

        Raises
        ------
        NoFeasibleRowError
            If relations apply and no row near `x` and no row that was drawn keeps them.
        """
        return self._region.home.copy()

    def project(self, Z: FloatArray) -> FloatArray:
        """Return the feasible rows nearest to the rows of `Z` by Gower's distance. Makes no query.

        Values are moved into the intervals that the constraints leave, categories to whole codes and, if steps are
        respected, numbers to multiples of their feature's step. A feasible row stays as it is, to the bit.

        If relations apply, they are kept. A forbidden transition leaves the category of `x`. For an inequality, the
        features move that reduce the excess at the lowest price. For an implication, the cheaper way is taken: a
        condition fails, or the consequences hold.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d) or (d,)

        Returns
        -------
        ndarray of float64
            The shape is that of `Z`. If a feature may not change and `x` is off its step, no row is feasible; the
            result then is the nearest row of the box.

        Raises
        ------
        ProjectionError
            If there is no closed form: two relations share a feature that may change, or steps are respected and an
            inequality has several such features with a step among them. `repair` works in all cases.
        NoFeasibleRowError
            If relations apply and no row keeps them.
        """
        return self._region.project(Z)

    def repair(self, Z: FloatArray) -> FloatArray:
        """Return feasible rows near the rows of `Z`: `project`, also where the nearest have no closed form.

        Every relation is restored in turn, up to eight times. A row that still breaks one becomes `home`.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d) or (d,)

        Returns
        -------
        ndarray of float64
            The shape is that of `Z`. Without relations it is what `project` returns.

        Raises
        ------
        NoFeasibleRowError
            As `home`.
        """
        return self._region.repair(Z)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw `n` feasible rows uniformly, shape (n, d). Makes no query.

        If relations apply, rows of the box are drawn until `n` of them keep the relations.

        Raises
        ------
        NoFeasibleRowError
            If too few of a million rows (or of ``1000 * n``) keep the relations.
        """
        return self._region.sample(n, rng)

    def distance(self, Z: FloatArray) -> FloatArray:
        """Cost of each row: half of Gower's distance plus half of the share of changed features, shape (n,).

        Asks nothing of the model.
        """
        return self._measure.cost(Z)

    def is_feasible(self, Z: FloatArray) -> BoolArray:
        """Return which rows are feasible, whatever their class, shape (n,). Makes no query."""
        return self._measure.is_feasible(Z)

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the model's classes of the rows of `Z`, shape (n, d). Every row counts as a query.

        Returns
        -------
        ndarray of int64, shape (n,)

        Raises
        ------
        BudgetExhausted
            Before any row is answered, if the question would pass the query budget.
        """
        Z = np.array(Z, dtype=np.float64, copy=True)
        return self._ask(Z)[0]

    def loss(self, Z: FloatArray) -> FloatArray:
        """The value to minimise: ``cost + [f(z) != t]`` (Eq. 9) plus the objective's term, shape (n,).

        Queries the model once per row. An objective may query further rows, which are counted separately.

        Raises
        ------
        BudgetExhausted
            Before any row is answered, if the question would pass the query budget.
        """
        return self.evaluate(Z)[0]

    def evaluate(self, Z: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the values of `loss` together with the classes, for the queries of `loss` alone.

        If an objective adds a term, a value does not reveal a row's class. A searcher that needs the class calls this.

        Returns
        -------
        values : ndarray of float64, shape (n,)
        classes : ndarray of int64, shape (n,)

        Raises
        ------
        BudgetExhausted
            As in `loss`.
        """
        Z = np.array(Z, dtype=np.float64, copy=True)
        if self._term_rows and Z.ndim == 2:  # the term's rows, too, or none
            self._meter.require(len(Z) * (1 + self._term_rows))
        classes, cost, good = self._ask(Z)
        values: FloatArray = cost + (classes != self._target)
        if self._term is not None:
            values = values + self._term(Z, classes)
            self._trace.note_values(Z, good, values)
        return values, classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Ask for class probabilities, shape (n, n_classes). Every row counts as in `predict`.

        A row whose highest probability is the target's alone is taken for a row of the target class, in anytime curves
        and where the query budget runs out.

        Raises
        ------
        NotDeclaredError
            If the searcher's entry does not declare ``Need.PROBABILITIES``.
        BudgetExhausted
            Before any row is answered, if the question would pass the query budget.
        """
        self._access.require(Need.PROBABILITIES)
        Z = np.array(Z, dtype=np.float64, copy=True)
        before = self._meter.search_queries
        probabilities = self._meter.predict_proba(Z)
        others = np.delete(probabilities, self._target, axis=1).max(axis=1, initial=0.0)
        self._note(Z, probabilities[:, self._target] > others, before)
        return probabilities

    def gradients(self, Z: FloatArray) -> Gradients:
        """Return the exact gradients of the target's log-odds at the rows of `Z`, shape (n, d).

        Every row counts as one query, and one more for each category of each feature, since the difference that it
        would make is computed.

        Returns
        -------
        Gradients
            `log_odds` of shape (n,), `numerical` of shape (n, d) in the features' raw units, and `categories`, one
            array per feature.

        Raises
        ------
        NotDeclaredError
            If the searcher's entry does not declare ``Need.GRADIENTS``.
        UnavailableError
            If the model shows no gradients.
        BudgetExhausted
            Before anything is computed, if the query would exceed the query budget.
        """
        return self._access.gradients(Z)

    def report(self, name: str, number: float) -> None:
        """Attach a figure, such as a lower bound, to the search's row; a later one of the same name replaces it."""
        self._trace.figures[str(name)] = float(number)

    def report_candidates(self, Z: FloatArray) -> None:
        """Report the set of counterfactuals found so far: the answer if the query budget ends the search.

        For searchers whose entry says ``returns_sets``. The last report counts. Makes no query. Where no row of it is
        valid, the best row queried is judged instead.

        Parameters
        ----------
        Z : ndarray of float64, shape (k, d)
            At least one row; NaN is refused.

        Raises
        ------
        CfbenchError
            If `Z` has another shape, no row, or a value that is not finite.
        """
        Z = np.array(Z, dtype=np.float64)
        if Z.ndim != 2 or Z.shape[1] != self._space.d or not len(Z):
            raise CfbenchError(
                f"a set of candidates has shape (k, {self._space.d}) with at least one row, not {Z.shape}; report "
                "a set when there is one"
            )
        if not np.isfinite(Z).all():
            raise CfbenchError("a set of candidates has finite values alone; it has NaN or infinity")
        self._trace.reported = Z

    def give_reason(self, reason: str) -> None:
        """Say in one sentence why the search returns nothing; the last one counts, and none where it returns something.

        So a searcher tells "there is none" from "none was found in time". Give the same sentence for the same cause:
        the board counts searches by it. What differs from point to point is a figure.
        """
        self._trace.reason = " ".join(str(reason).split())[:LONGEST_REASON]

    def _ask(self, Z: FloatArray) -> tuple[IntArray, FloatArray, BoolArray]:
        """Return the rows' classes, their costs, and whether each is feasible and of the target class."""
        before = self._meter.search_queries
        classes = self._meter.predict(Z)
        return classes, *self._note(Z, classes == self._target, before)

    def _note(self, Z: FloatArray, is_target: BoolArray, before: int) -> tuple[FloatArray, BoolArray]:
        """Record queried rows; return each row's cost and whether it is feasible and of the target class."""
        cost, good = self._measure.measure(Z)
        good &= is_target
        self._trace.note_classes(Z, good, cost, before)
        return cost, good


def trace_of(problem: Problem) -> Trace:
    """Return what `problem` saw of its search; for the harness, not for searchers."""
    return problem._trace
