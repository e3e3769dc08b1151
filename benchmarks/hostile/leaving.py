"""A caller who has a thousand calls under way, none of which is answered, and hangs up.

`attacks(hostile)` yields (name, what makes the input).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.hostile.caller import Hostile
from benchmarks.hostile.sockets import WebSocket

__all__ = ["attacks"]

_HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}'
_MUTE = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hostile__mute","arguments":{}}}'
_BATCH = 20


def attacks(hostile: Hostile) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    yield "leaving.calls", partial(_left, hostile, 1000)


def _left(hostile: Hostile, count: int) -> str:
    with WebSocket(hostile.host, hostile.port, "/mcp", protocol="mcp") as socket:
        socket.asked(_HELLO)
        for first in range(1, count + 1, _BATCH):
            socket.say(*(_MUTE % one for one in range(first, first + _BATCH)))
            time.sleep(0.01)
        socket.say(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        said = json.dumps(socket.answer("last", 30.0))[:40]
        time.sleep(0.5)
    time.sleep(0.5)
    return said
