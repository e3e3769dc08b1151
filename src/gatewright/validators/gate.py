"""Gate `validators`: runs cached validators on arguments, large ones in a worker; resolves host names; refuses on objection (MGP §4.5).

A tool's checks are made once and kept by the identity of its security metadata, which the catalogue
replaces when a definition or the operator's word changes. A validator that nobody has, or whose options
cannot be used, refuses every call: its name says that somebody holds the tool for dangerous without it.

Names in URLs are looked up here, because a look-up waits; what they resolve to is judged before the call goes
on. There are few of them in an honest call, and whoever sends thousands waits for none and keeps nobody waiting. The reason of a refusal by `code_safety` has its own code (1011) and the rejection body of §7.4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gatewright.call import Back, Call, Refusal, Security, Tool
from gatewright.standing import NOTHING, Standing
from gatewright.validators import Checks, Objection, available, checks_for
from gatewright.validators.network import addresses_rule, sentence

__all__ = ["MOST_NAMES", "Judged", "Judging", "LookUp", "Validators"]

LookUp = Callable[[str], Awaitable[Sequence[str]]]
"""Host name → all its addresses; empty where it has none."""


class Judged(NamedTuple):
    """What the validators of a tool say: the first objection, or the names that have to be looked up (`Checks.named`)."""

    objection: tuple[str, Objection] | None = None
    names: Sequence[tuple[str, str, str]] = ()


Judging = Callable[[Call, Tool], Awaitable[Judged | Refusal]]
"""Asks the validators of a tool beside the event loop."""

_KEPT = 16_384
MOST_NAMES = 16
"""So many different names are looked up for one call, in so many seconds together."""
_LOOK_UP_S = 15.0


class Validators:
    """Gate `validators`. Writes the checks it ran into the fact `validator_applied`."""

    name = "validators"

    def __init__(self, look_up: LookUp | None = None, beside: Judging | None = None) -> None:
        """Without `look_up` names in URLs are judged by themselves; without `beside` everything is judged at once, however
        long it takes."""
        self._look_up = look_up
        self._beside = beside
        self._known: dict[int, tuple[Security, Checks | str]] = {}

    def __call__(self, call: Call, back: Back) -> Call | Refusal | Awaitable[Call | Refusal]:
        tool = call.tool
        if tool is None or tool.security.validator == "none":
            return call
        call.facts["validator_applied"] = tool.security.validator
        checks = self._checks(tool)
        if isinstance(checks, str):
            return _unavailable(tool.security.validator, checks)
        if self._beside is not None and checks.takes_long(call.arguments, call.size):
            return self._judged(call, tool, self._beside)
        found = checks.objection(call.arguments)
        if found is not None:
            return _blocked(*found)
        if self._look_up is None or not checks.leads_anywhere:
            return call
        # One more than is looked up tells that there are too many.
        names = checks.named(call.arguments, MOST_NAMES + 1)
        return self._reached(call, names, self._look_up) if names else call

    def stands(self, call: Call) -> Standing | None:
        """Whether the checks of the tool say nothing of small arguments, and these lead to no host whose name has to be looked up."""
        tool = call.tool
        if tool is None:
            return None
        if tool.security.validator == "none":
            return NOTHING
        checks = self._checks(tool)
        if isinstance(checks, str):
            return None
        looks = self._look_up is not None and checks.leads_anywhere

        def fits(call: Call) -> bool:
            arguments = call.arguments
            if checks.takes_long(arguments, call.size) or checks.objection(arguments) is not None:
                return False
            return not (looks and checks.named(arguments, 1))

        return Standing(facts={"validator_applied": tool.security.validator}, fits=fits)

    async def _judged(self, call: Call, tool: Tool, beside: Judging) -> Call | Refusal:
        found = await beside(call, tool)
        if isinstance(found, Refusal):
            return found
        if found.objection is not None:
            return _blocked(*found.objection)
        return (
            call if self._look_up is None else await self._reached(call, found.names, self._look_up)
        )

    async def _reached(
        self, call: Call, names: Sequence[tuple[str, str, str]], look_up: LookUp
    ) -> Call | Refusal:
        found = await _looked_up(names, look_up)
        return call if found is None else _blocked(*found)

    def _checks(self, tool: Tool) -> Checks | str:
        security = tool.security
        known = self._known.get(id(security))
        # The kept reference keeps the id from being used again; the comparison is for a dropped one.
        if known is not None and known[0] is security:
            return known[1]
        made = checks_for(
            security.validator,
            security.validator_options,
            security.validator_args,
            tool.target.name,
        )
        # The oldest goes, as nobody says when a definition is gone.
        while len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[id(security)] = security, made
        return made


async def _looked_up(
    names: Sequence[tuple[str, str, str]], look_up: LookUp
) -> tuple[str, Objection] | None:
    if len(names) > MOST_NAMES:
        said = f"leads to more than {MOST_NAMES} names, too many to look up for one call"
        return names[-1][0], Objection(names[-1][1], "too_many_names", said)
    until = asyncio.get_running_loop().time() + _LOOK_UP_S
    for name, path, host in names:
        rule = addresses_rule(await _addresses(look_up, host, until))
        if rule is not None:
            return name, Objection(path, rule, sentence(rule))
    return None


async def _addresses(look_up: LookUp, host: str, until: float) -> Sequence[str]:
    try:
        async with asyncio.timeout_at(until):
            return await look_up(host)
    # No answer in time is no address: the name counts as `unresolved`, and the call is refused.
    except TimeoutError:
        return ()


def _blocked(name: str, objection: Objection) -> Refusal:
    details: dict[str, Any] = {"validator": name, "path": objection.path, "rule": objection.rule}
    where = f" (argument {objection.path})" if objection.path else ""
    message = f"blocked by the validator {name}: it{where} {objection.message}"
    if name == "code_safety":
        return Refusal("code_safety", message, {**details, **objection.details})
    return Refusal("validation_blocked", message, {**details, **objection.details})


def _unavailable(names: str, problem: str) -> Refusal:
    details: Mapping[str, Any] = {"validator": names[:100], "available": available()}
    return Refusal("policy_violation", f"{problem}; so the call is refused", details)
