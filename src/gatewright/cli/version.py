"""`gatewright version`: prints the versions of the gateway, of Python and of the supported protocol revisions."""

from __future__ import annotations

import platform

from gatewright import __version__
from gatewright.cli.options import Json, group
from gatewright.cli.output import print_document, print_rows
from gatewright.mcp.protocol.negotiate import VERSION
from gatewright.mcp.wire.versions import LEGACY, MODERN

__all__ = ["app", "version"]

app = group("")


@app.command()
def version(json: Json = False) -> None:
    """Versions of the gateway and of the protocols it speaks."""
    found = {
        "gatewright": __version__,
        "mcp": [*sorted(LEGACY), *sorted(MODERN)],
        "mgp": VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    if json:
        print_document(found)
    else:
        print_rows(("part", "version"), list(found.items()))
