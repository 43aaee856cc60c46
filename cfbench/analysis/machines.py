"""Whether the seconds of a board can be compared: they cannot if its searches ran on several kinds of machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cfbench.analysis.notes import Kind, Note, listing
from cfbench.analysis.published import CombinedRecord
from cfbench.record.reading import RecordReading


def seconds_of_machines(record: RecordReading) -> list[Note]:
    """Say which machines the seconds are of, where these are of several kinds; the user's own and the published apart.

    Parameters
    ----------
    record : RecordReading
    """
    if not isinstance(record, CombinedRecord):
        kinds = kinds_of(record.machines())
        start = "seconds are of several machines and not comparable: "
        return [Note(Kind.MACHINES, listing(kinds, start=start))] if len(kinds) > 1 else []
    if not record.yours:
        return []
    apart = record.machines_apart()
    yours, published = (" or ".join(kinds_of(one)) or "an unknown machine" for one in apart)
    if yours == published and apart[0]:
        return []
    return [Note(Kind.MACHINES, f"seconds are not comparable: yours of {yours}, published of {published}")]


def kinds_of(machines: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the kinds of some machines, each once: processor and cores."""
    return sorted({f"{one.get('processor', 'unknown')}, {one.get('cores', '?')} cores" for one in machines})
