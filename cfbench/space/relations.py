"""Relations between features: inequalities, implications and forbidden transitions, and how they are written.

A relation counts as a constraint: it applies where constraints apply.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfbench.errors import DataError, UnknownNameError
from cfbench.space.feature import FeatureSpec, Kind
from cfbench.text import exact

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LONGEST = 2000
"""Characters of an inequality."""

_ROUNDING = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Condition:
    """A feature's value lies in an interval, or is one of some categories.

    Parameters
    ----------
    feature : int
    lower, upper : float
        The closed interval; may be infinite.
    codes : tuple of int
        The categories; empty for a numerical feature.
    """

    feature: int
    lower: float = -np.inf
    upper: float = np.inf
    codes: tuple[int, ...] = ()

    def holds(self, Z: FloatArray) -> BoolArray:
        """Return which rows fulfil it, shape (n,)."""
        values = Z[:, self.feature]
        if self.codes:
            return np.isin(values, self.codes)
        within: BoolArray = (values >= self.lower) & (values <= self.upper)
        return within

    def opposites(self, n_categories: int) -> tuple[Condition, ...]:
        """Return the conditions of which one holds where this one does not."""
        if self.codes:
            others = tuple(code for code in range(n_categories) if code not in self.codes)
            return (Condition(self.feature, codes=others),) if others else ()
        below = Condition(self.feature, upper=float(np.nextafter(self.lower, -np.inf)))
        above = Condition(self.feature, lower=float(np.nextafter(self.upper, np.inf)))
        return tuple(side for side, end in ((below, self.lower), (above, self.upper)) if np.isfinite(end))

    def words(self, features: Sequence[FeatureSpec]) -> str:
        """Return it as text."""
        feature = features[self.feature]
        if self.codes:
            return f"{feature.name} = {' or '.join(feature.categories[code] for code in self.codes)}"
        if not np.isfinite(self.lower):
            return f"{feature.name} <= {exact(self.upper)}"
        if not np.isfinite(self.upper):
            return f"{feature.name} >= {exact(self.lower)}"
        return f"{exact(self.lower)} <= {feature.name} <= {exact(self.upper)}"


@dataclass(frozen=True)
class Relation:
    """What all kinds of relations share.

    Parameters
    ----------
    text : str
        The relation as readers see it.
    where : str
        Its place in a file, for messages; empty if there is no file.
    """

    text: str = field(compare=False)
    where: str = field(compare=False)

    @property
    def name(self) -> str:
        """The relation and its place, for messages."""
        return f"relation {self.text!r}" + (f" ({self.where})" if self.where else "")

    def holds(self, Z: FloatArray, x: FloatArray) -> BoolArray:
        """Return which rows keep it, shape (n,), as changes of `x`, shape (d,)."""
        raise NotImplementedError

    def content(self) -> list[object]:
        """Return everything that can change a result, for a digest."""
        raise NotImplementedError


@dataclass(frozen=True)
class Inequality(Relation):
    """A weighted sum of numerical features is at most `limit`.

    Sums may exceed the limit by the rounding of the sum.

    Parameters
    ----------
    features : tuple of int
    coefficients : tuple of float
    limit : float
    """

    features: tuple[int, ...]
    coefficients: tuple[float, ...]
    limit: float

    def excess(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much the sum exceeds the limit, and how much of that may be rounding; both of shape (n,)."""
        total = np.full(len(Z), -self.limit)
        size = np.full(len(Z), abs(self.limit))
        for i, coefficient in zip(self.features, self.coefficients, strict=True):
            term = coefficient * Z[:, i]
            total += term
            size += np.abs(term)
        return total, _ROUNDING * size

    def holds(self, Z: FloatArray, x: FloatArray) -> BoolArray:  # noqa: ARG002 - the contract's parameters
        """Return which rows keep it, shape (n,)."""
        with np.errstate(invalid="ignore"):  # infinities of different signs
            total, rounding = self.excess(Z)
            kept: BoolArray = total <= rounding
        return kept

    def content(self) -> list[object]:
        """Return everything that can change a result, for a digest."""
        return ["inequality", list(self.features), list(self.coefficients), self.limit]


@dataclass(frozen=True)
class Implication(Relation):
    """Where all of `conditions` hold, all of `consequences` hold.

    Parameters
    ----------
    conditions, consequences : tuple of Condition
    """

    conditions: tuple[Condition, ...]
    consequences: tuple[Condition, ...]

    def holds(self, Z: FloatArray, x: FloatArray) -> BoolArray:  # noqa: ARG002 - the contract's parameters
        """Return which rows keep it, shape (n,)."""
        applies, follows = np.ones(len(Z), dtype=bool), np.ones(len(Z), dtype=bool)
        for condition in self.conditions:
            applies &= condition.holds(Z)
        for consequence in self.consequences:
            follows &= consequence.holds(Z)
        return ~applies | follows

    def options(self, features: Sequence[FeatureSpec]) -> list[tuple[Condition, ...]]:
        """Return the ways to keep it: one condition fails, or all consequences hold."""
        failing = [
            (opposite,)
            for condition in self.conditions
            for opposite in condition.opposites(features[condition.feature].n_categories)
        ]
        return [*failing, self.consequences]

    def content(self) -> list[object]:
        """Return everything that can change a result, for a digest."""
        parts = [
            [[part.feature, repr(part.lower), repr(part.upper), list(part.codes)] for part in side]
            for side in (self.conditions, self.consequences)
        ]
        return ["implication", *parts]


@dataclass(frozen=True)
class ForbiddenTransition(Relation):
    """A category may not become certain others.

    Parameters
    ----------
    feature : int
    origin : int
        The code that may not be left for `targets`.
    targets : tuple of int
    """

    feature: int
    origin: int
    targets: tuple[int, ...]

    def holds(self, Z: FloatArray, x: FloatArray) -> BoolArray:
        """Return which rows keep it, shape (n,), as changes of `x`, shape (d,)."""
        return ~self.is_step(x[np.newaxis], Z)

    def is_step(self, before: FloatArray, after: FloatArray) -> BoolArray:
        """Return where the forbidden step is made from `before` to `after`, both of shape (..., d)."""
        made: BoolArray = (before[..., self.feature] == self.origin) & np.isin(after[..., self.feature], self.targets)
        return made

    def content(self) -> list[object]:
        """Return everything that can change a result, for a digest."""
        return ["forbidden transition", self.feature, self.origin, list(self.targets)]


# ------------------------------------------------------------------ reading


def read_relations(
    tables: Iterable[object],
    features: Sequence[FeatureSpec],
    *,
    spellings: Sequence[Sequence[str]] | None = None,
    places: Sequence[str] = (),
) -> tuple[Relation, ...]:
    """Return relations from the form that annotations.toml has.

    Parameters
    ----------
    tables : iterable
        Mappings with the keys ``inequality``; or ``if`` and ``then``; or ``feature``, ``from`` and ``to``. A string is
        an inequality. A `Relation` stays as it is.
    features : sequence of FeatureSpec
    spellings : sequence of sequence of str, optional
        How each feature's categories are spelled; by default as their labels.
    places : sequence of str
        The place of each table in its file.

    Raises
    ------
    DataError
        If one names an unknown feature or category, is not linear, or does not have one of these forms.
    """
    spelled = [feature.categories for feature in features] if spellings is None else spellings
    found = []
    for number, table in enumerate(tables):
        place = places[number] if number < len(places) else ""
        if isinstance(table, Relation):
            found.append(table)
            continue
        try:
            found.append(_TableReader(features, spelled, place).read(table))
        except _Unreadable as error:
            raise DataError(f"{place or f'relation {number + 1}'}: {error}") from None
    return tuple(found)


class _Unreadable(ValueError):
    """A relation that is not written as it must be."""


_FORMS = (
    'a relation has the key inequality = "a <= 2 * b"; or if = {...} and then = {...}; or feature, from and to = [...]'
)
_KEYS = (frozenset({"inequality"}), frozenset({"if", "then"}), frozenset({"feature", "from", "to"}))
_BOUND = re.compile(r"\s*(<=|>=)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")


class _TableReader:
    """Reads one relation."""

    def __init__(self, features: Sequence[FeatureSpec], spellings: Sequence[Sequence[str]], place: str) -> None:
        self._features = features
        self._names = [feature.name for feature in features]
        self._spellings = spellings
        self._place = place

    def read(self, table: object) -> Relation:
        if isinstance(table, str):
            table = {"inequality": table}
        if not isinstance(table, Mapping):
            raise _Unreadable(f"it is {table!r}; {_FORMS}")
        if frozenset(table) not in _KEYS:
            raise _Unreadable(f"its keys are {', '.join(map(str, table)) or 'missing'}; {_FORMS}")
        if "inequality" in table:
            return self._inequality(table["inequality"])
        if "if" in table:
            conditions, consequences = self._conditions("if", table["if"]), self._conditions("then", table["then"])
            words = [" and ".join(part.words(self._features) for part in side) for side in (conditions, consequences)]
            return Implication(f"if {words[0]} then {words[1]}", self._place, conditions, consequences)
        return self._transition(table)

    def _feature(self, name: object, kind: Kind | None = None) -> int:
        if not isinstance(name, str) or name not in self._names:
            raise _Unreadable(str(UnknownNameError("feature", str(name), self._names)))
        place = self._names.index(name)
        if kind is not None and self._features[place].kind is not kind:
            needed = "inequalities are about numbers" if kind is Kind.NUMERICAL else "transitions are of categories"
            raise _Unreadable(f"feature {name!r} is {self._features[place].kind.value}; {needed}")
        return place

    def _codes(self, feature: int, labels: object) -> tuple[int, ...]:
        known = list(self._spellings[feature])
        wanted = labels if isinstance(labels, (list, tuple)) else [labels]
        codes = []
        for label in wanted:
            if isinstance(label, bool) or str(label) not in known:
                raise _Unreadable(
                    f"feature {self._names[feature]!r}: {UnknownNameError('category', str(label), known)}"
                )
            codes.append(known.index(str(label)))
        if not codes:
            raise _Unreadable(f"feature {self._names[feature]!r}: the list of categories is empty; name one at least")
        return tuple(sorted(set(codes)))

    def _transition(self, table: Mapping[Any, Any]) -> ForbiddenTransition:
        feature = self._feature(table["feature"], Kind.CATEGORICAL)
        spec = self._features[feature]
        if isinstance(table["from"], (list, tuple)):
            raise _Unreadable(f"from is {table['from']!r}; it is one category: write a relation for each")
        (origin,) = self._codes(feature, table["from"])
        targets = self._codes(feature, table["to"])
        if origin in targets:
            raise _Unreadable(f"{spec.categories[origin]!r} stands in both from and to; a category may always stay")
        ends = " or ".join(spec.categories[code] for code in targets)
        text = f"{spec.name} never from {spec.categories[origin]} to {ends}"
        return ForbiddenTransition(text, self._place, feature, origin, targets)

    def _conditions(self, key: str, table: object) -> tuple[Condition, ...]:
        if not isinstance(table, Mapping) or not table:
            raise _Unreadable(f'{key} is {table!r}; it is a table such as {{ job = "none", income = "<= 1" }}')
        return tuple(self._condition(name, value) for name, value in table.items())

    def _condition(self, name: object, value: object) -> Condition:
        feature = self._feature(name)
        if self._features[feature].kind is Kind.CATEGORICAL:
            return Condition(feature, codes=self._codes(feature, value))
        bound = _BOUND.fullmatch(value) if isinstance(value, str) else None
        if bound is not None and np.isfinite(number := _number(bound[2])):
            return Condition(feature, upper=number) if bound[1] == "<=" else Condition(feature, lower=number)
        if isinstance(value, (list, tuple)) and len(value) == 2 and all(_is_number(end) for end in value):
            lower, upper = float(value[0]), float(value[1])
            if lower <= upper:
                return Condition(feature, lower=lower, upper=upper)
        raise _Unreadable(
            f'feature {name!r}: the condition is {value!r}; allowed for numbers: "<= 1", ">= 1", or [minimum, maximum]'
        )

    def _inequality(self, text: object) -> Inequality:
        if not isinstance(text, str) or len(text) > LONGEST:
            raise _Unreadable(f'inequality is {str(text)[:80]!r}; it is a text such as "a <= 2 * b"')
        try:
            parsed = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise _Unreadable(
                f'{text!r} cannot be read; write it as in "a <= 2 * b + 3", with single quotes around a name '
                "that has blanks or signs in it"
            ) from None
        if not (isinstance(parsed, ast.Compare) and len(parsed.ops) == 1):
            raise _Unreadable(f"{text!r} is not one comparison; write two sides with <= or >= between them")
        if not isinstance(parsed.ops[0], (ast.LtE, ast.GtE)):
            raise _Unreadable(f"{text!r} compares with another sign; allowed: <= and >=")
        try:
            left, right = self._linear(parsed.left, text), self._linear(parsed.comparators[0], text)
        except RecursionError:
            raise _Unreadable(f"{text[:80]!r}... is nested too deeply; simplify it") from None
        sign = 1.0 if isinstance(parsed.ops[0], ast.LtE) else -1.0
        total = {i: sign * (left.get(i, 0.0) - right.get(i, 0.0)) for i in {**left, **right}}
        limit = -total.pop(_CONSTANT, 0.0) + 0.0
        total = {i: total[i] for i in sorted(total) if total[i] != 0}
        if not total:
            raise _Unreadable(f"{text!r} depends on no feature; remove it")
        if not np.isfinite([limit, *total.values()]).all():
            raise _Unreadable(f"{text!r} has a number that is not finite")
        return Inequality(" ".join(text.split()), self._place, tuple(total), tuple(total.values()), limit)

    def _linear(self, node: ast.expr, text: str) -> dict[int, float]:
        """Return the coefficients of an expression; its constant stands at `_CONSTANT`."""
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return {_CONSTANT: _number(value)}
            case ast.Name(id=name) | ast.Constant(value=str() as name):
                return {self._feature(name, Kind.NUMERICAL): 1.0}
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                factor = -1.0 if isinstance(sign, ast.USub) else 1.0
                return {i: factor * value for i, value in self._linear(operand, text).items()}
            case ast.BinOp(op=ast.Add() | ast.Sub() as sign, left=left, right=right):
                total = self._linear(left, text)
                for i, value in self._linear(right, text).items():
                    total[i] = total.get(i, 0.0) + (value if isinstance(sign, ast.Add) else -value)
                return total
            case ast.BinOp(op=ast.Mult() | ast.Div() as sign, left=left, right=right):
                one, other = self._linear(left, text), self._linear(right, text)
                if set(one) <= {_CONSTANT} and isinstance(sign, ast.Mult):
                    one, other = other, one
                factor = other.get(_CONSTANT, 0.0)
                if set(other) <= {_CONSTANT} and (factor != 0 or isinstance(sign, ast.Mult)):
                    return {
                        i: value * factor if isinstance(sign, ast.Mult) else value / factor for i, value in one.items()
                    }
        raise _Unreadable(
            f"{text!r} is not linear in {ast.unparse(node)!r}; allowed: sums of features, each times or divided by a "
            "number"
        )


_CONSTANT = -1


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(_number(value)))


def _number(value: Any) -> float:
    """Return a number as a float; infinite if it is too large, NaN if it is not a number."""
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except ValueError:
        return np.nan


# ------------------------------------------------------------------ contradictions


def contradiction(relations: Sequence[Relation], features: Sequence[FeatureSpec]) -> tuple[Relation, ...]:
    """Return relations that no row inside the intervals keeps together, as few as possible; empty if there are none.

    Forbidden transitions contradict nothing, since every category may stay.
    """
    about_rows = [relation for relation in relations if not isinstance(relation, ForbiddenTransition)]
    if _can_be_kept(about_rows, features):
        return ()
    for relation in list(about_rows):
        others = [other for other in about_rows if other is not relation]
        if not _can_be_kept(others, features):
            about_rows = others
    return tuple(about_rows)


def _can_be_kept(relations: Sequence[Relation], features: Sequence[FeatureSpec]) -> bool:
    """Return whether a row inside the intervals keeps all relations, by a mixed-integer program.

    Its variables are the numerical features as shares of their intervals, a 0 or 1 for each category, and a 0 or 1 for
    each way to keep an implication.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    column = np.cumsum([0, *(feature.n_categories or 1 for feature in features)])
    n_columns = int(column[-1])
    is_integer = np.concatenate([np.full(feature.n_categories or 1, feature.n_categories > 0) for feature in features])
    rows: list[tuple[dict[int, float], float, float]] = [
        ({int(column[i]) + code: 1.0 for code in range(feature.n_categories)}, 1.0, 1.0)
        for i, feature in enumerate(features)
        if feature.n_categories
    ]
    for relation in relations:
        if isinstance(relation, Inequality):
            pairs = list(zip(relation.features, relation.coefficients, strict=True))
            widths = {int(column[i]): value * (features[i].upper - features[i].lower) for i, value in pairs}
            rows.append((widths, -np.inf, relation.limit - sum(value * features[i].lower for i, value in pairs)))
        elif isinstance(relation, Implication):
            options = relation.options(features)
            chosen = range(n_columns, n_columns + len(options))
            n_columns += len(options)
            rows.append((dict.fromkeys(chosen, 1.0), 1.0, np.inf))
            for place, option in zip(chosen, options, strict=True):
                for part in option:
                    i, spec = int(column[part.feature]), features[part.feature]
                    if part.codes:
                        rows.append(({**{i + code: 1.0 for code in part.codes}, place: -1.0}, 0.0, np.inf))
                        continue
                    width = spec.upper - spec.lower
                    if part.lower > spec.upper or part.upper < spec.lower:  # by however little
                        rows.append(({place: 1.0}, 0.0, 0.0))
                    if part.lower > spec.lower:
                        rows.append(({i: 1.0, place: -(part.lower - spec.lower) / width}, 0.0, np.inf))
                    if part.upper < spec.upper:
                        rows.append(({i: 1.0, place: (spec.upper - part.upper) / width}, -np.inf, 1.0))
    if not rows:
        return True
    matrix = np.zeros((len(rows), n_columns))
    for row, (coefficients, _, _) in zip(matrix, rows, strict=True):
        row[list(coefficients)] = list(coefficients.values())
    kinds = np.concatenate([is_integer, np.ones(n_columns - len(is_integer), dtype=bool)])
    size = np.maximum(np.abs(matrix).max(axis=1), 1e-300)
    lowest, highest = (np.array([row[place] for row in rows]) / size for place in (1, 2))
    limits = LinearConstraint(matrix / size[:, np.newaxis], lowest, highest)
    found = milp(np.zeros(n_columns), integrality=kinds, bounds=Bounds(0, 1), constraints=limits)
    return bool(found.status != 2)
