"""Names of methods `gatewright/tools/tokens` and `gatewright/tools/index`, in a module that commands can import without the servers."""

from __future__ import annotations

__all__ = ["INDEX", "TOKENS"]

TOKENS = "gatewright/tools/tokens"
INDEX = "gatewright/tools/index"
