"""HTTP in front, an HTTP server behind. The server is ours and answers far faster than any gateway
asks, in both eras; FastMCP's proxy stands before the same one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.commands import echo_http, fastmcp_proxy, sdk_server
from benchmarks.gateway import Upstream, gateway
from benchmarks.measure import Loader, System, as_system, measure
from benchmarks.rows import Options, Row, main

__all__ = ["run"]

CLIENTS = (1, 16, 64)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    loader = Loader(folder, options.generator)
    server = stack.enter_context(echo_http(folder, "--era", "both"))
    old = stack.enter_context(echo_http(folder, "--era", "legacy", name="echo_http_legacy"))
    upstreams = [Upstream("old", url=old.url), Upstream("new", url=server.url)]
    ours = stack.enter_context(gateway(folder, upstreams))
    fastmcp = as_system(stack.enter_context(fastmcp_proxy(folder, [server.url])))
    systems = [
        System("alone", server.url, server.pid),
        System("legacy", ours.url, ours.pid, tool="old/echo"),
        System("modern", ours.url, ours.pid, "modern", tool="new/echo"),
        as_system(stack.enter_context(sdk_server(folder))),
        fastmcp,
    ]
    got = measure(loader, systems, CLIENTS, options.rounds, options.seconds)
    for era in ("legacy", "modern"):
        for clients in CLIENTS:
            sample = got[era, clients]
            extras = sample.extras() | {"server_alone": round(got["alone", clients].rate)}
            yield Row(
                f"http_http.{era}.{clients}",
                sample.rate,
                "calls/s",
                got["fastmcp", clients].rate,
                "FastMCP proxy",
                6_000 if clients == 16 else None,
                "ours >=",
                extras,
            )
    yield Row(
        "http_http.legacy.16.vs_sdk",
        got["legacy", 16].rate,
        "calls/s",
        got["sdk", 16].rate,
        "official SDK, alone",
    )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
