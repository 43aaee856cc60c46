"""The page of ``cfbench report paper`` in a real browser: it fits a phone, and asks nothing of any network."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from cfbench_paper.charts import fixability
from cfbench_paper.claims import claims, claims_table, local_claims_table
from cfbench_paper.cost_tables import accident_table, relative_cost
from cfbench_paper.evidence import COMPARED, MEASURED
from cfbench_paper.gaps import Gaps
from cfbench_paper.report import PaperReport, Section, render_page

pytestmark = pytest.mark.browser

PROBE = """<script>
const wide = [...document.querySelectorAll("body *")].filter(one => !one.closest(".scroll") && !one.closest("svg"))
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.tagName);
const small = [...document.querySelectorAll("svg text")]
  .map(one => one.getBoundingClientRect().height).filter(height => height > 0);
parent.postMessage(JSON.stringify({
  width: innerWidth, page: document.documentElement.scrollWidth, wide: wide, smallest: Math.min(...small),
  ground: getComputedStyle(document.body).backgroundColor, requests: performance.getEntriesByType("resource").length,
}), "*");
</script>"""
"""Measures the page; the page itself allows no script, so the probe stands in a copy without that rule."""

FRAME = """<!doctype html><body><script>
onmessage = event => document.body.setAttribute("data-found", event.data);
</script><iframe src="paper.html" style="border: 0; width: WIDTHpx; height: 900px"></iframe>"""
"""The browser's own windows are at least 500 pixels wide; a frame may be as narrow as a phone."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = pd.DataFrame(
        [
            {"dataset": dataset, "model": "random-forest", "objective": objective, "robustness": objective, "m": 0}
            | {"fold": 0, "row_id": row, "found": True, "loss": 0.1, "seconds": 1.0, "cpu_seconds": 1.0, "queries": 9.0}
            | dict.fromkeys((*MEASURED, *COMPARED), 1.0 + row)
            for dataset in ("credit", "income", "housing", "productivity", "recidivism")
            for objective in ("none", "c", "k", "ck")
            for row in range(6)
        ]
    )
    found = claims(rows)
    items = (accident_table(rows), fixability(rows, "random-forest"), relative_cost(rows, "random-forest", "uniform"))
    sections = (
        Section("claims", "What holds here", "", (claims_table(found), local_claims_table(found))),
        Section("some", "Some of it", "A lead.", items),
    )
    lacks = Gaps(("Two cells.",), ("CoGS: one",), 1, ("cfbench run " + "--dataset credit " * 20,), (), "cfbench", "all")
    text = render_page(PaperReport("/a/record/" + "with/a/long/path/" * 6, tuple(found), sections, lacks, ()))
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("</body>", PROBE + "</body>")
    path = tmp_path_factory.mktemp("page") / "paper.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light")])
def test_the_page_fits(chromium: str, page: Path, tmp_path: Path, width: int, scheme: str) -> None:
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width + 100},900", "--dump-dom"]
    options += [f"--blink-settings=preferredColorScheme={int(scheme == 'light')}", f"--user-data-dir={tmp_path}"]
    frame = page.with_name(f"frame-{width}.html")
    frame.write_text(FRAME.replace("WIDTH", str(width)), encoding="utf-8")
    command = [chromium, *options, frame.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    found = re.search(r'data-found="([^"]*)"', shown)
    assert found is not None
    said = json.loads(found[1].replace("&quot;", '"'))
    assert said["width"] == width
    assert said["page"] <= width
    assert said["wide"] == []
    assert said["smallest"] >= 10  # the height of a line of text in a figure, in pixels
    assert said["requests"] == 0
    assert said["ground"] == ("rgb(20, 24, 29)" if scheme == "dark" else "rgb(255, 255, 255)")
