"""What may have been carried out is announced as repeatable at no door: every reason, with every word about sending."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Client, Failure, Mgp, Refusal, Unrecorded
from gatewright.mcp.protocol import ggen, outcomes
from gatewright.mcp.protocol.ended_calls import given_up, interrupted, marked
from gatewright.mcp.protocol.retry_hints import COME_AGAIN
from gatewright.mcp.wire.codes import REASONS, UNTOUCHED
from gatewright.mcp.wire.versions import METHODS
from tests.servers.rig import make_call

DETAILS: tuple[dict[str, Any], ...] = ({}, {"sent": True}, {"sent": False}, {"sent": "no"})
CLIENTS = (
    Client("2025-11-25", {}, {}),
    Client("2026-07-28", {}, {}),
    Client("2025-11-25", {}, {}, Mgp("0.2.0", ("security",))),
)
CALL = make_call("tool", "tools/call", {"name": "pay", "arguments": {}})


@pytest.mark.parametrize("kind", [Failure, Refusal])
@pytest.mark.parametrize(("reason", "details"), [*itertools.product(REASONS, DETAILS)])
def test_only_what_was_certainly_not_sent_or_not_run_is_repeatable(
    kind: Any, reason: str, details: dict[str, Any]
) -> None:
    outcome = marked(CALL, kind(reason, "no", details))
    unsent = details.get("sent") is False
    ran = details.get("sent") is True
    assert outcome.once is not (unsent or (not ran and REASONS[reason].mgp_code in UNTOUCHED))


RETRIED = {401, 403, 408, 409, 425, 429, *range(500, 600)}
"""After which some HTTP client or SDK sends a request again by itself."""


@pytest.mark.parametrize("reason", REASONS)
def test_a_failure_of_a_call_that_may_have_run_has_no_status_after_which_clients_come_again(
    reason: str,
) -> None:
    outcome = marked(CALL, Failure(reason, "no", {"sent": True}))
    assert isinstance(outcome, Failure)
    assert outcome.once
    _, row = ggen.error_of(outcome, "trace", method="tools/call")
    assert {row.http, row.mcp_http}.isdisjoint(RETRIED)


@pytest.mark.parametrize("reason", REASONS)
def test_a_call_that_policy_ended_is_repeatable_at_no_door_and_by_no_status(reason: str) -> None:
    refusal = Refusal(reason, "no", {"scope": "mcp:tools"}, retry_after_ms=5)
    outcome = marked(CALL, interrupted(refusal))
    assert isinstance(outcome, Refusal)
    assert outcome.once
    for client in CLIENTS:
        said = outcomes.spell(outcome, "tools/call", client, "trace", {})
        body = (said.error or said.result).decode()
        assert said.http not in COME_AGAIN, (reason, client)
        assert said.scope == ""
        assert "retry_after_ms" not in body
        assert '"retryable":true' not in body
    error, row = ggen.error_of(outcome, "trace", method="tools/call")
    assert json.loads(error)["data"]["retryable"] is False
    assert {row.http, row.mcp_http}.isdisjoint({*COME_AGAIN, *RETRIED})


def test_what_the_operator_vouches_for_stays_repeatable() -> None:
    call = replace(CALL, method="resources/read", kind="resource")
    assert METHODS[call.method].kind == "resource"
    outcome = marked(call, Failure("upstream_timeout", "", {"sent": True}))
    assert outcome.once is not call.repeatable


@pytest.mark.parametrize("ran", [True, False])
def test_a_call_that_was_given_up_before_it_was_sent_may_be_made_again(ran: bool) -> None:
    call, stopped = make_call("tool", "tools/call"), asyncio.CancelledError()
    assert given_up(call, stopped) is None
    stopped.__cause__ = problem = Unrecorded("the disk is full")
    problem.ran = ran
    assert given_up(call, stopped) == Refusal("audit_unavailable", "the disk is full", once=ran)
