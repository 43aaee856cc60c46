"""Why white boxes found nothing: a proof that there is nothing is no failure, a limit that came first is no proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cfbench.counts import plural
from cfbench.harness.store.reading import RecordReading
from cfbench.harness.store.summary import CellSummary
from cfbench.outcome import Status


def why_unfound(record: RecordReading, cells: Iterable[CellSummary]) -> list[str]:
    """Count the reasons that white boxes gave where they found nothing, a sentence each, the most frequent first.

    They are what others are held against, so that it matters which it was; a black box can only give up. Only cells
    in which something was not found are opened.

    Parameters
    ----------
    record : RecordReading
    cells : iterable of CellSummary
        Those shown.
    """
    ends: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        if cell.info.white_box and cell.statuses.get(Status.NOT_FOUND.value):
            for row in record.rows(cell.info.key):
                if row["status"] == Status.NOT_FOUND and row["reason"]:
                    ends[cell.info.searcher, row["reason"]] += 1
    return [
        f"{searcher} found nothing in {plural(count, 'search')}: {reason}"
        for (searcher, reason), count in ends.most_common()
    ]
