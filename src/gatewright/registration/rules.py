"""`Rules`: what a caller may register at run time: id, look-alikes, counts, trust level, program, isolation; `barred`: by later settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal

from gatewright.call import Call, Caller, Failure, Refusal, Who
from gatewright.command_text import to_type
from gatewright.config import Server, Settings
from gatewright.config.reserved_server_ids import taken_for
from gatewright.identity.rights import administers
from gatewright.mcp.wire.permissions import REGISTRY_WRITE
from gatewright.registration.registered import Registered, runs_script
from gatewright.registration.request import Wanted
from gatewright.schemas.lookalikes import folded, keys
from gatewright.transport.isolation.sandbox import missing

__all__ = [
    "Denied",
    "Rules",
    "barred",
    "configured",
    "isolation_flaw",
    "needs_script",
    "not_permitted",
]


class Denied(Exception):  # noqa: N818 - a verdict
    """Why something may not be registered."""

    def __init__(self, outcome: Refusal | Failure) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


def isolation_flaw() -> str:
    """Why no server can be isolated on this machine, as far as that shows before one is started; empty where one can."""
    return missing()


def not_permitted(caller: Caller) -> Refusal | None:
    """Why a caller may register nothing; None where it may."""
    if administers(caller, "write"):
        return None
    name = "NAME" if caller.kind == "anonymous" else caller.id
    give = to_type("key create {} --permission kernel.registry.write", name)
    return Refusal(
        "permission_denied",
        f"{caller.id} may not register servers: it takes an operator's key, or the permission {REGISTRY_WRITE}: `{give}`",
        {"missing_permissions": [REGISTRY_WRITE]},
        gate="permission",
    )


def barred(one: Registered, settings: Settings, flaw: Callable[[], str] = isolation_flaw) -> str:
    """Why a server that was registered may not run by the configuration of now; empty where it may."""
    said = settings.registration
    if one.trust_level == "sandboxed" and (why := flaw()):
        return f"it is sandboxed, and cannot be isolated: {why}"
    # The configuration may name a server by now that it could be taken for: what is configured wins.
    _, why = _confused(one.id, [known for known in settings.servers if not known.created_by])
    if why:
        return why
    if one.by_operator:
        return ""
    if one.trust_level != "sandboxed" and said.trust_level == "sandboxed":
        return f"servers of agents are sandboxed, and this one is {one.trust_level}"
    if one.code is None and one.command not in said.commands:
        return "its program is not among [registration] commands any more"
    if one.code is not None and not said.folders and one.command not in said.commands:
        return "[registration] folders names none any more, so agents may have no scripts"
    return ""


def configured(settings: Settings, server: str) -> bool:
    """Whether the configuration has a server of this id; one that was registered is none of its own."""
    known = settings.server(server)
    return known is not None and not known.created_by


class Rules:
    """Holds a registration against one configuration, what is registered (`present`) and whose ids are (`named`)."""

    def __init__(
        self,
        settings: Settings,
        present: Mapping[str, Registered],
        named: Mapping[str, Who],
        flaw: Callable[[], str] = isolation_flaw,
        *,
        knows: Callable[[Caller, str], bool] = lambda *_: False,
    ) -> None:
        """`knows` says whether a server exists for a caller: who may not see it is not told that it is there."""
        self._knows = knows
        self._settings = settings
        self._present = present
        self._named = named
        self._flaw = flaw

    def registered(self, wanted: Wanted, call: Call, at: float) -> Registered:
        """What would be registered, without its code. Raises `Denied`."""
        caller = call.caller
        operator = caller.kind == "operator"
        self._check_id(wanted.id, caller)
        self._check_bounds(caller)
        lifetime = self._lifetime(wanted, call)
        one = Registered(
            id=wanted.id,
            command=wanted.command,
            args=wanted.args,
            env=dict(wanted.env),
            extensions=None if wanted.mgp is None else wanted.mgp.extensions,
            permissions=() if wanted.mgp is None else wanted.mgp.permissions_required,
            trust_level=self._trust(wanted, operator=operator),
            lifetime=lifetime,
            session=call.session if lifetime == "session" else None,
            kind=caller.kind,
            by=caller.id,
            # An operator may register on behalf of somebody. Nobody else says who it was.
            created_by=(operator and wanted.created_by) or caller.id,
            justification=wanted.justification.strip(),
            at=at,
        )
        self._check_program(one)
        return one

    def check_isolation(self, one: Registered) -> None:
        """Whether it can be isolated where it has to be. Raises `Denied`."""
        if one.trust_level == "sandboxed" and (why := self._flaw()):
            raise Denied(
                Refusal(
                    "policy_violation",
                    f"a sandboxed server runs isolated or not at all, and {why}; `{to_type('doctor')}` says what is missing",
                    {"rule": "isolation_unavailable"},
                )
            )

    # -- names

    def _check_id(self, server: str, caller: Caller) -> None:
        settings, operator = self._settings, caller.kind == "operator"
        if not operator:
            # Before anything else: of ids outside of it an agent does not hear whether they are somebody's.
            self._check_namespace(server)
        if configured(settings, server):
            raise self._taken(f"the configuration has a server {server}", server, caller)
        if server in self._present:
            raise self._taken(f"a server {server} is registered already", server, caller)
        if settings.gateway.unprefixed:
            raise _conflict("the only server's tools go without a prefix ([gateway] unprefixed)")
        if not operator and self._named.get(server, caller.who) != caller.who:
            # Grants for it may be left, which were for what that was.
            raise self._taken("it is the id of a server that somebody else had", "", caller)
        self._check_looks(server, caller)

    def _check_namespace(self, server: str) -> None:
        said = self._settings.registration
        if not server.startswith(said.namespace) or server == said.namespace:
            raise Denied(
                Failure(
                    "invalid_params",
                    f"the ids of servers that agents register begin with {said.namespace!r}",
                    {"field": "id", "namespace": said.namespace},
                )
            )

    def _check_looks(self, server: str, caller: Caller) -> None:
        """No reader takes its tools for another's, and no spelling of theirs leads to it."""
        if own := taken_for(server):
            raise _conflict(f"{server} reads as the gateway's own {own}")
        known, why = _confused(server, self._settings.servers)
        if why:
            raise self._taken(why, known, caller)

    def _taken(self, what: str, server: str, caller: Caller) -> Denied:
        """`what` names a server, or says that there is or was one."""
        told = caller.kind == "operator" or (server and self._knows(caller, server))
        return _conflict(what if told else "this id is taken")

    # -- bounds

    def _check_bounds(self, caller: Caller) -> None:
        said, present = self._settings.registration, self._present.values()
        mine = sum(one.who == caller.who for one in present)
        if mine >= said.per_caller:
            raise _full(f"{caller.id} has {mine} registered servers, as many as one caller may")
        if len(self._present) >= said.total:
            raise _full(f"{len(self._present)} servers are registered, as many as there may be")

    # -- how it runs

    def _trust(
        self, wanted: Wanted, *, operator: bool
    ) -> Literal["standard", "trusted", "sandboxed"]:
        if operator:
            return wanted.trust_level or "standard"
        most = self._settings.registration.trust_level
        asked = wanted.trust_level or "sandboxed"
        if asked == "trusted" or (asked == "standard" and most == "sandboxed"):
            raise Denied(
                Refusal(
                    "permission_denied",
                    f"a server that an agent registers is {most} at most; an operator registers a {asked} one with "
                    f"`{to_type('server register {}', wanted.id)}`",
                    {"field": "mgp.trust_level", "most": most},
                )
            )
        return asked

    def _lifetime(self, wanted: Wanted, call: Call) -> Literal["session", "persistent"]:
        operator = call.caller.kind == "operator"
        most = "persistent" if operator else self._settings.registration.lifetime
        asked = wanted.lifetime or most
        if asked == "persistent" and most == "session":
            raise Denied(
                Refusal(
                    "permission_denied",
                    "servers that agents register end with their session; an operator registers a persistent one with "
                    f"`{to_type('server register {}', wanted.id)}`",
                    {"field": "lifetime", "most": most},
                )
            )
        if asked == "session" and call.session is None:
            raise Denied(
                Failure(
                    "invalid_params",
                    "it would end with the session of this call, and this call belongs to none",
                    {"field": "lifetime"},
                )
            )
        return asked

    def _check_program(self, one: Registered) -> None:
        said = self._settings.registration
        if one.by_operator or one.command in said.commands:
            return
        if one.command not in ("python", "python3") or not said.folders:
            allowed = [*(("python",) if said.folders else ()), *said.commands]
            raise Denied(
                Refusal(
                    "permission_denied",
                    f"agents may not register the program {one.command[:100]!r}, only {', '.join(allowed) or 'none'}; an operator "
                    f"adds it to [registration] commands, or registers the server with `{to_type('server register {}', one.id)}`",
                    {"field": "command", "commands": allowed},
                )
            )


def needs_script(one: Registered, commands: Collection[str]) -> bool:
    """Whether what is registered is a script, which is judged and kept."""
    if one.by_operator:
        return one.trust_level == "sandboxed" and runs_script(one.command)
    return one.command not in commands


def _confused(server: str, every: Iterable[Server]) -> tuple[str, str]:
    """Another server for whose tools those of a server could be taken, and why; both empty where there is none."""
    looks = set(keys(server))
    for known, name in ((one.id, name) for one in every for name in (one.id, one.tool_prefix)):
        if name and not looks.isdisjoint(keys(name)):
            return known, f"{server} reads as {name}"
        if name and (_within(server, name) or _within(name, server)):
            return known, f"tools of {server} and of {name} could be called the same"
    return "", ""


def _within(server: str, other: str) -> bool:
    """Whether `server.tool`, or `server__tool`, could be a tool of the other one whose name has the separator in it."""
    dotted, joined = server.casefold(), f"{folded(server)}__"
    return dotted.startswith(f"{other.casefold()}.") or joined.startswith(f"{folded(other)}__")


def _conflict(what: str) -> Denied:
    return Denied(Failure("registration_conflict", f"{what}: choose another id", {"field": "id"}))


def _full(what: str) -> Denied:
    return Denied(Failure("resource_exhausted", f"{what}: deregister one"))
