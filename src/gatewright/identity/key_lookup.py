"""API key lookup for gate `authenticate`: reads changes of other processes once more before it rejects a key."""

from __future__ import annotations

from gatewright.call import Caller
from gatewright.identity.keys import Callers

__all__ = ["FreshKeys"]


class FreshKeys:
    """Verifies API keys. Before it answers `unknown` it reads what other processes have changed, and verifies again."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def verify(self, credential: str) -> Caller | str:
        """The key's owner, or in one word why there is none."""
        found = self._callers.verify(credential)
        # A key that was made a moment ago is good at once; the regular look comes later.
        if found == "unknown" and self._callers.refresh_if_changed():
            return self._callers.verify(credential)
        return found
