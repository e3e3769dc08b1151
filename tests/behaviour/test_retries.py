"""The gateway as a client of MGP servers: it asks again where their errors say that this helps (MGP §14.6)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from gatewright.sdk.client import Options, SyncClient
from gatewright.sdk.errors import SdkError
from tests.behaviour.gateway import Gateway, config, running, server

DOORS = ("mcp", "websocket")
HINT = {"retryable": True, "retry_after_ms": 20, "max_retries": 2}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of a server that falters; one of its tools is nobody's."""
    folder = tmp_path_factory.mktemp("falters")
    one = server("paying", "f", str(folder / "ledger"), mgp={"extensions": ["security"]})
    grants = [
        {"agent": "*", "server": "f"},
        {"agent": "*", "server": "f", "tool": "count", "permission": "deny"},
    ]
    with running(folder, config(one, grants=grants)) as gateway:
        yield gateway


def plain(gateway: Gateway, door: str) -> SyncClient:
    """A host that knows nothing of MGP, and repeats nothing itself."""
    return SyncClient(gateway.urls[door], Options(mgp=None, retry=None))


def retries(gateway: Gateway, before: int) -> list[dict[str, Any]]:
    """The records of attempts since."""
    found = gateway.audit("--event", "dev.gatewright.retry", "--oldest-first")
    return [one["details"] for one in found[before:]]


def called(gateway: Gateway, key: str) -> int:
    """How often the server was called for a key, by its own ledger."""
    return (gateway.folder / "ledger").read_text().splitlines().count(key)


def falter(key: str, times: int, **hint: Any) -> dict[str, Any]:
    return {"key": key, "times": times, "hint": {**HINT, **hint}}


@pytest.mark.parametrize("door", DOORS)
def test_a_faltering_call_comes_to_its_end_with_one_record_for_each_repetition(
    house: Gateway, door: str
) -> None:
    """MGP-14.6-1, MGP-14.6-2, MGP-14.6-5."""
    before = len(retries(house, 0))
    with plain(house, door) as client:
        found = client.call_tool("f__falter", falter(f"{door}-1", 2))
    assert (found.is_error, found.text) == (False, "after 3")
    assert [(one["attempt"], one["wait_ms"], one["code"]) for one in retries(house, before)] == [
        (1, 20, 3000),
        (2, 20, 3000),
    ]


@pytest.mark.parametrize("door", DOORS)
def test_waits_grow_where_the_server_says_so(house: Gateway, door: str) -> None:
    """MGP-14.6-2: `exponential_backoff` doubles what the server asked for, and adds at random at most half of it."""
    before = len(retries(house, 0))
    hint = {"retry_strategy": "exponential_backoff", "retry_after_ms": 60, "max_retries": 3}
    with plain(house, door) as client:
        found = client.call_tool("f__falter", falter(f"{door}-8", 3, **hint))
    assert found.text == "after 4"
    waits = [one["wait_ms"] for one in retries(house, before)]
    assert len(waits) == 3
    for least, wait in zip((60, 120, 240), waits, strict=True):
        assert least <= wait <= least * 1.5


@pytest.mark.parametrize("door", DOORS)
def test_no_repetition_comes_sooner_than_the_server_said(house: Gateway, door: str) -> None:
    """MGP-14.6-1: by the server's own clock, whatever the record says; and it was told another time for each key."""
    with plain(house, door) as client:
        for wait_ms in (150, 400):
            key = f"{door}-waits-{wait_ms}"
            found = client.call_tool("f__falter", falter(key, 2, retry_after_ms=wait_ms))
            assert found.text == "after 3"
            times = json.loads(client.call_tool("f__times", {"key": key}).text)
            assert len(times) == 3
            for before, after in itertools.pairwise(times):
                assert after - before >= wait_ms


@pytest.mark.parametrize("door", DOORS)
def test_the_end_of_the_repetitions_is_the_servers_error_or_its_fallback(
    house: Gateway, door: str
) -> None:
    """MGP-14.6-3, MGP-14.6-4: the server is called once and `max_retries` times more, whatever comes then."""
    before = len(retries(house, 0))
    with plain(house, door) as client:
        with pytest.raises(SdkError) as caught:
            client.call_tool("f__falter", falter(f"{door}-2", 99))
        other = client.call_tool("f__falter", falter(f"{door}-3", 99, fallback_tool="other"))
        with pytest.raises(SdkError, match="not now"):  # not the caller's, so never called
            client.call_tool("f__falter", falter(f"{door}-4", 99, fallback_tool="count"))
    assert caught.value.details["code"] == 3000
    assert other.text == "other"
    attempts = [one["attempt"] for one in retries(house, before)]
    assert attempts == [1, 2, 1, 2, 0, 1, 2, 0]  # 0: what would be called instead
    assert [called(house, f"{door}-{n}") for n in (2, 3, 4)] == [3, 3, 3]


@pytest.mark.parametrize("door", DOORS)
def test_a_host_that_speaks_mgp_is_never_sent_to_its_own_tool_or_to_one_that_is_not_its(
    house: Gateway, door: str
) -> None:
    """MGP-14.5-1: the fallback of a tool that names itself would be the same call once more."""
    hints: list[Any] = []
    with SyncClient(house.urls[door], Options(retry=None)) as client:
        for key, fallback in (("6", "falter"), ("7", "count")):
            given = falter(f"{door}-{key}", 99, max_retries=0, fallback_tool=fallback)
            with pytest.raises(SdkError) as caught:
                client.call_tool("f__falter", given)
            hints.append(caught.value.details["data"]["_mgp"].get("fallback_tool"))
    assert hints == [None, None]


@pytest.mark.parametrize("door", DOORS)
def test_what_is_not_retryable_is_asked_once(house: Gateway, door: str) -> None:
    """MGP-14.6-6: by the record, and by the server's own ledger."""
    before = len(retries(house, 0))
    with plain(house, door) as client, pytest.raises(SdkError, match="not now"):
        client.call_tool("f__falter", falter(f"{door}-5", 1, retryable=False))
    assert retries(house, before) == []
    assert called(house, f"{door}-5") == 1
