"""`question_id`: random JSON-RPC ids of requests from the gateway to clients (elicitation, sampling, roots), never used twice."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["question_id"]


def question_id(random: Callable[[int], bytes]) -> bytes:
    """A new id, JSON text; `random` gives so many random bytes. Ids that are counted begin anew with each connection: a client that
    connects again may still show a person a question of the one before, and the yes to that would answer another one."""
    return b'"gw-%b"' % random(8).hex().encode()
