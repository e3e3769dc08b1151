"""What the gateway answers by itself: every method and tool of its own, by name."""

from __future__ import annotations

import os
from typing import Any

from gatewright.call import Answer, Back, Call, Outcome
from gatewright.call_policy import CLOSED
from gatewright.kernel import Kernel
from gatewright.servers.dispatch import Builtin
from gatewright.servers.dispatch_factory import dispatch_of
from gatewright.servers.supervisor import Supervisor
from tests.gate_parts import Mute, a_call
from tests.kernel_parts import Book


async def test_each_policy_has_the_gateways_methods_and_those_that_it_shares_over_its_fleet() -> (
    None
):
    async def own(call: Call, back: Back) -> Outcome:
        return Answer(b'{"own":true}')

    async def shared(call: Call, back: Back, elsewhere: Builtin) -> Outcome:
        return await elsewhere(call, back)

    servers = Supervisor([], info={})
    note: Any = None
    methods, both = {"x/own": own}, {"tasks/get": shared}
    dispatches = dispatch_of(servers, Kernel(*CLOSED, Book()), methods, both, note, os.urandom)
    first, second = dispatches(servers.fleet), dispatches(servers.fleet)
    assert first is not second
    for one in (first, second):
        assert one.answers("x/own")
        assert not one.answers("x/other")
        asked = a_call("method", "", method="x/own")
        assert await one(asked, Mute()) == Answer(b'{"own":true}')
    task = a_call("method", "", method="tasks/get")
    assert getattr(await second(task, Mute()), "message", "") == "there is no such task"
