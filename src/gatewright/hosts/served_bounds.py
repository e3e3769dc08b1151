"""Bounds on hosts' files that a serving gateway parses for its console: bytes, and values counted beforehand; commands read more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gatewright.command_text import to_type
from gatewright.hosts.model import CannotRead
from gatewright.mcp.wire import jsonrpc

__all__ = ["SERVED_BYTES", "check_weight", "while_serving"]

SERVED_BYTES = 2 * 1024 * 1024
"""The longest text that is looked through beside calls."""
_MOST_NS = 10_000_000
"""What its values may take to decode. The decoder is one C call, which holds the interpreter although it runs in a thread: all calls
wait for it."""

_serving: ContextVar[bool] = ContextVar("serving", default=False)
"""Whether calls wait meanwhile. A command has a process of its own."""


@contextmanager
def while_serving() -> Iterator[None]:
    """What is read within this is read beside calls."""
    before = _serving.set(True)
    try:
        yield
    finally:
        _serving.reset(before)


def check_weight(name: object, content: bytes) -> None:
    """Raise `CannotRead` (`too-large`) for what may be read by a command alone, where calls wait meanwhile."""
    if not _serving.get():
        return
    if len(content) > SERVED_BYTES or jsonrpc.heavy(content, _MOST_NS):
        raise CannotRead(
            "too-large",
            f"{name} has more in it than a gateway reads beside its calls: that is done in a terminal",
            f"use `{to_type('import')}`, `{to_type('connect HOST')}` or `{to_type('disconnect HOST')}`",
        )
