"""Resolves host names in a bounded number of threads of its own, fewer for untrusted names; concurrent look-ups of a name share one. No cache.

A time-out frees whoever waits, not the thread that asks: a name server that is silent keeps it for half a minute. The loop's own few
threads are for files and documents as well, so two such names would stop all of that, and every other look-up.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

__all__ = ["MOST", "MOST_UNTRUSTED", "look_up"]

MOST = 32
"""So many names are looked up at once."""
MOST_UNTRUSTED = 16
"""So many of them are names that callers chose: silent ones of theirs leave the others to tool servers, issuers and receivers."""
_ADDRESS_CHARS = 64

_Key = tuple[str, int, int, int]
_lock = threading.Lock()
_running: dict[_Key, Future[Sequence[Any]]] = {}
_untrusted: set[_Key] = set()


async def look_up(
    host: str, port: int, *, family: int = 0, flags: int = 0, untrusted: bool = False
) -> Sequence[Any]:
    """The addresses of a name, as `socket.getaddrinfo` has them for streams; an `untrusted` name is one that a caller chose. Raises
    `OSError`, or `ValueError` for what is no name."""
    key = host, port, int(family), int(flags)
    if host.isascii() and len(host) <= _ADDRESS_CHARS:
        try:
            return _asked((host, port, int(family), int(flags) | socket.AI_NUMERICHOST))
        except socket.gaierror:
            pass  # it is no address
    return await asyncio.wrap_future(_shared(key, untrusted=untrusted))


def _shared(key: _Key, *, untrusted: bool) -> Future[Sequence[Any]]:
    """The answer to one question, which is asked once however many wait for it."""
    with _lock:
        found = _running.get(key)
        if found is not None:
            return found
        if len(_running) >= MOST or (untrusted and len(_untrusted) >= MOST_UNTRUSTED):
            raise OSError(
                None, "too many names are being looked up, most of them without an answer"
            )
        found = _running[key] = Future()
        if untrusted:
            _untrusted.add(key)
    found.set_running_or_notify_cancel()  # whoever gives up does so for itself
    try:
        threading.Thread(target=_ask, args=(key, found), name="look-up", daemon=True).start()
    except RuntimeError:
        _over(key)
        found.set_exception(OSError(None, "no thread is left to look up its name"))
    return found


def _ask(key: _Key, answer: Future[Sequence[Any]]) -> None:
    try:
        found = _asked(key)
    except Exception as problem:  # noqa: BLE001 - whoever waits is to have it
        _over(key)
        answer.set_exception(problem)
    else:
        _over(key)
        answer.set_result(found)


def _over(key: _Key) -> None:
    with _lock:
        del _running[key]
        _untrusted.discard(key)


def _asked(key: _Key) -> Sequence[Any]:
    host, port, family, flags = key
    return socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=flags)
