"""`levels_of`: reads the levels (`off`, `mark`, `hold`) of filter `injection` from `[results]`, servers and tools in the settings."""

from __future__ import annotations

from gatewright.config import Settings
from gatewright.pins.result_filter import Level, Levels

__all__ = ["levels_of"]


def levels_of(settings: Settings) -> Levels:
    """By default, of servers, and of their tools. What a server says holds for its tools; `*` for those without a word of their own."""
    servers: dict[str, Level] = {
        one.id: one.injection for one in settings.servers if one.injection is not None
    }
    tools: dict[tuple[str, str], Level] = {
        (one.id, name): rule.injection
        for one in settings.servers
        for name, rule in one.tools.items()
        if rule.injection is not None
    }
    return Levels(settings.results.injection, servers, tools)
