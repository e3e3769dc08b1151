"""Every answer leaves only after its audit record is on the disk (`[audit] sync = "always"`), with 16
calls in flight, beside the default, which survives the death of the process but not of the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.commands import sdk_server
from benchmarks.gateway import Upstream, gateway
from benchmarks.measure import Loader, System, as_system, measure
from benchmarks.rows import Options, Row, main

__all__ = ["run"]

CLIENTS = (1, 16, 64)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    loader = Loader(folder, options.generator)
    echo = [Upstream.echo("echo", "--era", "legacy")]
    started = {
        "durable": stack.enter_context(gateway(folder, echo, name="durable", sync="always")),
        "default": stack.enter_context(gateway(folder, echo, name="default")),
    }
    systems = [System(name, each.url, each.pid) for name, each in started.items()]
    systems.append(as_system(stack.enter_context(sdk_server(folder))))
    got = measure(loader, systems, CLIENTS, options.rounds, options.seconds)
    for clients in CLIENTS:
        sample = got["durable", clients]
        extras = sample.extras() | {"sdk_alone": round(got["sdk", clients].rate)}
        yield Row(
            f"audit_durable.{clients}",
            sample.rate,
            "calls/s",
            got["default", clients].rate,
            "ours, default audit",
            10_000 if clients == 16 else None,
            "ours >=",
            extras,
        )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
