"""The pages of a study in the MLflow UI: their addresses."""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from cfbench.cli.mlflow_server import answer
from cfbench.harness.tracking import CELL_VIEW, CHART_VIEW, SUMMARY_TAG, TABLE_VIEW, VIEW_TAG_PREFIX

_SECONDS = 10.0


def study_pages(server: str, study: str) -> list[tuple[str, str]]:
    """Return what there is to see of a study.

    Parameters
    ----------
    server : str
        Address of an MLflow server that runs.
    study : str

    Returns
    -------
    list of (str, str)
        What a page shows, and its address: the summary's table and charts, where there is a summary, and the study's
        runs. Empty where the server does not know the study.
    """
    server = server.rstrip("/")
    experiment = _experiment(server, "get-by-name", experiment_name=study)
    if experiment is None:
        return []
    number, tags = experiment
    pages = []
    if tags.get(SUMMARY_TAG):
        summary = _experiment(server, "get", experiment_id=tags[SUMMARY_TAG])
        if summary is not None:
            pages = [
                ("summary, a table", _runs_page(server, *summary, TABLE_VIEW)),
                ("summary, charts", _runs_page(server, *summary, CHART_VIEW, compareRunsMode="CHART")),
            ]
    return [*pages, ("runs, one a cell", _runs_page(server, number, tags, CELL_VIEW))]


def _runs_page(server: str, number: str, tags: dict[str, str], view: str, **more: str) -> str:
    query = {"workflowType": "machine_learning", **more}
    if f"{VIEW_TAG_PREFIX}{view}" in tags:
        query["viewStateShareKey"] = view
    return f"{server}/#/experiments/{number}/runs?{urllib.parse.urlencode(query)}"


def _experiment(server: str, endpoint: str, **query: str) -> tuple[str, dict[str, str]] | None:
    """Return an experiment's identifier and tags; None where the server does not know it."""
    found = answer(f"{server}/api/2.0/mlflow/experiments/{endpoint}?{urllib.parse.urlencode(query)}", _SECONDS)
    if found is None:
        return None
    try:
        experiment: Any = json.loads(found)["experiment"]
        tags = {str(tag["key"]): str(tag.get("value", "")) for tag in experiment.get("tags", [])}
        number = str(experiment["experiment_id"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return number, tags
