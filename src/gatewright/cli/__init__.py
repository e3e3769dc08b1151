"""Command line of `gatewright`: command groups imported on use, shared options, output formats and exit codes.

Data goes to standard output, everything else to standard error. Tables are for terminals; a pipe gets
tab-separated lines, `--json` one JSON document. Reading order: `app` → `output` → one command.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The `gatewright` command."""
    from gatewright.cli.app import run  # noqa: PLC0415 - importing the package stays free

    sys.exit(run(sys.argv[1:]))
