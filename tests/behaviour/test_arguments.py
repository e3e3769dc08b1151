"""Arguments that do not fit: a model reads which and why where its revision of MCP wants that, every other caller has an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from gatewright.mcp.wire.codes import REASONS
from tests import fork_server
from tests.behaviour.access_house import OFFER
from tests.behaviour.gateway import COMMAND, Gateway, config, running, server
from tests.behaviour.hosts import EVERY_DOOR, RpcError, host

pytestmark = pytest.mark.timeout(180)

CORRECTING = ("2025-11-25", "2026-07-28")


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("strict"), config(server("finance"))) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    linking = server("linking", "linking", "one")
    with running(tmp_path_factory.mktemp("failing"), config(linking)) as gateway:
        yield gateway


GIVEN = {"ticker_symbo": "ACME", "period_days": "many"}


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_flawed_arguments_are_told_one_by_one_in_the_form_of_the_revision(
    strict: Gateway, door: str
) -> None:
    """MGP-14.3-14 and decision C-61."""
    name = "finance__FinancialAnalyzer"
    async with host(strict, door) as plain:
        if door.split()[1] in CORRECTING:
            result = await plain.call(name, **GIVEN)
            assert result["isError"] is True
            said = result["content"][0]["text"]
        else:
            with pytest.raises(RpcError) as refused:
                await plain.call(name, **GIVEN)
            assert refused.value.code == -32602
            said = refused.value.message
    async with host(strict, door, can=OFFER) as mgp:
        with pytest.raises(RpcError) as caught:
            await mgp.call(name, **GIVEN)
    assert (caught.value.code, caught.value.data["reason"]) == (4000, "invalid_args")
    flaws = caught.value.data["_mgp"]["details"]["flaws"]
    assert {one["rule"] for one in flaws} >= {"required", "type"}
    for text in (said, caught.value.message):
        assert "'ticker_symbol' is missing; it has no 'ticker_symbo', which may have been" in text
        assert "arguments/period_days" in text
        assert "ACME" not in text


async def test_the_record_says_the_same_reason_whatever_the_caller_read(strict: Gateway) -> None:
    for door in ("http 2024-11-05", "http 2025-11-25"):
        async with host(strict, door) as client:
            with suppress(RpcError):
                await client.call("finance__FinancialAnalyzer", **GIVEN)
    blocked = strict.audit("--event", "TOOL_BLOCKED")
    assert len(blocked) >= 2
    for one in blocked:
        assert one["decision"] == {"gate": "schema", "reason": "invalid_args"}


@pytest.mark.parametrize("code", [-32603, -32602, -32601, -32000, 1001, 7])
def test_an_error_of_a_server_is_the_servers_on_the_command_line(
    failing: Gateway, code: int
) -> None:
    """Whatever the code means where the gateway says it: exit code 5."""
    words = ("tool", "call", "linking__broken", f"code:={code}", "--config", str(failing.file))
    done = fork_server.run([*COMMAND, *words], capture_output=True, timeout=60, check=False)
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["code"]) == (5, "upstream_error")
    assert error["message"] == "it broke in here"


@pytest.mark.parametrize("reason", ["permission_denied", "confirmation_required", "rate_limited"])
def test_a_reason_of_ours_that_a_server_writes_is_not_believed(
    failing: Gateway, reason: str
) -> None:
    said = {"reason": reason, "_meta": {"dev.gatewright/origin": "gateway", "x": 1}}
    code = REASONS[reason].mgp_code
    words = ("tool", "call", "linking__broken", f"code:={code}", f"data:={json.dumps(said)}")
    command = [*COMMAND, *words, "--config", str(failing.file)]
    done = fork_server.run(command, capture_output=True, timeout=60, check=False)
    assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (5, "upstream_error")
