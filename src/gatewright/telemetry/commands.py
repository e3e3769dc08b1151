"""`gatewright top`: polls the gateway's `/metrics` and server list; shows call rate and latency since the last poll, denials, server states.

The figures are differences between two readings of its `/metrics`; the first reading alone, and one
after a restart, tells of the time since its start. Percentiles come from buckets, so they are upper bounds: "95 % took at most so long".
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

import msgspec
import typer

from gatewright.cli.gateway_client import ask, fetch
from gatewright.cli.options import Config, Json, KeyText, Url, group
from gatewright.cli.output import is_terminal, print_document, print_line, visible
from gatewright.cli.running import Endpoint, endpoint
from gatewright.timestamps import as_recorded

__all__ = ["Look", "app", "frame", "top"]

app = group("Calls, latency, denials, what waits and servers of the running gateway, live.")

_BUCKET = "gatewright_call_duration_seconds"
_COLUMNS = (
    "time",
    "calls/s",
    "denied/s",
    "failed/s",
    "p50_ms",
    "p95_ms",
    "in_flight",
    "waiting",
    "servers",
)

_WIDTHS = (20, 8, 8, 8, 8, 8, 9, 7)


class Look(msgspec.Struct, frozen=True):
    """One look at the metrics."""

    at: float
    """Monotonic seconds; only differences mean something."""
    calls: Mapping[str, float]
    """Tool calls by outcome."""
    other: float
    """Lists, prompts, resources and the rest."""
    took: tuple[tuple[float, float], ...]
    """(seconds at most, how many so far), ascending."""
    gauges: Mapping[str, float]


@app.command()
def top(  # noqa: PLR0917 - one argument for each option
    once: Annotated[bool, typer.Option("--once", help="One look, and the end.")] = False,
    interval: Annotated[
        float,
        typer.Option("--interval", "-i", metavar="SECONDS", min=0.1, help="Between two looks."),
    ] = 2.0,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="So many looks, and the end.")
    ] = None,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    json: Json = False,
) -> None:
    """Show calls a second, latency, denials and servers of the running gateway, live.

    Columns on a pipe: time, calls/s, denied/s, failed/s, p50 and p95 in ms, in flight, waiting for a person,
    servers up/all.
    With --json one document a look.
    """
    where = endpoint(config, url=url, key=key, role="operator")
    frames = _frames(where, interval, 1 if once else count)
    if json:
        for one in frames:
            print_document(one)
    elif is_terminal(1) and not once:
        _live(frames)
    else:
        if is_terminal(1):
            # One look alone has no time of its own: its figures are those since the start.
            print_line([name.removesuffix("/s").upper() for name in _COLUMNS], widths=_WIDTHS)
        for one in frames:
            print_line(_row(one), widths=_WIDTHS)


def _frames(where: Endpoint, interval_s: float, most: int | None) -> Iterator[dict[str, Any]]:
    before: Look | None = None
    done = 0
    while True:
        look = _look(where)
        yield frame(where.url, _servers(where), look, before)
        before, done = look, done + 1
        if most is not None and done >= most:
            return
        time.sleep(interval_s)


def frame(
    url: str, servers: list[dict[str, Any]], look: Look, before: Look | None
) -> dict[str, Any]:
    """One document: the figures of the time between two looks; since the start at the first, and after a restart."""
    if before is not None and _restarted(look, before):
        before = None
    spent = None if before is None else max(look.at - before.at, 1e-9)
    calls = _less(look.calls, before.calls if before else {})
    return {
        "time": as_recorded(time.time()),
        "url": url,
        "seconds": None if spent is None else round(spent, 3),
        "calls": {name: int(calls.get(name, 0)) for name in sorted({*calls, "success", "denied"})},
        "other": int(look.other - (before.other if before else 0)),
        "calls_per_s": None if spent is None else round(sum(calls.values()) / spent, 2),
        "latency_ms": _latency(look, before),
        "in_flight": int(look.gauges.get("gatewright_calls_in_flight", 0)),
        "waiting": int(look.gauges.get("gatewright_approvals_pending", 0)),
        "sessions": int(look.gauges.get("gatewright_sessions", 0)),
        "audit_ok": look.gauges.get("gatewright_audit_up", 1) == 1,
        "servers": servers,
    }


def _restarted(look: Look, before: Look) -> bool:
    """Whether another process answers: what is counted never becomes less in one."""
    took = dict(look.took)
    return (
        look.other < before.other
        or any(look.calls.get(name, 0) < count for name, count in before.calls.items())
        or any(took.get(most, 0) < count for most, count in before.took)
    )


def _look(where: Endpoint) -> Look:
    # The parser of metrics is heavier than the rest of the command line.
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    text = fetch(where, "/metrics").decode(errors="replace")
    calls: dict[str, float] = {}
    took: list[tuple[float, float]] = []
    gauges: dict[str, float] = {}
    other = 0.0
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            if one.name == "gatewright_calls_total" and one.labels.get("kind") == "tool":
                calls[one.labels.get("outcome", "")] = one.value
            elif one.name == "gatewright_calls_total":
                other += one.value
            elif one.name == f"{_BUCKET}_bucket":
                took.append((float(one.labels["le"]), one.value))
            elif not one.labels:
                gauges[one.name] = one.value
    return Look(time.monotonic(), calls, other, tuple(sorted(took)), gauges)


def _servers(where: Endpoint) -> list[dict[str, Any]]:
    listed = ask(where, "mgp/discovery/list").get("servers")
    every = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [
        {
            "id": str(one.get("id", "")),
            "status": str(one.get("status", "")),
            "tools": len(cast("list[Any]", one.get("tools") or [])),
            "reason": str(one.get("reason", "")),
        }
        for one in every
    ]


def _less(now: Mapping[str, float], then: Mapping[str, float]) -> dict[str, float]:
    return {name: value - then.get(name, 0) for name, value in now.items()}


def _latency(look: Look, before: Look | None) -> dict[str, float | None]:
    """Milliseconds that half, 95 % and 99 % of the calls took at most; None where there were none."""
    then = dict(before.took) if before else {}
    buckets = [(most, total - then.get(most, 0)) for most, total in look.took]
    return {f"p{share}": _percentile(buckets, share / 100) for share in (50, 95, 99)}


def _percentile(buckets: list[tuple[float, float]], share: float) -> float | None:
    total = buckets[-1][1] if buckets else 0
    if total <= 0:
        return None
    most = next(most for most, so_far in buckets if so_far >= share * total)
    if math.isinf(most):  # longer than the longest bucket: at least that is known
        most = max((one for one, _ in buckets if not math.isinf(one)), default=0.0)
    return round(most * 1000, 3)


def _row(one: Mapping[str, Any]) -> tuple[object, ...]:
    spent, calls = one["seconds"], one["calls"]
    up = sum(server["status"] == "connected" for server in one["servers"])
    failed = sum(calls.get(name, 0) for name in ("failure", "tool_error"))
    return (
        one["time"][:19] + "Z",
        _rate(sum(calls.values()), spent),
        _rate(calls["denied"], spent),
        _rate(failed, spent),
        _known(one["latency_ms"]["p50"]),
        _known(one["latency_ms"]["p95"]),
        one["in_flight"],
        one["waiting"],
        f"{up}/{len(one['servers'])}",
    )


def _rate(count: float, spent_s: float | None) -> str:
    """A rate; of the first look, which has no time of its own, the number itself."""
    return f"{count:g}" if spent_s is None else f"{count / spent_s:.1f}"


def _known(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _live(frames: Iterator[dict[str, Any]]) -> None:
    """The same on a terminal, in place, until Ctrl-C."""
    # Only a terminal pays for the table library.
    from rich.console import Console, Group  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    def shown(one: Mapping[str, Any]) -> Group:
        figures = Table(box=None, pad_edge=False, header_style="bold")
        for name in _COLUMNS:
            figures.add_column(name.upper(), justify="left" if name == "time" else "right")
        figures.add_row(*map(str, _row(one)))
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("server", "status", "tools", "why"):
            table.add_column(name.upper(), overflow="fold")
        for server in one["servers"]:
            cells = (server["id"], server["status"], str(server["tools"]), server["reason"])
            table.add_row(*(Text(visible(cell)) for cell in cells))
        since = "since its start" if one["seconds"] is None else f"in {one['seconds']:.1f} s"
        head = f"{visible(one['url'])}  {since}; Ctrl-C ends"
        audit = (
            ""
            if one["audit_ok"]
            else "every call is refused: the record cannot be written, or a store is behind it"
        )
        return Group(Text(head, style="dim"), figures, Text(audit, style="bold red"), table)

    with Live(console=Console(highlight=False), auto_refresh=False) as live:
        for one in frames:
            live.update(shown(one), refresh=True)
