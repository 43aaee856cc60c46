"""The tracking reporter: mirrors finished cells to MLflow, one way, from the main process alone.

Tracking that is down costs the run one message and nothing else; ``cfbench sync`` logs later what is missing. Failed
cells have no results to show and are not mirrored: they run again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench import hookimpl
from cfbench.registry import CellFinished, RunFinished, RunStarted

if TYPE_CHECKING:
    from cfbench_reporters.mirror import Mirror
    from cfbench_reporters.reading import TrackingReader


class TrackingReporter:
    """Logs every finished cell of a run as a flat MLflow run.

    `logged`: cells that the present run has logged anew or brought up to date.
    """

    def __init__(self) -> None:
        self.logged = 0
        self._mirror: Mirror | None = None
        self._resumed: frozenset[str] = frozenset()

    @staticmethod
    def reader(address: str) -> TrackingReader:
        """Open a tracking store for reading cells back from it."""
        from cfbench_reporters.reading import TrackingReader

        return TrackingReader(address)

    @hookimpl
    def cfbench_run_started(self, event: RunStarted) -> None:
        """Open the study's experiment.

        Raises
        ------
        TrackingError
            If that fails; the cells of this run are then ignored.
        """
        self.logged, self._mirror = 0, None
        if event.tracking:
            from cfbench_reporters.mirror import Mirror

            self._resumed = frozenset(cell.key for cell in event.cells) if event.cells_done else frozenset()
            self._mirror = Mirror(event.tracking, event.study, event.results)

    @hookimpl
    def cfbench_cell_finished(self, event: CellFinished) -> None:
        """Log the cell.

        Raises
        ------
        TrackingError
            If that fails; further cells of this run are then ignored.
        """
        mirror = self._mirror
        if mirror is None or event.failure or not event.statuses:
            return
        from cfbench_reporters.cell_files import CellTables
        from cfbench_reporters.cell_run import cell_run

        self._mirror = None
        self.logged += mirror.log(cell_run(event), CellTables.of(event))
        self._mirror = mirror

    @hookimpl
    def cfbench_run_finished(self, event: RunFinished) -> None:
        """Rewrite the study's summary, where cells were logged since the last one, and let go of the store.

        Raises
        ------
        TrackingError
            If that fails, the next run, or ``cfbench sync``, tries again; or if cells that an earlier run finished are
            not in this store: it was down then, or the study was tracked elsewhere, or nowhere.
        """
        mirror, self._mirror = self._mirror, None
        if mirror is None:
            return
        mirror.summarise()
        if self._resumed:
            mirror.check_whole(self._resumed, event.cells_done)
