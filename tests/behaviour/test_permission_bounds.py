"""A server that asks for ever new permissions: what waits for people stays what people can look through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import config, running
from tests.behaviour.hosts import host
from tests.behaviour.test_permissions import OFFER, House, decisions, permits

MOST = 64


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    content = config(
        permits("greedy", "camera", missing_permissions="degrade"),
        permits("granted", "", permission_policy="auto_approve"),
        permits("declares", ",".join(f"com.example.d{number}" for number in range(MOST + 1))),
        approvals={"hold_s": 0.5},
    )
    with running(tmp_path_factory.mktemp("bounds"), content) as gateway:
        made = House(gateway, gateway.folder)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("ident", "declared", "value"), [("greedy", 1, "deferred"), ("granted", 0, "approved")]
)
async def test_what_goes_over_the_bound_is_refused_by_name_and_recorded_once(
    house: House, ident: str, declared: int, value: str
) -> None:
    """Whether operators decide or a policy does; what was asked before is answered as before."""
    names = [f"com.example.p{number}" for number in range(MOST + 10)]
    within, beyond = names[: MOST - declared], names[MOST - declared :]
    async with host(house.gateway, can=OFFER) as client:

        async def ask(*permissions: str) -> Any:
            params = {"request_id": f"r {permissions[0]}", "permissions": permissions}
            said = await client.text(f"{ident}__ask", method="mgp/permission/request", **params)
            return json.loads(said)

        assert (await ask(*within))["grants"] == dict.fromkeys(within, value)
        waiting = len(house.waiting(ident))
        for name in beyond:
            refused = await ask(name)
            assert refused["code"] == 3001
            assert "64 permissions at most" in refused["message"]
        assert (await ask(*within[-2:]))["grants"] == dict.fromkeys(within[-2:], value)
    assert len(house.waiting(ident)) == waiting == (MOST if ident == "greedy" else 0)
    assert decisions(house, ident, "PERMISSION_DENIED") == {
        beyond[0]: "the bound of a server's requests"
    }


async def test_a_server_that_declares_too_many_is_not_connected(house: House) -> None:
    async with host(house.gateway, can=OFFER) as client:
        assert "declares__open" not in await client.tools()
    assert not house.waiting("declares")
