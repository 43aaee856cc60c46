"""Debian's chromium, headless, driven by its debugging protocol through a pipe: no port, no driver, no library."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run")


class Page:
    """One page. What it complains about and what it asks of the network is kept.

    Parameters
    ----------
    commands, answers : int
        The browser's pipe.
    """

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._number = 0
        self._session: dict[str, str] = {}
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come before it are noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params, **self._session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
        raise AssertionError("the browser is gone")

    def open(self, address: str, width: int = 1400, height: int = 900, *, dark: bool = False) -> None:
        """Load an address and wait until it is loaded."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.command("Page.navigate", url="about:blank")
        self.errors, self.requests = [], []
        self.command("Page.navigate", url=address)
        for _ in range(200):
            if self.value("document.readyState") == "complete" and self.value("location.href") != "about:blank":
                return
        raise AssertionError(f"{address} does not load")

    def value(self, expression: str) -> Any:
        """Evaluate a script in the page, promises awaited, and return its value."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" in self._buffer:
                message, _, self._buffer = self._buffer.partition(b"\0")
                answer: dict[str, Any] = json.loads(message)
                self._note(answer)
                yield answer
            data = os.read(self._answers, 2**20)
            if not data:
                return
            self._buffer += data

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.errors.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.errors.append(str(params["args"]))
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])


@contextmanager
def open_page(chromium: str, profile: Path) -> Iterator[Page]:
    """Start a browser with a profile of its own and yield its page; the browser ends with the block."""
    to_browser, commands = os.pipe()
    answers, from_browser = os.pipe()

    # The browser reads from descriptor 3 and writes to 4; a shell puts the pipes there.
    wired = f'exec "$0" "$@" 3< /dev/fd/{to_browser} 4> /dev/fd/{from_browser}'
    process = subprocess.Popen(
        ["sh", "-c", wired, chromium, *OPTIONS, f"--user-data-dir={profile}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(to_browser, from_browser),
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Page(commands, answers)
    finally:
        process.kill()
        process.wait()
        os.close(commands)
        os.close(answers)
