"""Runs all benchmarks, or those that are named, one after the other.

    python -m benchmarks [--json] [NAME ...]

Each one is a program of its own, so that none inherits the memory of the one before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks.processes import ROOT

__all__ = ["NAMES", "main"]

NAMES = (
    "http_stdio",
    "http_http",
    "stdio_stdio",
    "local_http",
    "audit_durable",
    "audit_store",
    "console_audit",
    "policy_cost",
    "hostile",
    "tools_list",
    "parallel",
    "sdk",
    "slo",
    "sessions",
    "scale",
    "validators",
    "redaction",
    "cli",
    "first_minute",
    "reload",
    "lifecycle",
    "rooms",
    "streams",
    "isolation",
    "crowds",
    "console",
    "console_lists",
    "soak",
)
DEADLINE = 1800.0


def main(arguments: list[str] | None = None) -> int:
    """0 when every benchmark could be run, whatever its figures; else 1."""
    parser = argparse.ArgumentParser(description="all benchmarks in sequence")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    asked = parser.parse_args(arguments)
    strangers = set(asked.names) - set(NAMES)
    if strangers:
        parser.error(f"no benchmark is called {', '.join(sorted(strangers))}")
    failed = []
    for name in asked.names or NAMES:
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        if asked.json:
            command.append("--json")
        else:
            print(f"== {name}", flush=True)
        try:
            code = subprocess.run(command, check=False, cwd=ROOT, timeout=DEADLINE).returncode
        except subprocess.TimeoutExpired:
            code = 1
        if code:
            failed.append(name)
    if failed:
        print(f"benchmarks: could not be run: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
