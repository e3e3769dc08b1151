"""How many questions of one server are open at a time, whoever would answer them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Question
from gatewright.mcp.client import server_requests
from gatewright.mcp.client.server_requests import ServerRequests
from gatewright.mcp.wire import jsonrpc

MOST = 8


class Outside:
    """A client that never answers what is asked outside calls; one question ends by its params."""

    def __init__(self) -> None:
        self.open = 0

    async def __call__(self, question: Question) -> dict[str, Any]:
        self.open += 1
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        finally:
            self.open -= 1


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_requests, "_MOST", MOST)


def _asks(ident: int) -> jsonrpc.Request:
    return jsonrpc.Request(b"%d" % ident, "roots/list")


@pytest.mark.usefixtures("few")
async def test_questions_that_belong_to_no_call_are_bounded_as_all_are() -> None:
    sent: list[bytes] = []
    one, outside = ServerRequests("s", sent.append), Outside()
    one.outside = outside
    for number in range(10 * MOST):
        one.put(_asks(number), [])
    await asyncio.sleep(0)
    assert outside.open == MOST
    assert len(sent) == 9 * MOST
    assert all(b"questions with distinct ids" in refused for refused in sent)
    one.close()


async def test_an_open_question_outside_calls_is_not_put_twice_and_can_still_be_taken_back() -> (
    None
):
    sent: list[bytes] = []
    one, outside = ServerRequests("s", sent.append), Outside()
    one.outside = outside
    for _ in range(3):
        one.put(_asks(1), [])
        await asyncio.sleep(0)
    assert (outside.open, len(sent)) == (1, 2)
    one.withdraw(b"1")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert outside.open == 0
    one.put(_asks(1), [])
    await asyncio.sleep(0)
    assert outside.open == 1
    one.close()
