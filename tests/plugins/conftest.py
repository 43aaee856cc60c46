"""A server that answers as a test says."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator

import pytest

Handler = http.server.BaseHTTPRequestHandler
Serve = Callable[[Callable[[Handler], None]], str]


def answer(handler: Handler, status: int, body: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Serve answers on loopback until the test ends; return the address."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    servers = []

    def start(respond: Callable[[Handler], None]) -> str:
        class Answering(Handler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                try:
                    respond(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
