"""Store of accepted tool registrations in the state database, kept as requests that are validated again at the next start.

The audit trail knows how often it was changed: a gateway whose state is older than its record, or gone, does not start, because
tools would go back to what they were without it. Only the running gateway writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gatewright.storage.documents import Documents
from gatewright.storage.errors import StoreError
from gatewright.storage.state import StateDatabase

__all__ = ["RegisteredRequests"]


class RegisteredRequests:
    """The requests in one state database."""

    def __init__(self, state: StateDatabase) -> None:
        """Raises `StoreError`."""
        self._documents = Documents(state.section("registrations", "the registered tools"))
        try:
            self._requests = [
                msgspec.json.decode(body, type=dict[str, Any])
                for body in self._documents.all().values()
            ]
        except msgspec.MsgspecError as problem:
            raise StoreError(f"a registered tool cannot be read: {problem}") from problem

    @property
    def all(self) -> Sequence[dict[str, Any]]:
        """In the order in which they came."""
        return self._requests

    def put(self, requests: Sequence[dict[str, Any]]) -> None:
        """Keep these in their place. Raises `StoreError`, and then nothing has changed."""
        if not requests and not self._requests:
            return
        bodies = [msgspec.json.encode(one).decode() for one in requests]
        self._documents.replace({str(at): body for at, body in enumerate(bodies)})
        self._requests = list(requests)
