"""`AccessChanges`: previews an access change (diff, replayed calls); issues its grant, removes contrary ones from `mgp.toml`; undoes it.

A word that an operator gives is issued: it stands in the state, holds at once, and beats nothing that the file denies. So what
contradicts it in the file goes out of the file with the same change, and what is taken back is taken from wherever it stands. Whoever saves
names the version of the table that they looked at: with another one they see the conflict in place of a result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec

from gatewright.access.authority import Authority
from gatewright.access.grants import EVERYBODY, Grant, Key
from gatewright.access.simulate import Finding, Simulation, judge, tally
from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.config import SettingsError
from gatewright.config.edit import editing
from gatewright.config.model import Grant as Written
from gatewright.console.access_shapes import AccessChange
from gatewright.console.definition_diff import line_difference
from gatewright.console.grants_file import GrantsFile, files_of, key_of, members, removed
from gatewright.console.operations import ApiError
from gatewright.feature import Ground
from gatewright.timestamps import TYPED, as_recorded, as_shown, moment_of

__all__ = ["AccessChanges", "Effect", "Planned", "Replayed"]

_DAYS = 7
_DAY_S = 86_400.0
_RECORDS = 200_000
_SHOWN = 50
_FILE_LINES = 1_000_000
_SIGNS = {"same": " ", "added": "+", "removed": "-", "gap": "@@ "}
_A_STEP, _REST_S = 500, 0.002
"""Records that are read at a time, and the rest behind that: calls come first."""
_PLANS = 5
"""Plans that may wait for one another."""


class Effect(msgspec.Struct, frozen=True):
    """Calls of one tool by one agent that would end otherwise."""

    agent: str
    server: str
    tool: str
    now: str
    calls: int


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded calls of the last days, judged with the change and without it."""

    days: int
    judged: int
    refused: int
    """That are let in now, and would not be."""
    allowed: int
    """That are not let in now, and would be."""
    effects: Sequence[Effect]
    whole: bool
    """Whether these are all records of those days."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What a change would do."""

    version: str
    """Of the table it was planned on."""
    lines: Sequence[str]
    """A diff: lines that begin with `+`, `-`, `@` or a space."""
    replayed: Replayed


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    issue: Grant | None
    take_back: Grant | None
    unwrite: Sequence[Written]

    @property
    def empty(self) -> bool:
        return self.issue is None and self.take_back is None and not self.unwrite


class _Undo(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    key: Key
    issued: Grant | None
    """What was issued before for the same key."""
    written: Sequence[Written]
    words: str


class AccessChanges:
    """Of one gateway."""

    def __init__(self, ground: Ground, authority: Authority, clock: Callable[[], float]) -> None:
        self._ground = ground
        self._authority = authority
        self._clock = clock
        self._undo: dict[str, _Undo] = {}
        self._known: tuple[object, int, str] | None = None
        """The version, and what it is of: every page asks for it, and there may be thousands of grants."""
        self._file = GrantsFile(ground.audit)
        self._one = asyncio.Lock()
        self._planning = asyncio.Lock()
        """Each reads the records of a week."""
        self._plans = 0
        self._going: set[asyncio.Task[str]] = set()

    @property
    def version(self) -> str:
        """Changes with every grant that is written or issued, and with none else."""
        grants, changes = self._ground.now.settings.grants, self._authority.layer.changes
        known = self._known
        if known is None or known[0] is not grants or known[1] != changes:
            self._known = known = grants, changes, self._version()
        return known[2]

    def _version(self, *, without: Sequence[Written] = (), more: Sequence[Written] = ()) -> str:
        """That of the table whose file says less, or more."""
        gone = set(map(members, without))
        said = [members(one) for one in (*self._ground.now.settings.grants, *more)]
        written = sorted(repr(one) for one in said if one not in gone)
        issued = sorted(msgspec.json.encode(one) for one in self._authority.layer)
        return sha256(repr((written, issued)).encode()).hexdigest()[:32]

    def undoable(self, person: str) -> str:
        """What this person could undo, in words; empty where there is nothing."""
        found = self._undo.get(person)
        return found.words if found is not None and found.version == self.version else ""

    def undo_of(self, person: str) -> str:
        """What tells that change from others."""
        return self._undo[person].version if self.undoable(person) else ""

    async def plan(self, change: AccessChange) -> Planned:
        """What it would do. Raises `ApiError`, `StoreError`."""
        if self._plans >= _PLANS:
            raise ApiError(503, "crowded", "too many changes are planned", "try again in a minute")
        self._plans += 1
        try:
            async with self._planning:
                version, plan = self.version, self._plan(change, "you")
                lines = await asyncio.to_thread(self._diff, plan)
                replay = partial(self._replay, change, plan, [*self._authority.layer])
                return Planned(
                    version=version, lines=lines, replayed=await asyncio.to_thread(replay)
                )
        finally:
            self._plans -= 1

    async def save(self, change: AccessChange, by: str) -> str:
        """Do it, and say in words what holds. Raises `ApiError`, `StoreError`, `Unrecorded`."""
        if not change.why.strip():
            raise ApiError(
                422, "no_reason", "a change needs a justification", "say why, in a sentence"
            )
        return await self._alone(self._save(change, by))

    async def undo(self, by: str, of: str = "") -> str:
        """Take this person's last change back, where nobody has changed anything since, and it is the one (`undo_of`) that is named,
        where one is. Raises `ApiError`, `StoreError`, `Unrecorded`."""
        return await self._alone(self._take_back(by, of))

    async def _alone(self, work: Coroutine[Any, Any, str]) -> str:
        """One change at a time, to its end also where whoever asked has gone: half of one would open what the file denies."""

        async def run() -> str:
            async with self._one:
                return await work

        task = asyncio.create_task(run())
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        return await asyncio.shield(task)

    async def _save(self, change: AccessChange, by: str) -> str:
        self._check_version(change.version)
        plan = self._plan(change, by)
        before = self._authority.layer.get(change.key, self._clock())
        after = self._version(without=plan.unwrite)
        gone: list[Written] = []
        try:
            await self._file.take_out(plan.unwrite, by, change.why, gone)
            self._check_version(change.version, after)
            self._store(plan, by)
        except Exception:
            await self._file.put_back(gone)
            raise
        words = change.words
        # What the file says comes into force when it is read again: the version that will be then is what undoing needs.
        self._undo[by] = _Undo(
            version=self._version(without=plan.unwrite),
            key=change.key,
            issued=before,
            written=plan.unwrite,
            words=words,
        )
        return words

    async def _take_back(self, by: str, of: str) -> str:
        found = self._undo.get(by)
        if found is None:
            raise ApiError(409, "nothing", "there is nothing to undo")
        if of not in (
            "",
            found.version,
        ):  # whoever is signed in twice has another page that shows the one before
            said = f"your last change is another one by now: {found.words}"
            raise ApiError(409, "conflict", said, "look at it again")
        self._check_version(found.version)
        after, why = self._version(more=found.written), f"undone: {found.words}"
        # A failure behind this leaves a word that denies, and none that opens.
        await self._file.put_in(found.written, by, why)
        try:
            self._check_version(found.version, after)
            with _said():
                if found.issued is not None:
                    self._authority.put_back_by(by, found.issued)
                elif self._authority.layer.get(found.key, self._clock()) is not None:
                    self._authority.take_back_by(by, found.key)
        except Exception:
            await self._file.take_back(found.written)
            raise
        del self._undo[by]
        return why

    def _check_version(self, *versions: str) -> None:
        if self.version not in versions:
            raise ApiError(
                409,
                "conflict",
                "somebody else has changed who may use what since you looked",
                "look at it again: this page has it as it is now",
            )

    # -- what to do

    def _plan(self, change: AccessChange, by: str) -> _Plan:
        key = change.key
        issued = self._authority.layer.get(key, self._clock())
        written = [one for one in self._ground.now.settings.grants if key_of(one) == key]
        if change.do == "revoke":
            plan = _Plan(issue=None, take_back=issued, unwrite=written)
        else:
            against = [one for one in written if one.permission == "deny" and change.do == "allow"]
            plan = _Plan(issue=self._grant(change, by), take_back=issued, unwrite=against)
        if plan.empty:
            raise ApiError(
                409,
                "nothing",
                "nothing is said about exactly this: what holds is inherited",
                "allow or deny it here, or change it where it comes from",
            )
        return plan

    def _grant(self, change: AccessChange, by: str) -> Grant:
        now, agent, expires = self._clock(), change.agent, None
        if change.expires:
            try:
                expires = moment_of(change.expires, now, ahead=True)
            except ValueError as problem:
                raise ApiError(422, "invalid", str(problem), TYPED) from None
            if expires <= now:
                raise ApiError(422, "invalid", f"{change.expires} is over already", TYPED)
        _, server, tool = change.key
        permission: Any = change.do
        return Grant(agent, server, tool, permission, by, now, expires, change.why.strip())

    def _store(self, plan: _Plan, by: str) -> None:
        with _said():
            if plan.issue is not None:
                self._authority.issue_by(by, plan.issue)
            elif plan.take_back is not None:
                self._authority.take_back_by(by, plan.take_back.key)

    # -- what it would do

    def _diff(self, plan: _Plan) -> list[str]:
        lines: list[str] = []
        for path in files_of(plan.unwrite):
            try:
                with editing(path, write=False) as draft:
                    before = draft.text
                    removed(plan.unwrite, path, draft)
                    after = draft.text
            except SettingsError as problem:
                found = problem.problems[0]
                raise ApiError(
                    409, "configuration", f"{found.origin}: {found.what}", found.instead
                ) from None
            found_lines = line_difference(before.split("\n"), after.split("\n"), _FILE_LINES)
            lines += [_SIGNS[one.kind] + one.text for one in found_lines]
        if plan.take_back is not None:
            lines.append(f"- {_spelled(plan.take_back)}")
        if plan.issue is not None:
            lines.append(f"+ {_spelled(plan.issue)}")
        return lines

    def _replay(self, change: AccessChange, plan: _Plan, issued: Sequence[Grant]) -> Replayed:
        settings = self._ground.now.settings
        asked = Query(
            agent=None if change.agent == EVERYBODY else change.agent,
            server=change.server,
            tool=change.tool or None,
            since=as_recorded(self._clock() - _DAYS * _DAY_S),
            limit=_RECORDS,
        )
        records = _Counting(AuditReader(settings.storage.path).query(asked))
        calls = tally(records)
        gone = set(map(members, plan.unwrite))
        kept = tuple(one for one in settings.grants if members(one) not in gone)
        others = [one for one in issued if one.key != change.key]
        after = [*others, plan.issue] if plan.issue is not None else others
        old = judge(settings, issued, calls)
        new = judge(msgspec.structs.replace(settings, grants=kept), after, calls)
        return _compared(old, new, records.count < _RECORDS)


@contextmanager
def _said() -> Iterator[None]:
    """What cannot be issued or taken back is an `ApiError`."""
    try:
        yield
    except ValueError as problem:
        raise ApiError(422, "invalid", str(problem)) from None
    except KeyError:
        raise ApiError(409, "conflict", "it was taken back meanwhile", "look again") from None


class _Counting:
    """Records one after the other, none of which is kept; with a rest now and then."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._records = records
        self.count = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for one in self._records:
            self.count += 1
            if self.count % _A_STEP == 0:
                time.sleep(_REST_S)
            yield one


def _compared(old: Simulation, new: Simulation, whole: bool) -> Replayed:
    before = {_what(one): one.now for one in old.findings}
    other = [one for one in new.findings if before[_what(one)] != one.now]
    return Replayed(
        days=_DAYS,
        judged=new.judged,
        refused=sum(one.calls for one in other if one.now == "refused"),
        allowed=sum(one.calls for one in other if one.now == "allowed"),
        effects=[
            Effect(one.agent, one.server, one.tool, one.now, one.calls)
            for one in sorted(other, key=lambda one: -one.calls)[:_SHOWN]
        ],
        whole=whole,
    )


def _what(one: Finding) -> tuple[str, ...]:
    return one.agent, one.kind, one.server, one.tool, one.was


def _spelled(one: Grant) -> str:
    what = one.server if one.tool is None else f"{one.server}/{one.tool}"
    until = "" if one.expires_at is None else f" until {as_shown(one.expires_at)}"
    why = f": {one.justification}" if one.justification else ""
    verb = "may use" if one.permission == "allow" else "may not use"
    return f"{one.agent} {verb} {what}{until}, issued by {one.granted_by}{why}"
