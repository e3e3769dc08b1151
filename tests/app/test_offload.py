"""Worker processes as gates and filters ask for them: the same answers as at once, and refusals that say what was too much."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Hashable

import msgspec
import pytest
import pytest_asyncio
from msgspec.structs import replace

from gatewright.app import offload
from gatewright.app.offload import Beside, workers
from gatewright.call import Answer, Call, Event, Failure, Refusal, verdict_of
from gatewright.pins.definition import read_definition
from gatewright.redaction.filter import Redact, Rules
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.gate import Schema
from gatewright.schemas.output_filter import OutputSchema
from gatewright.secret_scanning import Redactor
from gatewright.transport.workers import Busy, Overtime, Workers
from gatewright.validators import BUILT_IN
from gatewright.validators.gate import Validators
from tests.gate_parts import Mute, a_call, a_tool, a_tool_call

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
SECRETS = Redactor(b"key")
FILLER = "all work and no play " * 5000


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged in the end may take as long as a busy machine takes for it."""
    for name in ("JUDGE_S", "_FIT_S", "_CLEAN_S", "_READ_S"):
        monkeypatch.setattr(offload, name, 240)


@pytest_asyncio.fixture
async def beside() -> AsyncIterator[Beside]:
    found = Beside(workers())
    yield found
    await found.workers.close()


class Never(Workers):
    """Workers that are too busy, or never ready."""

    def __init__(self, problem: Exception) -> None:
        super().__init__("unused")
        self._problem = problem

    async def run(
        self, who: Hashable, head: bytes, load: bytes, seconds: int = 5
    ) -> tuple[bytes, bytes]:
        raise self._problem


def of_readonly(text: str) -> Call:
    return a_tool_call(a_tool(validator="readonly"), arguments={"sql": text})


async def test_what_is_judged_beside_the_loop_has_the_same_verdict(beside: Beside) -> None:
    gate, at_once = Validators(beside=beside.judge), Validators()
    for text in ("select " + "1," * 100 + "1", "delete from " + "t" * 100, "x" * 5000):
        call = of_readonly(text)
        found = await verdict_of(gate, call, Mute())
        plain = await verdict_of(at_once, call, Mute())
        assert found == plain
    assert beside.workers.orders == 3


async def test_what_is_small_is_judged_at_once(beside: Beside) -> None:
    call = of_readonly("select 1")
    assert await verdict_of(Validators(beside=beside.judge), call, Mute()) is call
    assert beside.workers.orders == 0


async def test_a_statement_that_its_parser_never_finishes_is_refused_by_name(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each join doubles what the parser tries."""
    monkeypatch.setattr(offload, "JUDGE_S", 1)
    call = of_readonly("select a from t" + " join t t" * 40)
    found = await verdict_of(Validators(beside=beside.judge), call, Mute())
    assert isinstance(found, Refusal)
    assert (found.reason, found.details["rule"]) == ("validation_blocked", "too_costly")
    assert beside.workers.killed == 1


PROSE = "The quick brown fox, and then (as it were) the lazy dog: 42 of them.\n" * 15_000


@pytest.mark.parametrize("validator", sorted(BUILT_IN))
async def test_a_file_of_a_mebibyte_passes_what_judges_the_other_arguments(
    beside: Beside, validator: str
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
    beside: Beside, validator: str
) -> None:
    arguments = {"name": "a", "content": PROSE}
    call = a_tool_call(a_tool(validator=validator), arguments=arguments)
    assert await verdict_of(Validators(beside=beside.judge), call, Mute()) is call
    assert beside.workers.orders == 1


async def test_names_in_a_long_list_of_urls_are_looked_up(beside: Beside) -> None:
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
    gate = Validators(beside=Beside(Never(Busy())).judge)
    found = await verdict_of(gate, of_readonly("x" * 500), Mute())
    assert isinstance(found, Refusal)
    assert (found.reason, found.retry_after_ms) == ("resource_exhausted", 1000)


async def test_a_large_result_is_cleaned_as_a_small_one_is(beside: Beside) -> None:
    by, plain = Redact(Rules(SECRETS), beside.clean), Redact(Rules(SECRETS))
    for words in (f"{FILLER}{TOKEN}", FILLER):
        raw = json.dumps({"content": [{"type": "text", "text": words}]}).encode()
        mine, theirs = a_call(facts={}), a_call(facts={})
        later = by.outcome(mine, Answer(raw))
        assert not isinstance(later, Answer | Refusal | Failure)
        assert await later == plain.outcome(theirs, Answer(raw))
        assert mine.facts == theirs.facts


async def test_a_large_list_is_cleaned_once_for_all_callers(beside: Beside) -> None:
    by = Redact(Rules(SECRETS), beside.clean)
    raw = json.dumps({"tools": [{"name": "t", "description": f"{FILLER}{TOKEN}"}]}).encode()
    call = replace(a_call(), kind="list")
    for _ in range(2):
        later = by.outcome(call, Answer(raw))
        assert not isinstance(later, Answer | Refusal | Failure)
        found = await later
        assert isinstance(found, Answer)
        assert TOKEN.encode() not in found.raw
    assert beside.workers.orders == 1


async def test_a_large_event_is_cleaned_or_not_passed_on(beside: Beside) -> None:
    event = Event("notifications/message", {"level": "info", "data": f"{FILLER}{TOKEN}"})
    for asked, passed in ((beside.clean, True), (Beside(Never(Overtime())).clean, False)):
        later = Redact(Rules(SECRETS), asked).event(a_call(facts={}), event)
        assert later is not None
        assert not isinstance(later, Event)
        found = await later
        assert (found is not None) == passed
        assert found is None or TOKEN not in found.params["data"]


async def test_a_large_chunk_of_text_is_cleaned_piece_by_piece() -> None:
    said = {"request_id": "r", "content": {"type": "text", "text": f"{FILLER}{TOKEN} "}}
    event = Event("notifications/mgp.stream.chunk", {**said, "done": True})
    later = Redact(Rules(SECRETS)).event(a_call(facts={}), event)
    assert later is not None
    assert not isinstance(later, Event)
    found = await later
    assert found is not None
    text = found.params["content"]["text"]
    assert text.startswith(FILLER)
    assert "[REDACTED:github-token:" in text
    assert found.params["done"] is True


async def test_a_result_that_cannot_be_cleaned_in_time_is_not_passed_on() -> None:
    raw = json.dumps({"content": [{"type": "text", "text": FILLER}]}).encode()
    for problem, reason in ((Overtime(), "output_invalid"), (Busy(), "resource_exhausted")):
        later = Redact(Rules(SECRETS), Beside(Never(problem)).clean).outcome(a_call(), Answer(raw))
        assert not isinstance(later, Answer | Refusal | Failure)
        found = await later
        assert isinstance(found, Failure)
        assert found.reason == reason


async def test_a_large_result_is_fitted_to_its_schema(beside: Beside) -> None:
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
        by = OutputSchema(Compiled(), beside=Beside(Never(problem)).fit)
        later = by.outcome(a_tool_call(tool), answer)
        assert not isinstance(later, Answer | Refusal | Failure)
        assert isinstance(await later, Failure)


async def test_the_loop_goes_on_while_a_worker_is_busy(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offload, "JUDGE_S", 1)
    turns = 0
    call = of_readonly("select a from t" + " join t t" * 40)
    task = asyncio.ensure_future(verdict_of(Validators(beside=beside.judge), call, Mute()))
    while not task.done():
        turns += 1
        await asyncio.sleep(0.01)
    assert turns > 10


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


async def test_definitions_are_read_beside_or_by_whoever_asked(beside: Beside) -> None:
    tools = [a_tool(name) for name in ("a", "b")]
    found = await beside.read("srv", tools)
    assert found == [read_definition(one.target.name, one.definition) for one in tools]
    for problem in (Busy(), Overtime()):
        assert await Beside(Never(problem)).read("srv", tools) is None


ONE_OF = {"oneOf": [{"properties": {"k": {"const": n}}, "required": ["k"]} for n in range(40)]}


@pytest.mark.parametrize("last", [{"k": 1}, {"k": 99}, "token: a"])
async def test_large_arguments_are_checked_as_small_ones_are(beside: Beside, last: object) -> None:
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
        found = await verdict_of(Schema(beside=Beside(Never(problem)).check), call, Mute())
        assert isinstance(found, Refusal)
        assert found.reason == reason


async def test_an_error_of_many_words_is_cleaned_as_a_short_one_is(beside: Beside) -> None:
    """GRH-out-1"""
    error = json.dumps({"code": 1, "message": "m", "data": f"{FILLER}{TOKEN}"}).encode()
    for failure in (
        Failure("upstream_error", f"it said {TOKEN}", {"code": 1}, error=error),
        Failure("upstream_error", f"{FILLER} {TOKEN}", {"code": 1}),
        Refusal("invalid_args", "no", {"flaws": [f"{FILLER} {TOKEN}"]}),
    ):
        call, other = a_call(facts={}), a_call(facts={})
        later = Redact(Rules(SECRETS), beside.clean).outcome(call, failure)
        assert not isinstance(later, Answer | Refusal | Failure)
        assert await later == Redact(Rules(SECRETS)).outcome(other, failure)
        assert call.facts == other.facts
    assert beside.workers.orders == 3


async def test_an_error_that_cannot_be_cleaned_in_time_is_not_passed_on() -> None:
    failure = Failure("upstream_error", FILLER + TOKEN)
    later = Redact(Rules(SECRETS), Beside(Never(Overtime())).clean).outcome(a_call(), failure)
    assert not isinstance(later, Answer | Refusal | Failure)
    found = await later
    assert isinstance(found, Failure)
    assert (found.reason, TOKEN in found.message) == ("output_invalid", False)


async def test_links_of_a_large_result_are_read_and_renamed_beside_the_loop(beside: Beside) -> None:
    raw = b'{"content":[{"type":"resource_link","uri":"x://a","name":"n"}]}'
    call = a_tool_call(a_tool(), arguments={})
    assert await beside.named(call, raw) == ["x://a"]
    found = await beside.led(call, raw, {"x://a": "y://a"})
    assert found == raw.replace(b"x:", b"y:")
    broken = await beside.named(call, b"{")
    assert isinstance(broken, Failure)
    assert broken.reason == "output_invalid"


@pytest.mark.parametrize(
    ("problem", "reason"),
    [(Busy(), "resource_exhausted"), (Overtime(), "output_invalid")],
)
async def test_links_that_cannot_be_read_in_time_are_a_failure(
    problem: Exception, reason: str
) -> None:
    found = await Beside(Never(problem)).named(a_call("tool"), b"{}")
    assert isinstance(found, Failure)
    assert found.reason == reason


async def test_millions_of_places_are_counted_and_not_listed(beside: Beside) -> None:
    hidden = Redactor(b"key", hidden=True)
    raw = json.dumps({"a": "\u200b" * 100_000}, ensure_ascii=False).encode()
    found = await beside.clean(a_call("tool"), hidden, raw, report=False)
    assert not isinstance(found, Failure)
    assert found.rules == {"hidden": 100_000}
    call = a_tool_call(a_tool(), arguments={})
    outcome = await verdict_like(call, Redact(Rules(hidden), beside.clean), raw)
    assert json.loads(outcome.raw)["_meta"]["dev.gatewright/redaction"]["redactions_applied"] == {
        "hidden": 100_000
    }
    assert call.facts["redacted"] == {"hidden": 100_000}


async def verdict_like(call: Call, redact: Redact, raw: bytes) -> Answer:
    found = redact.outcome(call, Answer(raw))
    outcome = found if isinstance(found, Answer) else await found  # type: ignore[misc]
    assert isinstance(outcome, Answer)
    return outcome
