"""Notes keep to one line and stand in the order of their importance."""

from __future__ import annotations

import copy
import pickle

from cfbench.analysis.notes import LINE, Kind, Note, in_order, listing, notes_as


def test_the_most_important_kind_comes_first_and_one_kind_keeps_its_order() -> None:
    given = [Note(Kind.SKIPPED, "b"), Note(Kind.METRICS, "c"), Note(Kind.SKIPPED, "a"), Note(Kind.NO_RANKS, "d")]
    assert in_order([*given, given[0]]) == ["d", "b", "a", "c"]


def test_what_stops_a_comparison_stands_before_what_qualifies_it() -> None:
    order = [Kind.NO_RANKS, Kind.FAILED, Kind.NOT_RANKED, Kind.MACHINES, Kind.UNEVEN, Kind.SKIPPED, Kind.METRICS]
    assert [kind for kind in Kind if kind in order] == order
    assert list(Kind) == sorted(Kind)


def test_a_note_is_its_text_on_one_line() -> None:
    note = Note(Kind.FAILED, "the table\nis   gone")
    assert (note, note.kind) == ("the table is gone", Kind.FAILED)
    assert note.under("data set wine") == "data set wine: the table is gone"
    assert note.under("") == note
    assert notes_as(Kind.METRICS, [note, "plain"])[0].kind is Kind.FAILED


def test_a_copy_keeps_its_kind() -> None:
    note = Note(Kind.FAILED, "gone")
    for other in (copy.copy(note), pickle.loads(pickle.dumps(note))):
        assert (other, other.kind) == (note, Kind.FAILED)


def test_a_list_is_cut_where_the_line_ends() -> None:
    assert listing(["a", "b"], start="x: ", end=".") == "x: a; b."
    fits = listing(["a" * 40, "b" * (LINE - 45)], start="x: ")
    assert len(fits) == LINE
    assert fits.endswith("b")
    assert listing(["a" * 40, "b" * (LINE - 44)], start="x: ") == f"x: {'a' * 40}; 1 other"
    assert listing(["a" * 200, "b"], start="x: ") == f"x: {'a' * 200}; 1 other"  # one case is always named
    assert listing([], start="none") == "none"
