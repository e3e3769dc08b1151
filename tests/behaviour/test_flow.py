"""What a session has read decides whether it may send by itself: at every kind of door."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.access_house import OFFER
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, RpcError, host

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Three tools, each with one mark."""
    marks = {"web": ["untrusted"], "files": ["private"], "mail": ["outbound"]}
    servers = [server("echo", name, tools={"echo": {"flow": one}}) for name, one in marks.items()]
    content = config(*servers, approvals={"hold_s": 0}, flow={"lasts_s": 600})
    with running(tmp_path_factory.mktemp("flow"), content) as gateway:
        yield gateway


@pytest.mark.parametrize("door", DOORS)
async def test_a_session_that_read_both_needs_a_person_to_send(marked: Gateway, door: str) -> None:
    async with host(marked, door, can=OFFER) as client:
        await client.call("web__echo", message="x")
        if door != "http 2026-07-28":  # which knows no sessions: all of a caller is one
            await client.call("mail__echo", message="x")
        await client.call("files__echo", message="x")
        with pytest.raises(RpcError) as caught:
            await client.call("mail__echo", message="x")
    assert caught.value.code == 1000
    for words in ("strangers wrote", "web__echo", "files__echo", "gatewright approve"):
        assert words in caught.value.message


async def test_an_operator_lets_one_such_call_pass(marked: Gateway) -> None:
    async with host(marked, "http 2025-11-25", can=OFFER) as client:
        for tool in ("web__echo", "files__echo"):
            await client.call(tool, message="x")
        with pytest.raises(RpcError) as caught:
            await client.call("mail__echo", message="important")
        waiting = caught.value.data["_mgp"]["details"]["approval_id"]
        marked.cli("approve", waiting, "--key", marked.operator_token)
        assert (await client.call("mail__echo", message="important"))["content"]
        with pytest.raises(RpcError):
            await client.call("mail__echo", message="other")
    record = next(
        one
        for one in marked.audit("--server", "mail")
        if one["outcome"] == "success" and "flow" in one["details"]
    )
    assert record["details"]["flow"] == {"untrusted": "web__echo", "private": "files__echo"}
