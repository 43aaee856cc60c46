from __future__ import annotations

import pytest

from cfbench.board.text import change, decimals, fine_change, score, share, short_seconds, whole_change


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.25, "+25.0%"),
        (-0.2, "-20.0%"),
        (0.0, "0.0%"),
        (-0.0, "0.0%"),
        (-0.0004, "0.0%"),
        (0.0004, "0.0%"),
        (-0.0006, "-0.1%"),
        (12.5, "+1,250.0%"),
    ],
)
def test_a_change_has_a_sign_unless_it_rounds_to_nothing(ratio: float, text: str) -> None:
    assert change(ratio) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(None, "-"), (0.0, "+0%"), (-0.001, "+0%"), (0.004, "+0%"), (0.885, "+88%"), (-0.2, "-20%")]
)
def test_a_whole_change_always_has_a_sign(ratio: float | None, text: str) -> None:
    assert whole_change(ratio) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        *((None, "-"), (0.0, "+0%"), (0.000142, "+0.014%"), (0.0087, "+0.87%"), (0.014, "+1.4%")),
        *((0.1, "+10%"), (1.13, "+113%"), (-0.002, "-0.20%"), (20.0, "+2,000%")),
        *((1.4e-17, "+0%"), (-1.4e-17, "+0%"), (0.000006, "+0.001%")),
    ],
)
def test_a_small_change_keeps_two_digits(ratio: float | None, text: str) -> None:
    assert fine_change(ratio) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (1.0, "100.0%"), (0.99999, "99.9%"), (0.0, "0.0%"), (0.0001, "0.1%"), (0.7012, "70.1%")],
)
def test_all_and_none_are_said_of_all_and_none_only(value: float | None, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([None, 0.0], ["-", "0.00"]),
        ([0.908, 0.01], ["0.91", "0.01"]),
        ([0.0123, 0.0417], ["0.012", "0.042"]),
        ([0.0012, None], ["0.0012", "-"]),
        ([12.5, 1234.4], ["12.50", "1,234"]),
    ],
)
def test_a_metric_keeps_what_tells_rows_apart(values: list[float | None], texts: list[str]) -> None:
    assert [score(value, decimals(values)) for value in values] == texts


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0.003, "0.003"), (0.08, "0.08"), (31.0, "31.00")])
def test_seconds_are_not_rounded_to_nothing(value: float | None, text: str) -> None:
    assert short_seconds(value) == text
