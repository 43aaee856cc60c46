"""A shard: one of several parts of a plan, for machines without a network between them. Merging joins their records.

Which cell belongs to which shard depends on the cells alone: not on the order of the study, the record, or a model.
Cells are sorted by what decides their length and dealt like cards, so that every shard gets as many cells as any
other, or one more, and as many of each searcher; a digest of the key would leave the longest shard to chance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from cfbench.digests import digest_of
from cfbench.errors import StudyError
from cfbench.study.plan import Cell, Plan

_WRITTEN = re.compile(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*")


@dataclass(frozen=True)
class Shard:
    """Part number `number` of `of` parts, counted from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``3/16``.

        Raises StudyError if the text is anything else, or the number is larger than the number of parts.
        """
        match = _WRITTEN.fullmatch(text)
        if match is None:
            raise StudyError(f"--shard {text!r}: write NUMBER/OF, as in 3/16: the third of sixteen parts")
        number, of = int(match[1]), int(match[2])
        if not 1 <= number <= of:
            first = " (shards are counted from 1: an array that starts at 0 adds 1)" if number == 0 < of else ""
            raise StudyError(f"--shard {text!r}: of {of} shards, the number is from 1 to {max(of, 1)}{first}")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def _ending(self) -> str:
        return f"-shard-{self.number:0{len(str(self.of))}}-of-{self.of}"

    def results(self, results: Path) -> Path:
        """Return this shard's own directory, next to the study's: a record has one writer."""
        return results.with_name(results.name + self._ending)

    def whole(self, results: Path) -> Path | None:
        """Return the study directory from which `results()` derived this one, or None if the user chose it."""
        name = results.name.removesuffix(self._ending)
        return None if name == results.name else results.with_name(name)


def shard_of(plan: Plan, shard: Shard) -> Plan:
    """Return the plan of a shard: its cells in the plan's order, and a note that names the shard.

    The shards of a plan are disjoint and together hold all of its cells.
    """
    dealt = sorted(plan.cells, key=_rank)
    own = {cell.info.key for cell in dealt[shard.number - 1 :: shard.of]}
    cells = tuple(cell for cell in plan.cells if cell.info.key in own)
    whole = digest_of(sorted(cell.info.key for cell in plan.cells))[:8]
    part = f"{len(cells)} of the study's {len(plan.cells)} cells"
    note = f"shard {shard}: {part}; shards belong together if all of them name plan {whole}"
    return replace(plan, cells=cells, notes=(*plan.notes, note))


def _rank(cell: Cell) -> tuple[object, ...]:
    """Sort cells of about the same length next to each other; skipped cells, which take no time, separately."""
    info = cell.info
    return (
        bool(cell.skipped),
        info.searcher,
        info.objective,
        info.dataset,
        info.model,
        info.constraints,
        info.fold,
        info.key,
    )
