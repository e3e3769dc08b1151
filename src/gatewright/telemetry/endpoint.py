"""`Health`: `/livez`, `/readyz` (servers settled, audit writable), `/metrics` (Prometheus); hides servers and tools that a caller may not use.

Servers and tools are named to whoever may use them, and to operators: what a list hides from somebody is not told here
either. Figures of tools that somebody may not know of stand together under one name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from math import inf
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from gatewright.call import Caller, Tool
from gatewright.mcp.server.http_request import HttpRequest
from gatewright.mcp.server.http_responses import Send, send_json, send_plain
from gatewright.mcp.server.routes import Routes
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.slices import in_slices
from gatewright.transport.thread_turns import ThreadTurns

__all__ = ["NO_TOOL", "Collected", "Health", "Known", "Numbers", "Sight"]

NO_TOOL = "_other"
"""What stands for names that are in no catalogue, which callers could make up any number of, or are not to be told."""

Numbers = Callable[[], Mapping[str, Any]]
"""What the gateway counts: `servers` (id → state), `calls` ((kind, outcome) → count), `sessions`,
`missing` (features that are not there), `audit_ok`, `audit_written`, `audit_lag`, `audit_sinks` (name → `sinks.State`), `in_flight`, `waiting` (for a person), `took` ((seconds at most, count) of tool calls, ascending) and `took_s`, `tools` ((tool, outcome) → seconds, counts by `tool_bounds`), `warnings` ((tool, kind) → count), `stalls` ((seconds at most, count) of times that the event loop stood still),
`stalled_s`, `longest_stall` (`seconds` of it, or None), `workers` (orders done by worker processes, processes killed),
`refused` (connections from addresses that opened too many), `flooded` (WebSockets closed for what they sent). Each may be counted
only when it is asked for."""


class Sight(Protocol):
    """Who may know of what."""

    @property
    def tool(self) -> Callable[[Caller, Tool], bool]:
        """Whether a tool exists for somebody."""

    @property
    def server(self) -> Callable[[Caller, str], bool]:
        """The same of a server."""


class Known(Protocol):
    """What there is, and who may know of it: the catalogue."""

    @property
    def sight(self) -> Sight:
        """Who may know of what."""

    def tool(self, profile: str, name: str) -> Tool | None:
        """The tool of that name."""

    async def warm(self, profiles: Iterable[str]) -> None:
        """Make ready what `tool` looks up, in slices."""


class Health:
    """Answers the three paths."""

    def __init__(self, numbers: Numbers, known: Callable[[], Known] | None = None) -> None:
        """Without `known` everybody may know of everything."""
        self._numbers = numbers
        self._known = known
        self.routes = Routes(
            doors={"/metrics": self.metrics}, open={"/livez": self, "/readyz": self}
        )
        self._writing = ThreadTurns()

    async def __call__(self, path: str, send: Send, caller: Caller | None = None) -> None:
        """`/livez` or `/readyz`. Without a caller nothing is named."""
        if path == "/livez":
            await send_plain(send, 200, b"ok\n")
            return
        numbers = self._numbers()
        states = numbers["servers"].values()
        # A server that failed does not make the gateway unready: the others serve.
        settled = all(state not in ("registered", "connecting") for state in states)
        ready = settled and numbers["audit_ok"]
        body: dict[str, Any] = {"ready": ready, "audit": bool(numbers["audit_ok"])}
        if caller is not None:
            body["servers"] = self._servers(numbers, caller)
            sinks = {  # one that is down makes calls no worse
                name: "ok" if state.problem is None else "down"
                for name, state in numbers["audit_sinks"].items()
            }
            body |= {"sinks": sinks} if sinks else {}
            missing = list(numbers.get("missing", ()))
            body |= {"missing": missing} if missing else {}
        await send_json(send, jsonrpc.encode(body), 200 if ready else 503)

    async def metrics(self, http: HttpRequest) -> None:
        """The Prometheus text form."""
        kind = b"text/plain; version=0.0.4; charset=utf-8"
        # One at a time: with a thousand tools the text takes a tenth of a second, and any caller may ask.
        if self._known is not None:
            await self._known().warm(("",))
        told = await in_slices(self._told(dict(self._numbers()), http.caller))
        text = await self._writing.run(partial(_text, told))
        await send_plain(http.send, 200, text, content_type=kind)

    def _told(
        self, numbers: Mapping[str, Any], caller: Caller
    ) -> Generator[None, None, Mapping[str, Any]]:
        """The numbers as they may be told to somebody, step by step."""
        if self._known is None or caller.kind == "operator":
            return numbers
        known = self._known()

        def called(name: str) -> str:
            tool = known.tool("", name)
            return NO_TOOL if tool is None or not known.sight.tool(caller, tool) else name

        tools: dict[tuple[str, str], Sequence[float]] = {}
        for (name, status), counts in numbers["tools"].items():
            yield
            key = called(name), status
            before = tools.get(key, (0,) * len(counts))
            tools[key] = [one + other for one, other in zip(before, counts, strict=True)]
        warnings: dict[tuple[str, str], int] = {}
        for (name, kind), number in numbers.get("warnings", {}).items():
            yield
            warnings[called(name), kind] = warnings.get((called(name), kind), 0) + number
        servers = self._servers(numbers, caller)
        return {**numbers, "servers": servers, "tools": tools, "warnings": warnings}

    def _servers(self, numbers: Mapping[str, Any], caller: Caller) -> dict[str, str]:
        """The states of the servers that somebody may know of."""
        states = numbers["servers"]
        if self._known is None or caller.kind == "operator":
            return dict(states)
        sight = self._known().sight
        return {one: state for one, state in states.items() if sight.server(caller, one)}


def _text(numbers: Mapping[str, Any]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected(numbers))
    return generate_latest(registry)


class Collected:
    """Some numbers, for a registry."""

    def __init__(self, numbers: Mapping[str, Any]) -> None:
        self._numbers = numbers

    def collect(self) -> list[Metric]:
        """As metrics."""
        numbers = self._numbers
        calls = CounterMetricFamily(
            "gatewright_calls", "Calls by kind and outcome.", labels=("kind", "outcome")
        )
        for (kind, outcome), count in sorted(numbers["calls"].items()):
            calls.add_metric((kind, outcome), count)
        states = GaugeMetricFamily(
            "gatewright_server_state", "1 for the state a server is in.", labels=("server", "state")
        )
        for server, state in sorted(numbers["servers"].items()):
            states.add_metric((server, state), 1)
        return [
            calls,
            _took(numbers["took"], numbers["took_s"]),
            *_tools(numbers["tools"], numbers["tool_bounds"]),
            *_warnings(numbers.get("warnings", {})),
            states,
            _gauge("gatewright_sessions", "HTTP sessions that are open.", numbers["sessions"]),
            _gauge(
                "gatewright_approvals_pending", "Calls that wait for a person.", numbers["waiting"]
            ),
            _gauge("gatewright_calls_in_flight", "Calls that are running.", numbers["in_flight"]),
            _gauge(
                "gatewright_audit_up",
                "1 while the audit trail can be written.",
                numbers["audit_ok"],
            ),
            *_record(numbers),
            *_loop(numbers),
        ]


def _loop(numbers: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Whether the event loop stands still, and what is done beside it."""
    if "stalls" not in numbers:
        return ()
    longest = numbers["longest_stall"]
    orders, killed = numbers["workers"]
    return (
        HistogramMetricFamily(
            "gatewright_loop_stall_seconds",
            "How long the event loop stood still, each time that it did.",
            buckets=_buckets(numbers["stalls"]),
            sum_value=numbers["stalled_s"],
        ),
        _gauge(
            "gatewright_loop_longest_stall_seconds",
            "The longest time that the event loop stood still.",
            0.0 if longest is None else longest.seconds,
        ),
        CounterMetricFamily(
            "gatewright_worker_orders", "What worker processes were asked to do.", value=orders
        ),
        CounterMetricFamily(
            "gatewright_worker_kills",
            "Worker processes that were ended because their work took too long.",
            value=killed,
        ),
        CounterMetricFamily(
            "gatewright_connections_refused",
            "Connections refused: more than limits.connections_per_s from one address, or as many open as may be.",
            value=numbers["refused"],
        ),
        CounterMetricFamily(
            "gatewright_websockets_flooded",
            "WebSockets closed because they sent more frames than a client may.",
            value=numbers["flooded"],
        ),
    )


def _tools(
    tools: Mapping[tuple[str, str], Sequence[float]], bounds: Sequence[float]
) -> tuple[Metric, Metric]:
    """Each tool by how its calls ended, under the names that Groundhog gives them."""
    labels = ("tool_id", "status")
    took = HistogramMetricFamily(
        "mcp_tool_execution_duration", "How long calls of a tool took, in seconds.", labels=labels
    )
    count = CounterMetricFamily("mcp_tool_invocations", "Calls of a tool.", labels=labels)
    for key, (spent_s, *counts) in sorted(tools.items()):
        took.add_metric(key, _buckets(zip(bounds, counts, strict=True)), spent_s)
        count.add_metric(key, sum(counts))
    return took, count


def _warnings(warnings: Mapping[tuple[str, str], int]) -> list[Metric]:
    """How often calls took more than was configured; nothing where nobody looks at that."""
    if not warnings:
        return []
    count = CounterMetricFamily(
        "mcp_performance_warnings",
        "Calls of a tool that took longer or more memory than execution_time_warning or memory_usage_warning.",
        labels=("tool_id", "warning_type"),
    )
    for key, number in sorted(warnings.items()):
        count.add_metric(key, number)
    return [count]


def _buckets(counts: Iterable[tuple[float, float]]) -> list[tuple[str, float]]:
    """(seconds at most, calls that took no more) as Prometheus writes them."""
    bounds, numbers = zip(*counts, strict=True)
    text = ("+Inf" if most == inf else str(most) for most in bounds)
    return list(zip(text, accumulate(numbers), strict=True))


def _took(buckets: Sequence[tuple[float, int]], spent_s: float) -> HistogramMetricFamily:
    return HistogramMetricFamily(
        "gatewright_call_duration_seconds",
        "How long tool calls took that were not refused.",
        buckets=_buckets(buckets),
        sum_value=spent_s,
    )


def _record(numbers: Mapping[str, Any]) -> list[Metric]:
    """How far the database and each sink have followed the record."""
    written = numbers["audit_written"]
    up = GaugeMetricFamily(
        "gatewright_audit_sink_up", "1 while the sink takes records.", labels=("sink",)
    )
    lag = GaugeMetricFamily(
        "gatewright_audit_sink_lag", "Records that the sink does not have yet.", labels=("sink",)
    )
    sent = CounterMetricFamily(
        "gatewright_audit_sink_records", "Records that the sink has taken.", labels=("sink",)
    )
    for name, state in sorted(numbers["audit_sinks"].items()):
        up.add_metric((name,), float(state.problem is None))
        lag.add_metric((name,), max(0, written - state.taken))
        sent.add_metric((name,), state.delivered)
    return [
        CounterMetricFamily("gatewright_audit_records", "Records in the trail.", value=written),
        _gauge(
            "gatewright_audit_lag",
            "Records that are written and not yet in the database.",
            numbers["audit_lag"],
        ),
        *([up, lag, sent] if numbers["audit_sinks"] else ()),
    ]


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))
