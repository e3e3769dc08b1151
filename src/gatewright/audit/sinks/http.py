"""Audit sink to an HTTP endpoint: one POST a batch, as JSON lines or as a batch of CloudEvents 1.0."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gatewright.audit.sinks.follow import SinkFailed, SinkRefused
from gatewright.transport.safe_fetch import Egress, EgressFailed

__all__ = ["HttpSink"]

_REFUSED = frozenset({400, 413, 422})
"""What was sent is at fault, or its size: bad request, content too large, unprocessable content."""


class HttpSink:
    """POSTs. Any status but 2xx means that nothing of the batch was taken."""

    def __init__(
        self,
        url: str,
        put: Callable[[bytes], bytes],
        *,
        headers: Mapping[str, str],
        events: bool,
        egress: Egress | None = None,
    ) -> None:
        """`put` changes a line into the form; `events` sends them as one array of CloudEvents."""
        kind = "application/cloudevents-batch+json" if events else "application/x-ndjson"
        self._url = url
        self._put = put
        self._events = events
        self._headers = {"Content-Type": kind, **headers}
        self._egress = egress or Egress()

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """Raises `SinkFailed`, `SinkRefused`."""
        texts = [self._put(line) for line in lines]
        if self._events:
            body = b"[" + b",".join(text.rstrip(b"\n") for text in texts) + b"]"
        else:
            body = b"".join(texts)
        try:
            # The operator named it, so it may be an address in the own network.
            status, _ = await self._egress.ask(self._url, self._headers, body, outside=False)
        except EgressFailed as problem:
            raise SinkFailed(str(problem)) from problem
        if not 200 <= status < 300:
            kind = SinkRefused if status in _REFUSED else SinkFailed
            raise kind(f"the endpoint answered HTTP {status}")

    async def close(self) -> None:
        """Nothing is kept between two batches."""
