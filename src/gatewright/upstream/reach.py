"""By which way a server is reached: over a connection (`links`), or in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.links.connect import Around, connect
from gatewright.links.link import Link
from gatewright.upstream.spec import ServerSpec

__all__ = ["reach"]


async def reach(spec: ServerSpec, around: Around, capabilities: Mapping[str, Any]) -> Link:
    """A link that has said hello. Raises `UpstreamFailed`."""
    if spec.transport == "python":
        # Only those who have such tools load what serves them.
        from gatewright.upstream.python_server import connect_python  # noqa: PLC0415

        return await connect_python(spec, around, capabilities)
    return await connect(spec, around, capabilities)
