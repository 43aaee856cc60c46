"""The MLflow UI in a real browser: Debian's chromium, headless."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser


def _page(chromium: str, profile: Path, address: str) -> str:
    """Return the page's elements as they are once its scripts have drawn it.

    The window is wide: a table of MLflow's has the columns that fit, and adds the others when it is scrolled.
    """
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--window-size=3200,900"]
    command = [chromium, *options, f"--user-data-dir={profile}", "--dump-dom", address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_address_that_is_printed_lists_the_runs(chromium: str, runs_page: str, tmp_path: Path) -> None:
    page = _page(chromium, tmp_path / "profile", runs_page)
    assert "cogs wine random-forest none f0" in page
    assert "cogs housing random-forest none f0" in page
    assert "<strong>2</strong> matching runs" in page
    assert "You're viewing a shared view" in page
    assert _columns(page) >= {"dataset", "searcher", "objective", "fold", "success_rate", "loss_median"}


def test_the_summary_is_a_table_of_searchers(chromium: str, ui_pages: dict[str, str], tmp_path: Path) -> None:
    page = _page(chromium, tmp_path / "profile", ui_pages["summary, a table"])
    assert "<strong>1</strong> matching run" in page
    assert _columns(page) >= {"position", "success_rate", "loss_against_best", "seconds_mean", "queries", "n_cells"}
    assert "quick: summary" in page


def test_the_summary_is_charts_whose_sections_name_the_better_direction(
    chromium: str, ui_pages: dict[str, str], tmp_path: Path
) -> None:
    page = _page(chromium, tmp_path / "profile", ui_pages["summary, charts"])
    for section in (
        "01 Found, higher is better",
        "02 Values, lower is better",
        "03 Effort, lower is better",
    ):
        assert section in page
    assert all(f">{metric}<" in page for metric in ("success_rate", "loss_against_best", "seconds_mean", "queries"))


def test_runs_are_compared_side_by_side(chromium: str, runs_page: str, tmp_path: Path) -> None:
    server, _, view = runs_page.partition("/#/experiments/")
    experiment = view.partition("/")[0]
    runs = json.dumps([run["info"]["run_id"] for run in _search_runs(server, experiment)])
    query = urllib.parse.urlencode({"runs": runs, "experiments": json.dumps([experiment])})
    page = _page(chromium, tmp_path / "profile", f"{server}/#/compare-runs?{query}")
    assert "Comparing 2 Runs from 1 Experiment" in page
    assert all(name in page for name in ("success_rate", "loss_median", "queries", "wine", "housing"))


def _columns(page: str) -> set[str]:
    """Return the names of a table's columns of tags, parameters and metrics."""
    return set(re.findall(r'col-id="(?:tags|params|metrics)\.`([^`"]+)`"', page))


def _search_runs(server: str, experiment: str) -> list[dict[str, dict[str, str]]]:
    request = urllib.request.Request(
        f"{server}/api/2.0/mlflow/runs/search",
        data=json.dumps({"experiment_ids": [experiment]}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return list(json.load(response)["runs"])
