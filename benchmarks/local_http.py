"""HTTP in front, a Python function of the gateway's own process behind: what the gateway costs by
itself. Every gate and the audit are on. The official SDK's server, alone, does the same work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.commands import raw_responder, sdk_server
from benchmarks.gateway import own_gateway
from benchmarks.measure import Loader, System, as_system, measure
from benchmarks.rows import Options, Row, main

__all__ = ["run"]

CLIENTS = (1, 16, 64)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    loader = Loader(folder, options.generator)
    ours = stack.enter_context(own_gateway(folder, [], name="local", local=True))
    sdk = stack.enter_context(sdk_server(folder))
    systems = [
        as_system(stack.enter_context(raw_responder(folder)), bare=True),
        System("legacy", ours.url, ours.pid, tool="local/echo"),
        System("modern", ours.url, ours.pid, "modern", tool="local/echo"),
        System("sdk legacy", sdk.url, sdk.pid),
        System("sdk modern", sdk.url, sdk.pid, "modern"),
    ]
    got = measure(loader, systems, CLIENTS, options.rounds, options.seconds)
    for era in ("legacy", "modern"):
        for clients in CLIENTS:
            sample = got[era, clients]
            limit = round(got["raw", clients].rate)
            yield Row(
                f"local_http.{era}.{clients}",
                sample.rate,
                "calls/s",
                got[f"sdk {era}", clients].rate,
                "official SDK, alone",
                20_000 if clients == 16 else None,
                "ours >=",
                sample.extras() | {"raw_limit": limit, "generator": loader.kind},
            )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
