"""`Rights`: what a caller's key, configuration and token together allow: tools, permissions, risk, resources, registry; step-up scopes.

Theory: a key, the configuration and a token may each say something of a caller (`UserContext`). Where one of
them names tools, those are all the tools there are for it; where several do, a tool has to be named by each.
What nobody names is left to others: to the access table which tools, to grants which permissions.

The trust of a user bounds the risk of what it may call (table 2.4 of the decisions): nobody untrusted calls
anything that is not known to be safe, and the community nothing dangerous.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from gatewright.call import Caller, Security, Trust, UserContext
from gatewright.mcp.wire.permissions import (
    INVOKE,
    LIST_ALL,
    OF_GATEWAY,
    READ,
    REGISTRY_READ,
    REGISTRY_WRITE,
)
from gatewright.patterns import DOTALL, NEVER, Pattern, escape
from gatewright.short_cache import ALL_LONGEST
from gatewright.validators.resources import Resources

__all__ = ["Rights", "administers", "described", "rights_of", "runs_programs"]

_RANK: dict[str, int] = {"untrusted": 0, "community": 1, "verified": 2, "system": 3}
_RISK = {"safe": 0, "moderate": 1, "dangerous": 2}
_MOST_RISK = {"untrusted": "safe", "community": "moderate"}
_PROGRAMS = frozenset({"shell.execute", "code_execution"})
_INTERPRETED = frozenset({"sandbox", "code_safety"})


class _Word:
    """The claims of one place: a key, an entry of `[agents]`, or a token."""

    def __init__(self, said: UserContext) -> None:
        held = said.permissions
        self.tools = any(one.startswith(OF_GATEWAY) for one in held)
        self.invokes = _matcher(held, INVOKE)
        self.reads = _matcher(held, READ)
        self.lists_all = LIST_ALL in held
        self.held = frozenset(one for one in held if not one.startswith(OF_GATEWAY))
        self.gateway = frozenset(held) - self.held


class Rights:
    """What all places together say of one caller."""

    def __init__(self, user: Iterable[UserContext]) -> None:
        said = tuple(user)
        words = [_Word(one) for one in said]
        self._steps = [step for one in said for step in one.steps]
        self._of_tools = [one for one in words if one.tools]
        self._holding = [one.held for one in words if one.held]
        self._gateway = [one.gateway for one in words if one.tools]
        self.role = next((one.role for one in said if one.role), "")
        trusts = [one.trust for one in said if one.trust is not None]
        # The least trust that any place gives: each can only take away.
        self.trust: Trust = min(trusts, key=_RANK.__getitem__, default="verified")
        self.most_risk = _MOST_RISK.get(self.trust, "dangerous")
        self.patterns = tuple(one.resources for one in said if one.resources)
        self.permissions = tuple(dict.fromkeys(name for one in said for name in one.permissions))

    def invokes(self, names: Iterable[str]) -> bool | None:
        """Whether a tool of these names may be called; None where nobody says which."""
        found = tuple(names)
        return _all([any(map(one.invokes, found)) for one in self._of_tools])

    def reads(self, names: Iterable[str]) -> bool | None:
        """Whether the definition of a tool of these names may be seen; None where nobody says which."""
        found = tuple(names)
        return _all([one.lists_all or any(map(one.reads, found)) for one in self._of_tools])

    @property
    def names_tools(self) -> bool:
        """Whether somebody says which tools there are for it."""
        return bool(self._of_tools)

    @property
    def reads_nothing(self) -> bool:
        """Whether no tool at all may be seen (decision C-32)."""
        return any(not one.lists_all and not one.reads.patterns for one in self._of_tools)

    def holds(self, permission: str) -> bool | None:
        """Whether a permission of MGP is held; None where nobody says which are."""
        return _all([permission in held for held in self._holding])

    def administers(self, permission: str) -> bool:
        """Whether a right over the gateway's registry is held: it is, where everybody who says anything of
        tools says so."""
        # Said by nobody is not held.
        return _all([permission in one for one in self._gateway]) or False

    def step_up(self, permission: str) -> tuple[str, ...]:
        """The scopes with which a token would hold a permission; none where no token ever does."""
        wanted = permission.removeprefix(INVOKE).removeprefix(READ)
        prefix = permission[: len(permission) - len(wanted)]
        return tuple(
            dict.fromkeys(
                scope
                for held, scope in self._steps
                if held == permission or (prefix and _matcher((held,), prefix)(wanted))
            )
        )

    def too_risky(self, security: Security) -> bool:
        """Whether a tool is more than somebody of this trust may call."""
        return _RISK[security.risk_level] > _RISK[self.most_risk]

    def resources(self, folder: str | None = None) -> Resources | None:
        """What it may touch at a server that runs in `folder`; None where that is anything."""
        return Resources(self.patterns, folder) if self.patterns else None

    def constraints(self) -> dict[str, Any]:
        """What follows for a call, for the record and for whoever shows it."""
        found: dict[str, Any] = {"trust_level": self.trust, "max_risk": self.most_risk}
        if self.role:
            found["role"] = self.role
        if self.patterns:
            found["allowed_resources"] = [list(one) for one in self.patterns]
        return found


def rights_of(user: tuple[UserContext, ...]) -> Rights:
    """The rights behind `Caller.user`. Raises `ValueError` for a pattern of resources that is none."""
    # What a token says is its issuer's words, up to kilobytes of them; all else is the operator's.
    chars = sum([len(scope) for said in user for scope in said.scopes])
    return Rights(user) if chars > ALL_LONGEST else _kept_rights(user)


@lru_cache(maxsize=4096)
def _kept_rights(user: tuple[UserContext, ...]) -> Rights:
    return Rights(user)


def administers(caller: Caller, what: str) -> bool:
    """Whether a caller may `read` all of the registry of servers and tools, or `write` it. An operator may. Nobody without a name may
    write: what one of them registered would be everybody's."""
    if caller.kind == "operator":
        return True
    if what == "write" and caller.kind == "anonymous":
        return False
    wanted = {"read": REGISTRY_READ, "write": REGISTRY_WRITE}[what]
    return bool(caller.user) and rights_of(caller.user).administers(wanted)


def described(caller: Caller) -> dict[str, Any]:
    """Groundhog's user context: `user_id`, `role`, `trust_level` and `allowed_resources`, all of which hold."""
    rights = rights_of(caller.user)
    return {
        "user_id": caller.id,
        "role": rights.role or caller.kind,
        "trust_level": "system" if caller.kind == "operator" else rights.trust,
        "allowed_resources": [one for group in rights.patterns for one in group],
    }


def runs_programs(security: Security) -> bool:
    """Whether a tool takes a command line or a program, in which nobody can list what it touches."""
    validators = set(security.validator.split("+"))
    return bool(_PROGRAMS & set(security.permissions_required) or _INTERPRETED & validators)


class _Matcher:
    """Whether a name fits one of some patterns, in which `*` stands for anything."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        texts = (".*".join(map(escape, one.split("*"))) for one in self.patterns)
        # No pattern fits nothing; an empty alternative would fit everything.
        self._fits = Pattern("|".join(f"(?:{one})" for one in texts) or NEVER, DOTALL)

    def __call__(self, name: str) -> bool:
        return self._fits.fits(name)


def _matcher(held: Iterable[str], prefix: str) -> _Matcher:
    return _Matcher(one.removeprefix(prefix) for one in held if one.startswith(prefix))


def _all(said: list[bool]) -> bool | None:
    return all(said) if said else None
