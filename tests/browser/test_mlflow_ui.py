"""The MLflow UI in a real browser: Debian's chromium, headless."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium() -> str:
    """Return the browser's path; CI must have it."""
    found = shutil.which("chromium")
    if found is None:
        reason = "chromium is not installed (apt-get install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def _page(chromium: str, profile: Path, address: str) -> str:
    """Return the page's elements as they are once its scripts have drawn it."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--window-size=1400,900"]
    command = [chromium, *options, f"--user-data-dir={profile}", "--dump-dom", address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_address_that_is_printed_lists_the_runs(chromium: str, runs_page: str, tmp_path: Path) -> None:
    page = _page(chromium, tmp_path / "profile", runs_page)
    assert "cogs wine random-forest none f0" in page
    assert "cogs housing random-forest none f0" in page
    assert "<strong>2</strong> matching runs" in page
