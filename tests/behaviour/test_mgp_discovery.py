"""`mgp/discovery/list` (MGP §15.2) from outside: what is said of each server, and the filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.behaviour.event_house import EVERY
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "discovery"]}}

ENTRY = jsonschema_rs.validator_for(
    {
        "type": "object",
        "required": ["id", "status", "mgp_version", "extensions", "tools", "trust_level"],
        "properties": {
            "id": {"type": "string"},
            "status": {
                "enum": [
                    "registered",
                    "connecting",
                    "connected",
                    "draining",
                    "disconnected",
                    "error",
                    "restarting",
                ]
            },
            "mgp_version": {"type": ["string", "null"], "pattern": r"^\d+\.\d+\.\d+$"},
            "extensions": {"type": "array", "items": {"type": "string"}},
            "tools": {"type": "array", "items": {"type": "string"}},
            "trust_level": {"enum": ["standard", "trusted", "sandboxed"]},
        },
    }
)

SPEAKS = {"extensions": ["security"], "permissions_required": ["network.outbound"]}
BROKEN = {
    "extensions": ["access_control"],
    "permissions_required": ["network.outbound", "filesystem.read"],
    "trust_level": "sandboxed",
    "restart_policy": "never",
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of a plain server, one in MGP, and one that does not come up."""
    content = config(
        server("echo"),
        server("mgp_server", "in_mgp", mgp=SPEAKS),
        server("bad", "broken", "exit-at-start", mgp=BROKEN),
    )
    with running(tmp_path_factory.mktemp("registry"), content) as gateway:
        yield gateway


async def listed(client: Host, filter_: Any = None) -> list[dict[str, Any]]:
    params = {} if filter_ is None else {"filter": filter_}
    found: list[dict[str, Any]] = (await client.request("mgp/discovery/list", params))["servers"]
    return found


@pytest.mark.parametrize("door", EVERY)
async def test_every_entry_has_the_fields_of_the_specification(
    registry: Gateway, door: str
) -> None:
    """MGP-11.2-1, MGP-15.2-7 and MGP-15.3-1: also of servers that speak no MGP, or do not run."""
    async with host(registry, door, can=OFFER) as client:
        found = {one["id"]: one for one in await listed(client)}
    for one in found.values():
        ENTRY.validate(one)
    plain, speaking, broken = (found[name] for name in ("echo", "in_mgp", "broken"))
    assert plain == {
        "id": "echo",
        "status": "connected",
        "mgp_version": None,
        "extensions": [],
        "tools": ["echo__echo"],
        "trust_level": "standard",
    }
    assert (speaking["status"], speaking["mgp_version"] is not None) == ("connected", True)
    assert (broken["status"], broken["trust_level"]) == ("error", "sandboxed")
    assert broken["extensions"] == ["access_control"]


FILTERS: tuple[tuple[Any, set[str]], ...] = (
    (None, {"echo", "in_mgp", "broken"}),
    ({"extensions": ["access_control"]}, {"broken"}),
    ({"permissions": ["network.outbound"]}, {"in_mgp", "broken"}),
    ({"permissions": ["network.outbound", "filesystem.read"]}, {"broken"}),
    ({"status": "connected"}, {"echo", "in_mgp"}),
    ({"status": "error", "extensions": ["access_control"]}, {"broken"}),
    ({"status": "connected", "permissions": ["network.outbound"]}, {"in_mgp"}),
    (
        {"extensions": ["access_control"], "permissions": ["filesystem.read"], "status": "error"},
        {"broken"},
    ),
    ({"extensions": ["nobody has this"]}, set()),
)


@pytest.mark.parametrize("door", EVERY)
async def test_each_filter_counts_alone_and_with_the_others(registry: Gateway, door: str) -> None:
    """MGP-15.2-6"""
    async with host(registry, door, can=OFFER) as client:
        for filter_, expected in FILTERS:
            found = await listed(client, filter_)
            assert {one["id"] for one in found} == expected, filter_
