"""The measures of one cell, put together from several records."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cfbench.record.point_values import ID_COLUMNS, MetricId
from cfbench.record.record import Record
from cfbench.registry.events import CellInfo


def take_measures(info: CellInfo, record: Record, sources: Sequence[tuple[Record, Collection[MetricId]]]) -> list[str]:
    """Add to `record` what other records have measured of a cell; return what disagrees, which stays as it was.

    Only measures of the very table that `record` holds count: a metric may look at all searches of a cell, and those of
    times belong to one run.

    Parameters
    ----------
    info : CellInfo
    record : Record
        Open for writing.
    sources : sequence of (Record, set)
        Records, each with what it has measured of the cell.
    """
    conflicts: list[str] = []
    key = info.key
    mark = record.mark(key)
    for source, measured in sources:
        have, theirs = record.measured().get(key, set()), set(measured)
        if not theirs or source.mark(key) != mark:
            continue
        frame = source.measures(key)
        ids = list(frame[ID_COLUMNS].itertuples(index=False, name=None))
        new = theirs - have
        if new:
            record.write_measures(key, frame[[one in new for one in ids]])
        twice = theirs & have
        if twice:
            columns = [*ID_COLUMNS, "point", "repetition"]
            ours = record.measures(key).set_index(columns)["value"].sort_index()
            other = frame[[one in twice for one in ids]].set_index(columns)["value"].sort_index()
            known = ours.reindex(other.index)
            differ = ~((known == other) | (known.isna() & other.isna()))
            if differ.any():
                labels = sorted({str(place[0]) for place in differ.index[differ]})
                conflicts.append(
                    f"cell {key} ({info.dataset}, {info.model}, {info.searcher}): {source.origin} measures "
                    f"{', '.join(labels)} differently; the values that were there are kept"
                )
    return conflicts
