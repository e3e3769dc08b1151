"""A server written with our SDK beside one written with the official SDK: the same function as a tool, over stdio and
over HTTP. Both check the arguments against the schema of the type hints and run the plain function in a thread."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.commands import own_sdk, own_sdk_stdio, sdk_server, sdk_server_stdio
from benchmarks.measure import Loader, System, measure
from benchmarks.processes import cpu_seconds
from benchmarks.rows import Options, Row, main
from benchmarks.stdio_client import stdio_client

__all__ = ["run"]

CLIENTS = 16
STDIO_TARGET = 5.0
HTTP_TARGET = 4.0


def _stdio(options: Options, stack: ExitStack) -> Iterator[Row]:
    """One call after the other over two pipes; the ratio of each round, and their median."""
    commands = {"ours": own_sdk_stdio(), "peer": sdk_server_stdio()}
    clients = {
        name: stack.enter_context(stdio_client(f"sdk_{name}", command, options.folder))
        for name, command in commands.items()
    }
    rates: dict[str, list[float]] = {name: [] for name in clients}
    medians: dict[str, list[float]] = {name: [] for name in clients}
    work: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(options.rounds):
        for name, client in clients.items():
            client.echo("echo", 0.2)  # warm-up
            before = cpu_seconds(client.pid)
            taken = client.echo("echo", options.seconds)
            work[name].append((cpu_seconds(client.pid) - before) / len(taken) * 1e6)
            rates[name].append(len(taken) / options.seconds)
            medians[name].append(statistics.median(taken) * 1e6)
    pairs = [ours / peer for ours, peer in zip(rates["ours"], rates["peer"], strict=True)]
    yield Row(
        "sdk.stdio",
        statistics.median(rates["ours"]),
        "calls/s",
        statistics.median(rates["peer"]),
        "official SDK 2.3",
        STDIO_TARGET,
        "ratio >=",
        {
            "p50_us": round(statistics.median(medians["ours"]), 1),
            "peer_p50_us": round(statistics.median(medians["peer"]), 1),
            "cpu_us_per_call": round(statistics.median(work["ours"]), 1),
            "peer_cpu_us_per_call": round(statistics.median(work["peer"]), 1),
        },
        paired=statistics.median(pairs),
    )


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    yield from _stdio(options, stack)
    loader = Loader(options.folder, options.generator)
    ours = stack.enter_context(own_sdk(options.folder))
    peer = stack.enter_context(sdk_server(options.folder))
    systems = [
        System("ours legacy", ours.url, ours.pid),
        System("ours modern", ours.url, ours.pid, "modern"),
        System("peer legacy", peer.url, peer.pid),
        System("peer modern", peer.url, peer.pid, "modern"),
    ]
    got = measure(loader, systems, (CLIENTS,), options.rounds, options.seconds)
    for era in ("legacy", "modern"):
        sample = got[f"ours {era}", CLIENTS]
        yield Row(
            f"sdk.http.{era}.{CLIENTS}",
            sample.rate,
            "calls/s",
            got[f"peer {era}", CLIENTS].rate,
            "official SDK 2.3",
            HTTP_TARGET,
            "ratio >=",
            sample.extras() | {"generator": loader.kind},
        )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
