"""`Kernel`: takes calls through gates, dispatch, filters and audit; dry runs; swaps policy and ends calls that the new one refuses.

`handle` is `walk` inside the hooks: callers elsewhere, tasks, telemetry. Gates may only refuse or add facts; filters may only
clean. The record is owned by `walk`, outside everything that can fail, so that no refusal, crash or cancellation escapes it.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from functools import partial, reduce
from time import monotonic
from typing import Any, NamedTuple, Protocol

from gatewright.call import (
    Back,
    Call,
    Event,
    Failure,
    Filter,
    Gate,
    Outcome,
    Refusal,
)
from gatewright.call_policy import OUTCOMES, UNCLEANED, Dispatch, Judge, Policy, refused
from gatewright.gate_waits import GateWaits, Present
from gatewright.kernel_ends import after, broken, settled, unrecorded, unsettled
from gatewright.mcp.protocol.ended_calls import interrupted, marked, revoked
from gatewright.prepared import PreparedCalls
from gatewright.rehearsal import Verdict, rehearsed
from gatewright.return_path import FilteredBack
from gatewright.standing import Standing
from gatewright.transport.slices import begun

__all__ = ["Answered", "Around", "Audit", "Ended", "Further", "Hooks", "Kernel", "Trail"]

log = logging.getLogger("gatewright.kernel")


class Trail(Protocol):
    """The record of one call."""

    @property
    def spent_s(self) -> float | None:
        """How many seconds the call took; None where its end could not be put into a record."""

    def intent(self, call: Call) -> bool:
        """Write down that the call is about to be forwarded. Raises `Unrecorded`.

        True where `on_disk` has to be awaited before the call may be forwarded.
        """

    async def on_disk(self) -> None:
        """Return once everything written so far would survive a power cut. Raises `Unrecorded`."""

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        """Write the end down, or hand it over to be written without anybody's help, and return what the caller may see once
        it is `settled`: `outcome`, or a refusal when it could not be recorded. Never awaits, so a cancellation cannot skip it."""

    def settled(self) -> Awaitable[None] | None:
        """What to await before the caller sees anything: the end is recorded then, as durably as the configuration promises. None
        where it is already. Awaiting it raises `Unrecorded`. Asked again where the wait for it was cancelled.
        """


class Audit(Protocol):
    """Where trails come from."""

    def open(self, call: Call) -> Trail:
        """Begin the record of one call. Raises `Unrecorded`."""


Further = Callable[[Call, Back], Coroutine[Any, Any, Outcome]]
"""How a call goes on to its end. Never raises, except for the cancellation of its task."""

Ended = Callable[[Call, Outcome, float | None], object]
"""Hears of a call that began, of what its caller sees, and `Trail.spent_s`. Must not raise."""


Answered = Callable[[Call], Callable[[float], object]]
"""Of a call of a tool: what hears of each call like it that is answered with a result that is no error, and of `Trail.spent_s`."""


class Around(Protocol):
    """Handles a call, by `further` where it goes on."""

    def __call__(
        self, call: Call, back: Back, further: Further
    ) -> Coroutine[Any, Any, Outcome]: ...


class Hooks(NamedTuple):
    """What sees every call besides its policy, whatever the configuration."""

    around: tuple[Around, ...] = ()
    """Outermost first."""
    sent: tuple[Callable[[Dispatch], Dispatch], ...] = ()
    """Wrap the dispatch of each policy, the first outermost."""
    ended: tuple[Ended, ...] = ()
    answered: tuple[tuple[Ended, Answered], ...] = ()
    """What stands for some of `ended` where calls that are alike are answered as planned."""
    meant: tuple[Callable[[Call], Call], ...] = ()
    """As which call a call goes on, before anything else happens to it; one that is rehearsed, too."""
    stands: tuple[Callable[[Call], Standing | None], ...] = ()
    """For which calls `around`, `sent` and `meant` do nothing (`standing.Stands`); of hooks without any, for none."""

    @staticmethod
    def of(*parts: Hooks) -> Hooks:
        """All of these, in this order."""
        return Hooks(
            tuple(one for part in parts for one in part.around),
            tuple(one for part in parts for one in part.sent),
            tuple(one for part in parts for one in part.ended),
            tuple(one for part in parts for one in part.answered),
            tuple(one for part in parts for one in part.meant),
            tuple(one for part in parts for one in part._standing()),
        )

    def _standing(self) -> tuple[Callable[[Call], Standing | None], ...]:
        acts = self.around or self.sent or self.meant
        return self.stands or ((_acts,) if acts else ())


def _acts(call: Call) -> None:
    """Of hooks that do not say when they do nothing, and of a record that is written for each call anew."""


NO_HOOKS = Hooks()


class _Running(FilteredBack, eq=False, kw_only=True, weakref=True):
    """A call that is with its owner: its way back, the task that waits for it, and why it is to end."""

    # One object with its way back, because both are made for every call.
    policy: Policy
    task: asyncio.Task[Any] | None
    since: float
    sent: bool = False
    """False until its intent is recorded: nothing of it has run."""
    refusal: Refusal | None = None

    def end(self, refusal: Refusal) -> None:
        """End it with this. From now on nothing travels back of it, whatever its owner still says."""
        if self.sent:
            refusal = interrupted(refusal)
            # The object that `trail.close` gets, so the record has it.
            self.call.facts["ended_while_running"] = True
        self.refusal = refusal
        self.close()
        if self.task is not None:
            self.task.cancel()

    def over(self, outcome: Outcome, held: Sequence[Event] | None) -> Outcome:
        """How it ended of which something travelled back, or that was ended from here, and then alone. `held` is what filters held
        of it; None where one broke. Raises `CancelledError` where its caller wanted the end as well."""
        if self.refusal is None and held is None:
            return UNCLEANED
        if self.refusal is not None:  # also where its owner answered instead
            if self.task is not None and self.task.uncancel() > 0:
                raise asyncio.CancelledError
            outcome = self.refusal
        (self.drop if revoked(outcome) else self.release)(held or ())
        return outcome


class Kernel:
    """Gates, dispatch, filters and record, in this order, for every call."""

    def __init__(
        self,
        gates: Sequence[Gate],
        dispatch: Dispatch,
        filters: Sequence[Filter],
        audit: Audit,
        hooks: Hooks = NO_HOOKS,
    ) -> None:
        self._audit = audit
        self._forwarded: set[_Running] = set()
        hooks = Hooks.of(hooks)  # those that do not say when they do nothing act on every call
        recorder = getattr(audit, "recorder", _acts)
        self.prepared = PreparedCalls(self, self._forwarded, recorder, hooks)
        self.shadow = None if PreparedCalls.watch is None else PreparedCalls.watch(self.prepared)
        """What compares prepared calls with walked ones, where tests want that."""
        if self.shadow is not None:
            hooks = Hooks.of(hooks, Hooks(ended=(self.shadow.ended,)))
        self._hooks = hooks
        self._policy = self._made(gates, dispatch, filters)
        self._waits = GateWaits()
        # Asking for the loop that runs costs a call of the system each time. None, outside of one, asks.
        self._loop = _running_loop()
        self.in_flight = 0
        """How many calls have a record that is open, or closed and not yet as durable as their answer needs."""
        self.handle: Further = self.walk
        """Take one call to its end, inside the hooks."""
        for one in reversed(hooks.around):
            self.handle = partial(one, further=self.handle)
        for meant in reversed(hooks.meant):
            self.handle = partial(_as_meant, meant, further=self.handle)

    def _made(self, gates: Sequence[Gate], dispatch: Dispatch, filters: Sequence[Filter]) -> Policy:
        way = getattr(dispatch, "way", None)
        for sent in reversed(self._hooks.sent):
            dispatch = sent(dispatch)
        policy = Policy(gates, dispatch, filters)
        policy.way = way
        seen: Policy = policy if self.shadow is None else self.shadow.around(policy)
        return seen

    @property
    def policy(self) -> Policy:
        """What judges the calls that begin now."""
        return self._policy

    def swap(
        self, gates: Sequence[Gate], dispatch: Dispatch, filters: Sequence[Filter]
    ) -> weakref.ref[Policy]:
        """From now on calls begin with these; those that run end with what they began with. The result
        is the policy before, which is there for as long as a call of it runs."""
        before = weakref.ref(self._policy)
        self._policy = self._made(gates, dispatch, filters)
        self.prepared.clear()
        return before

    async def walk(self, call: Call, back: Back) -> Outcome:
        """Walk one call to its end, outside the hooks `around`. Never raises, except for the cancellation of its task, and then once
        that is recorded: whoever takes it for the end of the call answers. Where it cannot be, its cause is `Unrecorded`."""
        if self.prepared.going_on and (going := self.prepared.taken(call)) is not None:
            return await self._walked(going[0], call, back, going[1])
        try:
            trail = self._audit.open(call)  # no record, no call
        except Exception as problem:  # noqa: BLE001 - whatever it is, there is no record
            return unrecorded(call, problem)
        self.in_flight += 1
        return await self._walked(self._policy, call, back, trail)

    async def _walked(self, policy: Policy, call: Call, back: Back, trail: Trail) -> Outcome:
        outcome: Outcome = _CANCELLED  # if never resumed
        asked_once = True
        try:
            try:
                for gate in policy.gates:
                    verdict = gate(call, back)
                    if verdict is not call:  # most gates have nothing to add
                        if type(verdict) is not Call:
                            verdict = await self._waits.verdict(gate, verdict, call)
                            if isinstance(verdict, Refusal):
                                outcome = verdict
                                break
                            asked_once = False
                        call = verdict  # what is known even if we end here
                else:
                    if asked_once:  # else its policy, or what gates rest on, may be another by now
                        self.prepared.offer(policy, call)
                    outcome = await (self._forward if asked_once else self._asked_again)(
                        policy, call, back, trail
                    )
            except Exception as problem:  # noqa: BLE001 - whatever it is, its caller hears of it and the log has it
                outcome = broken(call, problem)
            finally:
                outcome = self._end(trail, call, outcome)
            return (
                outcome
                if (waits := trail.settled()) is None
                else await settled(waits, call, outcome)
            )
        except asyncio.CancelledError as stopped:
            stopped.__cause__ = await unsettled(trail)
            raise
        finally:
            self.in_flight -= 1

    def _end(self, trail: Trail, call: Call, outcome: Outcome) -> Outcome:
        try:
            closed = trail.close(call, outcome)
        except Exception as problem:  # noqa: BLE001 - nobody may see what was not recorded
            closed = unrecorded(call, problem)
        if closed is not outcome:
            closed = after(call, outcome, closed)
        spent_s = trail.spent_s
        for ended in self._hooks.ended:
            ended(call, closed, spent_s)
        return closed

    async def _asked_again(self, policy: Policy, call: Call, back: Back, trail: Trail) -> Outcome:
        """What was revoked while it waited in one gate, the gates before that know."""
        again = await self._waits.again(policy, call)
        if isinstance(again, Refusal):
            return again
        return await self._forward(policy, again, back, trail)

    async def _forward(self, policy: Policy, call: Call, back: Back, trail: Trail) -> Outcome:
        task, since = asyncio.current_task(self._loop), monotonic()
        running = _Running(call, back, policy.filters, policy=policy, task=task, since=since)
        outcome: Outcome = _CANCELLED
        # Before the wait for the disk: what is revoked meanwhile ends it, too.
        self._forwarded.add(running)
        try:
            if trail.intent(call):
                await trail.on_disk()
            running.sent = True
            outcome = await policy.dispatch(call, running)
            if running.late is not None or running.flaw is not None:
                outcome = await running.finished() or outcome
        except asyncio.CancelledError:
            if running.refusal is None:
                raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, its caller hears of it and the log has it
            outcome = broken(call, problem)
        finally:
            self._forwarded.discard(running)
            running.close()
            # However it ended, and once: a filter keeps what it holds of a call that has sent something until it is asked (`Holding`).
            held = policy.held(call) if running.used else ()
        if running.refusal is not None or held is None or held or running.lost:
            outcome = running.over(outcome, held)
        cleaned = policy.cleaned(call, outcome)
        if not isinstance(cleaned, OUTCOMES):
            cleaned = await cleaned
        return marked(call, cleaned) if running.sent else cleaned

    def end_refused(self, judges: Sequence[Judge] | None = None) -> int:
        """Ask again about every call that is with its owner, and end those that are refused now: their
        callers get the refusal, their owners are told that the call is cancelled. How many those are, of those that are asked
        about at once: with many calls, or such as take long to judge, it goes on in later turns of the loop.
        The call that asks for this is left alone. Without `judges` those gates are asked that can
        `judge`, of the policy that each call began with. With them, calls that wait in a gate are ended, too: without, they
        are asked about once they have waited (`walk`)."""
        ended: list[_Running] = []
        begun(self._ask_again(tuple(self._forwarded), judges, ended))
        return len(ended) + (0 if judges is None else self._waits.end(judges))

    def _ask_again(
        self, calls: Sequence[_Running], judges: Sequence[Judge] | None, ended: list[_Running]
    ) -> Generator[None, None, None]:
        asking = asyncio.current_task()  # in later turns there is none
        for one in calls:
            # A prepared call that became an ordinary one meanwhile is not to be missed.
            became = getattr(one, "became", None)
            running = one if became is None else became() or one
            task = running.task
            # A second cancellation would count as one by the caller (`uncancel`). And the call that revokes something, be it
            # its own right, is to say so to its caller.
            if running.refusal is not None or task is None or task is asking:
                continue
            if running not in self._forwarded:  # over since, and its task may be at something else
                continue
            asked = running.policy.judges if judges is None else judges
            refusal = refused(asked, running.call)
            if refusal is not None:
                running.end(refusal)
                ended.append(running)
            yield

    def running(self) -> list[Call]:
        """The calls that are with their owner."""
        return [one.call for one in self._forwarded]

    def present(self) -> list[Present]:
        """The calls that are with their owner, and those that wait in a gate, in any order."""
        return [Present(one.call, one.since) for one in self._forwarded] + self._waits.present()

    def tokens(self) -> set[str]:
        """The access tokens with which calls came that are with their owner, or wait in a gate."""
        return {
            one.call.credential
            for one in self.present()
            if one.call.caller.token and one.call.credential is not None
        }

    async def rehearse(self, call: Call) -> list[Verdict]:
        """What each gate would say of this call, without making it (`rehearsal`)."""
        meant = reduce(lambda at, meant: meant(at), self._hooks.meant, call)
        return await rehearsed(self._policy.gates, meant)


_CANCELLED = Failure("cancelled", "the call was cancelled")


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _as_meant(
    meant: Callable[[Call], Call], call: Call, back: Back, further: Further
) -> Coroutine[Any, Any, Outcome]:
    return further(meant(call), back)
