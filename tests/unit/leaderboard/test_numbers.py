from __future__ import annotations

import pytest

from cfbench.leaderboard.columns import change


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
