"""What a tool returns has the shape that it promised, and no result is larger than it may be: at every kind of door."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.access_house import OFFER
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, RpcError, host

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    echo = server("echo", tools={"echo": {"result_bytes": 100}})
    with running(tmp_path_factory.mktemp("results"), config(server("asker"), echo)) as gateway:
        yield gateway


@pytest.mark.parametrize("door", DOORS)
async def test_a_result_of_another_shape_or_too_large_is_a_tool_error(
    judged: Gateway, door: str
) -> None:
    """GRH-reg-8, MGP-14.3-17: 5000 where MGP was negotiated. The promised sum is a number."""
    async with host(judged, door, can=OFFER) as client:
        good = await client.call("asker__structured", a=2, b=3)
        assert good["structuredContent"] == {"sum": 5}
        with pytest.raises(RpcError) as shape:
            await client.call("asker__structured", a="2", b="3")
        assert (await client.call("echo__echo", message="small"))["content"]
        with pytest.raises(RpcError) as size:
            await client.call("echo__echo", message="x" * 100)
    assert (shape.value.code, size.value.code) == (5000, 5000)
    assert shape.value.data["_mgp"]["details"] == {"path": "/sum", "rule": "type"}
    assert size.value.data["_mgp"]["details"]["limit_bytes"] == 100
