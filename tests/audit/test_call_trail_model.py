"""Calls, cancellations, events and a failing disk in any order: who has an answer is in the journal, and who ran is in the record.

The model keeps which calls reached their server and what each caller heard. Whenever a caller hears an answer, the end of its call
stands in the journal at that very moment; a call that ran and was refused for want of a record says that it may have run; and once the
disk is mended each call that ran is in the record once, by its end or by its intent.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from gatewright.audit import flusher
from gatewright.audit.intents import read_intents
from gatewright.audit.records import INTENT
from gatewright.audit.segments import read_head
from gatewright.audit.trail import Sync
from gatewright.call import Answer, Back, Call, Outcome, Refusal, Unrecorded
from gatewright.kernel import Kernel
from tests.audit.parts import (
    ANSWER,
    Nobody,
    a_call,
    a_log,
    a_tool,
    journal_lines,
    records,
    until,
    verified,
)
from tests.memory_folders import memory_folder

many = st.integers(1, 6)


class Machine(RuleBasedStateMachine):
    """See the module's text."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(flusher, "_RETRY_S", 0.002)
        self.folder = memory_folder()
        self.loop = asyncio.new_event_loop()
        self.failing: int | None = None
        self.real = os.write
        self.patch.setattr(os, "write", self.write)
        self.count, self.over = 0, False
        self.ran: dict[str, asyncio.Future[None]] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.wrong: list[str] = []

    @initialize(sync=st.sampled_from(["process", "always"]))
    def a_gateway(self, sync: Sync) -> None:
        self.sync = sync
        self.loop.run_until_complete(self.opened())

    async def opened(self) -> None:
        self.log = a_log(self.folder, sync=self.sync, random=os.urandom, segment_bytes=4096)
        self.kernel = Kernel([], self.server, [], self.log)

    def teardown(self) -> None:
        try:
            if hasattr(self, "log"):
                self.loop.run_until_complete(self.ended())
        finally:
            self.patch.undo()
            self.loop.close()
            shutil.rmtree(self.folder)

    # -- the world

    def write(self, file: int, data: bytes) -> int:
        if self.failing is None:
            return self.real(file, data)
        if kept := min(self.failing, len(data) - 1):
            self.real(file, data[:kept])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def server(self, call: Call, back: Back) -> Outcome:
        self.ran[call.id] = waits = asyncio.get_running_loop().create_future()
        if not self.over:
            await waits
        return ANSWER

    async def one(self, call: Call) -> None:
        try:
            outcome = await self.kernel.handle(call, Nobody())
        except asyncio.CancelledError as stopped:
            task = asyncio.current_task()
            # Cancelled by others as well, nobody takes it for the end of the call and answers.
            once = task is not None and task.cancelling() == 1
            cause = stopped.__cause__
            if once and self.recorded(call) is not (cause is None):
                self.wrong.append(f"{call.id} was cancelled with a record and a cause, or neither")
            if isinstance(cause, Unrecorded) and cause.ran is not (call.id in self.ran):
                self.wrong.append(f"{call.id} ran, or not, and its cause says otherwise")
            raise
        if isinstance(outcome, Answer):
            if not self.recorded(call):
                self.wrong.append(f"{call.id} was answered without a record")
        elif not isinstance(outcome, Refusal) or outcome.reason != "audit_unavailable":
            self.wrong.append(f"{call.id}: {outcome}")
        elif outcome.once != (call.id in self.ran):
            self.wrong.append(f"{call.id} ran, or not, and says otherwise")

    def recorded(self, call: Call) -> bool:
        head = read_head(self.folder)
        count = head.seq if self.sync == "always" and head is not None else None
        end = b'"call":"%b"' % call.id.encode()
        ended = b'"event_type":"TOOL_EXECUTED"', b'"event_type":"TOOL_BLOCKED"'
        # What a full disk tore is no record, whatever of it is there.
        lines = [line for line in journal_lines(self.folder)[:count] if line.endswith(b"\n")]
        return any(end in line and any(one in line for one in ended) for line in lines)

    async def turns(self, count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    def go_on(self, count: int = 1) -> None:
        self.loop.run_until_complete(self.turns(count))
        assert not self.wrong

    # -- what happens

    @rule(count=many, risk=st.sampled_from(["safe", "moderate", "dangerous"]))
    def calls_begin(self, count: int, risk: Any) -> None:
        for _ in range(count):
            self.count += 1
            call = a_call(self.count, a_tool(risk))
            self.waiting[call.id] = self.loop.create_task(self.one(call))
        self.go_on()

    @rule(count=many, turns=st.integers(0, 4))
    def calls_are_answered_together(self, count: int, turns: int) -> None:
        for waits in [one for one in self.ran.values() if not one.done()][:count]:
            waits.set_result(None)
        self.go_on(turns)

    @rule(which=st.integers(0, 20))
    def a_caller_leaves(self, which: int) -> None:
        open_ = [one for one in self.waiting.values() if not one.done()]
        if open_:
            open_[which % len(open_)].cancel()

    @rule(turns=st.integers(1, 5))
    def time_goes_by(self, turns: int) -> None:
        self.go_on(turns)

    @rule()
    def something_else_is_recorded(self) -> None:
        async def said() -> None:
            self.log.event("SERVER_CONNECTED")

        try:
            self.loop.run_until_complete(said())
        except Unrecorded:
            assert self.failing is not None or self.log.fault is not None

    @rule(kept=st.integers(0, 900))
    def the_disk_is_full(self, kept: int) -> None:
        self.failing = kept

    @rule()
    def there_is_room_again(self) -> None:
        self.failing = None
        self.loop.run_until_complete(until(lambda: self.log.fault is None))

    async def ended(self) -> None:
        self.failing, self.over = None, True
        await until(lambda: self.log.fault is None)
        for waits in self.ran.values():
            if not waits.done():
                waits.set_result(None)
        await asyncio.wait_for(asyncio.gather(*self.waiting.values(), return_exceptions=True), 20)
        await until(lambda: self.log.fault is None)
        assert not self.wrong
        await self.log.close()
        assert verified(self.folder).problem is None
        assert read_intents(self.folder) == []
        found = records(self.folder)
        for name in self.ran:
            mine = [each for each in found if each.get("call") == name]
            ends = [each for each in mine if each["event_type"] == "TOOL_EXECUTED"]
            intents = [each for each in mine if each["event_type"] == INTENT]
            assert len(ends) <= 1, mine
            assert len(intents) <= 1, mine
            assert mine, f"{name} ran, and the record says nothing of it"


Machine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestRecorded = Machine.TestCase
