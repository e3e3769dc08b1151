"""For whom a server is asked for events: what it says for the sake of that is nobody else's."""

from __future__ import annotations

from msgspec.structs import replace

from gatewright.call import Caller
from gatewright.events.channels import of_servers
from gatewright.servers.resource_subscriptions import SEVERAL
from tests.events.test_server_events import _turns, _Wanting
from tests.events.test_subscriptions import ANN, CALL


async def test_what_a_server_says_for_the_sake_of_a_subscription_is_of_who_wants_it() -> None:
    """Before anybody was served on its connection, too: what it logs then is about this caller."""
    wanting = _Wanting("model.x", "model.y")
    one = await wanting.want("model.x")
    assert (wanting.link.whose, wanting.link.sole) == ([ANN.party("s1")], ANN.party("s1"))
    other = wanting.house.begin(replace(CALL, session="s2"), "model.x")
    await wanting.events.want(other)
    assert wanting.link.sole is None
    wanting.link.told_on += 1
    wanting.events.look()
    await _turns()
    assert wanting.link.whose == [ANN.party("s1"), SEVERAL]
    wanting.house.all.end(one)
    wanting.house.all.end(other)
    await _turns()
    assert [method for method, _ in wanting.link.asked][-1] == "mgp/events/unsubscribe"


async def test_what_another_gateway_tells_of_everybodys_calls_is_told_to_operators_alone() -> None:
    """To it all that call through this one are one caller, whose calls these are."""
    wanting = _Wanting(
        "tool.*", "tool.completed", "tool.progress", "security.*", "security.approval"
    )
    one = await wanting.want("tool.*", "tool.completed", "tool.progress", "security.approval")
    assert wanting.link.asked[0][1]["channels"] == ["tool.*", "tool.progress"]
    for channel in ("tool.completed", "security.approval", "system.record", "tool.progress"):
        wanting.say(channel=channel, data={"tool": "ann's"})
    assert [said["channel"] for said in wanting.heard] == ["tool.progress"]
    wanting.house.all.end(one)


async def test_own_channels_alone_are_asked_of_no_server_but_for_operators() -> None:
    wanting = _Wanting("tool.started", "tool.*")
    one = await wanting.want("tool.started", "security.callback")
    assert wanting.link.asked == []
    assert of_servers("tool.started", Caller("olga", "operator"))
    assert not of_servers("tool.started", ANN)
    assert of_servers("system.server_connected", ANN)
    wanting.house.all.end(one)
