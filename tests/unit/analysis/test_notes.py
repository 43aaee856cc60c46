"""Notes keep to one line and stand in the order of their importance."""

from __future__ import annotations

from cfbench.analysis.notes import LINE, Note, NoteKind, in_order, listing, notes_as


def test_the_most_important_kind_comes_first_and_one_kind_keeps_its_order() -> None:
    given = [
        Note(NoteKind.SKIPPED, "b"),
        Note(NoteKind.METRICS, "c"),
        Note(NoteKind.SKIPPED, "a"),
        Note(NoteKind.NO_RANKS, "d"),
    ]
    assert in_order([*given, given[0]]) == ["d", "b", "a", "c"]


def test_a_note_is_its_text_on_one_line() -> None:
    note = Note(NoteKind.FAILED, "the table\nis   gone")
    assert (note, note.kind) == ("the table is gone", NoteKind.FAILED)
    assert note.under("data set wine") == "data set wine: the table is gone"
    assert note.under("") == note
    assert notes_as(NoteKind.METRICS, [note, "plain"])[0].kind is NoteKind.FAILED


def test_a_list_is_cut_where_the_line_ends() -> None:
    assert listing(["a", "b"], start="x: ") == "x: a; b"
    fits = listing(["a" * 40, "b" * (LINE - 45)], start="x: ")
    assert len(fits) == LINE
    assert fits.endswith("b")
    assert listing(["a" * 40, "b" * (LINE - 44)], start="x: ") == f"x: {'a' * 40}; 1 other"
    assert listing(["a" * 200, "b"], start="x: ") == f"x: {'a' * 200}; 1 other"  # one case is always named
    assert listing([], start="none") == "none"
