"""What the scripts of this folder share: the address of the room, and how a participant joins it."""

import os
from contextlib import AbstractAsyncContextManager
from typing import Any

from gatewright.rooms.participants import Participant
from gatewright.rooms.participants.dial import join

URL = os.environ.get("ROOMS_URL", "ws://127.0.0.1:8420/ws")


def seat(name: str, **options: Any) -> AbstractAsyncContextManager[Participant]:
    """Somebody at the table, by the token that mgp.toml has for them."""
    token = os.environ.get(f"{name.upper()}_TOKEN", f"token-of-{name}-for-trying")
    return join(URL, topic="deploys", token=token, **options)


def add(a: int, b: int) -> dict[str, Any]:
    """The params of a tool call."""
    return {"name": "demo__add", "arguments": {"a": a, "b": b}}
