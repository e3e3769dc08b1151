"""A streaming MGP server on the Python SDK 1.30, through the gateway: negotiation, chunks, what it says at the end, cancellation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from tests.behaviour.event_house import EVERY
from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.hosts import RpcError, host
from tests.behaviour.test_streaming import OFFER, chunks, joined, name_of, start
from tests.peers.peers import guest

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of that server."""
    entry = guest("far", "sdk1_streaming", mgp={"extensions": ["streaming"]})
    with running(tmp_path_factory.mktemp("far"), config(entry)) as gateway:
        yield gateway


@pytest.mark.parametrize("door", EVERY)
async def test_a_server_on_an_sdk_without_mgp_streams_and_is_cancelled(
    far: Gateway, door: str
) -> None:
    """MGP-12.7-5: six chunks sent, six arrived; the JSON text at the end is whole; its way to cancel is understood."""
    async with host(far, door, can=OFFER) as client:
        ident = await start(client, "far__think", text="one two three four five six")
        result = await client.finish(ident)
        found = chunks(client, ident)
        assert [one["index"] for one in found] == list(range(6))
        assert joined(found) == "one two three four five six "
        said = json.loads(result["content"][0]["text"])
        assert said["text"] == joined(found)
        assert said["_mgp"] == {"streamed": True, "chunks_sent": 6}
        assert result["_mgp"]["chunks_sent"] == 6
        ident = await start(client, "far__think", text="again " * 500, pause=0.05)
        name = await name_of(client, ident)
        while len(chunks(client, ident)) < 3:
            await asyncio.sleep(0.01)
        answer = await client.request("mgp/stream/cancel", {"request_id": name})
        with pytest.raises(RpcError) as over:
            await client.finish(ident)
        assert over.value.code == 2099
        assert answer["cancelled"] is True
        assert answer["partial_result"]["content"][0]["text"] == joined(chunks(client, ident))
        plain = await start(client, "far__think", stream=False, text="a b")
        result = await client.finish(plain)
        assert json.loads(result["content"][0]["text"])["text"] == "a b "
        assert chunks(client, plain) == []
