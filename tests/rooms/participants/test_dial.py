"""Into a room over a real WebSocket."""

from __future__ import annotations

import pytest

from gatewright.rooms.participants import GoneError, RoomRefusedError
from gatewright.rooms.participants.dial import join
from gatewright.transport.websocket import CannotConnect
from tests.rooms.hall import FULL, Hall, token_of


async def test_who_joins_is_welcomed_hears_others_and_leaves_at_the_end() -> None:
    """MCPX-8.2-5, MCPX-6.2-4."""
    async with Hall({"ada": FULL, "bob": ("chat",)}) as hall:
        bob = await hall.guest("bob")
        async with join(hall.url, topic="lobby", token=token_of("ada")) as ada:
            assert (ada.id, ada.capabilities.patterns, set(ada.roster.others)) == (
                "ada",
                FULL,
                {"bob"},
            )
            ada.chat("hi")
            assert (await bob.next("chat"))["payload"] == {"text": "hi", "format": "plain"}
        left = (await bob.next("system/presence"))["payload"]
        assert (left["event"], left["participant"]["id"]) == ("leave", "ada")
        with pytest.raises(GoneError):
            ada.chat("anybody?")


async def test_a_token_that_is_not_good_is_told_before_the_upgrade() -> None:
    """MCPX-6.2-2 as our own client sees it."""
    async with Hall({"ada": FULL}) as hall:
        with pytest.raises(CannotConnect) as refused:
            async with join(hall.url, topic="lobby", token="nobodys-token-at-all"):
                pass
        assert refused.value.status == 401


async def test_a_refusal_of_the_gateway_ends_what_it_is_about() -> None:
    """MCPX-3-10: the error names the envelope."""
    async with (
        Hall({"ada": FULL}) as hall,
        join(hall.url, topic="lobby", token=token_of("ada")) as ada,
    ):
        next(hall.hub.places()).member.allow(("chat",))  # it has not been told yet
        with pytest.raises(RoomRefusedError) as refused:
            await ada.request("bob", "tools/list", timeout_s=5)
    assert refused.value.error == "capability_violation"


async def test_the_query_of_a_url_is_kept() -> None:
    async with (
        Hall({"ada": FULL}) as hall,
        join(f"{hall.url}?tenant=a", topic="lobby", token=token_of("ada")) as ada,
    ):
        assert ada.id == "ada"
