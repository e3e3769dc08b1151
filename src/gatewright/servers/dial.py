"""Connects to a tool server of any kind: MCP over a transport, an HTTP API by its OpenAPI document, or Python in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.mcp.client.connect import Around, connect
from gatewright.mcp.client.link import Link
from gatewright.servers.openapi.link import connect_api
from gatewright.servers.spec import ServerSpec

__all__ = ["reach"]


async def reach(spec: ServerSpec, around: Around, capabilities: Mapping[str, Any]) -> Link:
    """A link that has said hello. Raises `ServerFailed`."""
    if spec.transport == "python":
        # Only those who have such tools load what serves them.
        from gatewright.servers.python_server import connect_python  # noqa: PLC0415

        return await connect_python(spec, around, capabilities)
    if spec.transport == "openapi":
        return await connect_api(spec, around.info, around.sink, around.authorizer)
    return await connect(spec, around, capabilities)
