"""Why what the gateway itself asked for did not come."""

from __future__ import annotations

import pytest

from gatewright.mcp.client.failures import (
    AnswerTooLong,
    LinkClosed,
    ServerFailed,
    ServerRefused,
)


def test_a_refusal_says_its_code_and_the_beginning_of_its_error() -> None:
    refused = ServerRefused("ping: ", b'{"code":-32601,"message":"%b"}' % (b"x" * 10_000))
    assert refused.code == -32601
    assert str(refused).startswith('ping: {"code":-32601')
    assert len(str(refused)) < 600


@pytest.mark.parametrize("kind", [AnswerTooLong, LinkClosed, ServerRefused])
def test_each_of_them_is_a_failure_of_the_server(kind: type[Exception]) -> None:
    assert issubclass(kind, ServerFailed)
