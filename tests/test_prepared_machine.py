"""A model of calls among changes, asked of two gateways at once, one of which prepares calls: after a change was acknowledged no call goes by what
was before it, each answered call has its record, and both say and record the same.

How many steps: `PREPARED_STEPS`, 2,000 where it says nothing; with `PREPARED_SEED`, a number, they are others. `PREPARED_TWIN=shadowed` compares within a gateway, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from gatewright.call import Refusal
from gatewright.pins.store import Pins
from tests.prepared_house import settings_of
from tests.prepared_model import FEW, Model
from tests.prepared_twins import CALLERS, Gateway, full
from tests.storage.parts import state_in

_EACH = 250
_STEPS = int(os.environ.get("PREPARED_STEPS", "2000"))
_SEED = os.environ.get("PREPARED_SEED", "")
_WHO = st.sampled_from(sorted(CALLERS))
_TOOLS = st.sampled_from(["tell", "other"])
_RESTARTS = 2
"""A server that ends more often is started later and later."""
unlimited = precondition(lambda self: not self.limited)
"""Where it is not said what is counted: lists, hellos, what cannot be recorded."""


class Calls(Model):
    """Callers of both eras, two tools, and everything that a call may depend on."""

    @rule(who=_WHO, tool=_TOOLS, times=st.integers(1, 4), secret=st.booleans())
    def calls(self, who: str, tool: str, times: int, secret: bool) -> None:
        for _ in range(times):
            text = f"{'Nightjar' if secret else 'text'} {self.count}"
            wanted = self.expected(who, tool, text)
            said = self.said(who, self.message(tool, text))
            self.counts(who, said)
            assert self.is_expected(said, wanted), (said, wanted)

    @rule(tool=_TOOLS)
    def calls_of_all_at_once(self, tool: str) -> None:
        text = self.text()
        message = self.message(tool, text)
        wanted = {who: self.expected(who, tool, text) for who in CALLERS}

        async def asked(gateway: Gateway) -> dict[str, Any]:
            for caller in gateway.callers.values():
                caller.send(message)
            return {
                who: (await gateway.hears(caller)).says for who, caller in gateway.callers.items()
            }

        said = self.does(self.twins.agree(asked))
        for who, one in said.items():
            self.counts(who, one)
            assert self.is_expected(one, wanted[who]), (one, wanted[who])

    @rule(who=_WHO, tool=_TOOLS, how=st.sampled_from(["late", "error", "failed", "log", "long"]))
    def is_answered_otherwise(self, who: str, tool: str, how: str) -> None:
        text = self.text()
        wanted = self.expected(who, tool, text)
        if how == "long" and wanted == text:
            wanted = text * 40_000
        said = self.said(who, self.message(tool, text, how))
        self.counts(who, said)
        assert self.is_expected(said, wanted), (said, wanted)

    @rule(who=_WHO, tool=_TOOLS)
    def says_what_does_not_fit(self, who: str, tool: str) -> None:
        message = self.message(tool, "so")
        message["params"]["arguments"]["text"] = 7
        said = self.said(who, message)
        self.counts(who, said)
        assert said != "7"

    @rule(who=_WHO, tool=_TOOLS)
    def cancels(self, who: str, tool: str) -> None:
        """On another connection; a client of the new era closes its own."""
        if self.expected(who, tool, "so") != "so":
            return
        self.counts(who, "so")
        message = self.message(tool, "so", "never")

        async def asked(gateway: Gateway) -> Any:
            caller, kernel = gateway.callers[who], gateway.gateway.kernel
            caller.send(message)
            while not kernel.running():
                await asyncio.sleep(0.001)
            if caller.modern:
                caller.close()
                await gateway.begins(who, caller._key)
                said = None
            else:
                other = await caller.beside()
                params = {"requestId": message["id"], "reason": "so"}
                await other.post({"method": "notifications/cancelled", "params": params})
                said = (await gateway.hears(caller)).same
                other.close()
            while kernel.in_flight:
                await asyncio.sleep(0.001)
            return said

        self.does(self.twins.agree(asked))

    @unlimited
    @rule(who=_WHO)
    def lists(self, who: str) -> None:
        message = {"id": 1, "method": "tools/list", "params": {}}

        async def asked(gateway: Gateway) -> Any:
            caller = gateway.callers[who]
            caller.send(message)
            _, body = await caller.receive()
            return json.loads(body)["result"]["tools"]

        found = self.does(self.twins.agree(asked))
        shown = {one["name"].removeprefix("obedient__") for one in found}
        wanted = {tool for tool in ("tell", "other") if self.may(who, tool)}
        if self.offered != self.accepted:
            wanted.discard("tell")
        assert self.barred or shown & {"tell", "other"} == wanted

    # -- changes

    @rule(who=_WHO, tool=_TOOLS, word=st.sampled_from(["allow", "deny"]), ends=st.booleans())
    def the_operator_grants(self, who: str, tool: str, word: str, ends: bool) -> None:
        until = self.clock.now + 30.0
        more = {"expires_at": datetime.fromtimestamp(until, UTC).isoformat()} if ends else {}
        about = {"agent_id": who, "server_id": "obedient", "tool_name": tool}
        self.does(self.twins.orders("mgp/access/grant", permission=word, **about, **more))
        self.granted[who, tool] = word, until if ends else 1e12, self.said_of(tool)

    @precondition(lambda self: self.granted)
    @rule(at=st.integers(0, 7))
    def the_operator_revokes(self, at: int) -> None:
        found = sorted(self.granted)
        who, tool = found[at % len(found)]
        del self.granted[who, tool]
        about = {"agent_id": who, "server_id": "obedient", "tool_name": tool}
        self.does(self.twins.orders("mgp/access/revoke", **about))

    @rule(seconds=st.sampled_from([1.0, 15.0, 29.0, 31.0, 61.0]))
    def time_goes_by(self, seconds: float) -> None:
        self.clock.forward(seconds)

    @rule(everybody=st.booleans(), limited=st.booleans(), asks=st.booleans(), redacts=st.booleans())
    def the_file_is_another(
        self, everybody: bool, limited: bool, asks: bool, redacts: bool
    ) -> None:
        """Who may, how often, what is asked about, what is taken out."""
        tables: dict[str, Any] = dict(self.tables)
        if not everybody:
            tables["grants"] = []
        if limited:
            each = {who: {"per_minute": FEW} for who in CALLERS}
            tables["limits"] = {"calls": {"callers": each}}
        if redacts:
            tables["redaction"] = {"terms": ["Nightjar"]}
        if asks:
            tables["of_tools"] = {"other": {"confirmation_required": True}}

        async def asked(gateway: Gateway) -> None:
            await gateway.gateway.adopt(settings_of(gateway.folder, **tables))

        self.does(self.twins.agree(asked))
        if limited != self.limited:  # whatever was counted by the other file is long ago
            self.clock.forward(61.0)
            self.made = {name: [] for name in CALLERS}
        self.everybody, self.limited, self.asks, self.redacts = everybody, limited, asks, redacts

    def free(self) -> list[str]:
        """Who may say anything to the server now."""
        return [who for who in sorted(CALLERS) if self.expected(who, "other", "so") == "so"]

    @precondition(lambda self: self.free())
    @rule(text=st.sampled_from(["Tells.", "Tells more.", "Tells all."]))
    def the_server_offers_something_else(self, text: str) -> None:
        """What it says of a tool; a definition that nobody accepted is held back."""
        (who, *_) = self.free()
        self.said(who, self.message("other", text, "offers"))
        self.counts(who, "so")
        self.offered = text

        async def known(gateway: Gateway) -> None:
            catalogue: Any = gateway.gateway.supervisor.catalogue
            async with asyncio.timeout(20):
                while text.encode() not in bytes(
                    catalogue.tool("", "obedient__tell").definition["description"]
                ):
                    await asyncio.sleep(0.001)

        self.does(self.twins.agree(known))

    @precondition(lambda self: self.offered != self.accepted)
    @rule()
    def the_operator_accepts_what_is_offered(self) -> None:
        """In another process. It is acknowledged where the list shows it."""

        async def asked(gateway: Gateway) -> None:
            with closing(state_in(gateway.folder / "state")) as state:
                pins = Pins(state, clock=time.time)
                pins.accept_all(pins.of("obedient"), by="test")
            gate: Any = next(
                one for one in gateway.gateway.kernel.policy.gates if one.name == "definition"
            )
            catalogue: Any = gateway.gateway.supervisor.catalogue
            async with asyncio.timeout(20):
                while gate._held(catalogue.tool("", "obedient__tell")):
                    await asyncio.sleep(0.005)

        self.does(self.twins.agree(asked))
        self.accepted = self.offered

    @rule(barred=st.booleans())
    def a_server_is_barred(self, barred: bool) -> None:
        for one in self.twins.both:
            known = one.gate("permission")._barred
            known.clear()
            if barred:
                known["obedient"] = Refusal("permission_denied", "barred")
            one.gateway.supervisor.catalogue.changed()
        self.barred = barred

    @rule(who=_WHO, tool=_TOOLS)
    def the_gateway_drains(self, who: str, tool: str) -> None:
        """And is told that it need not."""
        for one in self.twins.both:
            one.gate("draining")._reason = "operator_request"
        self.drained = True
        self.calls(who, tool, 2, False)
        for one in self.twins.both:
            one.gate("draining")._reason = None
        self.drained = False

    @unlimited
    @rule(who=_WHO, tool=_TOOLS)
    def the_disk_is_full(self, who: str, tool: str) -> None:
        """From the middle of a call on: nothing is answered that is not recorded."""
        wanted = self.expected(who, tool, "so")
        first, second = self.message(tool, "so", "late"), self.message(tool, self.text())

        async def asked(gateway: Gateway) -> list[str]:
            caller, audit = gateway.callers[who], gateway.gateway.audit
            caller.send(first)
            if wanted == "so":
                while not gateway.gateway.kernel.running():
                    await asyncio.sleep(0.001)
            room = full(gateway)
            said = [(await gateway.hears(caller)).says]
            caller.send(second)
            said.append((await gateway.hears(caller)).says)
            room()
            async with asyncio.timeout(20):
                while audit.fault is not None:
                    await asyncio.sleep(0.005)
            return said

        said = self.does(self.twins.agree(asked))
        for one in said:
            self.counts(who, one)
        assert said[0] != "so"
        assert said[1] == "audit_unavailable"

    @precondition(
        lambda self: self.free() and self.restarts < _RESTARTS and not (self.barred or self.limited)
    )
    @rule()
    def the_server_leaves(self) -> None:
        """In the middle of a call, and is started again."""
        self.restarts += 1
        who = self.free()[0]
        assert self.said(who, self.message("other", "so", "leaves")) == "upstream_unavailable"
        self.offered = "Tells."

        async def back(gateway: Gateway) -> None:
            caller = gateway.callers[who]
            async with asyncio.timeout(20):
                while True:
                    caller.send(self.message("other", "back"))
                    if (await gateway.hears(caller)).says == "back":
                        break
                    await asyncio.sleep(0.01)
            gateway.records.clear()

        self.does(self.twins.agree(back))

    @unlimited
    @rule(who=_WHO)
    def a_session_ends(self, who: str) -> None:
        async def asked(gateway: Gateway) -> str:
            caller = gateway.callers[who]
            if caller.modern:
                return "404"
            caller.leave()
            await caller.receive()
            caller.send(self.message("tell", "so"))
            headers, _ = await caller.receive()
            caller.close()
            await gateway.begins(who, caller._key)
            return headers["status"]

        assert self.does(self.twins.agree(asked)) == "404"

    @unlimited
    @rule(who=_WHO)
    def a_key_is_revoked(self, who: str) -> None:
        async def asked(gateway: Gateway) -> str:
            caller = gateway.callers[who]
            gateway.gateway.callers.revoke(gateway.keys[who], by="test")
            caller.send(self.message("tell", "so"))
            headers, _ = await caller.receive()
            caller.close()
            await gateway.arrives(who)
            return headers["status"]

        assert self.does(self.twins.agree(asked)) == "401"


if _SEED:
    seed(int(_SEED))(Calls)
TestCalls = Calls.TestCase
_timed: Any = TestCalls
_timed.pytestmark = [pytest.mark.timeout(240 + _STEPS // 10)]
del _timed  # pytest would collect it as a second one
TestCalls.settings = settings(
    max_examples=max(1, _STEPS // _EACH),
    stateful_step_count=min(_EACH, _STEPS),
    deadline=None,
    derandomize=not _SEED,
    database=None,
    phases=(Phase.generate,),  # a failure names its step; shrinking would take an hour
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
