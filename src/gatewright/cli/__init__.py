"""The command line: its frame, and the commands that are about the gateway as a whole.

`app` is the root; `output` how commands speak, `global_options` what holds for all of them, `gateway_client` one question to the running
gateway, `running` where that is. Commands of a feature are in `<feature>/commands`, its checks for `doctor` in `<feature>/doctor`;
`schemas/` says what each command prints with `--json`. Everything is imported when it is used.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The `gatewright` command."""
    from gatewright.cli.app import run  # noqa: PLC0415 - importing the package stays free

    sys.exit(run(sys.argv[1:]))
