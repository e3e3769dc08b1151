"""Tools of the gateway itself, which several features bring."""

from __future__ import annotations

from typing import Any

from gatewright.call import KERNEL, Back, Call
from gatewright.servers.local import LocalServer
from gatewright.servers.own_tools import with_own_tools
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor_dependencies import NOTHING, ServerSide

OBJECT = {"inputSchema": {"type": "object"}}


def first(arguments: dict[str, Any], call: Call, back: Back) -> str:
    return "first"


def second(arguments: dict[str, Any], call: Call, back: Back) -> str:
    return "second"


def test_each_feature_adds_to_what_others_brought_and_takes_nothing_away() -> None:
    other = LocalServer(ServerSpec(id="other", local=True), {"t": (OBJECT, first)})
    side = with_own_tools(ServerSide(local=[other]), {"a": (OBJECT, first)})
    side = with_own_tools(side, {"b": (OBJECT, second)})
    assert [server.id for server in side.local] == ["other", KERNEL]
    assert side.local[0] is other
    assert side.local[1].given == {"a": (OBJECT, first), "b": (OBJECT, second)}
    assert NOTHING.local == ()
