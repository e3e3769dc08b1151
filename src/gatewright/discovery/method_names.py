"""Names of the methods `gatewright/tools/tokens` and `gatewright/tools/index`, apart from `costs`, so that commands load no servers."""

from __future__ import annotations

__all__ = ["INDEX", "TOKENS"]

TOKENS = "gatewright/tools/tokens"
INDEX = "gatewright/tools/index"
