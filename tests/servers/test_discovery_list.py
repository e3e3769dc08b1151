"""`mgp/discovery/list`: which servers there are, filtered, and only those that exist for the caller."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import ANONYMOUS, Answer, Call, Caller, Client, Failure, Mgp, Tool
from gatewright.mcp.protocol.negotiate import Face
from gatewright.servers.catalogue import Sight
from gatewright.servers.spec import CatalogueLimits, Restart
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.view import View
from tests.servers.rig import FakeBack, dispatch, make_call, python, running, within

CLIENT = Client("2025-11-25", mgp=Mgp("0.2.0", ("discovery",)))
SPECS = (
    python("echo"),
    python(
        "bad",
        "exit-at-start",
        id="down",
        face=Face(("security", "streaming")),
        trust_level="sandboxed",
        permissions=("network.outbound",),
        restart=Restart(policy="never"),
    ),
)


def asking(filter_: Any = None, client: Client = CLIENT, caller: Caller = ANONYMOUS) -> Call:
    params = {} if filter_ is None else {"filter": filter_}
    return make_call("method", "mgp/discovery/list", params, client=client, caller=caller)


async def listed(supervisor: Supervisor, call: Call) -> list[dict[str, Any]]:
    outcome = await within(dispatch(supervisor)(call, FakeBack()))
    assert isinstance(outcome, Answer), outcome
    found: list[dict[str, Any]] = json.loads(outcome.raw)["servers"]
    return found


async def test_mgp_15_2_7_entries_have_their_six_fields() -> None:
    async with running(*SPECS) as supervisor:
        assert await listed(supervisor, asking()) == [
            {
                "id": "echo",
                "status": "connected",
                "tools": ["echo__echo"],
                "mgp_version": None,
                "extensions": [],
                "trust_level": "standard",
            },
            # MGP-15.3-1: a server that is not connected is described by its configuration.
            {
                "id": "down",
                "status": "error",
                "tools": [],
                "mgp_version": "0.2.0",
                "extensions": ["security", "streaming"],
                "trust_level": "sandboxed",
            },
        ]


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ({}, ["echo", "down"]),
        ({"extensions": ["streaming"]}, ["down"]),
        ({"extensions": ["streaming", "audit"]}, []),
        ({"permissions": ["network.outbound"]}, ["down"]),
        ({"status": "connected"}, ["echo"]),
        ({"status": "error", "extensions": ["security"]}, ["down"]),
        ({"status": "connected", "permissions": ["network.outbound"]}, []),
    ],
)
async def test_mgp_15_2_6_each_filter_counts_alone_and_together(
    filter_: Any, expected: list[str]
) -> None:
    async with running(*SPECS) as supervisor:
        assert [one["id"] for one in await listed(supervisor, asking(filter_))] == expected


@pytest.mark.parametrize(
    "filter_", [[], "x", {"extensions": "x"}, {"permissions": [1]}, {"status": 3}]
)
async def test_a_filter_of_the_wrong_type_is_refused(filter_: Any) -> None:
    async with running(python("echo")) as supervisor:
        call = asking(filter_ or {"extensions": None})
        outcome = await within(dispatch(supervisor)(call, FakeBack()))
        assert isinstance(outcome, Failure)
        assert outcome.reason == "invalid_params"


@pytest.mark.parametrize("mgp", [None, Mgp("0.2.0", ("audit",))])
async def test_mgp_1_2_2_without_the_extension_the_method_does_not_exist(mgp: Mgp | None) -> None:
    async with running(python("echo")) as supervisor:
        call = asking(client=Client("2025-11-25", mgp=mgp))
        outcome = await within(dispatch(supervisor)(call, FakeBack()))
        assert isinstance(outcome, Failure)
        assert outcome.reason == "method_not_found"


async def test_servers_and_tools_that_do_not_exist_for_a_caller_are_not_listed() -> None:
    def tool(caller: Caller, one: Tool) -> bool:
        return caller.id == "ann"

    sight = Sight(tool, lambda caller, server: caller.id != "eve", lambda: 0)
    async with running(python("echo"), sight=sight) as supervisor:
        ann = await listed(supervisor, asking(caller=Caller("ann")))
        assert ann[0]["tools"] == ["echo__echo"]
        bob = await listed(supervisor, asking(caller=Caller("bob")))
        assert bob[0]["tools"] == []
        assert await listed(supervisor, asking(caller=Caller("eve"))) == []


async def test_only_an_operator_is_told_why_a_server_is_down() -> None:
    async with running(*SPECS) as supervisor:
        operator = await listed(supervisor, asking(caller=Caller("root", "operator")))
        told = {one["id"]: one.get("reason") for one in operator}
        assert told["echo"] is None
        assert told["down"]
        assert not [one for one in await listed(supervisor, asking()) if "reason" in one]


async def test_an_operator_alone_is_told_of_tools_that_nobody_sees() -> None:
    held = lambda tool: "look at it" if tool.target.server == "echo" else ""  # noqa: E731
    sight = Sight(lambda *_: False, lambda *_: True, lambda: 0, held=held)
    small = CatalogueLimits(tools=0)
    async with running(
        python("echo"), python("echo", id="none", catalogue=small), sight=sight
    ) as supervisor:
        echo, none = await listed(supervisor, asking(caller=Caller("root", "operator")))
        assert echo["held_back"] == {"count": 1, "tools": [{"name": "echo", "why": "look at it"}]}
        assert "left_out" not in echo
        why = "only the first 0 tools are offered"
        assert none["left_out"] == {"count": 1, "tools": [{"name": "echo", "why": why}]}
        for one in await listed(supervisor, asking()):
            assert not {"held_back", "left_out"} & one.keys()


async def test_the_tools_of_all_servers_are_gone_through_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not once for each server: that would be the product of the two."""
    gone_through: list[str] = []
    items = View.items

    def counted(self: View, method: str) -> Any:
        gone_through.append(method)
        return items(self, method)

    async with running(python("echo"), python("echo", id="b"), python("echo", id="c")) as found:
        await listed(found, asking())  # what somebody may see is known from now on
        monkeypatch.setattr(View, "items", counted)
        tools = [one["tools"] for one in await listed(found, asking())]
    assert tools == [["echo__echo"], ["b__echo"], ["c__echo"]]
    assert gone_through.count("tools/list") == 1
