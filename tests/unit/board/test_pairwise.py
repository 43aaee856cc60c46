"""How the numbers of a comparison are written."""

from __future__ import annotations

import pytest

from cfbench.board.pairwise import _decimal, _signed


@pytest.mark.parametrize(
    ("value", "loss", "difference"),
    [
        (0.25, "0.2500", "+0.2500"),
        (0.00123, "0.0012", "+0.0012"),
        (0.000312, "0.00031", "+0.00031"),
        (0.0000042, "0.0000042", "+0.0000042"),
        (1e-12, "0.0000", "0.0000"),
        (0.0, "0.0000", "0.0000"),
        (None, "-", "-"),
    ],
)
def test_two_digits_show_of_numbers_near_the_optimum(value: float | None, loss: str, difference: str) -> None:
    assert (_decimal(value), _signed(value)) == (loss, difference)


def test_a_negative_difference_keeps_its_sign() -> None:
    assert _signed(-0.00031) == "-0.00031"
