"""Session tool cache and context budget (MGP §16.7, §16.8): which tools a session used, what fits, LRU eviction; bounded per caller.

A session is what an endpoint calls one; of a caller without one, all that it does in a profile, until it did nothing for an hour. Keys with
other limits have caches of their own in it, as they may see other tools. Of who has neither a session nor a name nothing is kept: that is anybody.
What is kept of it are ids of tools, the least recently used first. What they cost is known when somebody asks (`Context`), because a
tool may be defined otherwise by then: so no call pays for counting.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import cast

import msgspec

from gatewright.call import KERNEL, Answer, Call, Outcome, Target, Tool, UserContext
from gatewright.config import Discovery

__all__ = ["ALL", "SESSIONS", "TOOLS", "Context", "Sessions"]

TOOLS = 100
"""So many tools are kept of a session."""
SESSIONS = 256
"""So many sessions of one caller."""
ALL = 4096
"""So many sessions altogether; whoever has most of them loses its oldest."""
_IDLE_S = 3600.0
_TOGETHER = 256
"""So many uses are kept until they are looked at."""
_SETTLED_S = 1.0
"""Of callers without a session no longer than this: whether one did nothing for an hour depends on each of its uses."""

_Limits = tuple[UserContext, ...]
_Key = tuple[str, str | None, _Limits]
_Used = OrderedDict[str, None]
_Use = tuple[str, str, str, str | None, _Limits, Target]
"""Kind and id of a caller, profile, session, limits, and the tool as its server calls it."""


class _Session(msgspec.Struct):
    used: _Used
    touched: float


class Sessions:
    """The caches of all sessions. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._callers: dict[Hashable, OrderedDict[_Key, _Session]] = {}
        self._where: dict[str, set[tuple[Hashable, _Key]]] = {}
        self._count = 0
        self._new: dict[_Use, float] = {}
        """What was used and nobody has looked at yet, the latest last, and when: who calls the same tools over and over costs little."""
        self._since = clock()

    def ended(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        """A call ended: `kernel.Ended`. What counts as used are tools of servers that answered."""
        tool, session = call.tool, call.session
        if tool is None or type(outcome) is not Answer or call.kind != "tool" or _is_anybody(call):
            return
        caller, new = call.caller, self._new
        use = caller.kind, caller.id, call.profile, session, caller.user, tool.target
        now = self._clock()
        if len(new) >= _TOGETHER or (session is None and now - self._since > _SETTLED_S):
            self._settle()
            new, self._since = self._new, now
        new.pop(use, None)
        new[use] = now

    def answered(self, call: Call) -> Callable[[float], object]:
        """What notes each call like this one that is answered (`ended`), of a session."""
        caller, tool = call.caller, cast("Tool", call.tool)
        use = caller.kind, caller.id, call.profile, call.session, caller.user, tool.target
        if _is_anybody(call):
            return lambda _: None

        def note(spent_s: float) -> None:
            new, now = self._new, self._clock()
            if len(new) >= _TOGETHER:
                self._settle()
                new, self._since = self._new, now
            new.pop(use, None)
            new[use] = now

        return note

    def _settle(self) -> None:
        new, self._new = self._new, {}
        for (kind, id, profile, session, limits, target), at in new.items():
            if target.server != KERNEL:
                # As the index calls it (`tool_id`).
                tool = f"{target.server}/{target.name}"
                self._add((kind, id), (profile, session, limits), tool, at)

    def used(self, call: Call, tool: str) -> None:
        """A call of this tool was answered."""
        self._settle()
        if not _is_anybody(call):
            self._add(call.caller.who, _key(call), tool, self._clock())

    def _add(self, who: Hashable, key: _Key, tool: str, now: float) -> None:
        used = self._of(who, key, now)
        used[tool] = None
        used.move_to_end(tool)
        if len(used) > TOOLS:
            used.popitem(last=False)

    def of(self, call: Call) -> _Used:
        """What the session of a call used, to be changed by whoever asks; empty for a new one."""
        self._settle()
        if _is_anybody(call):
            return OrderedDict()
        return self._of(call.caller.who, _key(call), self._clock())

    def _of(self, who: Hashable, key: _Key, now: float) -> _Used:
        mine = self._callers.setdefault(who, OrderedDict())
        found = mine.get(key)
        if found is None:
            found = mine[key] = _Session(OrderedDict(), now)
            self._count += 1
            if key[1] is not None:
                self._where.setdefault(key[1], set()).add((who, key))
        elif key[1] is None and now - found.touched > _IDLE_S:
            found.used.clear()
        found.touched = now
        mine.move_to_end(key)
        if len(mine) > SESSIONS:
            self._drop(who)
        elif self._count > ALL:
            self._drop(max(self._callers, key=lambda one: len(self._callers[one])))
        return found.used

    def forget(self, session: str) -> None:
        """A session is over."""
        self._settle()
        for who, key in [*self._where.get(session, ())]:
            self._drop(who, key)

    def __len__(self) -> int:
        self._settle()
        return self._count

    def _drop(self, who: Hashable, key: _Key | None = None) -> None:
        """Forget one session of a caller; the one that was touched longest ago, unless it is named."""
        mine = self._callers[who]
        key = next(iter(mine)) if key is None else key
        del mine[key]
        self._count -= 1
        if key[1] is not None:
            where = self._where[key[1]]
            where.discard((who, key))
            if not where:
                del self._where[key[1]]
        if not mine:
            del self._callers[who]


def _key(call: Call) -> _Key:
    return call.profile, call.session, call.caller.user


def _is_anybody(call: Call) -> bool:
    return call.session is None and call.caller.kind == "anonymous"


class Context:
    """What one session has in its context, within its budget. Costs are tokens.

    At any time `total <= budget.max_tokens`, and so is `total` with the answer of a search that was last let through (`answered`),
    unless what is pinned takes more by itself: pinned tools are never let go.
    """

    def __init__(
        self,
        budget: Discovery,
        cost: Callable[[str], int | None],
        pinned: Sequence[str],
        used: _Used,
    ) -> None:
        """`cost` says what a tool takes; None where the caller cannot see it any more, which is let go. `used` is changed."""
        self.budget = budget
        self._used = used
        self._cost: dict[str, int] = {}
        self.pinned = [one for one in dict.fromkeys(pinned) if self._known(one, cost)]
        for one in list(used):
            if one in self.pinned or not self._known(one, cost):
                del used[one]
        self._all_costs = cost
        self._fit(self._cache_room)

    @property
    def cached(self) -> list[str]:
        """The least recently used first."""
        return list(self._used)

    @property
    def total(self) -> int:
        """Tokens of all that is pinned and cached."""
        return self._of_pinned + self._of_cached

    def answered(self, costs: Sequence[int], most: int | None = None) -> list[bool]:
        """Which of the tools of an answer are let through, best first; those that are too large make room for later ones. What is
        cached gives way to them. `most` tokens altogether, unless it is what the budget keeps for a search."""
        room = min(self.budget.discovery_reserve if most is None else most, self._free)
        taken, kept = 0, []
        for one in costs:
            fits = taken + one <= room
            kept.append(fits)
            taken += one if fits else 0
        self._fit(min(self._cache_room, self._free - taken))
        return kept

    def load(self, tools: Iterable[str]) -> list[str]:
        """Put these into the cache, as far as they fit together, the first first; those that are in."""
        room, taken, found = self._cache_room, 0, list[str]()
        for one in tools:
            if one in self.pinned:
                found.append(one)
                continue
            if not self._known(one, self._all_costs) or taken + self._cost[one] > room:
                continue
            taken += self._cost[one]
            self._used[one] = None
            self._used.move_to_end(one)
            found.append(one)
        self._fit(room)
        return found

    def evict(self, tools: Collection[str]) -> list[str]:
        """Take these out of the cache; those that were there."""
        found = [one for one in tools if one in self._used]
        for one in found:
            del self._used[one]
        return found

    def tokens(self, tools: Iterable[str]) -> int:
        """What these take that are pinned or cached."""
        return sum(self._cost[one] for one in tools)

    # -- rooms

    @property
    def _of_pinned(self) -> int:
        return self.tokens(self.pinned)

    @property
    def _of_cached(self) -> int:
        return self.tokens(self._used)

    @property
    def _free(self) -> int:
        """What is left for all that is not pinned."""
        most = self.budget.max_tokens
        # A reserve of more than a quarter would leave a small budget nothing to search with.
        return max(0, most - max(self._of_pinned, min(self.budget.pinned_reserve, most // 4)))

    @property
    def _cache_room(self) -> int:
        return min(self.budget.cache_limit, self._free)

    def _fit(self, room: int) -> None:
        """Let the least recently used go until the rest fits."""
        total = self._of_cached
        while self._used and total > room:
            gone, _ = self._used.popitem(last=False)
            total -= self._cost[gone]

    def _known(self, tool: str, cost: Callable[[str], int | None]) -> bool:
        found = cost(tool)
        if found is not None:
            self._cost[tool] = found
        return found is not None
