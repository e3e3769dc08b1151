"""Validators beside the loop: the same answers as at once, and refusals that say what was too much."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec.structs import replace

from gatewright.app.worker import MODULE
from gatewright.call import Call, Refusal, verdict_of
from gatewright.transport import worker_requests
from gatewright.transport.workers import Busy, Workers
from gatewright.validators import BUILT_IN
from gatewright.validators.gate import Validators
from gatewright.validators.offload import Judges
from tests.gate_parts import Mute, a_tool, a_tool_call
from tests.worker_parts import Never

PROSE = "The quick brown fox, and then (as it were) the lazy dog: 42 of them.\n" * 15_000


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged in the end may take as long as a busy machine takes for it."""
    monkeypatch.setattr(worker_requests, "JUDGE_S", 240)


@pytest_asyncio.fixture
async def beside() -> AsyncIterator[Judges]:
    workers = Workers(MODULE)
    yield Judges(workers)
    await workers.close()


def of_readonly(text: str) -> Call:
    return a_tool_call(a_tool(validator="readonly"), arguments={"sql": text})


async def test_what_is_judged_beside_the_loop_has_the_same_verdict(beside: Judges) -> None:
    gate, at_once = Validators(beside=beside.judge), Validators()
    for text in ("select " + "1," * 100 + "1", "delete from " + "t" * 100, "x" * 5000):
        call = of_readonly(text)
        found = await verdict_of(gate, call, Mute())
        plain = await verdict_of(at_once, call, Mute())
        assert found == plain
    assert beside.workers.orders == 3


async def test_what_is_small_is_judged_at_once(beside: Judges) -> None:
    call = of_readonly("select 1")
    assert await verdict_of(Validators(beside=beside.judge), call, Mute()) is call
    assert beside.workers.orders == 0


async def test_a_statement_that_its_parser_never_finishes_is_refused_by_name(
    beside: Judges, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each join doubles what the parser tries."""
    monkeypatch.setattr(worker_requests, "JUDGE_S", 1)
    call = of_readonly("select a from t" + " join t t" * 40)
    found = await verdict_of(Validators(beside=beside.judge), call, Mute())
    assert isinstance(found, Refusal)
    assert (found.reason, found.details["rule"]) == ("validation_blocked", "too_costly")
    assert beside.workers.killed == 1


@pytest.mark.parametrize("validator", sorted(BUILT_IN))
async def test_a_file_of_a_mebibyte_passes_what_judges_the_other_arguments(
    beside: Judges, validator: str
) -> None:
    judged = {"sandbox": "ls", "readonly": "select 1", "code_safety": "x = 1"}
    tool = a_tool(validator=validator)
    security = replace(tool.security, validator_args={validator: ("/judged",)})
    text = judged.get(validator, "http://example.com/" if "net" in validator else "notes/a.txt")
    call = a_tool_call(
        replace(tool, security=security), arguments={"judged": text, "content": PROSE}
    )
    assert await verdict_of(Validators(beside=beside.judge), call, Mute()) is call
    assert beside.workers.orders == 0


@pytest.mark.parametrize("validator", ["readonly", "network_restricted", "paths"])
async def test_a_mebibyte_of_prose_passes_validators_that_look_at_everything(
    beside: Judges, validator: str
) -> None:
    arguments = {"name": "a", "content": PROSE}
    call = a_tool_call(a_tool(validator=validator), arguments=arguments)
    assert await verdict_of(Validators(beside=beside.judge), call, Mute()) is call
    assert beside.workers.orders == 1


async def test_names_in_a_long_list_of_urls_are_looked_up(beside: Judges) -> None:
    asked: list[str] = []

    async def look_up(name: str) -> list[str]:
        asked.append(name)
        return ["10.0.0.1"]

    arguments = {"urls": ["http://example.com/"] * 1000}
    call = a_tool_call(a_tool(validator="network_restricted"), arguments=arguments)
    found = await verdict_of(Validators(look_up, beside.judge), call, Mute())
    assert isinstance(found, Refusal)
    assert (asked, found.details["rule"]) == (["example.com"], "internal_address")


async def test_who_has_too_much_waiting_is_refused_and_told_when_to_come_again() -> None:
    gate = Validators(beside=Judges(Never(Busy())).judge)
    found = await verdict_of(gate, of_readonly("x" * 500), Mute())
    assert isinstance(found, Refusal)
    assert (found.reason, found.retry_after_ms) == ("resource_exhausted", 1000)


async def test_the_loop_goes_on_while_a_worker_is_busy(
    beside: Judges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_requests, "JUDGE_S", 1)
    turns = 0
    call = of_readonly("select a from t" + " join t t" * 40)
    task = asyncio.ensure_future(verdict_of(Validators(beside=beside.judge), call, Mute()))
    while not task.done():
        turns += 1
        await asyncio.sleep(0.01)
    assert turns > 10
