"""The page's figures by matplotlib: the numbers that the page has."""

from __future__ import annotations

from typing import Any

import pytest

import cfbench
from cfbench.board.board import Leaderboard
from cfbench.board.page.figures import Form, PageFigure, Scale, Series
from cfbench.board.page.svg import draw
from cfbench.board.plots import plot_figures
from cfbench.errors import UnknownNameError
from tests.toys.studies import STUDY, TOY


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Leaderboard:
    folder = tmp_path_factory.mktemp("plots")
    study = {**STUDY, "models": ["threshold", "threshold[shift=1]"], "searchers": ["toy-dice", "toy-both"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFBENCH_CACHE_DIR", str(folder / "cache"))
        return cfbench.run(study, plugins=[TOY], results=folder / "results").leaderboard()


def named(axes: Any) -> dict[str, list[tuple[float, float]]]:
    return {
        line.get_label(): [(float(x), float(y)) for x, y in line.get_xydata()]
        for line in axes.lines
        if not line.get_label().startswith("_")
    }


def test_mean_ranks_are_those_of_the_board(board: Leaderboard) -> None:
    (axes,) = board.plot("ranks")
    table = board.overall()
    drawn = named(axes)
    assert set(drawn) == set(table["searcher"])
    for _, row in table.iterrows():
        assert drawn[row["searcher"]][0][0] == pytest.approx(row["rank"])
    assert axes.get_ylim() == (2.0, 0.0)  # the first row on top


def test_all_figures_are_drawn_in_one_picture(board: Leaderboard) -> None:
    axes = board.plot()
    assert [one.get_title() for one in axes] == [
        "Mean ranks",  # no loss against queries: one of the two searchers makes none
        "Mean ranks by model",
        "Targets reached over queries",
    ]
    assert {one.figure for one in axes} == {axes[0].figure}
    assert [text.get_text() for text in axes[1].get_xticklabels()] == ["threshold", "threshold[shift=1]"]


def test_an_unknown_figure_is_refused_with_those_that_exist(board: Leaderboard) -> None:
    with pytest.raises(UnknownNameError, match=r"'rank'.*ranks"):
        board.plot("rank")


def test_what_lies_outside_the_limits_is_drawn_at_them_on_the_page_and_by_matplotlib() -> None:
    figure = PageFigure(
        name="made-up",
        title="Made up",
        caption="",
        x=Scale("queries", 1, 100, log=True),
        y=Scale("share", 0, 1),
        form=Form.DOTS,
        series=(Series("a", 0, ((10.0, 0.5),)), Series("b", 1, ((1000.0, 2.0),), span=(10.0, 100.0))),
        of=2,
        front=((10.0, 0.5),),
        header=(),
        rows=(),
    )
    (axes,) = plot_figures([figure])
    assert named(axes) == {"a": [(10.0, 0.5)], "b": [(100.0, 1.0)]}
    # On the page: from x = 62 to 272 and from y = 274 up to 30, so (10, 0.5) lies in the middle.
    markup = draw(figure)
    assert "translate(167.0 152.0)" in markup
    assert "translate(272.0 30.0)" in markup
    assert 'class="span" d="M167.0 30.0H272.0"' in markup
