"""Nothing runs twice: a call that may have been carried out is made again by nobody, and announced as repeatable at no door.

The tool writes down each run; client and gateway are the real ones, with all their repetitions switched on.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from gatewright.mcp.protocol.recovery import Policy
from gatewright.mcp.wire.codes import REASONS, UNTOUCHED
from gatewright.sdk.client import Options, SyncClient
from gatewright.sdk.client.results import ToolResult
from gatewright.sdk.errors import SdkError
from tests.behaviour.gateway import Gateway, config, running, server

RESTARTS = {"max_restarts": 1000, "backoff_base_ms": 1, "backoff_max_ms": 1}
"""A server that dies in each test is back at once."""
CODES = sorted({row.mgp_code for row in REASONS.values()} | {-32003, -32000, 0, 1, 5999})
UNKNOWN = [one for one in CODES if one not in UNTOUCHED]
PROMISE = {"retryable": True, "retry_after_ms": 1, "retry_strategy": "immediate", "max_retries": 3}
FALLBACKS: tuple[dict[str, Any], ...] = (
    {},
    {"fallback_tool": "pay"},
    {"fallback_tool": "pay_hinted"},
)
DETAILS: tuple[dict[str, Any], ...] = (
    {},
    {"details": {"sent": False}},
    {"details": {"sent": True}},
)
TOOLS = ("p__pay", "p__pay_hinted")
WAYS = ("raises", "fails", "hangs", "garbage", "dies")


class House(NamedTuple):
    """A gateway in front of the server that pays."""

    gateway: Gateway
    ledger: Path

    def up(self) -> None:
        """Wait for the server, which may just have died: what was not sent is asked again by the client itself."""
        patient = Options(retry=Policy(retries=50))
        with SyncClient(self.gateway.urls["mcp"], patient) as client:
            client.call_tool("p__pay", {"key": "up", "how": "answers"})

    def runs(self) -> Counter[str]:
        """How often each payment was made."""
        return Counter(self.ledger.read_text().split()) if self.ledger.exists() else Counter()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("paying")
    ledger = folder / "ledger"
    one = server(
        "paying",
        "p",
        str(ledger),
        mgp={"extensions": ["security"], **RESTARTS},
        call_timeout_s=1.0,
        tools={"pay_vouched": {"repeatable": True}},
    )
    plain = server("paying", "q", str(ledger), "plain", call_timeout_s=1.0)
    content = config(one, plain, groundhog={"enabled": True})
    with running(folder, content) as gateway:
        yield House(gateway, ledger)


def _end(client: SyncClient, tool: str, given: dict[str, Any]) -> ToolResult | SdkError:
    try:
        return client.call_tool(tool, given)
    except SdkError as problem:
        return problem


async def _posted(url: str, body: Any) -> tuple[Any, set[str]]:
    """The JSON that a POST is answered with, and the names of its headers."""
    async with aiohttp.ClientSession() as http, http.post(url, json=body) as answer:
        return await answer.json(), {name.lower() for name in answer.headers}


async def _at_once(seconds: float) -> None:
    """A wait that takes no time."""


def promising(fallback: dict[str, Any], details: dict[str, Any]) -> list[Any]:
    """What a server can say of asking again, in each place where clients look."""
    said = {**PROMISE, **fallback, **details}
    mirror = {"_meta": {"dev.cloto/mgp": said}}
    return [None, said, {"_mgp": said}, mirror, {**said, "_mgp": said, **mirror}]


@pytest.mark.parametrize("door", ["mcp", "websocket"])
@pytest.mark.parametrize("mgp", [True, False], ids=["mgp", "plain"])
def test_no_words_of_a_server_make_anybody_repeat_a_call_that_it_may_have_run(
    house: House, door: str, mgp: bool
) -> None:
    """MGP-14.6-6, GGEN-err-13: each code by each place by fallback by what it says of sending by the tool's own hints."""
    options = Options(sleep=_at_once) if mgp else Options(sleep=_at_once, mgp=None)
    keys = []
    with SyncClient(house.gateway.urls[door], options) as client:
        client.list_tools()
        cases = itertools.product(UNKNOWN, FALLBACKS, DETAILS, TOOLS)
        for number, (code, fallback, details, tool) in enumerate(cases):
            data = promising(fallback, details)[number % 5]
            keys.append(f"{door}-{mgp}-{number}")
            given = {"key": keys[-1], "how": "raises", "error": {"code": code, "data": data}}
            with pytest.raises(SdkError) as caught:
                client.call_tool(tool, given)
            assert not caught.value.retryable, (code, data)
            assert '"retryable": true' not in json.dumps(caught.value.details), (code, data)
    runs = house.runs()
    assert {key: runs[key] for key in keys if runs[key] != 1} == {}


ODD: tuple[Any, ...] = ("charged", 7, [PROMISE], True, {"_mgp": None}, {"_mgp": "x", **PROMISE})
"""Data in which there is no place for hints."""


@pytest.mark.parametrize("door", ["mcp", "websocket"])
@pytest.mark.parametrize("mgp", [True, False], ids=["mgp", "plain"])
def test_the_numbers_of_a_server_without_mgp_mean_nothing_behind_a_gateway(
    house: House, door: str, mgp: bool
) -> None:
    """MGP-14.6-6: each code by what it says, whatever it would mean in MGP."""
    options = Options(sleep=_at_once) if mgp else Options(sleep=_at_once, mgp=None)
    said = [one for details in DETAILS for one in promising({}, details)]
    said += [*ODD, {"reason": "rate_limited"}, {"reason": "restarting", **PROMISE}]
    keys = []
    with SyncClient(house.gateway.urls[door], options) as client:
        client.list_tools()
        for number, (code, data) in enumerate(itertools.product(CODES, said)):
            keys.append(f"foreign-{door}-{mgp}-{number}")
            given = {"key": keys[-1], "how": "raises", "error": {"code": code, "data": data}}
            with pytest.raises(SdkError) as caught:
                client.call_tool("q__pay", given)
            assert not caught.value.retryable, (code, data)
    runs = house.runs()
    assert {key: runs[key] for key in keys if runs[key] != 1} == {}


@pytest.mark.parametrize("mgp", [True, False], ids=["mgp", "plain"])
def test_the_numbers_of_a_server_without_mgp_mean_nothing_to_a_client_of_its_own(
    tmp_path: Path, mgp: bool
) -> None:
    ledger = tmp_path / "ledger"
    program = Path(__file__).parents[1] / "tool_servers" / "paying.py"
    target = [sys.executable, str(program), str(ledger), "plain"]
    options = Options(sleep=_at_once) if mgp else Options(sleep=_at_once, mgp=None)
    said = (None, PROMISE, {**PROMISE, "details": {"sent": True}}, *ODD, {"reason": "rate_limited"})
    with SyncClient(target, options) as client:
        for number, (code, data) in enumerate(itertools.product(CODES, said)):
            given = {"key": f"{number}", "how": "raises", "error": {"code": code, "data": data}}
            with pytest.raises(SdkError) as caught:
                client.call_tool("pay", given)
            assert not caught.value.retryable, (code, data)
    assert [key for key, runs in Counter(ledger.read_text().split()).items() if runs != 1] == []


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("how", ["hangs", "dies", "garbage", "fails"])
def test_a_call_whose_outcome_is_unknown_ran_once(house: House, how: str, tool: str) -> None:
    """MGP-14.3-18, MGP-14.3-19, MGP-14.6-6."""
    house.up()
    key = f"once-{how}-{tool}"
    options = Options(sleep=_at_once, retry=Policy(retries=5))
    with SyncClient(house.gateway.urls["mcp"], options) as client:
        client.list_tools()
        end = _end(client, tool, {"key": key, "how": how})
    if isinstance(end, SdkError):
        assert not end.retryable
        mgp = end.details["data"]["_mgp"]
        assert (mgp["retryable"], "retry_after_ms" in mgp) == (False, False)
    else:
        assert end.is_error
    assert house.runs()[key] == 1


def test_what_the_operator_vouches_for_is_asked_again(house: House) -> None:
    """The other side of it: the word of the operator, and it alone, makes such a call repeatable."""
    error = {"code": 5001, "data": {"_mgp": PROMISE}}
    with SyncClient(house.gateway.urls["mcp"], Options(retry=None)) as client:
        given = {"key": "vouched", "how": "raises", "error": error}
        end = _end(client, "p__pay_vouched", given)
    assert isinstance(end, SdkError)
    assert end.details["data"]["_mgp"]["retryable"] is True
    assert house.runs()["vouched"] == 4


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("door", ["rpc", "rest"])
async def test_no_door_announces_that_it_may_be_repeated(house: House, door: str, how: str) -> None:
    """GGEN-err-8, GGEN-err-13: neither in the error's data nor by Retry-After."""
    await asyncio.to_thread(house.up)
    key = f"{door}-{how}"
    given = {"key": key, "how": how, "error": {"code": 5001, "data": PROMISE}}
    body: dict[str, Any] = {"name": "p__pay", "arguments": given}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body}
    base = house.gateway.url.rpartition("/")[0]
    rest = door == "rest"
    url = f"{base}/tools/p__pay" if rest else house.gateway.urls["rpc"]
    answer, headers = await _posted(url, given if rest else asked)
    data = answer["error"]["data"]
    assert (data["retryable"], "retry_after_ms" in data) == (False, False)
    assert "retry-after" not in headers
    assert house.runs()[key] == 1


@pytest.mark.parametrize("how", WAYS)
def test_a_model_behind_a_plain_host_is_not_told_to_ask_again(house: House, how: str) -> None:
    """What a plain host shows to its model of such an end names no time at which to come back."""
    house.up()
    given = {"key": f"plain-{how}", "how": how, "error": {"code": 5002, "data": PROMISE}}
    with SyncClient(house.gateway.urls["mcp"], Options(mgp=None, retry=None)) as client:
        end = _end(client, "p__pay", given)
    shown = json.dumps(end.details) if isinstance(end, SdkError) else end.text
    assert "retry_after" not in shown
    assert '"retryable": true' not in shown
