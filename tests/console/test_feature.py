"""Where the console listens."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.console.running import DEMO, running


def test_a_port_that_is_taken_is_another_one_unless_it_was_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(AssertionError, match=r"\[console\]"),
            running(tmp_path, DEMO, f"port = {port}"),
        ):
            pass


def test_without_a_port_two_gateways_of_a_machine_have_one_each(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    with running(one, DEMO, "") as first, running(two, DEMO, "") as second:
        assert first.url != second.url


def test_switched_off_it_is_not_served(tmp_path: Path) -> None:
    with running(tmp_path, DEMO, "enabled = false") as found:
        assert found.url == ""
