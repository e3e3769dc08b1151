"""The gateway without any policy: whoever calls is let through to the owner of the tool, nothing is judged, nothing is cleaned,
nothing is recorded. For one thing only: to say what the policy costs.

    python -m benchmarks.servers.bare_gateway CONFIG

It prints the same ready line as `gatewright serve`.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from msgspec.structs import replace

from gatewright.app.gateway import Gateway
from gatewright.app.run import collecting_rarely
from gatewright.call import Back, Call, Outcome, Refusal
from gatewright.config import load, override
from gatewright.servers.dispatch import Dispatch

__all__ = ["Nothing", "Owner", "main"]


class Nothing:
    """The record of a call that is not recorded; and where such records come from."""

    spent_s: float | None = None

    def open(self, call: Call) -> Nothing:
        return self

    def intent(self, call: Call) -> bool:
        return False

    async def on_disk(self) -> None:
        """There is none."""

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        return outcome

    async def settled(self) -> None:
        """It is."""


class Owner:
    """The one gate that cannot be left out: a name becomes the tool of a server."""

    name = "owner"

    def __init__(self, gateway: Gateway) -> None:
        self._supervisor = gateway.supervisor

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        if call.kind != "tool":
            return call
        tool = self._supervisor.catalogue.tool(call.profile, call.name)
        if tool is None:
            return Refusal("tool_not_found", call.name)
        return replace(call, target=tool.target, tool=tool)


async def _serve(config: Path) -> None:
    settings = override(load(config), port=0)
    async with Gateway(settings) as gateway:
        kernel, servers = gateway.kernel, gateway.supervisor
        kernel.swap([Owner(gateway)], Dispatch(servers.fleet, servers.tasks), [])
        kernel._audit = Nothing()  # nobody else may be without a record
        with collecting_rarely():
            await gateway.serve_http(lambda ready: print(f"ready {ready.url}", flush=True))


def main(arguments: list[str] | None = None) -> None:
    """Serve until ended from outside."""
    parser = argparse.ArgumentParser(description="a gateway without any policy")
    parser.add_argument("config", type=Path)
    options = parser.parse_args(arguments)
    try:
        import uvloop  # noqa: PLC0415 - as the gateway itself does
    except ImportError:
        asyncio.run(_serve(options.config))
    else:
        uvloop.run(_serve(options.config))


if __name__ == "__main__":
    main()
