"""What is asked of hosts has bounds, and which of them a list has follows from what they are."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.console.host_shapes import HOSTS, Agreed, AgreedFrom, From, Hosts, Some
from gatewright.console.operations import ApiError, read
from gatewright.hosts.offered import HostState


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (Agreed, {"digest": "0" * 63}),
        (AgreedFrom, {"text": "{}"}),
        (From, {"path": "x" * 4097}),
        (From, {"text": "x" * 200_001}),
        (Some, {"only": "x" * 201}),
        (Hosts, {"state": "away"}),
        (Hosts, {"sort": "file"}),
    ],
)
def test_what_is_out_of_bounds_is_refused(kind: type[msgspec.Struct], given: Any) -> None:
    with pytest.raises(ApiError) as found:
        read(kind, given, texts=True)
    assert found.value.status == 422


def a_host(
    title: str, *, connected: bool = False, there: bool = True, beside: int = 0
) -> HostState:
    others = [f"s{number}" for number in range(beside)]
    return HostState(
        id=title.lower(), title=title, file="f", there=there, connected=connected, others=others
    )


async def test_hosts_are_listed_by_what_is_to_be_done() -> None:
    found = [
        a_host("Zed", there=False),
        a_host("Cursor", beside=2),
        a_host("Claude", connected=True, beside=1),
        a_host("Amp"),
    ]

    async def titles(**asked: Any) -> list[str]:
        return [one.title for one in (await HOSTS.page(found, Hosts(**asked))).rows]

    assert await titles() == ["Claude", "Amp", "Cursor", "Zed"]
    assert await titles(sort="beside", desc=True) == ["Cursor", "Claude", "Zed", "Amp"]
    assert await titles(state="beside") == ["Claude", "Cursor"]
    assert await titles(state="none", q="z") == ["Zed"]
