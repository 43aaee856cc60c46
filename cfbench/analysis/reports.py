"""What the reports of plugins receive and return: a record with all that belongs to it in, files out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cfbench.errors import PluginError
from cfbench.record.cells import CellSummary
from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry
from cfbench.running.fitted import FittedModels, TunedRow
from cfbench.running.measure import cell_metrics, identity
from cfbench.space.dataset import Dataset
from cfbench.study.sources import load_dataset
from cfbench.study.variants import Variant, resolve_variant


@dataclass(frozen=True)
class ReportContext:
    """What a report gets to work with. It searches, measures and fits nothing.

    Parameters
    ----------
    record : Record
        Open for reading.
    registry : Registry
        Everything that is registered: `searchers`, `models`, ... by name, each with its `entry`.
    source : DataSource
        Where tables may be found.
    models : FittedModels
        Where tuned hyper-parameters are kept.
    command : str
        What the user types for ``cfbench``, for hints.
    """

    record: Record
    registry: Registry
    source: DataSource
    models: FittedModels
    command: str = "cfbench"

    def dataset(self, name: str) -> Dataset:
        """Return a data set by its registered name.

        Raises
        ------
        CfbenchError
            If there is none of that name, or its table is not at hand.
        """
        return load_dataset(self.registry.dataset(name).entry, self.source)

    def tuned(self, dataset: Dataset, model: str, fold: int) -> TunedRow | None:
        """Return the tuned hyper-parameters of a model with its accuracy; None where the fold was not tuned yet."""
        entry = self.registry.model(model).entry
        return self.models.known(dataset, fold, entry, entry.family())

    def metric(self, text: str) -> Variant:
        """Return a metric with its settings, as in ``context.metric("NAME[setting=value]")``.

        Raises
        ------
        UnknownNameError, StudyError
            If there is no such metric, or it has no such setting.
        """
        return resolve_variant(self.registry, "metric", text)

    def measured_for(self, metrics: Iterable[str]) -> tuple[Variant, ...]:
        """Return what has to be measured about each cell for metrics, those that compare cells among them."""
        return cell_metrics([self.metric(text) for text in metrics], self.registry)

    def unmeasured(self, metrics: Iterable[str], cells: Iterable[CellSummary]) -> Counter[str]:
        """Count the cells that lack a measure which metrics need, by the measure's label."""
        measured = self.record.measured()
        wanted = {variant.label: identity(variant, self.registry) for variant in self.measured_for(metrics)}
        return Counter(
            label
            for cell in cells
            for label, one in wanted.items()
            if one not in measured.get(cell.info.key, frozenset())
        )


@dataclass(frozen=True)
class RenderedReport:
    """What a report renders.

    Parameters
    ----------
    files : mapping of str to bytes
        Contents by name, the page that a reader opens first. Names are relative, with slashes between folders.
    said : str
        What the command prints.
    problems : tuple of str
        What could not be read or compared; printed as warnings.

    Raises
    ------
    PluginError
        If there is no file, or one would lie outside the report's folder.
    """

    files: Mapping[str, bytes]
    said: str = ""
    problems: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.files:
            raise PluginError("the report renders no file; it must render one at least")
        for name, content in self.files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or not path.name or ".." in path.parts or "\0" in name:
                raise PluginError(f"the report's file {name!r} would lie outside its folder; names are relative")
            if not isinstance(content, bytes):
                raise PluginError(f"the report's file {name} is {type(content).__name__}; contents are bytes")
