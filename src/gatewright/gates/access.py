"""May this caller use this tool? The access table decides (MGP §5): opt-in unless configured otherwise.

Theory: one question, asked in three places that must agree: for a call, once more after a wait for a
person, and for every line of a list. Tools are decided one by one; prompts, resources and everything
else that a server answers are decided with the server as a whole, because grants name tools only.

The process owner's host and operators stand where the default policy would: what the configuration's
servers offer is open to them. An explicit word in the table holds for them as for everybody.
Calls that no server answers belong to the gateway itself; of those, lists are filtered line by line
with `may_see`, and MGP's own methods do not exist for anybody but an operator unless they are `open`.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from gatewright.call import Back, Call, Caller, Refusal, Tool
from gatewright.stores.grants import Decision, Grants

__all__ = ["Access"]

_WHOLE_SERVER = ""
"""No grant names an empty tool, so a question about it is answered for the server as a whole."""

_BY_ROLE = "owner"
_ROLES = ("owner", "operator")
_REMEMBERED = 65_536

_Question = tuple[str, str, str, str]


class Access:
    """Gate `access`. Writes the deciding level into the fact `access`: `tool_grant`, `server_grant`,
    `default_policy` or `owner`."""

    name = "access"

    def __init__(
        self,
        grants: Grants,
        clock: Callable[[], float],
        *,
        open_methods: Container[str] = frozenset(),
    ) -> None:
        """`clock` gives Unix seconds. `open_methods` are the `mgp/…` methods that everybody may call."""
        self._grants = grants
        self._clock = clock
        self._open = open_methods
        self._decided: dict[_Question, tuple[bool, str]] = {}
        self._decided_at = -1

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        target = call.target
        if target is None:
            return self._own(call)
        allowed, source = self._decide(
            call.caller, target.server, target.name if call.kind == "tool" else _WHOLE_SERVER
        )
        call.facts["access"] = source
        return call if allowed else self._denied(call, source)

    def may_see(self, caller: Caller, tool: Tool) -> bool:
        """Whether a call of this tool would pass, so that lists show what can be called and no more."""
        return self._decide(caller, tool.target.server, tool.target.name)[0]

    def may_reach(self, caller: Caller, server: str) -> bool:
        """The same for what a server offers besides tools."""
        return self._decide(caller, server, _WHOLE_SERVER)[0]

    def version(self) -> int:
        """A number that changes whenever any answer may have changed, expiry of a grant included."""
        return self._grants.version(self._clock())

    def _decide(self, caller: Caller, server: str, tool: str) -> tuple[bool, str]:
        """Whether it is allowed, and which level says so. Remembered for as long as the table stays
        the same."""
        now = self._clock()
        version = self._grants.version(now)
        if version != self._decided_at or len(self._decided) > _REMEMBERED:
            self._decided = {}
            self._decided_at = version
        question = (caller.id, caller.kind, server, tool)
        found = self._decided.get(question)
        if found is None:
            word = self._grants.decide(caller.id, server, tool, now)
            found = self._decided[question] = _judge(caller, word)
        return found

    def _own(self, call: Call) -> Call | Refusal:
        """Calls without a target. Only what the gateway answers by itself may have none."""
        if call.kind == "list":
            return call
        if call.kind != "method":
            return Refusal(
                "access_denied", f"no server was found for this {call.kind}", gate=self.name
            )
        if call.caller.kind == "operator" or call.method in self._open:
            return call
        if call.method.startswith("mgp/"):
            return Refusal("method_not_found", f"unknown method {call.method[:100]}")
        return call

    def _denied(self, call: Call, source: str) -> Refusal:
        what = "tool" if call.kind == "tool" else call.kind
        name = call.name[:100] or call.method[:100]
        return Refusal(
            "access_denied",
            f"{call.caller.id} may not use the {what} {name}: it needs a grant from the operator",
            {"source": source},
            gate=self.name,
        )


def _judge(caller: Caller, found: Decision) -> tuple[bool, str]:
    if found.permission == "allow":
        return True, found.source
    if caller.kind in _ROLES and found.source == "default_policy":
        return True, _BY_ROLE
    return False, found.source
