"""A listener that others reach without TLS is said loudly: by every server, at every kind of address, and never otherwise."""

import logging
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport import http_server, tcp
from gatewright.transport.clear_text import clear_text, is_open

OPEN = [
    "0.0.0.0",
    "::",
    "192.168.1.4",
    "10.0.0.1",
    "fe80::1%eth0",
    "::ffff:10.0.0.1",
    "8.8.8.8",
    "gateway.lan",
    "",
]
OWN = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]


@pytest.mark.parametrize("address", OPEN)
def test_an_address_that_others_reach_or_that_is_none_is_open(address: str) -> None:
    assert is_open(address)


@pytest.mark.parametrize("address", OWN)
def test_loopback_is_this_machine_alone_also_where_it_is_mapped(address: str) -> None:
    assert not is_open(address)


@given(st.ip_addresses())
def test_what_is_not_loopback_is_open_whatever_it_is(address: Any) -> None:
    mapped = getattr(address, "ipv4_mapped", None)
    assert is_open(str(address)) == (not (mapped or address).is_loopback)


def test_every_socket_is_looked_at_and_tls_and_unix_sockets_are_left_out(tmp_path: Path) -> None:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        sockets[0].bind(("127.0.0.1", 0))
        sockets[1].bind(("0.0.0.0", 0))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(tmp_path / "s"))
        port = sockets[1].getsockname()[1]
        everywhere = f"0.0.0.0:{port} (every address of this machine)"
        assert clear_text([*sockets, unix], tls=False) == (everywhere,)
        assert clear_text([*sockets, unix], tls=True) == ()


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError(f"nobody asks: {scope}, {receive}, {send}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
async def test_each_kind_of_server_says_so_in_the_log(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        web = await http_server.serve(_nothing, host=host)
        lines = await tcp.serve_lines(lambda _: pytest.fail("nobody asks"), host=host, port=0)
        try:
            said = [record.getMessage() for record in caplog.records]
            assert web.clear_text
            assert lines.clear_text
            for address in (*web.clear_text, *lines.clear_text):
                [line] = [one for one in said if address in one]
                assert "without TLS" in line
                assert "127.0.0.1 alone" in line
        finally:
            await web.stop(0.1)
            await lines.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_on_loopback_nothing_is_said(host: str, caplog: pytest.LogCaptureFixture) -> None:
    web = await http_server.serve(_nothing, host=host)
    lines = await tcp.serve_lines(lambda _: pytest.fail("nobody asks"), host=host, port=0)
    assert (web.clear_text, lines.clear_text, caplog.records) == ((), (), [])
    await web.stop(0.1)
    await lines.stop()
