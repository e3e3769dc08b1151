"""An MGP terminal on the Python SDK 1.30, through the gateway: its events are heard, its confirmations asked and answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.event_house import CALLBACK, EVENT, EVERY, listening, subscribed
from tests.behaviour.gateway import Gateway, config, running
from tests.peers.peers import guest

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of that server."""
    entry = guest("far", "sdk1_terminal", mgp={"extensions": ["bidirectional"]})
    with running(tmp_path_factory.mktemp("far"), config(entry)) as gateway:
        yield gateway


@pytest.mark.parametrize("door", EVERY)
async def test_a_terminal_on_an_sdk_without_mgp_reports_and_asks(far: Gateway, door: str) -> None:
    """MGP-13.2-1, MGP-13.3-1, MGP-13.4-1 and MGP-13.4-2."""
    async with listening(far, door) as client:
        found = await subscribed(client, "model.token_usage", "tool.command_started", "model.x")
        assert found["subscribed"] == ["model.token_usage", "tool.command_started"]
        assert found["unsupported"] == ["model.x"]
        name = "far__submit_job"
        assert (await client.text(name, job="ls")).endswith("ls")
        told = [(await client.note(EVENT))["params"] for _ in range(2)]
        assert [one["channel"] for one in told] == ["tool.command_started", "model.token_usage"]
        assert told[1]["data"] == {"tokens_used": 2}
        assert [one["sequence"] for one in told] == [1, 2]
        for said, came in (("cancel", "not run"), ("confirm", "delete x")):
            params = {"name": name, "arguments": {"job": "delete x"}}
            ident = await client.start("tools/call", params)
            asked = (await client.note(CALLBACK))["params"]
            assert asked["message"] == 'Server "far" asks: Run delete x?'
            assert (asked["request_id"], asked["timeout_ms"]) == (ident, 60000)
            answer = {"callback_id": asked["callback_id"], "response": said}
            await client.request("mgp/callback/respond", answer)
            result = await client.finish(ident)
            assert result["content"][0]["text"].endswith(came)
