"""Cache of up to 4 parsed HTTP response heads of one client connection, for responses with a byte-identical head.

A server answers with the same head again and again, as long as neither its clock nor the length of the body moves. Between
two answers the parser remembers nothing, so the same bytes mean the same (see `request_head_cache`, the same on the other side).
Only answers that were plain in every way are remembered: whole in one piece, with a length, not packed, no stream, on a
connection that stays.
"""

from __future__ import annotations

from gatewright.transport.http_answer import Answer, Fields

__all__ = ["KnownAnswers"]

_END = b"\r\n\r\n"
_HEADS = 4
"""How many are remembered; the oldest goes first."""
_BYTES = 2048
"""A longer head is not remembered."""


class KnownAnswers:
    """Head → (status, headers, the length of the body)."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[int, Fields, int]] = {}

    def settle(self, answer: Answer, data: bytes) -> bool:
        """Whether `data` is an answer, whole, whose head is known: then `answer` has it."""
        cut = data.find(_END, 0, _BYTES) + len(_END)
        known = self._known.get(data[:cut])
        if known is None or len(data) - cut != known[2]:
            return False
        return answer.take_whole(known[0], known[1], data[cut:])

    def learn(self, answer: Answer, data: bytes) -> None:
        """Remember the head of `data`, which the parser took for `answer` and no more than that, on a connection that
        stays. Ignored where the answer is not plain."""
        cut = data.find(_END, 0, _BYTES) + len(_END)
        size = answer.plain_size()
        if cut <= len(_END) or size != len(data) - cut:
            return
        if len(self._known) == _HEADS:
            del self._known[next(iter(self._known))]
        self._known[data[:cut]] = answer.status, answer.headers, size
