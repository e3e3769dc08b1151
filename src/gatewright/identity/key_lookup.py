"""API key lookup for gate `authenticate`: reads changes of other processes before it rejects a key, or takes it for an operator's."""

from __future__ import annotations

from contextlib import suppress

from gatewright.call import Caller
from gatewright.identity.keys import KeyStore

__all__ = ["FreshKeys"]


class FreshKeys:
    """Verifies API keys. Before it answers `unknown`, or names an operator, it reads what other processes have changed, and verifies again:
    what an operator does holds on when their key has ended. Where the keys cannot be read, no operator is named."""

    def __init__(self, callers: KeyStore) -> None:
        self._callers = callers

    def verify(self, credential: str) -> Caller | str:
        """The key's owner, or in one word why there is none."""
        found = self._callers.verify(credential)
        if found.kind != "operator" if type(found) is Caller else found != "unknown":
            return found
        before = self._callers.loads
        # A key that was made a moment ago is good at once, and one that was revoked is not; the regular look comes later. It also says what fails here: anything
        # that another process has changed is read, and no trouble with it makes a wrong key anything but wrong.
        with suppress(Exception):
            self._callers.refresh_if_changed()
        if self._callers.loads != before:
            found = self._callers.verify(credential)
        # Trouble with anything else is not the operator's; trouble with the keys leaves open whether theirs was revoked.
        return "unread" if _is_operator(found) and not self._callers.is_current() else found


def _is_operator(found: Caller | str) -> bool:
    return isinstance(found, Caller) and found.kind == "operator"
