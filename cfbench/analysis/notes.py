"""What a reader should know before comparing rows: notes of one line each, and which of them matter most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum, auto

LINE = 94
"""Signs of a note, so that it is one line of a hundred behind ``Note: ``."""


class Kind(IntEnum):
    """What a note is about, the most important kind first: this order is that of every output."""

    NO_RANKS = auto()
    """Why no searcher is ranked or compared."""
    FAILED = auto()
    """Cells without results, because something went wrong."""
    UNFINISHED = auto()
    """Searches that are in no number yet."""
    OTHER_MODELS = auto()
    """Searchers that met differently fitted models."""
    VERSIONS = auto()
    OTHER_VALUES = auto()
    """Tasks that are ranked by another value than the one that they ask for."""
    NOT_RANKED = auto()
    """Searchers that are not ranked, because points are missing."""
    TASKS_LEFT_OUT = auto()
    POINTS_LEFT_OUT = auto()
    MACHINES = auto()
    """Seconds of several machines."""
    NO_LOSS = auto()
    """Searchers that are ranked, and in no loss."""
    UNEVEN = auto()
    """Folds, points or repetitions that differ between searchers."""
    ABNORMAL = auto()
    """Searches that crashed, ran into a limit or returned something invalid."""
    NO_WINNER = auto()
    """Tasks that separate no searchers."""
    SETUPS = auto()
    NOT_RUN = auto()
    SKIPPED = auto()
    REFERENCE = auto()
    """Why nothing is compared with a reference."""
    UNFOUND = auto()
    """Why white boxes found nothing."""
    METRICS = auto()
    """Metrics without values, or with values in some cells only."""


class Note(str):
    """A note: its text, with the kind that decides its place.

    Parameters
    ----------
    kind : Kind
    text : str
        One sentence; line breaks become spaces.

    Examples
    --------
    >>> note = Note(Kind.SKIPPED, "2 cells were skipped")
    >>> note, note.kind.name
    ('2 cells were skipped', 'SKIPPED')
    """

    kind: Kind

    def __new__(cls, kind: Kind, text: str) -> Note:
        """Return a text with a kind."""
        note = super().__new__(cls, " ".join(text.split()))
        note.kind = kind
        return note

    def __getnewargs__(self) -> tuple[Kind, str]:  # type: ignore[override]
        """Return what a copy is made from, here and in another process."""
        return self.kind, str(self)

    def under(self, title: str) -> Note:
        """Return the note as one of a titled table; itself where there is no title."""
        return Note(self.kind, f"{title}: {self}") if title else self


def notes_as(kind: Kind, texts: Iterable[str]) -> list[Note]:
    """Return texts as notes of one kind; what is a note already keeps its own."""
    return [text if isinstance(text, Note) else Note(kind, text) for text in texts]


def in_order(notes: Iterable[Note]) -> list[Note]:
    """Return notes by importance, each once; those of one kind keep their order."""
    return sorted(dict.fromkeys(notes), key=lambda note: note.kind)


def listing(cases: Sequence[str], *, start: str = "", end: str = "", join: str = "; ") -> str:
    """Write as many cases behind `start` as one line has room for, and count the others.

    Examples
    --------
    >>> listing(["a", "b"], start="skipped: ")
    'skipped: a; b'
    >>> listing(["a" * 50, "b" * 40, "c"], start="skipped: ")[-10:]
    '; 2 others'
    """
    for number in range(len(cases), 0, -1):
        rest = len(cases) - number
        others = f"{join}{rest} other{'' if rest == 1 else 's'}" if rest else ""
        text = f"{start}{join.join(cases[:number])}{others}{end}"
        if len(text) <= LINE:
            return text
    return text if cases else start + end
