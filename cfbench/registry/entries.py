"""The typed entries that plugins register: one dataclass per kind.

An entry declares; the harness believes no declaration that it can check.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from cfbench.digests import digest_of, digest_of_object
from cfbench.errors import PluginError
from cfbench.problem.access import SHOWN, WHITE_BOX, Need
from cfbench.registry.contracts import (
    DataSource,
    FittedElsewhere,
    ModelFamily,
    Objective,
    Searcher,
    SearchFunction,
)
from cfbench.registry.metrics import Metric, Reference, compares, measures
from cfbench.space.dataset import Dataset

D = TypeVar("D", bound=StrEnum)

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_ADDRESS = re.compile(r"https://[^\s<>\"]+")


class Handles(StrEnum):
    """What a searcher can work with; a cell that requires more is skipped with the reason shown.

    Examples
    --------
    >>> from cfbench import Handles, SearcherEntry
    >>> def keep(problem, rng):
    ...     return None
    >>> entry = SearcherEntry(name="keep", searcher=keep, handles=[Handles.CATEGORICAL, Handles.CONSTRAINTS])
    >>> Handles.CONSTRAINTS in entry.handles, Handles.OBJECTIVES in entry.handles
    (True, False)
    """

    CATEGORICAL = "categorical features"
    CONSTRAINTS = "constraints"
    RELATIONS = "relations between features"
    """They count as constraints: a searcher that handles them handles constraints."""
    OBJECTIVES = "custom objectives"
    SEPARABLE = "objectives that are sums over the features"
    """Of custom objectives, those whose term is a :class:`cfbench.problem.SeparableTerm`; `OBJECTIVES` says more."""


class Cost(StrEnum):
    """How long a search usually takes; suites that are a first look give slow searchers fewer cells.

    Examples
    --------
    >>> from cfbench import Cost, SearcherEntry
    >>> def keep(problem, rng):
    ...     return None
    >>> SearcherEntry(name="keep", searcher=keep).cost is Cost.USUAL
    True
    >>> SearcherEntry(name="keep", searcher=keep, cost=Cost.SLOW).cost.value
    'slow'
    """

    USUAL = "usual"
    SLOW = "slow"
    """Minutes on data sets of usual size."""


class Stage(StrEnum):
    """What a metric is computed from."""

    COUNTERFACTUAL = "counterfactual"
    """The searches of one cell, and its model if the metric uses it."""
    COMPARISON = "comparison"
    """The results of a cell and of its reference; no model."""


class Direction(StrEnum):
    """Which values of a metric are better.

    Examples
    --------
    >>> from cfbench import Direction, Metric, MetricEntry
    >>> class Seconds(Metric):
    ...     def measure(self, found, context):
    ...         return found.seconds
    >>> MetricEntry(name="seconds", metric=Seconds, direction=Direction.LOWER, unit="s").direction.value
    'lower'
    """

    LOWER = "lower"
    HIGHER = "higher"
    NEUTRAL = "neutral"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What every entry says of itself.

    Parameters
    ----------
    name : str
        kebab-case, permanent, unique among the entries of its kind.
    version : str
        Raise it whenever results may change: it is in every cell's key.
    summary : str
        One line for listings.

    Raises
    ------
    PluginError
        If the name is not kebab-case or the version is empty.
    """

    name: str
    version: str = "1"
    summary: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise PluginError(
                f"{self.name!r} is no name for an entry; use kebab-case: lower-case letters, digits, single hyphens"
            )
        if not isinstance(self.version, str) or not self.version:
            raise PluginError(f"entry {self.name!r} needs a version, a non-empty string")

    def _declared(self, field: str, kind: type[D], allowed: Iterable[D] = ()) -> frozenset[D]:
        """Return a declaration as a set of `kind`; refuse anything but the `allowed` members, by default all."""
        items, members = getattr(self, field), tuple(allowed) or (*kind,)
        try:
            found = frozenset(kind(item) for item in ([items] if isinstance(items, str) else items))
        except (TypeError, ValueError):
            found = None
        if found is None or not found <= {*members}:
            listed = ", ".join(f"{kind.__name__}.{member.name}" for member in members)
            raise PluginError(f"entry {self.name!r}: `{field}` is {items!r}; it may list {listed}")
        return found

    def _require_class(self, field: str, *allowed: type, hint: str = "") -> None:
        """Refuse a field that holds anything but a subclass of one of `allowed`."""
        value = getattr(self, field)
        if not (isinstance(value, type) and issubclass(value, allowed)):
            names = " or ".join(f"cfbench.{kind.__name__}" for kind in allowed)
            received = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
            raise PluginError(f"entry {self.name!r}: `{field}` must be a subclass of {names}, not {received}{hint}")
        self._require_defaults(value)

    def _require_defaults(self, owner: Any) -> None:
        """Refuse a class whose default settings cannot be written, or that cannot be made with them."""
        defaults: dict[str, Any] = {}
        for name, info in owner.model_fields.items():
            if info.is_required():
                continue
            default = self._called(
                f"the default of the setting {name!r}", partial(info.get_default, call_default_factory=True)
            )
            try:
                defaults[name] = to_jsonable_python(default)
                digest_of(defaults[name])
            except (TypeError, ValueError) as error:
                raise PluginError(
                    f"entry {self.name!r}: the default of the setting {name!r} is {shortened(default)}; settings are "
                    "made of finite numbers, strings, booleans, None, lists and tables"
                ) from error
        if len(defaults) == len(owner.model_fields):
            what = f"the class {owner.__name__} with its default settings"
            self._called(what, lambda: owner.model_validate_json(json.dumps(defaults), strict=True))

    def _called(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise PluginError(f"entry {self.name!r}: {what} is refused: {where}: {first['msg']}") from error
        except Exception as error:
            raise PluginError(f"entry {self.name!r}: {what} raised {type(error).__name__}: {error}") from error

    def _require_method(self, field: str, base: type, *names: str) -> None:
        """Refuse a subclass that overrides none of the methods `names` of `base`."""
        owner = getattr(self, field)
        if all(getattr(owner, name, None) is getattr(base, name, None) for name in names):
            wanted = " or ".join(f"{name}{_signature(getattr(base, name))}" for name in names if hasattr(base, name))
            raise PluginError(f"entry {self.name!r}: the class {owner.__name__} lacks the method {wanted}")


def shortened(value: object) -> str:
    """Return the repr of a value on one line, shortened if long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_REPR else f"{text[:LONGEST_REPR]}..."


LONGEST_REPR = 60


def _signature(method: Callable[..., object]) -> str:
    """Return the parameters of a method as an author writes them."""
    return f"({', '.join(inspect.signature(method).parameters)})"


@dataclass(frozen=True, kw_only=True)
class DatasetEntry(Entry):
    """A data set.

    Parameters
    ----------
    load : callable
        Takes a DataSource, returns a Dataset. Raises UnavailableError if the table is unavailable, DataError if it is
        invalid.
    folder : Path or None
        The folder that a user named, for data sets without code.
    card : callable or None
        Returns the CARD.md's text.
    shareable : bool
        Whether its rows may be passed on. Where not, a packed record keeps its results without them.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from cfbench import Dataset, DatasetEntry, DataSource, FeatureSpace, FeatureSpec, Kind
    >>> def load(source):
    ...     space = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),))
    ...     X = np.arange(0.0, 100.0, 5.0)[:, np.newaxis]
    ...     y = (X[:, 0] > 50).astype(np.int64)
    ...     return Dataset("loans", X, y, space, target=1, class_labels=("refused", "granted"))
    >>> entry = DatasetEntry(name="loans", load=load, summary="20 loans, 1 feature")
    >>> entry.load(DataSource(data_dirs=(), cache_dir=Path("cache"))).class_counts
    (11, 9)
    """

    load: Callable[[DataSource], Dataset]
    folder: Path | None = None
    card: Callable[[], str] | None = None
    shareable: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.load):
            raise PluginError(f"data set {self.name!r}: `load` must be a function of a DataSource, not {self.load!r}")


@dataclass(frozen=True, kw_only=True)
class ModelEntry(Entry):
    """A model family.

    Parameters
    ----------
    family : type of ModelFamily
    tuned : Path or None
        A shipped table of tuned hyper-parameters, so that users need not tune them again.
    shows : iterable of Need
        What white boxes find in its fitted models: ``Need.FOREST`` (method `forest_structure`), ``Need.GRADIENTS``
        (methods `log_odds` and `log_odds_gradient`), ``Need.LINEAR`` (method `linear_structure`). The cells
        of a searcher that needs anything else are skipped. ``Need.MODEL`` is not declared, since every fitted model can
        be handed out.
    unavailable : str
        Why it cannot run in this installation and what installs it; empty where it can. Its cells are skipped.
    fitted : object or None
        An estimator that was fitted elsewhere, with `predict` on a data frame in the columns of the data set's table.
        It takes the place of `family`, and the entry's version is a digest of it. See docs/your-own-model.md.
    origin : str
        What the user named, such as ``./loans.joblib``; empty for models of plugins.
    probabilities : bool
        Whether it has probabilities; the cells of a searcher that needs them are skipped otherwise. For an estimator in
        `fitted`, cfbench looks for `predict_proba`.

    Examples
    --------
    >>> from cfbench import ModelEntry, ModelFamily
    >>> class NearestCentroid(ModelFamily):
    ...     shrink: float = 0.0
    ...
    ...     def fit(self, X, y, space, hyperparameters): ...  # returns a FittedModel, as in `ModelFamily`
    >>> entry = ModelEntry(name="nearest-centroid", family=NearestCentroid, summary="the class of the nearest centroid")
    >>> entry.family(shrink=0.5)
    NearestCentroid(shrink=0.5)
    """

    family: type[ModelFamily] = ModelFamily
    tuned: Path | None = None
    shows: Iterable[Need] = frozenset()
    unavailable: str = ""
    fitted: Any = None
    origin: str = ""
    probabilities: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fitted is not None:
            self._take_fitted()
        is_classifier = hasattr(self.family, "predict")
        wrap = "; for a classifier of scikit-learn, give cfbench.SklearnFamily(make), where make(seed) returns it"
        self._require_class("family", ModelFamily, hint=wrap if is_classifier else "")
        self._require_method("family", ModelFamily, "fit")
        object.__setattr__(self, "shows", self._declared("shows", Need, SHOWN))

    @property
    def offers(self) -> frozenset[Need]:
        """What searchers find in its fitted models in addition to classes."""
        return frozenset(self.shows) | ({Need.PROBABILITIES} if self.probabilities else set())

    def _take_fitted(self) -> None:
        if isinstance(self.fitted, type) or not callable(getattr(self.fitted, "predict", None)):
            received = f"the class {self.fitted.__name__}" if isinstance(self.fitted, type) else shortened(self.fitted)
            raise PluginError(f"model {self.name!r}: a fitted estimator with `predict` is needed, not {received}")
        if self.version == Entry.version:
            try:
                version = digest_of_object(self.fitted)[:VERSION_DIGITS]
            except Exception as error:  # whatever pickling a part of it raises
                raise PluginError(
                    f"model {self.name!r}: the fitted {type(self.fitted).__name__} has parts that cannot be pickled "
                    f"({type(error).__name__}: {error}), so it has no digest: give a version"
                ) from error
            object.__setattr__(self, "version", version)
        object.__setattr__(self, "probabilities", callable(getattr(self.fitted, "predict_proba", None)))
        object.__setattr__(self, "family", FittedElsewhere)


VERSION_DIGITS = 12
"""Digits of the digest that is the version of a model fitted elsewhere."""


@dataclass(frozen=True, kw_only=True)
class SearcherEntry(Entry):
    """A search algorithm.

    Parameters
    ----------
    searcher : type of Searcher, or a function ``search(problem, rng)``
    handles : iterable of Handles
    needs : iterable of Need
        What it cannot do without.
    can_use : iterable of Need
        What it uses where it is there.
    returns_sets : bool
        Whether it returns a CounterfactualSet.
    default_budget : int or None
        Query budget where the study gives none, for algorithms without an end of their own.
    check_settings : mapping
        Settings under which the conformance checks run, for slow searchers.
    unavailable : str
        Why it cannot run in this installation and what installs it; empty where it can. Its cells are skipped.
    known_failures : mapping of str to str
        Conformance checks that a third party's library makes it fail, each with the reason. A declared check that
        passes nevertheless counts as failed.
    url : str
        Address (``https://...``) of the paper or page that describes the algorithm; the leaderboard's page links to it.
    cost : Cost
        How long a search usually takes.

    Examples
    --------
    >>> from cfbench import Handles, Need, SearcherEntry
    >>> def mean_of_target(problem, rng):
    ...     z = problem.training.X[problem.training.y == problem.target].mean(axis=0)
    ...     return z if problem.predict(z.reshape(1, -1))[0] == problem.target else None
    >>> entry = SearcherEntry(
    ...     name="mean-of-target",
    ...     searcher=mean_of_target,
    ...     needs=[Need.TRAINING_DATA],
    ...     summary="the mean of the training rows of the target class",
    ... )
    >>> [need.value for need in entry.needs]
    ['training data']
    """

    searcher: type[Searcher] | SearchFunction
    handles: Iterable[Handles] = frozenset()
    needs: Iterable[Need] = frozenset()
    can_use: Iterable[Need] = frozenset()
    returns_sets: bool = False
    default_budget: int | None = None
    check_settings: Mapping[str, Any] | None = None
    unavailable: str = ""
    known_failures: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    cost: Cost = Cost.USUAL

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost not in [*Cost]:
            allowed = " or ".join(f"Cost.{member.name}" for member in Cost)
            raise PluginError(f"searcher {self.name!r}: `cost` is {self.cost!r}; it must be {allowed}")
        if self.url and not (isinstance(self.url, str) and _ADDRESS.fullmatch(self.url)):
            raise PluginError(
                f"searcher {self.name!r}: `url` is {self.url!r}; it must be an address that starts with https://, "
                "without spaces"
            )
        object.__setattr__(self, "handles", self._declared("handles", Handles))
        object.__setattr__(self, "needs", self._declared("needs", Need))
        object.__setattr__(self, "can_use", self._declared("can_use", Need))
        if Handles.RELATIONS in self.handles and Handles.CONSTRAINTS not in self.handles:
            raise PluginError(
                f"searcher {self.name!r}: `handles` lists Handles.RELATIONS without Handles.CONSTRAINTS; relations are "
                "constraints, so list both"
            )
        if isinstance(self.searcher, type):
            self._require_class("searcher", Searcher)
            self._require_method("searcher", Searcher, "search", "prepare")
        elif not callable(self.searcher):
            raise PluginError(
                f"searcher {self.name!r}: `searcher` must be a function search(problem, rng) or a subclass of "
                f"Searcher, not {type(self.searcher).__name__}"
            )

    @property
    def is_white_box(self) -> bool:
        """Whether it looks inside the model; such searchers are never ranked among black-box ones."""
        return not WHITE_BOX.isdisjoint({*self.needs, *self.can_use})

    @property
    def prepares(self) -> bool:
        """Whether it does something of its own in `Searcher.prepare`."""
        return self._class is not None and self._class.prepare is not Searcher.prepare

    @property
    def _class(self) -> type[Searcher] | None:
        return self.searcher if isinstance(self.searcher, type) and issubclass(self.searcher, Searcher) else None

    @property
    def function(self) -> SearchFunction:
        """The function that searches, where `searcher` is no class."""
        if isinstance(self.searcher, type):
            raise TypeError(f"searcher {self.name!r} is a class: build it with its settings")
        return self.searcher


@dataclass(frozen=True, kw_only=True)
class ObjectiveEntry(Entry):
    """An objective.

    Examples
    --------
    >>> from cfbench import Objective, ObjectiveEntry
    >>> class LossAlone(Objective):
    ...     def bind(self, context):
    ...         return None
    >>> entry = ObjectiveEntry(name="loss-alone", objective=LossAlone, summary="the loss, without another term")
    >>> entry.version
    '1'
    """

    objective: type[Objective]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_class("objective", Objective)
        self._require_method("objective", Objective, "bind")


@dataclass(frozen=True, kw_only=True)
class MetricEntry(Entry):
    """A metric.

    Parameters
    ----------
    metric : type of Metric
        It implements `measure` or `compare`.
    direction : Direction
    unit : str
        Of the values, for headers ("s", "queries"); empty for plain numbers.
    denominator : str
        What the values are counted over, in words ("searches that found a counterfactual").
    shown_with : str
        A metric without which this one misleads. A leaderboard that shows this one has it in the next column, with the
        settings that both share.
    header : str
        Short title of its column; empty for the name. What follows a line break is shown below the title.
    percent : bool
        Whether values are relative changes, written in percent: 0.25 as "+25%".
    group : str
        ``cfbench leaderboard --columns GROUP`` shows all metrics of a group, and MLflow shows them in one section.
    group_settings : iterable of mapping
        The settings that the group shows the metric with, one mapping per column.
    page_settings : iterable of mapping
        The settings that the leaderboard's page shows the metric with in the row that a reader opens, one mapping per
        column; none by default.
    shown_by_default : bool
        Whether every leaderboard shows it if it was measured.
    measured_by_default : bool
        Whether a study measures it that lists no metrics.
    former_names : iterable of str
        Names that it had. A user who gives one of them is told the present name.

    Examples
    --------
    >>> from cfbench import Direction, Metric, MetricEntry
    >>> class SearchQueries(Metric):
    ...     def measure(self, found, context):
    ...         return found.search_queries
    >>> entry = MetricEntry(name="search-queries", metric=SearchQueries, direction=Direction.LOWER, unit="queries")
    >>> entry.stage.value
    'counterfactual'
    """

    metric: type[Metric]
    direction: Direction = Direction.NEUTRAL
    unit: str = ""
    denominator: str = ""
    shown_with: str = ""
    header: str = ""
    percent: bool = False
    group: str = ""
    group_settings: Iterable[Mapping[str, Any]] = ({},)
    page_settings: Iterable[Mapping[str, Any]] = ()
    shown_by_default: bool = False
    measured_by_default: bool = False
    former_names: Iterable[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_class("metric", Metric)
        self._require_method("metric", Metric, "measure", "compare")
        if compares(self.metric) and measures(self.metric):
            raise PluginError(
                f"metric {self.name!r}: {self.metric.__name__} implements both `measure` (one cell) and `compare` (two "
                "cells); make two metrics of it"
            )
        if not isinstance(self.metric.reference, Reference):
            raise PluginError(
                f"metric {self.name!r}: `reference` is {self.metric.reference!r}; it must be a cfbench.Reference, as "
                'in Reference(searcher="cogs") or Reference(objective="none")'
            )
        for name in ("group_settings", "page_settings"):
            settings = tuple(getattr(self, name))
            if not all(isinstance(one, Mapping) for one in settings):
                raise PluginError(
                    f"metric {self.name!r}: `{name}` is {settings!r}; it must list mappings, as in ({{'part': 'c'}},)"
                )
            object.__setattr__(self, name, settings)
        if isinstance(self.former_names, str):
            raise PluginError(
                f"metric {self.name!r}: `former_names` is {self.former_names!r}; it must be a tuple of names"
            )
        object.__setattr__(self, "former_names", tuple(self.former_names))
        if self.group and not _NAME.fullmatch(self.group):
            raise PluginError(f"metric {self.name!r}: `group` is {self.group!r}; use kebab-case, as for names")

    @property
    def stage(self) -> Stage:
        """What the metric is computed from."""
        return Stage.COMPARISON if compares(self.metric) else Stage.COUNTERFACTUAL

    @property
    def compares_with_board(self) -> bool:
        """Whether it compares each searcher with the leaderboard's reference searcher."""
        return compares(self.metric) and self.metric.reference.is_of_board


StudyKeys = Mapping[str, Any]
"""Keys of a study, as TOML gives them."""


@dataclass(frozen=True, kw_only=True)
class PresetEntry(Entry):
    """A study that is run by its name.

    Names in the study that are not registered are left out with a note, and so are unavailable data sets.

    Parameters
    ----------
    study : mapping, Path, or a function
        The study's keys; the path of a TOML file with them; or a function that returns them and receives the
        registered searchers (a mapping of str to SearcherEntry), for studies of whatever is registered.
    reference : str
        The searcher that a leaderboard compares the others with; empty: nothing is compared unless the user names one.
    is_starting_point : bool
        Whether `cfbench run` takes it where neither a study nor a preset is named. The first such preset is taken.

    Examples
    --------
    >>> from cfbench import PresetEntry, Study
    >>> keys = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["cogs", "lore"], "points": 3}
    >>> entry = PresetEntry(name="small", study=keys, reference="cogs", summary="two searchers on wine")
    >>> Study(**entry.study).searchers
    ('cogs', 'lore')
    """

    study: StudyKeys | Path | Callable[[Mapping[str, SearcherEntry]], StudyKeys]
    reference: str = ""
    is_starting_point: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.study, (Mapping, Path)) or callable(self.study)):
            raise PluginError(
                f"preset {self.name!r}: `study` must be a mapping of a study's keys, the Path of a TOML file or a "
                f"function that returns the keys, not {type(self.study).__name__}"
            )
        if isinstance(self.study, Path) and not self.study.is_file():
            raise PluginError(f"preset {self.name!r}: there is no file {self.study}; name the study's TOML file")
        if not isinstance(self.reference, str):
            raise PluginError(
                f"preset {self.name!r}: `reference` is {self.reference!r}; it must be the name of a searcher"
            )


@dataclass(frozen=True, kw_only=True)
class ReportEntry(Entry):
    """A report that is rendered from a record: pages, tables, figures.

    Parameters
    ----------
    render : callable
        Receives a :class:`cfbench.analysis.ReportContext` and returns a :class:`cfbench.analysis.RenderedReport`. It
        searches, measures and fits nothing.
    first_steps : callable or None
        Receives the record's directory (Path) and what the user types for ``cfbench``; returns a text with the commands
        that make a record for this report. It is shown where there is no record yet.

    Examples
    --------
    >>> from cfbench import ReportEntry
    >>> from cfbench.analysis import RenderedReport
    >>> def render(context):
    ...     cells = len(context.record.summaries())
    ...     return RenderedReport({"cells.txt": f"{cells} cells".encode()}, said=f"counted {cells} cells")
    >>> entry = ReportEntry(name="cells", render=render, summary="the number of cells")
    >>> entry.name  # `cfbench report cells` renders it
    'cells'
    """

    render: Callable[[Any], Any]
    first_steps: Callable[[Path, str], str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.render):
            raise PluginError(
                f"report {self.name!r}: `render` must be a function of a ReportContext, not "
                f"{type(self.render).__name__}"
            )
        if self.first_steps is not None and not callable(self.first_steps):
            raise PluginError(
                f"report {self.name!r}: `first_steps` must be a function of a directory and a command's name, not "
                f"{type(self.first_steps).__name__}"
            )
