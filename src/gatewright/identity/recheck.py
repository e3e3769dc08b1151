"""`Rechecking`: asks issuers every 0.5 s about due tokens of calls and listeners; ends calls whose token was revoked or is unverifiable.

Whoever asks shows a token each time, and the gate looks at it. Between two requests nobody does: without this a call
of an hour, or a stream, would outlive by an hour the token that its issuer has taken back. A call whose token is good
no more ends with the refusal. Who listens is looked at before each thing that they would hear (`mcp.server.client_session`).

A token that has merely reached its end ends no call that began before: who refreshes tokens cannot show the new one
in the middle of a call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from gatewright.call import Call, Refusal
from gatewright.kernel import Kernel

__all__ = ["EVERY_S", "PATIENCE_S", "Rechecking", "Tokens"]

EVERY_S = 0.5
"""How long after the end of its time a token in use is still believed, at most, before its issuer is asked."""

PATIENCE_S = 6.0
"""How long issuers may take to answer, all together, before a token of which nobody knows any more is refused."""

log = logging.getLogger("gatewright.identity")


class Tokens(Protocol):
    """What is known of access tokens (`identity.tokens.Tokens`)."""

    def is_due(self, credential: str) -> bool:
        """Whether it is time to look again."""

    async def renew(self, credential: str) -> Refusal | None:
        """Look again: why it lets nobody in any more, or None."""

    def lapsed(self, credential: str) -> Refusal | None:
        """The refusal where nobody knows any more whether it is good."""


class Rechecking:
    """See the module's text. `tokens` gives the present ones, or None where no tokens are taken; `heard` those of
    whoever listens."""

    def __init__(
        self,
        tokens: Callable[[], Tokens | None],
        kernel: Kernel,
        heard: Callable[[], Iterable[str]],
    ) -> None:
        self._tokens = tokens
        self._kernel = kernel
        self._heard = heard
        self._gone: set[str] = set()
        """Those of listeners that were refused for good: nobody asks about them again."""

    async def follow(self) -> None:
        """For ever."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("access tokens in use could not be looked at; trying again")
            await asyncio.sleep(EVERY_S)

    async def look(self) -> None:
        """Look at those whose time it is, and end the calls of those that are good no more."""
        tokens = self._tokens()
        if tokens is None:
            return
        heard = set(self._heard())
        self._gone &= heard
        used = self._kernel.tokens() | (heard - self._gone)
        refused = await _renewed(tokens, [one for one in used if tokens.is_due(one)])
        if refused:
            self._gone |= {
                one for one, why in refused.items() if why.reason != "issuer_unavailable"
            }
            # One may come to its end while it is looked at, and is then refused for that.
            bad = {one: why for one, why in refused.items() if why.reason != "auth_expired"}
            self._kernel.end_refused([_Refused(bad)])


async def _renewed(tokens: Tokens, due: Sequence[str]) -> dict[str, Refusal]:
    """Those that are good no more, and why."""
    tasks = {one: asyncio.ensure_future(tokens.renew(one)) for one in due}
    try:
        if tasks:
            await asyncio.wait(tasks.values(), timeout=PATIENCE_S)
    finally:
        for task in tasks.values():
            task.cancel()
    found: dict[str, Refusal] = {}
    for one, task in tasks.items():
        failed = not task.done() or task.cancelled() or task.exception() is not None
        # An issuer that does not answer ends nothing until its last word is too old (fail closed then).
        refusal = tokens.lapsed(one) if failed else task.result()
        if refusal is not None:
            found[one] = refusal
    return found


class _Refused:
    """Judges calls by the token with which they came."""

    name = "authenticate"

    def __init__(self, refused: Mapping[str, Refusal]) -> None:
        self._refused = refused

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not go on; None where it may."""
        return self._refused.get(call.credential or "") if call.caller.token else None
