from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gatewright.sdk import Registry, SchemaError, TimeLimits, TimeoutError, Tool, mcp_tool
from gatewright.sdk.providers import ask_providers

ENOUGH_S = 60.0


class _Skipping(selectors.DefaultSelector):
    """Waits for nothing: time goes on at once to the next thing that is due."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        found = super().select(0)
        if not found and timeout:
            self.skipped += timeout
        return found


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.waits = _Skipping()
        super().__init__(self.waits)

    def time(self) -> float:
        return super().time() + self.waits.skipped


def _skipping(work: Callable[[], Coroutine[Any, Any, Any]]) -> tuple[Any, float]:
    """What becomes of work that waits, and how many seconds of its loop passed; hardly any of ours do."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        loop = runner.get_loop()
        begun = loop.time()
        try:
            found: Any = runner.run(work())
        except Exception as problem:  # noqa: BLE001 - judged by the caller
            found = problem
        return found, loop.time() - begun


def test_the_four_limits_have_the_defaults_of_the_table() -> None:
    """GGEN-to-1 (30 s), GGEN-to-2 (5 s), GGEN-to-3 (2 s), GGEN-to-4 (500 ms); CDM-err-6: 30 s."""
    limits = TimeLimits()
    found = (limits.tool_s, limits.validation_s, limits.discovery_s, limits.lock_s)
    assert found == (30.0, 5.0, 2.0, 0.5)


@pytest.mark.parametrize("name", ["tool_s", "validation_s", "discovery_s", "lock_s"])
def test_a_limit_of_nothing_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        TimeLimits(**{name: 0})


@pytest.mark.parametrize(
    ("limits", "own", "limit_s"),
    [
        (None, None, 30.0),
        (TimeLimits(tool_s=8.0), None, 8.0),
        (TimeLimits(tool_s=8.0), 3.0, 3.0),
        (TimeLimits(tool_s=8.0), 90.0, 8.0),
    ],
)
def test_a_tool_that_takes_a_second_more_than_its_limit_ends_at_the_limit(
    limits: TimeLimits | None, own: float | None, limit_s: float
) -> None:
    """GGEN-to-1, GGEN-to-5: 31 s end at 30 s, 29 s do not; the registry's and the tool's own limit, whichever is less."""
    registry = Registry(limits=limits)
    effects: list[str] = []

    @mcp_tool(registry=registry, name="long", timeout_s=own)
    async def long(seconds: float) -> str:
        await asyncio.sleep(seconds)
        effects.append("written")
        return "done"

    found, took = _skipping(lambda: registry.invoke("long", {"seconds": limit_s + 1}))
    assert isinstance(found, TimeoutError)
    assert found.details["timeout_ms"] == limit_s * 1000
    assert limit_s <= took < limit_s + 0.9
    assert effects == []
    found, took = _skipping(lambda: registry.invoke("long", {"seconds": limit_s - 1}))
    assert (found.value, effects) == ("done", ["written"])
    assert limit_s - 1 <= took < limit_s


@pytest.mark.parametrize(("limits", "limit_s"), [(None, 5.0), (TimeLimits(validation_s=2.0), 2.0)])
def test_validators_together_have_the_limit_of_the_registry_and_what_is_not_judged_does_not_run(
    limits: TimeLimits | None, limit_s: float
) -> None:
    """GGEN-to-2: at both ways in, `invoke` and `validate`; two that are each within it are past it together."""
    registry = Registry(limits=limits)
    ran: list[str] = []
    takes = 0.0

    @mcp_tool(registry=registry, name="quick")
    async def quick() -> str:
        ran.append("ran")
        return "done"

    async def slow(arguments: dict[str, Any]) -> None:
        await asyncio.sleep(takes)

    registry.add_validator("one", slow)
    registry.add_validator("two", slow)
    for work in (registry.invoke, registry.validate):
        takes = limit_s * 0.6
        found, took = _skipping(lambda work=work: work("quick"))  # type: ignore[misc]
        assert isinstance(found, TimeoutError)
        assert found.details["timeout_ms"] == limit_s * 1000
        assert limit_s <= took < limit_s + 0.9
        assert ran == []
        takes = limit_s * 0.4
        found, took = _skipping(lambda work=work: work("quick"))  # type: ignore[misc]
        assert not isinstance(found, Exception)
        ran.clear()


@pytest.mark.parametrize("flaw", ["(a+)+$", r"(?=b)(a|a)*\1$"])
def test_what_a_hostile_pattern_costs_is_no_more_for_twice_the_text_than_twice(flaw: str) -> None:
    """GGEN-to-2: an engine that tries every way would take two times as long for each single character more."""
    registry = Registry()
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": f"^{flaw}"}}}

    @mcp_tool(registry=registry, name="evil", input_schema=schema)
    async def evil(x: str) -> str:
        return "ran"

    def judged(length: int) -> float:
        begun = time.thread_time()
        found, _ = _skipping(lambda: registry.invoke("evil", {"x": "a" * length + "!"}))
        assert isinstance(found, SchemaError)
        return time.thread_time() - begun

    judged(20)
    few, many = (min(judged(length) for _ in range(3)) for length in (20, 40))
    assert many < 100 * few


@pytest.mark.parametrize(("limits", "limit_s"), [(None, 2.0), (TimeLimits(discovery_s=0.5), 0.5)])
def test_who_asks_for_tools_waits_no_longer_than_the_limit_for_all_sources_together(
    limits: TimeLimits | None, limit_s: float
) -> None:
    """GGEN-to-3: three that are late cost the limit once, and nothing of what is known by then is lost."""
    registry = Registry(limits=limits)
    sources = {}

    def source(name: str, seconds: float) -> None:
        async def give() -> Iterable[Tool]:
            await asyncio.sleep(seconds)
            return [
                Tool(name=name, description="", function=print, input_schema={"type": "object"})
            ]

        sources[name] = give

    source("soon", limit_s * 0.5)
    source("just", limit_s * 0.9)
    for number in range(3):
        source(f"late{number}", limit_s * 1.5)
    problems, took = _skipping(lambda: ask_providers(registry, sources))
    assert limit_s <= took < limit_s * 1.4
    assert [one.name for one in registry.list()] == ["soon", "just"]
    assert {one.module for one in problems} == {"late0", "late1", "late2"}
    assert {one.message for one in problems} == {f"did not answer within {limit_s:g} s"}


CHANGES: dict[str, Callable[[Registry], object]] = {
    "register": lambda one: one.register(_named("new")),
    "unregister": lambda one: one.unregister("there"),
    "add_validator": lambda one: one.add_validator("v", lambda _: None),
}


def _named(name: str) -> Tool:
    return Tool(name=name, description="", function=print, input_schema={"type": "object"})


@contextmanager
def _held(registry: Registry, seconds: float) -> Iterator[None]:
    """Somebody else is at work on a registry, for so long or until the block ends."""
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with registry._changing():
            held.set()
            leave.wait(seconds)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(ENOUGH_S)
    try:
        yield
    finally:
        leave.set()
        holder.join(ENOUGH_S)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_waits_for_another_one_and_gives_up_at_the_limit(change: str) -> None:
    """GGEN-to-4: it waits half a second, and not for ever."""
    registry = Registry()
    registry.register(_named("there"))
    with _held(registry, ENOUGH_S):
        begun = time.monotonic()
        with pytest.raises(TimeoutError, match=r"for 0.5 s") as caught:
            CHANGES[change](registry)
        took = time.monotonic() - begun
    assert caught.value.details == {"timeout_ms": 500}
    assert 0.49 <= took < ENOUGH_S / 4


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_goes_through_where_the_other_one_ends_in_time(change: str) -> None:
    """GGEN-to-4."""
    registry = Registry(limits=TimeLimits(lock_s=ENOUGH_S))
    registry.register(_named("there"))
    with _held(registry, 0.1):
        CHANGES[change](registry)
    count = {"register": (2, 0), "unregister": (0, 0), "add_validator": (1, 1)}[change]
    assert (len(registry), len(registry._validators)) == count
