"""The names of the operators' methods of `costs`, for commands, which load no more of it."""

from __future__ import annotations

__all__ = ["INDEX", "TOKENS"]

TOKENS = "gatewright/tools/tokens"
INDEX = "gatewright/tools/index"
