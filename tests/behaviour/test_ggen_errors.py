"""ggen's errors: the table, and the two examples that say more."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.behaviour.gateway import Gateway
from tests.behaviour.ggen_house import Client, Firm


@pytest.fixture
def gateway(firm: Firm) -> Gateway:
    return firm.gateway


@pytest.fixture
def keys(firm: Firm) -> dict[str, str]:
    return firm.keys


@pytest.fixture(params=["http", "websocket"])
async def client(request: pytest.FixtureRequest, firm: Firm) -> AsyncIterator[Client]:
    async with Client(firm.gateway, request.param, firm.keys["analyst"]) as found:
        yield found


ERRORS: tuple[tuple[str, str, int, str, bool], ...] = (
    ("{", "GGEN-err-1", -32700, "ParseError", False),
    ('{"jsonrpc":"1.0","id":1,"method":"x"}', "GGEN-err-2", -32600, "InvalidRequest", False),
    ('{"jsonrpc":"2.0","id":1,"method":"x/y"}', "GGEN-err-3", -32601, "MethodNotFound", False),
    (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}',
        "GGEN-err-4",
        -32602,
        "InvalidParams",
        False,
    ),
    (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ran","arguments":"AAPL"}}',
        "GGEN-ex-2",
        -32602,
        "InvalidParams",
        False,
    ),
    (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Slow","arguments":{"seconds":-1}}}',
        "GGEN-err-6",
        -32001,
        "FieldValidation",
        False,
    ),
    (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Nothing"}}',
        "GGEN-err-7",
        -32002,
        "ToolNotFound",
        False,
    ),
    (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Crash"}}',
        "GGEN-err-8",
        -32003,
        "ToolExecution",
        True,
    ),
    (
        '{"jsonrpc":"2.0","id":1,"method":"tools/list","auth":{"type":"bearer","token":"no"}}',
        "GGEN-err-9",
        -32004,
        "AuthenticationError",
        False,
    ),
)


@pytest.mark.parametrize(
    ("body", "row", "code", "kind", "retryable"), ERRORS, ids=[one[1] for one in ERRORS]
)
async def test_each_error_has_the_code_and_the_type_of_the_table(
    client: Client, body: str, row: str, code: int, kind: str, retryable: bool
) -> None:
    """GGEN-err-1 … 4, GGEN-err-6 … 9, GGEN-err-12: code, type and whether trying again helps."""
    answer = await client.send(body)
    error = answer["error"]
    assert (error["code"], error["data"]["error_type"]) == (code, kind), row
    assert error["data"]["retryable"] is retryable
    assert answer["id"] == (None if code == -32700 else 1)
    assert {"error_type", "field", "reason", "trace_id"} <= set(error["data"])


async def test_the_detailed_example_is_told_of_the_field(client: Client) -> None:
    """GGEN-err-11: the specification's own data, but for the trace."""
    answer = await client.call("FinancialAnalyzer", ticker_symbol="invalid123", period_days=90)
    error = answer["error"]
    assert (error["code"], error["message"]) == (-32001, "Validation failed")
    data = {name: error["data"][name] for name in error["data"] if name != "trace_id"}
    assert data["error_type"] == "FieldValidation"
    assert data["field"] == "ticker_symbol"
    assert data["reason"] == "Pattern mismatch: expected ^[A-Z]{1,5}$, got 'invalid123'"
    assert data["suggestions"] == [
        "Use uppercase letters only",
        "Length must be 1-5 characters",
    ]
    assert data["documentation_url"] == "https://docs.example.com/ticker-format"
    assert error["data"]["trace_id"]


async def test_a_tool_that_takes_too_long_is_told_as_in_the_example(client: Client) -> None:
    """GGEN-to-6, GGEN-err-8."""
    error = (await client.call("Slow", seconds=50))["error"]
    assert (error["code"], error["message"]) == (-32003, "Tool execution timeout")
    data = error["data"]
    assert data["error_type"] == "ToolTimeout"
    assert (data["tool_name"], data["timeout_ms"]) == ("Slow", 1500)
    assert data["suggestions"] == [
        "Increase timeout for long-running analysis",
        "Check tool server health",
        "Break request into smaller chunks",
    ]
    assert data["trace_id"]
    assert data["retryable"] is True
