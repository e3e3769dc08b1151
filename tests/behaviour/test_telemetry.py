"""A gateway that tells a collector on this machine what it does, and its servers which trace they are in."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import host
from tests.telemetry.collector import attributes, collecting

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


async def test_a_trace_goes_through_the_gateway_to_the_server_and_to_the_collector(
    tmp_path: Path,
) -> None:
    with collecting() as collector:
        telemetry = {"enabled": True, "endpoint": collector.url, "sample": 0.0}
        content = config(server("mgp_server"), telemetry=telemetry)
        with running(tmp_path, content) as gateway:
            async with host(gateway) as client:
                meta = {"traceparent": f"00-{TRACE}-{PARENT}-01", "baggage": "user=ann"}
                params = {"name": "mgp_server__requests", "arguments": {}, "_meta": meta}
                found = await client.request("tools/call", params)
                seen = json.loads(found["content"][0]["text"])[-1]["params"]["_meta"]
            gateway.process.send_signal(signal.SIGTERM)
            assert gateway.process.wait(30) == 0
        (asked,) = [one for one in collector.spans if one.kind == 3]
        (served,) = [one for one in collector.spans if one.kind == 2]
    assert seen["traceparent"] == f"00-{TRACE}-{asked.span_id.hex()}-01"
    assert "baggage" not in seen
    assert (served.trace_id.hex(), served.parent_span_id.hex()) == (TRACE, PARENT)
    assert asked.parent_span_id == served.span_id
    assert attributes(served)["gatewright.server.id"] == "mgp_server"
    assert [one.name for one in collector.metrics if one.name == "gatewright.audit.lag"]
