"""Holds the GET stream of a legacy HTTP server for what belongs to no request: pauses, asks again, resumes from the last event id."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.http_rules import RESUME_MS, resume_ms
from gatewright.mcp.client.link import ServerFailed
from gatewright.transport.http_client import AnswerTooLarge, UpstreamError

__all__ = ["Pauses", "follow_unsolicited"]

_LEAST_S, _FAILED_MOST_S = 0.1, 30.0

_NO_STREAM = frozenset({401, 403, 404, 405, 501})
"""How a server says that it has no stream, or none for us, or no such session any more. Others are trouble of a moment: 409 where the stream
before is not known to have ended, 5xx of a proxy."""

_OF_A_MOMENT = frozenset({408, 409, 425, 429, 502, 503, 504})
"""How a stream is refused for no sake of the event from which it should go on."""


class Pauses:
    """The seconds between two GETs for the stream that is no request's, which is asked for as long as the connection lasts."""

    def __init__(self) -> None:
        self._heard = False
        self._last_s = 0.0

    def hearing(self, take: Callable[[bytes], None]) -> Callable[[bytes], None]:
        """The same, and it is noted that something came."""

        def heard(data: bytes) -> None:
            self._heard = True
            take(data)

        return heard

    def ended(self, said_ms: int | None) -> float:
        """After a stream that the server ended: as it wants; but longer each time that nothing came on it, up to a second."""
        wanted_s = max(_LEAST_S, resume_ms(said_ms) / 1000)
        grown_s = 0.0 if self._heard else min(2 * self._last_s, RESUME_MS / 1000)
        self._heard = False
        self._last_s = max(wanted_s, grown_s)
        return self._last_s

    def failed(self) -> float:
        """After none came about: longer each time."""
        self._last_s = min(_FAILED_MOST_S, 2 * max(_LEAST_S, self._last_s))
        return self._last_s


async def follow_unsolicited(wire: HttpEndpoint, take: Callable[[bytes], None]) -> None:
    """Hand on what comes, until it is cancelled. Returns where there is no such stream."""
    last_id, pauses = "", Pauses()
    hear = pauses.hearing(take)
    while True:
        try:
            posted = await wire.listen(hear, last_id)
            if not posted.streamed and posted.status in _NO_STREAM:
                return
            last_id = posted.last_event_id or last_id
            if not posted.streamed and posted.status not in _OF_A_MOMENT:
                last_id = ""  # which may be why: no server knows an event for ever
            pause_s = pauses.ended(posted.retry_ms) if posted.streamed else pauses.failed()
        except (UpstreamError, ServerFailed) as problem:  # of a proxy, or of a token endpoint
            pause_s = pauses.failed()
            if isinstance(problem, AnswerTooLarge) and problem.past is not None:
                # All since `last_id` would come once more, with this event, for ever; and to whoever is at work by then.
                last_id = problem.past
        await asyncio.sleep(pause_s)
