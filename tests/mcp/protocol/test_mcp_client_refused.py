"""A server that refuses `initialize`, and has not answered the probe yet."""

from __future__ import annotations

from gatewright.mcp.protocol.mcp_client import Ask, Failed, Hello
from gatewright.mcp.wire.versions import LATEST_MODERN
from tests.mcp.protocol.test_mcp_client import answer, discovered, machine


def test_a_server_that_refuses_initialize_before_it_answers_the_probe_is_probed_again() -> None:
    handshake = machine()
    probe = handshake.start()
    refusal = {"code": -32022, "message": "no", "data": {"supported": [LATEST_MODERN]}}
    again = handshake.answered(answer(handshake.silent(), error=refusal))
    assert isinstance(again, Ask)
    assert again.method == "server/discover"
    assert handshake.answered(answer(probe, discovered(LATEST_MODERN))) is None
    hello = handshake.answered(answer(again, discovered(LATEST_MODERN)))
    assert isinstance(hello, Hello)
    assert hello.modern


def test_a_server_that_goes_on_refusing_initialize_is_not_probed_for_ever() -> None:
    handshake = machine()
    handshake.start()
    refusal = {"code": -32022, "message": "no", "data": {"supported": [LATEST_MODERN]}}
    assert isinstance(handshake.answered(answer(handshake.silent(), error=refusal)), Ask)
    found = handshake.answered(answer(handshake.silent(), error=refusal))
    assert found == Failed("the server refused initialize: no (-32022)")
