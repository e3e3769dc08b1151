"""`EventMethods`: `mgp/events/subscribe` (new or resumed), `unsubscribe` (MGP §13.2); publishes audit records and started calls as events.

A subscription begins with its answer: what happens before its caller knows its id is kept until then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Hashable, Mapping
from typing import Any

import msgspec

from gatewright.audit.trail import AuditLog
from gatewright.call import Answer, Back, Call, Caller, Failure, Outcome
from gatewright.call_policy import Dispatch
from gatewright.events.channels import (
    CHANNELS,
    LONGEST_NAME,
    STARTED,
    Happened,
    event_of,
    is_channel,
    matches,
    severity_of,
)
from gatewright.events.server_events import DROPPED, ServerEvents
from gatewright.events.subscription import Said, Subscription
from gatewright.events.subscriptions import Subscriptions
from gatewright.kernel import Further
from gatewright.mcp.protocol.mcp_server import LOG_LEVELS
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.dispatch import Builtin
from gatewright.servers.supervisor import Supervisor
from gatewright.standing import Standing, attribute

__all__ = ["CHANNELS_MOST", "SUBSCRIBE", "UNSUBSCRIBE", "EventMethods", "negotiated"]

log = logging.getLogger("gatewright.events")

CHANNELS_MOST = 64
"""Names in one subscription."""

SUBSCRIBE, UNSUBSCRIBE = "mgp/events/subscribe", "mgp/events/unsubscribe"
_EXTENSION = "bidirectional"

_STARTED_SIZE = 512
"""About how long it is that a call has started."""
_DROPPED_MOST = 4096
"""Of how many callers and channels is counted what was left out: each session without a name is one."""


class _Filter(msgspec.Struct):
    min_severity: str | None = None


class _Subscribe(msgspec.Struct):
    channels: list[str] | None = None
    filter: _Filter = msgspec.field(default_factory=_Filter)
    subscription_id: str | None = None
    since: int | None = None


class EventMethods:
    """See the module's text. `timestamp` gives the time now, as events say it."""

    def __init__(
        self,
        servers: Supervisor,
        audit: AuditLog,
        random: Callable[[int], bytes],
        timestamp: Callable[[], str],
    ) -> None:
        self._servers = servers
        self._audit = audit
        self._timestamp = timestamp
        self.every = Subscriptions(servers.hub.heard_by, random)
        self.server_events = ServerEvents(servers, self.every, timestamp)
        self.every.changed = self._follow
        self.every.ended = self.server_events.ended
        self.every.moved = self.server_events.moved
        self._dropped: dict[Hashable, int] = {}
        """What nobody was told, by whose it is and channel, until its next one says so."""
        self._unheard: Callable[[], None] | None = None
        self.tells_starts = False
        """Whether anybody wants to hear of calls that start."""
        servers.hub.left.listen(self.every.left)
        servers.hub.happened.listen(self.server_events.take)

    @property
    def methods(self) -> Mapping[str, Builtin]:
        """Both, by their names."""
        return {SUBSCRIBE: self._subscribe, UNSUBSCRIBE: self._unsubscribe}

    # -- the methods ---------------------------------------------------------------------------------

    async def _subscribe(self, call: Call, back: Back) -> Outcome:
        if not negotiated(call):
            return _no_method(call)
        try:
            asked = msgspec.convert(call.params, _Subscribe)
        except msgspec.ValidationError as problem:
            return Failure("invalid_params", f"params: {problem}")
        if not self.every.can_hear(call):
            return Failure("invalid_request", _DEAF, {"rule": "no_channel"})
        if asked.since is not None and not 0 <= asked.since <= 2**53:
            return Failure("invalid_params", "since is the number of an event")
        if asked.subscription_id is not None:
            return self._again(call, asked, asked.subscription_id)
        return await self._anew(call, asked)

    async def _anew(self, call: Call, asked: _Subscribe) -> Outcome:
        flaw = _flaw_of(asked)
        if flaw:
            return Failure("invalid_params", flaw)
        if crowded := self.every.crowded(call):
            return Failure("resource_exhausted", crowded)
        names, severity = tuple(dict.fromkeys(asked.channels or ())), asked.filter.min_severity
        valid = tuple(one for one in names if is_channel(one))
        made = self.every.begin(call, valid, severity, severity_of(severity) or 0)
        try:
            self.every.accept(made, valid)  # what servers say before all have answered
            found = {one for one in valid if any(matches(one, own) for own in CHANNELS)}
            if valid:
                found |= await self.server_events.want(made)
        except BaseException:
            self.every.end(made)
            raise
        made.pending -= found
        self.every.accept(made, tuple(one for one in valid if one in found))
        if not self.every.can_hear(call):  # its session has ended meanwhile
            self.every.end(made)
            return Failure("invalid_request", _DEAF, {"rule": "no_channel"})
        told: dict[str, Any] = {
            "subscribed": list(made.channels),
            "unsupported": [one for one in names if one not in found],
            "subscription_id": made.id,
        }
        if made.pending:
            told["pending"] = sorted(made.pending.difference(made.channels))
        return Answer(jsonrpc.encode(told), own=True)

    def _again(self, call: Call, asked: _Subscribe, ident: str) -> Outcome:
        """Take a subscription up where its caller left it."""
        found = self.every.lost(call, ident)
        if found is None:
            return _unknown()
        if asked.channels is not None or asked.filter.min_severity is not None:
            said = "a subscription is taken up as it is: leave channels and filter out, or make another one"
            return Failure("invalid_params", said)
        since = found.sent if asked.since is None else min(asked.since, found.sequence)
        self.every.take_up(found, call)
        replayed, missed = self.every.missed(found, since)
        found.since = since
        told = {
            "subscribed": list(found.channels),
            "unsupported": [],
            "subscription_id": found.id,
            "sequence": found.sequence,
            "replayed": replayed,
            "missed": missed,
        }
        return Answer(jsonrpc.encode(told), own=True)

    async def _unsubscribe(self, call: Call, back: Back) -> Outcome:
        if not negotiated(call):
            return _no_method(call)
        ident = call.params.get("subscription_id")
        if not isinstance(ident, str):
            return Failure("invalid_params", "subscription_id must be a string")
        found = self.every.of(call, ident)
        if found is None:
            return _unknown()
        self.every.end(found)
        return Answer(jsonrpc.encode({"unsubscribed": True, "subscription_id": ident}), own=True)

    # -- what calls lead to ------------------------------------------------------------------------

    def around(self, call: Call, back: Back, further: Further) -> Coroutine[Any, Any, Outcome]:
        """The kernel's hook: a subscription is heard once its answer is on its way."""
        if call.method != SUBSCRIBE:
            return further(call, back)
        return self._answered(call, back, further)

    async def _answered(self, call: Call, back: Back, further: Further) -> Outcome:
        outcome = await further(call, back)
        if type(outcome) is Answer:
            made = self.every.get(jsonrpc.decode(outcome.raw).get("subscription_id"))
            if made is not None:
                # The answer is written before the loop has its next turn.
                asyncio.get_running_loop().call_soon(self.every.catch_up, made)
        return outcome

    def sent(self, dispatch: Dispatch) -> Dispatch:
        """The kernel's hook: a call has passed all gates."""

        def dispatched(call: Call, back: Back) -> Coroutine[Any, Any, Outcome]:
            if call.tool is not None and self.tells_starts:
                self._started(call)
            return dispatch(call, back)

        return dispatched

    def stands(self, call: Call) -> Standing | None:
        """Whoever wants to hear of calls that start is told of each. (What a server asks by callbacks makes an ordinary call of the
        one that it asks about, before it is looked at here.)"""
        if call.method == SUBSCRIBE:
            return None
        heard = attribute(self, "tells_starts")
        return Standing((heard,), sent=self._started if self.tells_starts else None)

    def _started(self, call: Call) -> None:
        caller, target = call.caller, call.tool.target if call.tool is not None else None
        if target is None:
            return
        data = {
            "trace_id": call.trace_id,
            "actor": {"type": caller.kind, "id": caller.id},
            "target": {"server_id": target.server, "tool_name": target.name},
        }
        severity, now = CHANNELS[STARTED].severity, self._timestamp()
        whose = target.server, call.session, caller.who
        self._publish(Happened(STARTED, severity, now, data, *whose))

    # -- the gateway's own events ------------------------------------------------------------------

    def _follow(self) -> None:
        """Somebody hears of something else from now on. Hear of what is recorded for as long as anybody wants to."""
        self.tells_starts, wanted = self.every.hears(STARTED), self.every.hearing
        if wanted and self._unheard is None:
            self._unheard = self._audit.heard.listen(self._recorded)
        elif not wanted and self._unheard is not None:
            self._unheard()
            self._unheard = None

    def _recorded(self, line: bytes) -> None:
        try:
            happened = event_of(msgspec.json.decode(line))
            if happened is not None:
                self._publish(happened, len(line))
        except Exception:  # whose call it is does not hang on it
            log.exception("an event could not be told to subscribers")

    def _publish(self, happened: Happened, size: int = _STARTED_SIZE) -> None:
        """Tell whom it concerns; where too much of whose it is waits, it is counted, and said with its next one."""
        channel, whose = happened.channel, _whose(happened)
        if not self.every.room(whose):
            self._left_out((whose, channel))
            return
        dropped = self._dropped.pop((whose, channel), 0)
        more = {DROPPED: dropped} if dropped else {}
        of_server = CHANNELS[channel].hears == "server"  # else nobody has to be looked up

        def may(caller: Caller, profile: str, session: str | None) -> bool:
            catalogue = self._servers.catalogue
            known = of_server and bool(happened.server) and catalogue.knows(profile)
            sees = known and happened.server in catalogue.servers(profile, caller)
            return happened.is_for(caller, session, sees=sees)

        each: dict[bool, Said] = {}

        def say(caller: Caller) -> Said:
            whole = caller.kind == "operator"
            if whole not in each:
                each[whole] = Said(
                    {
                        "channel": channel,
                        "timestamp": happened.timestamp,
                        "severity": happened.severity,
                        "data": happened.data_for(caller),
                        **more,
                    }
                )
            return each[whole]

        some = self._concerned(happened)
        self.every.tell_all(some, severity_of(happened.severity), may, say, whose, size)

    def _left_out(self, key: Hashable) -> None:
        self._dropped[key] = self._dropped.pop(key, 0) + 1
        if len(self._dropped) > _DROPPED_MOST:
            del self._dropped[next(iter(self._dropped))]

    def _concerned(self, happened: Happened) -> Collection[Subscription]:
        """Who may hear of it at most (`Happened.is_for`)."""
        about = happened.about
        if CHANNELS[happened.channel].hears == "server" or about == ("", "*"):
            return self.every.about(happened.channel)
        kind, name = about or ("", "")
        named = [(one, name) for one in ((kind,) if kind else ("agent", "owner"))] if about else []
        return self.every.of_some(happened.channel, (happened.actor, *named), happened.session)

    async def close(self) -> None:
        """Nobody hears anything more."""
        self.every.close()
        await self.server_events.close()


def _whose(happened: Happened) -> Hashable:
    """For whose sake it waits: what one does keeps nobody from hearing of what others do. Each session without a name is one, and
    nobody is told how much was said about others."""
    if CHANNELS[happened.channel].hears == "server":
        return "server", happened.server
    kind = happened.actor[0]
    nameless = happened.session if kind == "anonymous" else None
    return happened.actor, nameless, happened.about


def negotiated(call: Call) -> bool:
    """Whether the caller's client negotiated this part of MGP."""
    return call.client.mgp is not None and _EXTENSION in call.client.mgp.extensions


def _no_method(call: Call) -> Failure:
    return Failure("method_not_found", f"Method not found: {call.method}")


def _unknown() -> Failure:
    said = "no subscription of this id is open here: make one with mgp/events/subscribe"
    return Failure("not_found", said, {"rule": "subscription_unknown"})


def _flaw_of(asked: _Subscribe) -> str:
    names = asked.channels
    if not names or len(names) > CHANNELS_MOST:
        return f"channels must be an array of 1 to {CHANNELS_MOST} names"
    if any(not one or len(one) > LONGEST_NAME for one in names):
        return f"the name of a channel has 1 to {LONGEST_NAME} characters"
    if asked.since is not None:
        return "since belongs to a subscription_id"
    severity = asked.filter.min_severity
    if severity is not None and severity_of(severity) is None:
        return f"filter.min_severity must be one of {', '.join(LOG_LEVELS)}"
    return ""


_DEAF = (
    "events cannot be sent to this client: it has no session that hears notifications. Ask for them with "
    'subscriptions/listen and {"dev.cloto/events": {"channels": […]}} in its notifications'
)
