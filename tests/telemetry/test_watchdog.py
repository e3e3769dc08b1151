"""The event loop that stands still is noticed, measured and named."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gatewright.call import Answer, Back, Call, Outcome, Refusal
from gatewright.kernel import Kernel
from gatewright.telemetry import watchdog as watchdog_module
from gatewright.telemetry.watchdog import Watchdog, place_of
from tests.kernel_parts import ANSWER, Book, Line, a_call

_TOLD = Path("/proc/thread-self/schedstat").exists()
"""Whether this system says how long a thread waits for a processor."""


def busy(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(1000))


async def test_a_stack_that_cannot_be_read_ends_no_watch(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on while it is read: once a `dict` stood where a frame should."""
    monkeypatch.setattr(Watchdog, "_waited", lambda _: 0.0)
    monkeypatch.setattr(watchdog_module, "place_of", lambda frame: frame["f_globals"])
    watchdog = Watchdog(0.1)
    watchdog.start()
    with caplog.at_level(logging.WARNING, "gatewright.watchdog"):
        await asyncio.sleep(0.12)
        Slow()(a_call(), Line())
        await asyncio.sleep(0.12)
    assert watchdog._thread.is_alive()
    watchdog.close()
    (said,) = [one.getMessage() for one in caplog.records if "stood still" in one.getMessage()]
    assert said.endswith("nobody saw in what")


@contextmanager
def _every_processor_taken() -> Iterator[None]:
    """Twice, so that this process has to wait for one."""
    endless = [sys.executable, "-S", "-c", "while True: pass"]
    with ExitStack() as stack:
        for _ in range(2 * (os.cpu_count() or 1)):
            stack.callback(stack.enter_context(subprocess.Popen(endless)).kill)
        yield


class Slow:
    """A gate that thinks."""

    name = "slow"

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        until = time.thread_time() + 0.5  # its own work, however long the machine lets it wait
        while time.thread_time() < until:
            sum(range(1000))
        return call


async def _owner(call: Call, back: Back) -> Outcome:
    return ANSWER


async def test_a_stall_is_measured_and_the_log_names_its_call(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watchdog, "_waited", lambda _: 0.0)  # however busy the machine is
    watchdog = Watchdog(0.1)
    watchdog.start()
    with caplog.at_level(logging.WARNING, "gatewright.watchdog"):
        await asyncio.sleep(0.12)
        outcome = await Kernel([Slow()], _owner, [], Book()).handle(a_call(), Line())
        await asyncio.sleep(0.12)
    watchdog.close()
    assert isinstance(outcome, Answer)
    assert watchdog.longest is not None
    assert watchdog.longest.seconds > 0.4
    assert sum(watchdog.counts[4:]) >= 1
    said = [one.getMessage() for one in caplog.records if "stood still" in one.getMessage()]
    assert any("call c1 (trace t1, caller 'anonymous'): 'tools/call x'" in one for one in said)


async def test_a_stall_of_a_busy_machine_is_counted_and_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = iter([0.0, *[5.0] * 1000])
    monkeypatch.setattr(Watchdog, "_waited", lambda _: next(queued))
    watchdog = Watchdog(0.1)
    watchdog.start()
    with caplog.at_level(logging.WARNING, "gatewright.watchdog"):
        busy(0.5)
        await asyncio.sleep(0.12)
    watchdog.close()
    assert watchdog.longest is not None
    assert watchdog.longest.queued_s == 5.0
    assert sum(watchdog.counts[4:]) >= 1
    assert caplog.records == []


async def test_what_the_loop_waits_for_a_processor_is_measured() -> None:
    watchdog = Watchdog(30.0)
    watchdog.start()
    before = watchdog._waited()
    with _every_processor_taken():
        ends = time.monotonic() + (60 if _TOLD else 0)
        while watchdog._waited() - before < 0.02 and time.monotonic() < ends:
            busy(0.05)
    waited = watchdog._waited() - before
    watchdog.close()
    assert 0.02 <= waited < 60 if _TOLD else waited == 0


async def test_a_loop_that_is_never_held_up_is_not_complained_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watchdog = Watchdog(30.0)
    watchdog.start()
    await asyncio.sleep(0.2)
    watchdog.close()
    assert caplog.records == []


def test_what_a_caller_made_up_cannot_forge_a_line_of_the_log() -> None:
    call = a_call()
    forged = Call(
        **{name: getattr(call, name) for name in call.__struct_fields__} | {"name": "a\nb"}
    )
    seen: list[str] = []

    class Looking:
        name = "looking"

        def __call__(self, call: Call, back: Back) -> Call | Refusal:
            seen.append(place_of(sys._getframe()))
            return call

    asyncio.run(Kernel([Looking()], _owner, [], Book()).handle(forged, Line()))
    assert "\n" not in seen[0]
    assert "call c1" in seen[0]


def test_a_stack_without_a_call_says_where_it_is() -> None:
    assert place_of(None) == "in no code of ours"
