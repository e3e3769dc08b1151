"""`gatewright doctor` check: longest event-loop stall and ended workers of the running gateway, read from its `/metrics`."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from math import isfinite
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from gatewright.cli.finding import Finding
from gatewright.cli.running import Running

__all__ = ["check_stalls", "stalls_in"]

_ANSWER_S = 3.0
_LONG_S = 0.25
_BYTES = 64 * 1024 * 1024


def check_stalls(running: Running) -> Iterator[Finding]:
    """Its longest stall since it began. Nothing is said where it does not tell: a gateway of another version."""
    try:
        longest, killed = stalls_in(_metrics(running))
    except Exception:  # noqa: BLE001 - of what is no text of metrics the parser raises anything
        return
    if longest is None or not (isfinite(longest) and isfinite(killed)):
        return
    long = longest >= _LONG_S
    more = f"; {killed:.0f} times work took too long and was ended" if killed else ""
    yield Finding(
        check="gateway",
        subject="event loop",
        level="warning" if long else "ok",
        what=f"stood still for {longest * 1000:.0f} ms at most{more}",
        why="everybody waits while it does: an input that is too large, or a machine with too much to do"
        if long
        else "",
        fix="its log says in which call (`the event loop stood still`); lower [limits] server_frame_bytes or values, or the "
        "tool's result_bytes"
        if long
        else "",
    )


def _metrics(running: Running) -> str:
    parts = urlsplit(running.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_ANSWER_S)
    try:
        told = {"Authorization": f"Bearer {running.operator_token}"}
        connection.request("GET", "/metrics", headers=told)
        answer = connection.getresponse()
        return answer.read(_BYTES).decode() if answer.status == 200 else ""
    finally:
        connection.close()


def stalls_in(text: str) -> tuple[float | None, float]:
    """The longest stall in seconds, where metrics tell it, and how many worker processes were ended."""
    longest, killed = None, 0.0
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "gatewright_loop_longest_stall_seconds":
                longest = sample.value
            elif sample.name == "gatewright_worker_kills_total":
                killed = sample.value
    return longest, killed
