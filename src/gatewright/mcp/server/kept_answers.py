"""`About`: what a kept frame or answer is of (tool, prompt, resource, server), judged again by its caller's grants when it is handed out late.

A grant that is taken back ends the calls that run, and what had ended before is not handed out after it either: on a stream that a client
resumes (`Last-Event-ID`), to who comes back with a `requestState`, as the result of a task, on a session's own stream.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from gatewright.call import Call, Kind
from gatewright.mcp.protocol.mcp_server import Inbound

__all__ = ["About", "of_call", "of_request", "of_server"]


class About(NamedTuple):
    """What something is of. Lists, and methods that name none of it, are of nothing that can be taken back alone."""

    kind: Kind | Literal["server"]
    name: str
    """As its caller called it; empty of none."""
    inner: str = ""
    """The argument `name`: of a tool of the gateway by which another is called, that one."""


def of_request(inbound: Inbound) -> About:
    """What a request is of."""
    spec, arguments = inbound.spec, inbound.params.get("arguments")
    inner = arguments.get("name") if isinstance(arguments, dict) else None
    name = inbound.params.get(spec.names) if spec.names else ""
    return About(spec.kind, str(name), inner[:_LONGEST] if isinstance(inner, str) else "")


def of_call(call: Call) -> About:
    """What a call is of, as the one that was meant."""
    return About(call.kind, call.name)


def of_server(server: str) -> About:
    """What a server says on its own account; what the gateway says is of none."""
    return About("server", server)


_LONGEST = 256
"""Of a longer name nothing is handed out: no tool is called so."""
