"""HTTP in front, a stdio server behind: the way most tools are reached.

The same stdio echo server stands behind the gateway, FastMCP's proxy, mcp-proxy and mcp-hub; the official
SDK's server answers alone. mcp-hub is called at its REST interface (`peers/mcp_hub`). Headline figures are those of clients that speak 2025-11-25, each with a
session of its own, and of a server that speaks 2025-11-25; the other rows say what the new era and
the translation between the two cost. CPU a call is that of the gateway's process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.commands import (
    echo_http,
    echo_stdio,
    fastmcp_proxy,
    mcp_proxy,
    raw_responder,
    sdk_server,
)
from benchmarks.gateway import Upstream, gateway
from benchmarks.measure import Loader, Sample, System, as_system, measure
from benchmarks.peers.mcp_hub import as_hub, mcp_hub
from benchmarks.rows import Options, Row, main

__all__ = ["run"]

CLIENTS = (1, 16, 64)
Samples = dict[tuple[str, int], Sample]


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    loader = Loader(folder, options.generator)
    upstreams = [Upstream.echo("old", "--era", "legacy"), Upstream.echo("new", "--era", "both")]
    ours = stack.enter_context(gateway(folder, upstreams))
    sdk = stack.enter_context(sdk_server(folder))
    peer_server = echo_stdio("--era", "both")  # a proxy that mirrors its client may choose
    before_2025_11 = echo_stdio("--era", "legacy", "--revision", "2025-06-18")
    systems = [
        as_system(stack.enter_context(raw_responder(folder)), bare=True),
        as_system(stack.enter_context(echo_http(folder))),
        System("legacy", ours.url, ours.pid, tool="old/echo"),
        System("modern", ours.url, ours.pid, "modern", tool="new/echo"),
        System("sdk legacy", sdk.url, sdk.pid),
        System("sdk modern", sdk.url, sdk.pid, "modern"),
        as_system(stack.enter_context(fastmcp_proxy(folder, peer_server))),
        as_system(stack.enter_context(mcp_proxy(folder, peer_server))),
        as_hub(stack.enter_context(mcp_hub(folder, before_2025_11))),
    ]
    got = measure(loader, systems, CLIENTS, options.rounds, options.seconds)
    yield from _rates(got, loader.kind)
    yield from _targets(got)
    across = [
        System("legacy", ours.url, ours.pid, tool="old/echo"),
        System("modern_to_legacy", ours.url, ours.pid, "modern", tool="old/echo"),
        System("legacy_to_modern", ours.url, ours.pid, tool="new/echo"),
    ]
    got = measure(loader, across, [16], options.rounds, options.seconds)
    same = got["legacy", 16]
    for name in ("modern_to_legacy", "legacy_to_modern"):
        sample = got[name, 16]
        extras = sample.extras()
        yield Row(
            f"http_stdio.{name}.16",
            sample.rate,
            "calls/s",
            same.rate,
            "ours, legacy to legacy",
            extras=extras,
        )


def _rates(got: Samples, generator: str) -> Iterator[Row]:
    for era in ("legacy", "modern"):
        for clients in CLIENTS:
            sample = got[era, clients]
            extras = sample.extras() | {
                "raw_limit": round(got["raw", clients].rate),
                "plain_python_server": round(got["echo_http", clients].rate),
                "generator": generator,
            }
            goal = 15_000 if clients == 16 else None
            yield Row(
                f"http_stdio.{era}.{clients}",
                sample.rate,
                "calls/s",
                got[f"sdk {era}", clients].rate,
                "official SDK, alone",
                goal,
                "ours >=",
                extras,
            )


def _targets(got: Samples) -> Iterator[Row]:
    ours = got["legacy", 16]
    peers = (
        ("sdk", "sdk legacy", "official SDK, alone", 10.0),
        ("fastmcp", "fastmcp", "FastMCP proxy", 25.0),
        ("mcp_proxy", "mcp_proxy", "mcp-proxy", None),
        ("mcp_hub", "mcp_hub", "mcp-hub, its REST interface", 6.0),
    )
    for short, key, name, goal in peers:
        peer = got[key, 16]
        extras = {"peer_p99_us": round(peer.p99_us, 1), "peer_cpu_us": round(peer.cpu_us or 0, 1)}
        yield Row(
            f"http_stdio.legacy.16.vs_{short}",
            ours.rate,
            "calls/s",
            peer.rate,
            name,
            goal,
            "ratio >=",
            extras,
        )
    sdk = got["sdk legacy", 16]
    for era in ("legacy", "modern"):
        sample, peer = got[era, 16], got[f"sdk {era}", 16]
        yield Row(
            f"http_stdio.{era}.16.p99",
            sample.p99_us / 1000,
            "ms",
            peer.p99_us / 1000,
            "official SDK, alone",
            3.0,
            "ours <=",
        )
    if ours.cpu_us is not None:
        yield Row(
            "http_stdio.legacy.16.cpu",
            ours.cpu_us,
            "us/call",
            sdk.cpu_us,
            "official SDK, alone",
            60.0,
            "ours <=",
            {
                "of": "the gateway's process only",
                "plain_python_server_us": round(got["echo_http", 16].cpu_us or 0.0, 1),
            },
        )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
