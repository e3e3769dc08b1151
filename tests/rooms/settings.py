"""Settings of rooms as they are read from a text, and an audit of the rooms that keeps its events in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.config.model import Settings

__all__ = ["TEXT", "Log", "loaded"]

TEXT = """
[rooms]
default_profile = "response-only"
anonymous_profile = "read-only"
message_bytes = 1000
recorded = "all"
[rooms.jwt]
key = "a-shared-secret-of-32-bytes-or-more"
[rooms.topics.own]
access = "private"
members = ["ann"]
[[rooms.participants]]
id = "ann"
token = "a-token-of-sixteen-or-more"
profile = "full"
mode = "directed"
"""


def loaded(text: str) -> Settings:
    return build([parse(text, Path("mgp.toml"))], {}, Path("/state"))


class Log:
    """An audit that keeps events in memory."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.fault = None

    def event(self, event_type: str, **more: Any) -> int:
        self.events.append((event_type, more))
        return 1
