"""Permissions, the queue and the clock together, against a model that fits on a page.

The model knows what was said and until when, what was declared, and the policy; it keeps no table, no queue and no cache. After
every step the two agree about each permission, about which servers are kept out, and about what waits for an operator (MGP-3.3-1 … 3.3-4 and MGP-3.6-2 … 3.6-5, in any order).
"""

from __future__ import annotations

import shutil
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gatewright.access.permissions import Permissions, Word
from tests.access.test_permission_policy import World
from tests.memory_folders import memory_folder
from tests.storage.parts import look, state_in

NAMES = ("camera", "memory.read", "com.example.thing.x")
LISTED = "memory.read"
POLICIES = ("interactive", "auto_approve", "deny_all", "config_only")
ELSE = {"interactive": "deferred", "auto_approve": "approved"}

names = st.sampled_from(NAMES)
values = st.sampled_from(["approved", "denied"])
lasting = st.sampled_from([None, 5.0, 50.0])


class Machine(RuleBasedStateMachine):
    """See the module's text."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = memory_folder()
        self.policy, self.listed, self.degrades = "interactive", False, False
        self.world = World(self.folder, **self.configured())
        self.other = Permissions(state_in(self.folder), clock=self.world.clock)
        self.words: dict[str, tuple[str, float | None]] = {}
        self.needs: tuple[str, ...] = ()
        self.wishes: set[str] = set()

    def teardown(self) -> None:
        self.other.close()
        self.world.close()
        shutil.rmtree(self.folder)

    def configured(self) -> dict[str, Any]:
        listed = {"permissions_required": [LISTED]} if self.listed else {}
        degrades = {"missing_permissions": "degrade"} if self.degrades else {}
        return {"permission_policy": self.policy, **listed, **degrades}

    # -- the model

    def value(self, name: str) -> str:
        said, _ = self.words.get(name, (None, None))
        if said == "denied":
            return "denied"
        if (said and self.policy != "config_only") or (self.listed and name == LISTED):
            return "approved"
        return ELSE.get(self.policy, "denied")

    @property
    def known(self) -> set[str]:
        return {*self.needs, *self.wishes}

    def said(self, name: str, value: str, lasts: float | None) -> None:
        now = self.world.clock.now
        self.words[name] = value, None if lasts is None else now + lasts

    # -- what happens

    @rule(found=st.sets(names))
    def a_server_connects(self, found: set[str]) -> None:
        self.needs = tuple(sorted(found))
        stands = self.world.permitting.declared("files", self.needs)
        assert {name: one.value for name, one in stands.items()} == {
            name: self.value(name) for name in self.needs
        }

    @rule(name=names)
    def it_asks_for_more(self, name: str) -> None:
        self.wishes.add(name)
        assert self.world.permitting.asked("files", [name])[name].value == self.value(name)

    @rule(name=names, value=values, lasts=lasting, elsewhere=st.booleans())
    def an_operator_says(self, name: str, value: Any, lasts: float | None, elsewhere: bool) -> None:
        expires = None if lasts is None else self.world.clock.now + lasts
        word = Word("files", name, value, "olga", expires=expires)
        if elsewhere:
            self.other.put(word)
            look(self.world.store)
        else:
            self.world.permitting.say(word)
        self.said(name, value, lasts)
        self.world.permitting.look()

    @precondition(lambda self: bool(self.world.queue.waiting()))
    @rule(yes=st.booleans(), lasts=lasting, data=st.data())
    def somebody_decides_in_the_queue(self, yes: bool, lasts: float | None, data: Any) -> None:
        waiting = sorted(self.world.queue.waiting(), key=lambda each: each.tool)
        one = data.draw(st.sampled_from(waiting))
        if yes:
            scope: Any = {"scope": "arguments", "lasts_s": lasts} if lasts else {}
            self.world.queue.approve(one.id, by="olga", **scope)
        else:
            self.world.queue.deny(one.id, by="olga")
        self.said(one.tool, "approved" if yes else "denied", lasts if yes else None)
        self.world.desk.look()

    @rule(spent=st.sampled_from([1.0, 5.0, 60.0]))
    def time_goes_by(self, spent: float) -> None:
        self.world.clock.now += spent
        now = self.world.clock.now
        self.words = {
            name: (value, ends)
            for name, (value, ends) in self.words.items()
            if ends is None or now < ends
        }
        self.world.permitting.look()

    @rule(policy=st.sampled_from(POLICIES), listed=st.booleans(), degrades=st.booleans())
    def the_configuration_changes(self, policy: str, listed: bool, degrades: bool) -> None:
        self.policy, self.listed, self.degrades = policy, listed, degrades
        self.world.permitting.adopt(self.world.settings(**self.configured()))

    # -- what always holds

    @invariant()
    def both_agree_about_every_permission(self) -> None:
        for name in self.known:
            assert self.world.permitting.value("files", name) == self.value(name)

    @invariant()
    def a_server_is_kept_out_exactly_as_long_as_it_lacks_something(self) -> None:
        lacks = [name for name in self.needs if self.value(name) != "approved"]
        barred = self.world.permitting.barred.get("files")
        assert (barred is not None) == (bool(lacks) and not self.degrades)
        if barred is not None:
            denied = any(self.value(name) == "denied" for name in lacks)
            assert barred.reason == ("permission_denied" if denied else "permission_deferred")

    @invariant()
    def exactly_what_nobody_decided_waits_for_an_operator(self) -> None:
        waiting = self.world.waiting()
        assert len(waiting) == len(set(waiting))
        assert {name for name in waiting if name in self.known} == {
            name for name in self.known if self.value(name) == "deferred"
        }


Machine.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestPermissions = Machine.TestCase
