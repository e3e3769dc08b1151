"""What `doctor` says of a gateway whose loop stood still."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gatewright.cli.running import Running
from gatewright.telemetry.doctor import check_stalls, stalls_in

TEXT = """# TYPE gatewright_loop_longest_stall_seconds gauge
gatewright_loop_longest_stall_seconds {longest}
# TYPE gatewright_worker_kills_total counter
gatewright_worker_kills_total {kills}
"""


@contextmanager
def telling(text: str, status: int = 200) -> Iterator[Running]:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = self.path == "/metrics" and self.headers["Authorization"] == "Bearer o"
            self.send_response(status if told else 403)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Metrics)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Running(f"http://127.0.0.1:{server.server_port}/mcp", 1, "o", "l", "1")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(("longest", "level"), [(0.02, "ok"), (3.5, "warning")])
def test_the_longest_stall_is_told_and_a_long_one_is_a_warning(longest: float, level: str) -> None:
    with telling(TEXT.format(longest=longest, kills=2)) as running:
        (found,) = check_stalls(running)
    assert (found.level, bool(found.fix)) == (level, level == "warning")
    assert f"{longest * 1000:.0f} ms" in found.what
    assert "2 times" in found.what


def test_a_gateway_that_tells_nothing_is_not_guessed_about() -> None:
    with telling("", 403) as running:
        assert list(check_stalls(running)) == []
    gone = Running("http://127.0.0.1:1/mcp", 1, "o", "l", "1")
    assert list(check_stalls(gone)) == []
    assert stalls_in("") == (None, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        'gatewright_x{a="b" 1\n',
        "gatewright_loop_longest_stall_seconds many\n",
        "<html><body>no metrics</body></html>\n",
        "{} {}\n",
        "# TYPE a b c d\na{",
        "gatewright_loop_longest_stall_seconds NaN\n",
        "gatewright_loop_longest_stall_seconds +Inf\n",
    ],
)
def test_an_answer_that_is_no_text_of_metrics_says_nothing(text: str) -> None:
    with telling(text) as running:
        assert list(check_stalls(running)) == []


@pytest.mark.parametrize("url", ["http://[::1/mcp", "http://127.0.0.1:port/mcp", "x", ""])
def test_a_gateway_whose_url_is_none_is_not_asked(url: str) -> None:
    assert list(check_stalls(Running(url, 1, "o", "l", "1"))) == []
