"""Running a study from Python: the same engine, record and resuming as ``cfbench run``."""

from __future__ import annotations

import html
import multiprocessing
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.board.board import Leaderboard, leaderboard
from cfbench.errors import CfbenchError, DataError, RecordError, StudyError
from cfbench.files import at_home
from cfbench.record.store import Record, load_record
from cfbench.registry.own_models import references_among
from cfbench.registry.registry import Registry, build_registry, registry_with
from cfbench.running.elsewhere import JudgedResults, PreparedCell, judge_results, registry_for
from cfbench.running.executors.local import WORKER_NAME
from cfbench.running.progress import RunReport
from cfbench.running.results_file import read_results, results_of_frames
from cfbench.running.session import Session, check_statuses
from cfbench.study.presets import preset
from cfbench.study.sources import data_source, datasets_of, folders_among, models_of, refuse_foreign_models
from cfbench.study.study import Study, make_study, override, read_study
from cfbench.tables.annotate import AnnotatedTable
from cfbench.text import visible

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class StudyResult:
    """What a run did and where its record is; a shell shows it as text, a notebook with the leaderboard.

    Parameters
    ----------
    report : RunReport
        Counts of cells and searches; a sentence for each failed cell and for what reporters could not do.
    results : Path
        The record's directory.
    tracking : str
        The address of the MLflow store that mirrors the record; empty where there is none.
    registry : Registry
        What was registered for the run.
    data_dirs : tuple of Path
        Folders with tables that are not shipped.

    Examples
    --------
    >>> import tempfile
    >>> import cfbench
    >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = cfbench.run(study, points=3, repetitions=1, tracking="none", results=folder)
    ...     searches = result.searches()
    >>> searches["status"].value_counts().to_dict()
    {'found': 3}
    """

    report: RunReport
    results: Path
    tracking: str
    registry: Registry = field(default_factory=build_registry, compare=False)
    data_dirs: tuple[Path, ...] = ()

    def searches(self) -> pd.DataFrame:
        """All searches of the record, as `cfbench.load_record` gives them."""
        return load_record(self.results)

    def leaderboard(self, **options: Any) -> Leaderboard:
        """The record's leaderboard; options as for `cfbench.leaderboard`."""
        return leaderboard(self.results, **{"plugins": self.registry, **options})

    def counterfactuals(self, metrics: Sequence[str] = ("robustness",), **options: Any) -> pd.DataFrame:
        """Return what was found, in the units and labels of the data sets: a row for each feature of each result.

        Parameters
        ----------
        metrics : sequence of str
            Metrics, or groups of metrics, that get a column each if they were measured.
        **options
            Which results: ``searchers``, ``datasets`` and the other options of `cfbench.leaderboard`.

        Returns
        -------
        DataFrame
            As `Leaderboard.counterfactuals` describes it.

        Examples
        --------
        >>> import tempfile
        >>> import cfbench
        >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = cfbench.run(study, points=3, repetitions=1, tracking="none", results=folder)
        ...     found = result.counterfactuals()
        >>> found[["feature", "changed"]].head(2).values.tolist()
        [['alcohol', True], ['malic_acid', True]]
        """
        return self.leaderboard(**options).counterfactuals(metrics, data_dirs=self.data_dirs)

    def __str__(self) -> str:
        report = self.report
        failed = f", {report.cells_failed} failed" if report.cells_failed else ""
        skipped = f", {report.cells_skipped} skipped" if report.cells_skipped else ""
        cells = f"{report.cells_done} cell{'' if report.cells_done == 1 else 's'} done{failed}{skipped}"
        searches = f"{report.searches_run} search{'' if report.searches_run == 1 else 'es'} run"
        said = [f"failed: {one}" for one in report.failures] + [f"warning: {one}" for one in report.complaints]
        return "\n".join([f"{cells}; {searches}: {self.results}", *said])

    def __repr__(self) -> str:
        return (
            f"{self}\n`.leaderboard()` shows the board, `.counterfactuals()` what was found, `.searches()` every search"
        )

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(visible(line))}</p>" for line in str(self).splitlines())
        try:
            return said + self.leaderboard()._repr_html_()
        except RecordError as error:  # no cell has finished
            return f"{said}<p>{html.escape(visible(str(error)))}</p>"


def run(
    study: Study | Mapping[str, Any] | Path | str,
    *,
    plugins: Iterable[object] = (),
    data_dirs: Iterable[Path | str] = (),
    retry: Collection[str] = (),
    strict: bool = False,
    cluster: object = None,
    points_from: Path | str | None = None,
    trust: bool = False,
    trusted_types: Iterable[str] = (),
    **changes: Any,
) -> StudyResult:
    """Run a study, as ``cfbench run`` does.

    What the record already holds is not run again: the same call goes on where an interrupted one stopped, and more
    points or repetitions run only what is missing. A study with several workers or a time limit starts processes, so
    that a script has to call this under ``if __name__ == "__main__":``.

    Parameters
    ----------
    study : Study, mapping, path or str
        A study; its keys as in TOML; the path of a TOML file; or a preset's name, as `cfbench plugins` lists them.
        Among the data sets, a table that `cfbench.annotate` returned stands for itself. A folder in the user's cache
        keeps it.
    plugins : iterable
        What to register for this run: names of modules (``"package.module"``), paths of .py files, modules, entries
        (``SearcherEntry(...)``), or objects with hooks. Entries and objects live in this process alone, so they need a
        study with one worker and no time limit.
    data_dirs : iterable of path
        Folders with tables that are not shipped.
    retry : collection of str
        Statuses ("crashed", "timed_out", ...) whose searches run again.
    strict : bool
        Whether a plugin that fails to load is an error; a warning otherwise.
    cluster : str or object, optional
        A Dask cluster that searches: a scheduler's address, a ``distributed.Client``, or a cluster object, as
        dask-jobqueue and dask-kubernetes make them. It stays open.
    points_from : path, optional
        A table of held-out rows, in the columns of the data set's table: they are explained, in place of test folds.
    trust : bool
        Whether models of your own in pickles (``"./loans.joblib"``), which run code, may be loaded.
    trusted_types : iterable of str
        Types in models of your own in skops files that you trust.
    **changes
        Keys of a study that replace those of `study`, everywhere in it: ``points=5, workers=2``.

    Returns
    -------
    StudyResult

    Raises
    ------
    CfbenchError
        If the study cannot be run as written. A searcher that fails is a result, no error.
    KeyboardInterrupt
        If the run was interrupted; every finished search is in the record.

    Examples
    --------
    >>> import tempfile
    >>> import cfbench
    >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = cfbench.run(study, points=3, repetitions=1, tracking="none", results=folder)
    >>> result.report.cells_done, result.report.searches_run
    (1, 3)
    """
    _refuse_a_worker()
    check_statuses(retry)
    changes = _with_kept_tables(changes)
    written, chosen = _read(_with_kept_tables(study) if isinstance(study, Mapping) else study)
    if written and isinstance(study, (str, Path)) and "models" not in changes:
        refuse_foreign_models(written, Path(study), trust=trust)
    datasets = changes.get("datasets", datasets_of(written) if written else ())
    models = references_among(changes.get("models", models_of(written) if written else ()))
    own = folders_among(datasets)
    registry = registry_with(plugins, own, strict=strict, models=models, trust=trust, trusted_types=trusted_types)
    for problem in registry.problems:
        warnings.warn(str(problem), stacklevel=2)
    whole = override(written or preset(chosen, registry), "cfbench.run", **changes)
    folders = tuple(Path(folder) for folder in data_dirs)
    held_out = None if points_from is None else Path(points_from)
    source = data_source(folders, points_from=held_out)
    session = Session.prepare(whole, registry, source, cluster=cluster)
    session.check_workers()
    with Record.open(whole.results, write=True) as record:
        for damage in record.problems:
            warnings.warn(damage, stacklevel=2)
        report = session.run(record, retry=retry, resume="the same call of cfbench.run")
    if report.interrupted:
        raise KeyboardInterrupt(f"every finished search is in {whole.results}; the same call of cfbench.run goes on")
    return StudyResult(report, whole.results, session.tracking, registry, folders)


def judge(
    factuals: pd.DataFrame | Path | str,
    counterfactuals: pd.DataFrame | None = None,
    *,
    dataset: str,
    model: str,
    searcher: str,
    fold: int = 0,
    constraints: bool = False,
    objective: str = "none",
    points: int | None = None,
    white_box: bool = False,
    respect_steps: bool = False,
    seed: int = 42,
    results: Path | str = "results",
    plugins: Iterable[object] = (),
    data_dirs: Iterable[Path | str] = (),
    strict: bool = False,
) -> JudgedResults:
    """Judge results that were made elsewhere, as ``cfbench judge`` does, and store them in a record.

    They are judged and measured like results of a search. The board marks them "not run here". Judging the results of
    a searcher, data set, model and fold again replaces the earlier ones.

    Parameters
    ----------
    factuals : DataFrame, path or str
        The factuals: a column per feature, in raw units and with the labels of categories. Or the path of a file with
        factuals and counterfactuals.
    counterfactuals : DataFrame, optional
        The counterfactuals, in the same columns, with the same index; a row without any value: none was found. Both
        frames may have the columns `row` (the row of the data set, from 0), `repetition`, `seconds` and `queries`.
    dataset, model : str
        Registered names, or the path of a data-set folder; the model is the one that cfbench fits.
    searcher : str
        What the board calls the results, in lower case with hyphens.
    fold : int
        The fold whose eligible points the factuals are.
    constraints : bool
        Whether the counterfactuals have to obey the constraints.
    objective : str
        A further objective that the results are judged under; they count as searched for the loss alone.
    points : int or None
        The number of points that were searched from, if the results stop before; those without a result count as not
        found.
    white_box : bool
        Whether the search looked inside the model.
    respect_steps : bool
        Whether values off a feature's step are invalid.
    seed : int
        It decides the order of the points; the one of the study that the results are compared with.
    results : path
        The record's directory.
    plugins : iterable
        What to register for this call, as for `cfbench.run`.
    data_dirs : iterable of path
        Folders with tables that are not shipped.
    strict : bool
        Whether a plugin that fails to load is an error; a warning otherwise.

    Returns
    -------
    JudgedResults

    Raises
    ------
    CfbenchError
        If the results cannot be read, or belong to no point of the fold. A wrong counterfactual is a result, no error.

    Examples
    --------
    >>> import tempfile
    >>> import cfbench
    >>> import pandas
    >>> from sklearn.datasets import load_wine
    >>> names = load_wine().feature_names
    >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searches = cfbench.run(study, points=2, repetitions=1, tracking="none", results=folder).searches()
    ...     factuals, counterfactuals = (pandas.DataFrame(searches[name].tolist(), columns=names) for name in "xz")
    ...     judged = cfbench.judge(
    ...         factuals, counterfactuals, dataset="wine", model="random-forest", searcher="copied", results=folder
    ...     )
    >>> judged.statuses
    {'found': 2}
    """
    registry = registry_for(searcher, plugins, [dataset], white_box=white_box, strict=strict)
    for problem in registry.problems:
        warnings.warn(str(problem), stacklevel=2)
    task = PreparedCell.prepare(
        registry,
        data_source([Path(folder) for folder in data_dirs]),
        dataset=dataset,
        model=model,
        searcher=searcher,
        objective=objective,
        constraints=[constraints],
        folds=[fold],
        respect_steps=respect_steps,
        seed=seed,
    )
    if isinstance(factuals, (str, Path)):
        given = read_results(at_home(Path(factuals)), task.space)
    elif counterfactuals is None:
        raise DataError("the factuals are a frame without the counterfactuals: give both frames, or a file's path")
    else:
        given = results_of_frames(factuals, counterfactuals, task.space)
    with Record.open(at_home(Path(results)), write=True) as record:
        return judge_results(task, given, registry, record, points=points)


def _read(study: Study | Mapping[str, Any] | Path | str) -> tuple[Study | None, str]:
    """Return the study that is written down, or the name of a preset."""
    if isinstance(study, Study):
        return study, ""
    if isinstance(study, Mapping):
        return make_study(study), ""
    if not isinstance(study, (str, Path)):
        raise StudyError(
            f"a study is a Study, a dict of its keys, the path of a TOML file or a preset's name, not "
            f"{type(study).__name__}"
        )
    if isinstance(study, str) and not study.endswith(".toml") and not Path(study).is_file():
        return None, study
    return read_study(Path(study)), ""


def _with_kept_tables(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a study with folders in place of annotated tables."""
    found = dict(keys)
    datasets = found.get("datasets")
    if isinstance(datasets, AnnotatedTable):
        datasets = [datasets]
    if isinstance(datasets, (list, tuple)):
        found["datasets"] = [str(one.keep()) if isinstance(one, AnnotatedTable) else one for one in datasets]
    if isinstance(found.get("parts"), (list, tuple)):
        found["parts"] = [_with_kept_tables(one) if isinstance(one, Mapping) else one for one in found["parts"]]
    return found


def _refuse_a_worker() -> None:
    """Refuse to run inside a starting worker: it came here by importing the script that started it."""
    if multiprocessing.current_process().name == WORKER_NAME:
        raise CfbenchError(
            "cfbench.run was called again by one of its own workers, since workers import the script that starts them; "
            'put the call under `if __name__ == "__main__":`'
        )
