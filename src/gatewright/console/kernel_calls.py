"""`KernelCalls`: an operator's console calls through the whole kernel, by their key or a one-call credential (`CallKeys`); marked manual.

The gate `authenticate` asks with each call who makes it, by the credential. Whoever signed in with a key shows that key; everybody else
shows one that is made for this one call, is known in this process alone, and is forgotten when the call ends (`CallKeys`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from secrets import token_urlsafe
from typing import Any

from gatewright import __version__
from gatewright.call import Answer, Call, Caller, Client, Failure, Mgp, Outcome, Refusal
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.dialects.one_shot import OneShotCalls, Who
from gatewright.feature import GatewayParts
from gatewright.identity.gate import Keys
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.protocol.negotiate import EXTENSIONS, VERSION
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.mcp.wire.versions import LATEST_LEGACY, METHODS, Method

__all__ = ["DOOR", "CallKeys", "KernelCalls", "refused"]

DOOR = "console"
_OWN = Method("method")
_BY_HAND = {"manual": True}
"""What the record says of each: a person made it, and no agent."""
_ASKED_BACK = "bidirectional"
_CLIENT = Client(
    LATEST_LEGACY,
    info={"name": "gatewright-console", "version": __version__},
    # A page answers no callback: a question that is put to nobody keeps a call from the operators until its time is over.
    mgp=Mgp(VERSION, tuple(one for one in EXTENSIONS if one != _ASKED_BACK)),
)


class CallKeys:
    """The gateway's keys, and those that are there while one call of a person runs."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}
        self._keys: Keys | None = None

    def over(self, keys: Keys) -> Keys:
        """Look there for every other key."""
        self._keys = keys
        return self

    def verify(self, credential: str) -> Caller | str:
        """The key's owner, or in one word why there is none."""
        found = self._callers.get(credential)
        if found is not None:
            return found
        return "unknown" if self._keys is None else self._keys.verify(credential)

    @contextmanager
    def of(self, caller: Caller) -> Iterator[str]:
        """While inside, a credential of this caller."""
        credential = token_urlsafe(32)
        self._callers[credential] = caller
        try:
            yield credential
        finally:
            del self._callers[credential]


class KernelCalls:
    """Of one gateway."""

    def __init__(self, gateway: GatewayParts, keys: CallKeys) -> None:
        self._calls = OneShotCalls(gateway.front, gateway.inside.servers, DOOR)
        self._keys = keys

    async def handle(
        self, person: Person, method: str, params: dict[str, Any], profile: str = ""
    ) -> tuple[Call, Outcome]:
        """Take one call to its end. Raises `ApiError` for a person who may change nothing: the kernel knows operators alone."""
        if not person.may("change"):
            raise ApiError(403, "role", f"the role {person.role} makes no calls", "ask an operator")
        inbound = Inbound(b"0", method, params, _CLIENT, METHODS.get(method, _OWN))
        if person.credential:
            caller = Caller(person.id, "operator")  # until the gate has looked at the key
            return await self._handle(inbound, Who(caller, person.credential, profile))
        caller = Caller(person.id, "operator")
        with self._keys.of(caller) as credential:
            return await self._handle(inbound, Who(caller, credential, profile))

    async def _handle(self, inbound: Inbound, who: Who) -> tuple[Call, Outcome]:
        return await self._calls.handle(inbound, who, _BY_HAND)

    async def ask(
        self, person: Person, method: str, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The members of the answer of one of the gateway's own methods. Raises `ApiError`."""
        _, outcome = await self.handle(person, method, dict(params or {}))
        if isinstance(outcome, Answer):
            found: dict[str, Any] = jsonrpc.decode(outcome.raw)
            return found
        raise refused(outcome)


def refused(outcome: Refusal | Failure) -> ApiError:
    """What became of a call that was not answered, as an error of the API."""
    reason = reason_of(outcome.reason)
    said = outcome.message or reason.mgp_name.lower().replace("_", " ")
    return ApiError(reason.http if reason.http >= 400 else 502, outcome.reason, said)
