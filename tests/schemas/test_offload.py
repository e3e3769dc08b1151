"""Schemas checked beside the loop: the same answers as at once, and refusals that say what was too much."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio
from msgspec.structs import replace

from gatewright.app.worker import MODULE
from gatewright.call import Answer, Failure, Refusal, verdict_of
from gatewright.schemas import offload
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.gate import Schema
from gatewright.schemas.offload import Fits
from gatewright.schemas.output_filter import OutputSchema
from gatewright.transport import worker_requests
from gatewright.transport.workers import Busy, Overtime, Workers
from tests.gate_parts import Mute, a_tool, a_tool_call
from tests.worker_parts import Never

FILLER = "all work and no play " * 5000
ONE_OF = {"oneOf": [{"properties": {"k": {"const": n}}, "required": ["k"]} for n in range(40)]}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged in the end may take as long as a busy machine takes for it."""
    monkeypatch.setattr(worker_requests, "JUDGE_S", 240)
    monkeypatch.setattr(offload, "FIT_S", 240)


@pytest_asyncio.fixture
async def beside() -> AsyncIterator[Fits]:
    workers = Workers(MODULE)
    yield Fits(workers)
    await workers.close()


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


async def test_a_large_result_is_fitted_to_its_schema(beside: Fits) -> None:
    schema = {"type": "object", "properties": {"rows": {"items": {"type": "integer"}}}}
    tool = a_tool()
    tool = replace(tool, definition={**tool.definition, "outputSchema": _raw(schema)})
    by, plain = OutputSchema(Compiled(), beside=beside.fit), OutputSchema(Compiled())
    for last in (1, "x"):
        rows = [*range(20_000), last]
        answer = Answer(json.dumps({"structuredContent": {"rows": rows}}).encode())
        later = by.outcome(a_tool_call(tool), answer)
        assert not isinstance(later, Answer | Refusal | Failure)
        assert await later == plain.outcome(a_tool_call(tool), answer)


async def test_a_result_that_cannot_be_fitted_is_not_passed_on() -> None:
    tool = a_tool()
    tool = replace(tool, definition={**tool.definition, "outputSchema": _raw({})})
    answer = Answer(json.dumps({"structuredContent": {"x": FILLER}}).encode())
    for problem in (Busy(), Overtime()):
        by = OutputSchema(Compiled(), beside=Fits(Never(problem)).fit)
        later = by.outcome(a_tool_call(tool), answer)
        assert not isinstance(later, Answer | Refusal | Failure)
        assert isinstance(await later, Failure)


@pytest.mark.parametrize("last", [{"k": 1}, {"k": 99}, "token: a"])
async def test_large_arguments_are_checked_as_small_ones_are(beside: Fits, last: object) -> None:
    """MGP-14.3-14"""
    schema = {"type": "object", "properties": {"list": {"items": {"type": "object", **ONE_OF}}}}
    tool = a_tool(schema=schema)
    tool = replace(tool, definition={**tool.definition, "inputSchema": _raw(schema)})
    call = a_tool_call(tool, arguments={"list": [{"k": 1}] * 600 + [last]})
    found = await verdict_of(Schema(beside=beside.check), call, Mute())
    assert found == await verdict_of(Schema(), call, Mute())
    assert (found is call) == (last == {"k": 1})
    assert beside.workers.orders == 1


async def test_arguments_that_cannot_be_checked_in_time_are_refused() -> None:
    call = a_tool_call(a_tool(schema={"type": "object"}), arguments={"list": [1] * 600})
    for problem, reason in ((Overtime(), "invalid_args"), (Busy(), "resource_exhausted")):
        found = await verdict_of(Schema(beside=Fits(Never(problem)).check), call, Mute())
        assert isinstance(found, Refusal)
        assert found.reason == reason
