"""From an opened leaderboard to its page: the record is read, the features of its data sets are named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cfbench.analysis.published import opened_record
from cfbench.board.page.render import render_page
from cfbench.errors import CfbenchError
from cfbench.registry.registry import Registry
from cfbench.study.sources import data_source, load_dataset

if TYPE_CHECKING:
    from cfbench.board.board import Leaderboard
    from cfbench.space.space import FeatureSpace


def page_of(shown: Leaderboard, data_file: str = "") -> str:
    """Return a leaderboard's page.

    Parameters
    ----------
    shown : Leaderboard
    data_file : str
        Name of a CSV file beside the page; empty where there is none.

    Raises
    ------
    RecordError
        If the record is gone, or may not be read any more.
    """
    record = opened_record(Path(shown.record), with_published=shown.with_published)
    names = {view.task.dataset for view in shown.board.standings.tasks}
    return render_page(shown, record, _spaces(names, shown.registry), data_file)


def _spaces(names: set[str], registry: Registry) -> dict[str, FeatureSpace]:
    """Return the feature spaces of the data sets that can be had here without downloading anything."""
    source = data_source((), download=False)
    spaces = {}
    for name in sorted(names & registry.datasets.keys()):
        try:
            spaces[name] = load_dataset(registry.dataset(name).entry, source).space
        except CfbenchError:
            continue  # its features have numbers then
    return spaces
