"""`Meter`: counts calls by rule and subject (all, caller, key, server, tool): takes or refuses, gives back, shows usage; survives a reload.

A rule counts one kind of subject, at one endpoint or at all of them together. A call is taken by all its subjects or by none:
what is refused costs nobody anything. What was used belongs to the subjects and not to the rules, so that
other rules go on with it.

A meter counts by pairs: of a caller and its key (`total`, `caller`, `key`), or of a server and its tool (`server`, `tool`).
Which usages a pair means is found once.

Memory: a subject takes about 300 bytes, and up to 40 for each call of the last minute. With each new subject a few of the others are
looked at, in turn: who owes nothing is forgotten, and where a rule has `KEPT` of them, of some the one that called least, and so would
gain least by it. So nobody's call waits while all of them are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

import msgspec

from gatewright.call import Refusal
from gatewright.limits.usage import DAY, HOUR, MINUTE, SECOND, Full, Standing, Usage, Windows

__all__ = ["KEPT", "Meter", "Rule", "Scope"]

KEPT = 200_000
_LOOKED_AT, _COMPARED = 8, 32
"""So many others are looked at for each new subject; and where there is no room, to choose one of them."""
_WORDS = {SECOND: "second", MINUTE: "minute", HOUR: "hour", DAY: "day"}
_PAIRS = 1024
"""So many pairs are remembered in any case; else as many as their subjects are worth."""

Scope = Literal["total", "caller", "key", "server", "tool"]
_WHOSE: Mapping[Scope, str] = {
    "total": " by all callers together",
    "caller": "",
    "key": " with this key",
    "server": " at this server",
    "tool": " of this tool",
}
_NO_WINDOWS = Windows()


class Rule(msgspec.Struct, frozen=True):
    """How often. `windows` hold for each subject of the scope, `instead` for single ones in their place; a tool is (server,
    name) there, and (server, "*") every other tool of that server. A caller is counted as `Caller.who`, and has its id
    there."""

    scope: Scope
    windows: Windows = _NO_WINDOWS
    instead: Mapping[Hashable, Windows] = {}
    door: str = ""
    """At which endpoint it counts; empty: at all of them together."""

    def of(self, subject: Hashable) -> Windows:
        """What holds for one subject."""
        pair = subject if isinstance(subject, tuple) else None
        if self.scope == "caller" and pair is not None:
            # The configuration names callers by id; they are counted by kind and id.
            subject = pair[1]
        found = self.instead.get(subject)
        if found is None and self.scope == "tool" and pair is not None:
            found = self.instead.get((pair[0], "*"))
        return self.windows if found is None else found

    def __bool__(self) -> bool:
        return bool(self.windows) or any(self.instead.values())


class _Known(dict[Hashable, Usage]):
    """Subject → usage, of one scope at one endpoint."""

    def __init__(self) -> None:
        super().__init__()
        self._turn: Iterator[Hashable] = iter(())

    def some(self, number: int) -> list[Hashable]:
        """The next of them, in turn; each once."""
        found = [one for one in islice(self._turn, number) if one in self]
        if not found:
            self._turn = iter(list(self))
            found = list(islice(self._turn, number))
        return found


class _Group:
    """Everything that counts the calls of one pair."""

    __slots__ = ("counted", "rules", "usages")

    def __init__(self, found: Sequence[tuple[Rule, Windows, Usage]]) -> None:
        self.usages = tuple(usage for _, _, usage in found)
        self.counted = tuple((usage, usage.times.append) for usage in self.usages)
        self.rules = tuple((usage, rule, windows) for rule, windows, usage in found)

    @property
    def gone(self) -> bool:
        """Whether any of them was forgotten: what is counted with it counts for nobody."""
        return any(one.by is None for one in self.usages)


_Groups = dict[Hashable, dict[str | None, _Group]]


class Meter:
    """Counts calls by rules."""

    def __init__(
        self, rules: Sequence[Rule], clock: Callable[[], int], before: Meter | None = None
    ) -> None:
        """`clock` is monotonic nanoseconds; `before` is the meter whose place this one takes."""
        self._clock = clock
        # Shared, not copied: calls that began under the former rules count on in the same usages.
        self._known: dict[tuple[Scope, str], _Known] = {} if before is None else before._known
        self._rules = tuple(rule for rule in rules if rule)
        self._spans = {
            id(rule): max(one.span for one in (rule.windows, *rule.instead.values()))
            for rule in self._rules
        }
        self._everywhere: _Groups | None = None if all(one.door for one in self._rules) else {}
        self._doors: dict[str, _Groups] = {rule.door: {} for rule in self._rules if rule.door}
        self._made = 0
        self._former: list[_Groups] = []
        """Groups that nobody looks up any more, which are given up a few at a time."""
        self.idle = not self._rules
        """Whether there is nothing to count."""

    def counts(self, door: str) -> bool:
        """Whether any call at this endpoint may have to be counted."""
        return self._doors.get(door, self._everywhere) is not None

    def take(self, door: str, one: Hashable, other: str | None) -> Refusal | None:
        """Count a call, or say why it may not come, and count nothing."""
        groups = self._doors.get(door, self._everywhere)
        if groups is None:
            return None
        try:
            group = groups[one][other]
        except KeyError:
            group = self._group(groups, door, one, other)
        now = self._clock()
        for usage in group.usages:
            # One look serves all usages of the group, and nothing is counted before it: who is refused pays nothing.
            if not usage.spare:
                if group.gone:
                    group = self._group(groups, door, one, other)
                refusal = _look(group, now)
                if refusal is not None:
                    return refusal
                break
        for usage, count in group.counted:
            usage.spare -= 1
            count(now)
        return None

    def would(self, door: str, one: Hashable, other: str | None) -> Refusal | None:
        """What `take` would say, and nothing is counted."""
        groups = self._doors.get(door, self._everywhere)
        if groups is None:
            return None
        return _look(self._group(groups, door, one, other), self._clock())

    def standing(self, most: int) -> tuple[list[tuple[Rule, Hashable, Standing]], bool, int]:
        """How far subjects have used up what they have; of each rule at most `most` that were counted, whether these are all, and the
        moment that their times count from."""
        now, found, whole = self._clock(), list[tuple[Rule, Hashable, Standing]](), True
        for rule in self._rules:
            known = self._known.get((rule.scope, rule.door), _Known())
            whole = whole and len(known) <= most
            for subject, usage in islice(known.items(), most):
                windows = rule.of(subject)
                found += [(rule, subject, one) for one in usage.standing(windows, now)]
        return found, whole, now

    @property
    def rules(self) -> Sequence[Rule]:
        """By what it counts."""
        return self._rules

    def give_back(self, door: str, one: Hashable, other: str | None) -> None:
        """The call that was taken last for this pair does not happen."""
        groups = self._doors.get(door, self._everywhere)
        if groups is not None:
            for usage in self._group(groups, door, one, other).usages:
                usage.take_back()

    def _group(self, groups: _Groups, door: str, one: Hashable, other: str | None) -> _Group:
        group = groups.get(one, {}).get(other)
        if group is None or group.gone:
            found = [
                (rule, windows, self._usage(rule, subject))
                for rule in self._rules
                if rule.door in ("", door)
                and (subject := _subject(rule.scope, one, other)) is not None
                and (windows := rule.of(subject))
            ]
            if self._made >= min(KEPT, max(_PAIRS, 8 * sum(map(len, self._known.values())))):
                self._forget()
                groups = self._now(door)
            self._let_go()
            self._made += 1
            group = groups.setdefault(one, {})[other] = _Group(found)
        return group

    def _usage(self, rule: Rule, subject: Hashable) -> Usage:
        known = self._known.setdefault((rule.scope, rule.door), _Known())
        usage = known.get(subject)
        if usage is None:
            self._make_room(known, rule)
            usage = known[subject] = Usage()
        # What was spare under the windows of another meter need not be spare under these.
        if usage.by is not self:
            usage.by, usage.spare = self, 0
        return usage

    def _make_room(self, known: _Known, rule: Rule) -> None:
        """Forget who owes nothing of a few, and where there are too many and all owe something, the one of some that called least."""
        full = len(known) >= KEPT
        some = known.some(_COMPARED if full else _LOOKED_AT)
        owing = self._clock() - self._spans[id(rule)]
        gone = [one for one in some if known[one].last <= owing]
        if full and not gone:
            # Who called least gains least by being forgotten: a flood of new subjects cannot wash out one that is
            # near its limit.
            gone = [min(some, key=lambda one: (known[one].held, known[one].last))]
        for one in gone:
            usage = known.pop(one)
            usage.by, usage.spare = (
                None,
                0,
            )  # groups hold it still, and look before they count on with it

    def _now(self, door: str) -> _Groups:
        found = self._doors.get(door, self._everywhere)
        return {} if found is None else found

    def _forget(self) -> None:
        """Begin anew with the groups: they are found again."""
        self._made = 0
        if self._everywhere is not None:
            self._former.append(self._everywhere)
            self._everywhere = {}
        for door, groups in self._doors.items():
            self._former.append(groups)
            self._doors[door] = {}

    def _let_go(self) -> None:
        for _ in range(_LOOKED_AT):
            if not self._former:
                return
            if self._former[-1]:
                self._former[-1].popitem()
            else:
                self._former.pop()


def _subject(scope: Scope, one: Hashable, other: str | None) -> Hashable | None:
    """Whose count a call of this pair is; None where it is nobody's."""
    if scope == "total":
        return ""
    if scope == "key":
        return other
    if scope == "tool":
        return None if other is None else (one, other)
    return one


def _look(group: _Group, now: int) -> Refusal | None:
    found: tuple[Rule, Full] | None = None
    for usage, rule, windows in group.rules:
        if usage.spare:
            continue
        full = usage.look(windows, now)
        if full is not None and (found is None or full.wait > found[1].wait):
            found = rule, full
    return None if found is None else _refusal(*found)


def _refusal(rule: Rule, full: Full) -> Refusal:
    # Rounded up: after a wait that was rounded down the next call would be refused once more.
    window, wait_ms = full.window, -(-full.wait // 1_000_000)
    quota = window.span >= DAY
    what = "Quota used up" if quota else "Rate limited"
    return Refusal(
        "quota_exceeded" if quota else "rate_limited",
        f"{what}: {window.limit} calls per {_WORDS[window.span]}{_WHOSE[rule.scope]} exceeded; "
        f"the next one may come in {wait_ms} ms",
        {
            "limit": window.limit,
            "window_secs": window.span // SECOND,
            "current": full.used + 1,
            "scope": rule.scope,
        },
        wait_ms,
    )
