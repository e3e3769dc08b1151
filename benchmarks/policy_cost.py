"""What the policy costs: CPU a call of the gateway's process with everything on, with what is on by default, and with nothing at
all, in one run. Judged is everything against nothing.

Everything: grants, limits of all kinds, pins, hidden characters, schema, a validator (`paths`), permissions, the flow rule, redaction
of secrets, personal data and terms, and the audit trail. Nothing: the
same gateway with neither gates nor filters nor a record (`servers/bare_gateway`).

The rows `part` are those of the kernel alone, in this process and without a server: the best of many short rounds, so that they
say something on a busy machine as well.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.commands import gatewright
from benchmarks.gateway import Upstream, config
from benchmarks.measure import Loader, System, measure
from benchmarks.processes import Trouble, started
from benchmarks.rows import Options, Row, main
from benchmarks.servers.bare_gateway import Nothing, Owner
from gatewright.app.gateway import Gateway
from gatewright.call import (
    ANONYMOUS,
    Answer,
    Back,
    Call,
    CannotAsk,
    Client,
    Event,
    Filter,
    Gate,
    Outcome,
    Question,
)
from gatewright.config import load, override
from gatewright.kernel import Audit, Kernel
from gatewright.mcp.wire import jsonrpc

__all__ = ["run", "written"]

CLIENTS = (1, 16)
_ROUNDS, _CALLS = 40, 250

EVERYWHERE = """
[limits.calls]
total = { per_second = 1000000, per_minute = 60000000 }
caller = { per_second = 1000000, per_minute = 60000000, per_hour = 1000000000 }
server = { per_minute = 60000000 }
tool = { per_second = 1000000, per_minute = 60000000 }

[redaction]
level = "personal"
terms = ["Project Nightjar"]
hidden = "remove"
"""
OF_THE_TOOL = """[servers.tools.echo]
risk_level = "moderate"
validator = "paths"
validator_args = ["/text"]
flow = ["untrusted", "private"]
result_bytes = 1048576

"""
"""What a file says who wants all of it."""


def written(folder: Path, name: str, *, everything: bool = False) -> Path:
    """A configuration with one echo server."""
    home = folder / name
    home.mkdir()
    path = home / "mgp.toml"
    text = config([Upstream.echo("echo", "--era", "legacy")], home / "data")
    if everything:
        text = text.replace("[[grants]]", f"{OF_THE_TOOL}[[grants]]", 1) + EVERYWHERE
    path.write_text(text, encoding="utf-8")
    return path


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    loader = Loader(folder, options.generator)
    commands = {
        "everything": gatewright(
            "serve", "--config", str(written(folder, "everything", everything=True)), "--port", "0"
        ),
        "default": gatewright("serve", "--config", str(written(folder, "default")), "--port", "0"),
        "nothing": [
            sys.executable,
            "-m",
            "benchmarks.servers.bare_gateway",
            str(written(folder, "nothing")),
        ],
    }
    systems = []
    for name, command in commands.items():
        process = stack.enter_context(started(name, command, folder))
        systems.append(System(name, process.url, process.pid, "modern", tool="echo/echo"))
    got = measure(loader, systems, CLIENTS, options.rounds, options.seconds)
    for clients in CLIENTS:
        nothing = got["nothing", clients]
        for name in ("everything", "default"):
            sample = got[name, clients]
            yield Row(
                f"policy_cost.{name}.{clients}",
                sample.cpu_us or 0.0,
                "us/call",
                nothing.cpu_us,
                "ours without any policy",
                1.5 if name == "everything" else None,
                "ratio <=",
                sample.extras() | {"nothing_rate": round(nothing.rate)},
            )
    yield from asyncio.run(_parts(folder))


async def _parts(folder: Path) -> list[Row]:
    """What each part adds to a call, in microseconds of the one thread that serves calls."""
    settings = override(load(written(folder, "parts", everything=True)), port=0)
    async with Gateway(settings) as found:
        await found.supervisor.settled()
        kernel = found.kernel
        policy, audit = kernel.policy, kernel._audit
        owner, nothing = [Owner(found)], Nothing()
        parts: dict[str, tuple[Sequence[Gate], Sequence[Filter], Audit]] = {
            "nothing": (owner, [], nothing),
            "gates": (policy.gates, [], nothing),
            "filters": (owner, policy.filters, nothing),
            "audit": (owner, [], audit),
            "everything": (policy.gates, policy.filters, audit),
        }
        took = {}
        for name, (gates, filters, record) in parts.items():
            kernel.swap(gates, _answer, filters)
            kernel._audit = record
            took[name] = await _best(kernel)
    bare = took.pop("nothing")
    return [
        Row(f"policy_cost.part.{name}", spent - bare, "us/call", extras={"bare_us": round(bare, 2)})
        for name, spent in took.items()
    ]


class _Nobody:
    """A caller who hears nothing and is asked nothing."""

    def emit(self, event: Event) -> None:
        """Not heard."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("nobody is there")


async def _answer(call: Call, back: Back) -> Outcome:
    return Answer(b'{"content":[{"type":"text","text":"hello 000000000123"}]}')


async def _best(kernel: Kernel) -> float:
    """Microseconds a call in the best of the rounds."""
    arguments = {"text": "hello 000000000123"}
    params = {"name": "echo__echo", "arguments": arguments}
    client, found = Client("2026-07-28"), []
    for _ in range(_ROUNDS):
        calls = [
            Call(
                id=f"c{number}",
                door="http",
                kind="tool",
                method="tools/call",
                name="echo__echo",
                params=params,
                caller=ANONYMOUS,
                client=client,
                trace_id=f"{number:032x}",
                facts={},
                size=len(jsonrpc.encode(params)),
            )
            for number in range(_CALLS)
        ]
        began = time.thread_time()
        for call in calls:
            outcome = await kernel.handle(call, _Nobody())
        found.append(time.thread_time() - began)
        if not isinstance(outcome, Answer):
            raise Trouble(f"a call was refused: {outcome}")
        await asyncio.sleep(0)
    return min(found) / _CALLS * 1e6


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
