from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from cfbench.analysis.result_matrix import ComparedSearcher
from cfbench.board.board import Leaderboard
from cfbench.board.tabular import render_csv, render_json


def test_json_holds_every_row_unrounded(shown: Leaderboard) -> None:
    content = json.loads(render_json(shown))
    assert (content["reference"], content["cells"], content["failed"], content["skipped"]) == ("cogs", 8, 1, 1)
    assert content["cautions"] == list(shown.board.cautions)
    assert len(content["rows"]) == 6
    row = next(r for r in content["rows"] if r["searcher"] == "spheres" and r["model"] == "random-forest")
    expected = {
        "success_mean": (2 / 3 + 1 / 2) / 2,
        "success_sd": 1 / 12,
        "search_success_mean": 0.375,
        "search_success_sd": 0.125,
        "loss_median": 0.3,
        "shared_loss_median": 0.3,
        "relative_loss_median": 0.5,
        "seconds_mean": 12.5,
        "search_queries_mean": 93999.9,
        "robustness_queries_mean": 0.0,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    counts = {
        "points_eligible": 75,
        "points": 5,
        "points_found": 3,
        "searches": 10,
        "searches_found": 4,
        "loss_points": 3,
        "shared_loss_points": 3,
        "relative_loss_points": 3,
        "relative_loss_asked": 5,
        "cells": 2,
        "status_crashed": 1,
        "status_found": 4,
        "status_not_found": 5,
        "status_timed_out": 0,
    }
    assert {name: row[name] for name in counts} == counts


def test_csv_and_json_say_the_same(shown: Leaderboard, tasks: Leaderboard) -> None:
    (table,) = json.loads(render_json(shown))["tables"]
    for rows, text in ((table["rows"], render_csv(shown)), (json.loads(render_json(tasks))["rows"], render_csv(tasks))):
        lines = list(csv.DictReader(io.StringIO(text)))
        assert len(lines) == len(rows) > 2
        for line, row in zip(lines, rows, strict=True):
            assert line == {name: "" if value is None else str(value) for name, value in row.items()}


def test_text_that_a_spreadsheet_would_run_is_quoted_and_numbers_are_not(shown: Leaderboard) -> None:
    row = replace(shown.board.standings.rows[1], searcher=ComparedSearcher('=HYPERLINK("http://e")', "+1"))
    part = replace(shown.board.standings, rows=(row,), pairs=())
    (line,) = csv.DictReader(io.StringIO(render_csv(Leaderboard(replace(shown.board, parts=(part,)), "results"))))
    assert line["searcher"] == '\'=HYPERLINK("http://e")'
    assert line["setup"] == "'+1"
    assert float(line["seconds_mean"]) == pytest.approx(row.spending.seconds)
