"""`WITHOUT`: effects of each absent feature: `Missing` gates refuse calls that need it, lists hide its tools, its config keys are errors.

Nothing may pass because a feature is gone. `WITHOUT` says for each feature which calls need it; those are refused by name, at the
places of its gates, and no list shows a tool whose calls would be. What the configuration asks of it is a configuration error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Back, Call, Refusal, Tool
from gatewright.config import Problem, Settings, SettingsError
from gatewright.in_force import InForce
from gatewright.mcp.wire.groundhog import WISHES
from gatewright.servers.permission_admission import Standing
from gatewright.servers.supervisor_dependencies import ServerSide

__all__ = ["WITHOUT", "Missing", "Without", "absent", "check_asked", "closed", "unmade"]

log = logging.getLogger("gatewright")

_OFF = frozenset({"off", "keep", "none"})
"""Values that ask for nothing."""

Calls = Callable[[Settings, Call], bool]
Tools = Callable[[Settings, Tool], bool]


def _none(settings: Settings, of: object) -> bool:
    return False


def _all(settings: Settings, of: object) -> bool:
    return True


class Without(msgspec.Struct, frozen=True, kw_only=True):
    """What holds without one feature."""

    name: str
    does: str
    """What it would do, as a clause that begins with a verb."""
    gates: tuple[str, ...] = ()
    """The places of its gates."""
    tools: Tools = _none
    """Which tools may not be called without it, so that no list shows them."""
    calls: Calls = _none
    """Which calls may not pass without it besides."""
    keys: tuple[str, ...] = ()
    """Keys of the configuration that ask for it, unless they switch it off."""
    side: Callable[[ServerSide, InForce], ServerSide] = lambda side, _: side
    """What the servers are given in its place, by the configuration in force."""

    @property
    def text(self) -> str:
        """That it is missing, as a sentence."""
        return f"the feature {self.name} is not part of this gateway, which would {self.does}"

    def held(self, settings: Settings, tool: Tool) -> str:
        """Why nobody sees a tool; empty where it needs nothing of the feature."""
        return self.text if self.tools(settings, tool) else ""


class Missing:
    """The gate in the place of one of a feature."""

    def __init__(self, name: str, without: Without, settings: Settings) -> None:
        self.name = name
        self._without = without
        self._settings = settings

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        return self.judge(call) or call

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not pass; None where it needs nothing of the feature."""
        without, tool = self._without, call.tool or call.task_tool
        needed = tool is not None and without.tools(self._settings, tool)
        if not needed and not without.calls(self._settings, call):
            return None
        details = {"rule": "feature_missing", "feature": without.name}
        said = f"{without.text}; so the call is refused"
        return Refusal("policy_violation", said, details, gate=self.name)

    def since(self, call: Call) -> Refusal | None:
        """The same for a call that has waited."""
        return self.judge(call)


class _NoPermits:
    """Servers get no permission that they ask for."""

    hold_s = 0.0

    def declared(self, server: str, permissions: Sequence[str]) -> Mapping[str, Standing]:
        """All of them are denied."""
        return self.asked(server, permissions)

    def asked(self, server: str, permissions: Sequence[str]) -> Mapping[str, Standing]:
        """All of them are denied."""
        return dict.fromkeys(permissions, Standing("denied", "a feature that is missing"))

    def of(self, server: str) -> Mapping[str, Standing]:
        """Nothing is known."""
        return {}

    def named(self, server: str, ident: str) -> None:
        """Nobody asks."""

    def turn(self) -> asyncio.Future[None]:
        """Nothing ever stands differently."""
        return asyncio.get_running_loop().create_future()


class _Silent:
    """Nothing is told of what servers say outside calls, unless it would be told as it is."""

    def __init__(self, now: InForce) -> None:
        self._now = now

    def clean(self, server: str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """The params of one notification as they may be told (`servers.notifications.Clean`)."""
        return None if _redacted(self._now.settings, method) else params


# -- which calls need what


def _limited(settings: Settings, call: Call) -> bool:
    said, servers = settings.limits, settings.servers
    rules = [rule for one in servers for rule in one.tools.values()]
    bounds: list[object] = [said.calls, said.calls_per_minute, *said.doors.values()]
    bounds += [bound for one in servers for bound in (one.calls, one.result_bytes)]
    bounds += [bound for one in rules for bound in (one.calls, one.result_bytes)]
    by_itself = call.door == "groundhog"  # a protocol that has limits of its own
    return by_itself or any(bound is not None for bound in bounds)


def _asks_somebody(settings: Settings, tool: Tool) -> bool:
    security = tool.security
    dangerous = security.risk_level == "dangerous" or bool(security.hints)
    return security.confirmation_required or dangerous


def _takes_data_out(settings: Settings, call: Call) -> bool:
    return "flow" in call.facts


def _pinned(settings: Settings, tool: Tool) -> bool:
    server = settings.server(tool.target.server)
    return server is not None and server.pin != "off"


def _redacted(settings: Settings, call: object) -> bool:
    said, servers = settings.redaction, settings.servers
    rules = [rule for one in servers for rule in one.tools.values()]
    levels = {said.level, *(one.redaction for one in servers), *(one.redaction for one in rules)}
    hidden = {said.hidden, *(one.hidden for one in servers), *(one.hidden for one in rules)}
    return not (levels <= {"off", None} and hidden <= {"keep", None})


def _read_for_orders(settings: Settings, call: Call) -> bool:
    said: set[str | None] = {settings.results.injection}
    for one in settings.servers:
        said |= {one.injection, *(rule.injection for rule in one.tools.values())}
    return (call.of_tool or call.kind == "resource") and not said <= {"off", None}


def _has_schema(settings: Settings, tool: Tool) -> bool:
    if tool.schema is None and "outputSchema" not in tool.definition:
        return False
    server = settings.server(tool.target.server)
    return server is None or server.schema != "off"


def _validated(settings: Settings, tool: Tool) -> bool:
    return tool.security.validator != "none"


def _sends_out(settings: Settings, tool: Tool) -> bool:
    return settings.flow.then != "off" and "outbound" in tool.security.flow


def _of_methods(*methods: str) -> Calls:
    return lambda settings, call: call.method in methods


def _searches(settings: Settings, call: Call) -> bool:
    return call.method == "tools/list" and not WISHES.isdisjoint(call.params)


WITHOUT: Mapping[str, Without] = {
    one.name: one
    for one in (
        Without(
            name="limits",
            does="count calls and bound results",
            gates=("rate", "tool_rate"),
            calls=_limited,
            keys=(
                *("limits.calls", "limits.calls.*", "limits.calls_per_minute", "limits.doors.*"),
                *("servers.*.calls", "servers.*.calls.*", "servers.*.result_bytes"),
            ),
        ),
        Without(
            name="approvals",
            does="ask people about dangerous calls",
            gates=("confirm",),
            tools=_asks_somebody,
            calls=_takes_data_out,
            keys=("approvals.*", "servers.*.tools.*.approver"),
        ),
        Without(
            name="access",
            does="decide who may use what",
            gates=("resolve", "access", "permission"),
            calls=_all,
            keys=("grants", "grants.*", "permissions.*", "servers.*.default_policy"),
            side=lambda side, _: replace(side, permits=_NoPermits()),
        ),
        Without(
            name="pins",
            does="hold back tools whose definition changed",
            gates=("definition",),
            tools=_pinned,
            calls=_read_for_orders,
            keys=("servers.*.pin", "results.*", "servers.*.injection"),
        ),
        Without(
            name="redaction",
            does="take secrets and hidden characters out",
            gates=("sanitize",),
            calls=_redacted,
            keys=("redaction.*", "servers.*.redaction", "servers.*.hidden"),
            side=lambda side, now: replace(side, clean=_Silent(now).clean),
        ),
        Without(
            name="schemas",
            does="check arguments and results against their schemas",
            gates=("schema",),
            tools=_has_schema,
            keys=("servers.*.schema",),
        ),
        Without(
            name="validators",
            does="check arguments for what is dangerous in them",
            gates=("validators",),
            tools=_validated,
            keys=("servers.*.tools.*.validator*",),
        ),
        Without(
            name="flow",
            does="notice what a session has read before it sends data out",
            gates=("flow",),
            tools=_sends_out,
            keys=("flow.*",),
        ),
        Without(name="tasks", does="give callers tasks to wait by"),
        Without(
            name="discovery",
            does="search among tools",
            calls=_searches,
            keys=("discovery.*", "profiles.*.expose", "profiles.*.pinned", "agents.*.pinned"),
        ),
        Without(
            name="streaming",
            does="stream results while they are made",
            calls=_of_methods("mgp/stream/cancel"),
        ),
        Without(
            name="registration",
            does="register servers while it runs",
            calls=_of_methods("mgp/discovery/register", "mgp/discovery/deregister"),
            keys=("registration.*",),
        ),
        Without(
            name="lifecycle",
            does="tell the health of servers and shut them down gracefully",
            gates=("draining",),
            calls=_of_methods("mgp/health/ping", "mgp/health/status", "mgp/lifecycle/shutdown"),
        ),
        Without(name="telemetry", does="tell how it does", keys=("telemetry.*",)),
        Without(name="console", does="serve the web console", keys=("console.*",)),
        Without(
            name="sinks",
            does="send the record on",
            keys=("audit.sinks", "audit.sinks.*", "mcp.protocol.audit.sinks*"),
        ),
        Without(name="rooms", does="serve rooms", keys=("rooms", "rooms.*")),
        Without(
            name="mgp",
            does="answer questions about policy",
            calls=_of_methods("gatewright/policy/explain", "tools/validate"),
        ),
        Without(
            name="events",
            does="tell of events, and ask callers what servers ask by callbacks",
            calls=_of_methods(
                "mgp/events/subscribe", "mgp/events/unsubscribe", "mgp/callback/respond"
            ),
        ),
        Without(name="ggen", does="serve ggen at /rpc"),
        Without(name="rest", does="serve tools at /tools and /docs"),
        Without(
            name="groundhog",
            does="serve Groundhog, and tools that it registers",
            calls=_of_methods("tools/register"),
            keys=("mcp.protocol", "mcp.protocol.*", "builtin.*"),
        ),
    )
}
"""Feature → what holds without it."""


def absent(present: Collection[str]) -> list[Without]:
    """The features that are not among those present."""
    return [one for name, one in WITHOUT.items() if name not in present]


def unmade(gate: str) -> Without:
    """What holds at the place of a gate that nobody made and nothing here speaks of: no call passes."""
    return Without(name=gate, does="judge every call", gates=(gate,), calls=_all)


def check_asked(settings: Settings, missing: Sequence[Without]) -> None:
    """Raises `SettingsError` where the configuration asks for a feature that is missing."""
    problems = [
        Problem(settings.origins[key], key, one.text, "remove it, or use a gateway that has it")
        for one in missing
        for key in _asking(settings, one)
    ]
    if problems:
        raise SettingsError(problems)


def closed(side: ServerSide, missing: Sequence[Without], now: InForce) -> ServerSide:
    """What servers are given where nothing but the spine is there."""
    for one in missing:
        side = one.side(side, now)
    return side


def _asking(settings: Settings, one: Without) -> Iterator[str]:
    for key in settings.origins:
        known = any(fnmatchcase(key, pattern) for pattern in one.keys)
        if known and _value(settings, key) not in _OFF:
            yield key


def _value(settings: Settings, key: str) -> Any:
    """What the configuration says at a key; None where that is a table or not found."""
    found: Any = settings
    for name in key.split("."):
        if isinstance(found, Mapping):
            found = found.get(name)
        elif isinstance(found, tuple):
            found = next((one for one in found if getattr(one, "id", None) == name), None)
        else:
            found = getattr(found, name, None)
    return found if isinstance(found, str) else None
