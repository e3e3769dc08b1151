#!/usr/bin/env python3
"""An audit server: it is told what a gateway records (`notifications/mgp.audit`), and answers questions.

    [[servers]]
    id = "watch"
    command = "python3"
    args = ["audit_server.py", "--file", "events.jsonl", "--retention", "tiered"]
    [servers.mgp]
    extensions = ["audit"]

    [[audit.sinks]]
    name = "watch"
    type = "mgp"
    server = "watch"

Standard library only; any Python from 3.8 on will do. Events are kept in memory, and with `--file` on disk.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Dict, List, cast  # noqa: UP035 - Python 3.8

__all__ = ["Log", "main"]

Json = Dict[str, Any]  # noqa: UP006 - older Pythons start this file, too

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
COLUMNS = (
    "timestamp",
    "event_type",
    "result",
    "actor.id",
    "target.server_id",
    "target.tool_name",
    "trace_id",
)
DIMENSIONS = {
    "event_type": ("event_type",),
    "result": ("result",),
    "agent": ("actor", "id"),
    "server": ("target", "server_id"),
    "tool": ("target", "tool_name"),
}
FILTERS = {
    "event_type": "E.g. TOOL_BLOCKED.",
    "agent": "Who did it.",
    "trace_id": "One trace.",
    "since": "Not before this moment, ISO 8601.",
    "until": "Before this moment.",
}


def reached(event: Any, path: Iterable[str]) -> Any:
    """What stands at a path of an event; nothing where it leads nowhere."""
    for step in path:
        event = cast("Json", event).get(step, "") if isinstance(event, dict) else ""
    return event


class Log:
    """The events, oldest first, as many as the retention keeps."""

    def __init__(self, retention: str, days: float, most: int, file: Path | None = None) -> None:
        self.events: List[Json] = []  # noqa: UP006 - see above
        self._retention = retention
        self._days = days
        self._most = most
        self._file = file
        if file is not None and file.exists():
            self.events = [json.loads(line) for line in file.read_text().splitlines() if line]

    def add(self, event: Json) -> None:
        """Keep one, and forget what is over."""
        self.events.append(event)
        if self._file is not None:
            with self._file.open("a") as target:
                target.write(json.dumps(event) + "\n")
        if len(self.events) != len(kept := self._kept()):
            self.events = kept
            if self._file is not None:
                self._file.write_text("".join(json.dumps(one) + "\n" for one in kept))

    def _kept(self) -> List[Json]:  # noqa: UP006 - see above
        """`time_based` keeps some days, `size_based` some events, `tiered` what went well for some days
        and everything else ten times as long. Moments are those of the newest event."""
        if self._retention == "size_based":
            return self.events[-self._most :]
        if self._retention not in {"time_based", "tiered"}:
            return self.events
        newest = datetime.fromisoformat(self.events[-1]["timestamp"].replace("Z", "+00:00"))  # noqa: FURB162 - Python 3.8
        newest = newest.astimezone(timezone.utc)  # noqa: UP017 - Python 3.8
        border, far = (
            (newest - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S")
            for days in (self._days, 10 * self._days)
        )
        tiered = self._retention == "tiered"
        return [
            one
            for one in self.events
            if one["timestamp"] >= (far if tiered and one["result"] != "SUCCESS" else border)
        ]

    def found(self, asked: Json) -> List[Json]:  # noqa: UP006 - see above
        """The events that fit."""
        wanted = {
            ("event_type",): asked.get("event_type"),
            ("actor", "id"): asked.get("agent"),
            ("trace_id",): asked.get("trace_id"),
        }
        since, until = asked.get("since", ""), asked.get("until", "~")
        return [
            one
            for one in self.events
            if since <= one["timestamp"] < until
            and all(value in (None, reached(one, path)) for path, value in wanted.items())
        ]

    def query_audit_log(self, asked: Json) -> str:
        """The newest events that fit, as JSON."""
        return json.dumps(self.found(asked)[::-1][: asked.get("limit", 100)])

    def get_audit_stats(self, asked: Json) -> str:
        """How many events there are of each value of a dimension, as JSON."""
        path = DIMENSIONS[asked.get("by", "event_type")]
        return json.dumps(Counter(str(reached(one, path)) for one in self.found(asked)))

    def export_audit(self, asked: Json) -> str:
        """All events that fit, oldest first: `json`, `jsonl` or `csv`."""
        events = self.found(asked)
        form = asked.get("format", "json")
        if form == "json":
            return json.dumps(events)
        if form == "jsonl":
            return "".join(json.dumps(one) + "\n" for one in events)
        out = io.StringIO()
        rows = csv.writer(out)
        rows.writerow(COLUMNS)
        for one in events:
            cells = [str(reached(one, name.split("."))) for name in COLUMNS]
            # Spreadsheets run what begins like a formula.
            rows.writerow("'" + cell if cell[:1] in tuple("=+-@\t\r") else cell for cell in cells)
        return out.getvalue()


def tool(name: str, text: str, more: Json) -> Json:
    """One tool, with the filters and `more` as its arguments."""
    filters = {key: {"type": "string", "description": said} for key, said in FILTERS.items()}
    return {
        "name": name,
        "description": text,
        "inputSchema": {"type": "object", "properties": {**filters, **more}},
        "annotations": {"readOnlyHint": True},
    }


TOOLS = [
    tool("query_audit_log", "Find events, newest first.", {"limit": {"type": "integer"}}),
    tool("get_audit_stats", "Count events.", {"by": {"enum": sorted(DIMENSIONS)}}),
    tool("export_audit", "All events that fit.", {"format": {"enum": ["json", "csv", "jsonl"]}}),
]


def hello(params: Json) -> Json:
    """The handshake; MGP's `audit` where it is offered."""
    asked = params.get("protocolVersion")
    capabilities: Json = {"tools": {}}
    if "audit" in params.get("capabilities", {}).get("mgp", {}).get("extensions", []):
        capabilities["mgp"] = {"version": "0.2.0", "extensions": ["audit"]}
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": capabilities,
        "serverInfo": {"name": "audit", "version": "1.0.0"},
    }


def answer(log: Log, method: str, params: Json) -> Json:
    """The members of the answer besides `jsonrpc` and `id`."""
    if method == "initialize":
        return {"result": hello(params)}
    if method in {"ping", "tools/list"}:
        return {"result": {"tools": TOOLS} if method == "tools/list" else {}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": "method not found"}}
    names = [one["name"] for one in TOOLS]
    if params.get("name") not in names:
        return {"error": {"code": -32602, "message": f"no tool of this name; there are {names}"}}
    try:
        text, failed = getattr(log, params["name"])(params.get("arguments") or {}), False
    except (KeyError, TypeError) as problem:
        text, failed = f"wrong arguments: {problem!r}", True
    return {"result": {"content": [{"type": "text", "text": text}], "isError": failed}}


def main() -> None:
    """Answer until standard input ends."""
    parser = argparse.ArgumentParser(description="An audit server")
    parser.add_argument("--file", type=Path)
    policies = ["keep_all", "time_based", "size_based", "tiered"]
    parser.add_argument("--retention", choices=policies, default="keep_all")
    parser.add_argument("--days", type=float, default=90.0)
    parser.add_argument("--most", type=int, default=100_000)
    said = parser.parse_args()
    log = Log(said.retention, said.days, said.most, said.file)
    for line in sys.stdin:
        message: Json = json.loads(line)
        method = str(message.get("method"))
        params: Json = message.get("params") or {}
        if method == "notifications/mgp.audit":
            log.add(params)
        elif "id" in message and "method" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer(log, method, params)}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
