"""A model of calls among changes: after a change was acknowledged no call goes by what was before it, prepared or not."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gatewright.access.grants import Grant
from gatewright.call import Refusal
from tests.prepared_house import PreparedHouse, RawClient, prepared_house, settings_of

TOOLS = st.sampled_from(["tell", "other"])
WHICH = st.integers(0, 2)


class Calls(RuleBasedStateMachine):
    """Three sessions, two tools, and everything that a call may depend on."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        self.folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.house: PreparedHouse = self.does(self._opened())
        self.clients: list[RawClient] = [self.does(self.house.client()) for _ in range(3)]
        self.denied: set[str] = set()
        self.held: set[str] = set()
        self.barred = False
        self.count = self.restarts = 0

    def does(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    async def _opened(self) -> PreparedHouse:
        return await self.stack.enter_async_context(prepared_house(Path(self.folder)))

    def gate(self, name: str) -> Any:
        gates: Any = self.house.gateway.kernel.policy.gates
        return next(one for one in gates if one.name == name)

    def expected(self, tool: str, text: str) -> str:
        """What a call says now, by what was changed."""
        if tool in self.denied:
            return "access_denied"
        if tool in self.held:
            return "tool_disabled"
        return "permission_denied" if self.barred else text

    @rule(which=WHICH, tool=TOOLS, times=st.integers(1, 5))
    def call(self, which: int, tool: str, times: int) -> None:
        for _ in range(times):
            self.count += 1
            said = self.does(self.clients[which].text(f"obedient__{tool}", f"text {self.count}"))
            assert said == self.expected(tool, f"text {self.count}")

    @rule(tool=TOOLS)
    def together(self, tool: str) -> None:
        """All sessions at once."""
        params = {"name": f"obedient__{tool}", "arguments": {"text": "so"}}
        for client in self.clients:
            client.send({"id": 5, "method": "tools/call", "params": params})

        async def received() -> list[bytes]:
            return [(await client.receive())[1] for client in self.clients]

        wanted = self.expected(tool, '"so"').encode()
        assert all(wanted in body for body in self.does(received()))

    @rule(which=WHICH, tool=TOOLS, how=st.sampled_from(["late", "error", "failed", "log"]))
    def odd(self, which: int, tool: str, how: str) -> None:
        said = self.does(self.clients[which].text(f"obedient__{tool}", "odd", how))
        assert said == self.expected(tool, "odd")

    @rule(tool=TOOLS)
    def deny(self, tool: str) -> None:
        self.gate("access")._grants._issued.put(Grant("*", "obedient", tool, "deny", "test"))
        self.denied.add(tool)

    @rule(tool=TOOLS)
    def allow(self, tool: str) -> None:
        self.gate("access")._grants._issued.remove(("*", "obedient", tool))
        self.denied.discard(tool)

    @rule(tool=TOOLS, which=WHICH)
    def expire(self, tool: str, which: int) -> None:
        """A grant that ends, while calls go by it; without it the tool is denied."""
        layer = self.gate("access")._grants._issued
        ends = time.time() + 0.06
        layer.put(Grant("*", "obedient", None, "deny", "test"))
        layer.put(Grant("*", "obedient", tool, "allow", "test", expires_at=ends))
        self.denied.discard(tool)
        while time.time() < ends - 0.03:
            self.call(which, tool, 1)
        time.sleep(max(0.0, ends - time.time()) + 0.002)
        self.denied |= {"tell", "other"}
        self.call(which, tool, 1)
        layer.remove(("*", "obedient", None))
        self.denied = {one for one in ("tell", "other") if layer.get(("*", "obedient", one), 0.0)}

    @rule(tool=TOOLS)
    def hold(self, tool: str) -> None:
        gate, self.held = self.gate("definition"), self.held | {tool}
        gate._held = lambda one: "held" if one.target.name in self.held else ""

    @rule(tool=TOOLS)
    def release(self, tool: str) -> None:
        self.held.discard(tool)

    @rule(barred=st.booleans())
    def bar(self, barred: bool) -> None:
        known = self.gate("permission")._barred
        known.clear()
        if barred:
            known["obedient"] = Refusal("permission_denied", "barred")
        self.barred = barred

    @rule(none=st.booleans())
    def reload(self, none: bool) -> None:
        """Another configuration: nobody has a grant, and then everybody again."""
        more: dict[str, Any] = {"grants": []} if none else {}
        self.does(self.house.gateway.adopt(settings_of(Path(self.folder), **more)))
        self.held = set()
        if none:
            before, self.denied = self.denied, {"tell", "other"}
            self.call(0, "tell", 1)
            self.does(self.house.gateway.adopt(settings_of(Path(self.folder))))
            self.denied = before

    @precondition(lambda self: not (self.denied or self.held or self.barred) and self.restarts < 2)
    @rule(which=WHICH)
    def restart(self, which: int) -> None:
        """Its server ends in the middle of a call, and is started again, as long as that is not too often."""
        self.restarts += 1
        said = self.does(self.clients[which].text("obedient__tell", "so", "leaves"))
        assert said == "upstream_unavailable"
        until = time.monotonic() + 10
        while self.does(self.clients[which].text("obedient__tell", "back")) != "back":
            assert time.monotonic() < until

    @rule(which=WHICH)
    def anew(self, which: int) -> None:
        """Another session in place of one."""
        old = self.clients[which]
        self.house.gateway.kernel.running()
        self.does(self._ended(old))
        self.clients[which] = self.does(self.house.client())

    async def _ended(self, client: RawClient) -> None:
        sessions = self.house.gateway._standing
        sessions[client.session].end()
        headers, _ = await client.post(
            {
                "id": 3,
                "method": "tools/call",
                "params": {"name": "obedient__tell", "arguments": {"text": "so"}},
            }
        )
        assert headers["status"] == "404"
        client.close()

    @invariant()
    def nothing_is_left(self) -> None:
        kernel = self.house.gateway.kernel
        assert (kernel.in_flight, kernel.running(), kernel.prepared.going_on) == (0, [], {})
        assert self.house.gateway.audit._calls.running == 0

    def teardown(self) -> None:
        for client in self.clients:
            client.close()
        self.does(self.stack.aclose())
        self.loop.close()


TestCalls = Calls.TestCase
TestCalls.settings = settings(
    max_examples=int(os.environ.get("PREPARED_EXAMPLES", "2")),
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
