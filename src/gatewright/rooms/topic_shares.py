"""`TopicShares`: limits how many existing topics count for one participant; when its opener leaves, a topic may pass to another member."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from gatewright.rooms.policy import Identity, Policy

__all__ = ["LEAST", "TopicShares"]

LEAST = 10
"""So many topics everybody may open, also where a tenth of all is less."""


_AT_ONCE = 32
_Who = tuple[str, str]


class _Topic:
    """Who answers for a topic, and how many places each has who is in it."""

    __slots__ = ("by", "here")

    def __init__(self, by: _Who) -> None:
        self.by = by
        self.here: Counter[_Who] = Counter()


class TopicShares:
    """Who answers for which topics of those that exist: who opened one, until others alone are in it; everybody without a token
    counts as one."""

    def __init__(self) -> None:
        self._by: dict[str, _Topic] = {}
        self._each: Counter[_Who] = Counter()

    def flaw(self, identity: Identity, topic: str, existing: int, policy: Policy) -> str:
        """Why somebody may not open a topic where so many exist; empty where it may. A topic that the configuration names counts
        for nobody."""
        if existing >= policy.max_topics:
            return "topic_full: there is no room for another topic"
        if identity.way == "gateway" or topic in policy.topics or self._may(identity, policy):
            return ""
        return (
            f"topic_full: {_share(policy)} topics that you opened exist still, which is as many as one may open, "
            "and nobody else in them can answer for one more"
        )

    def opened(self, identity: Identity, topic: str, policy: Policy) -> None:
        """A topic begins to exist by somebody who is about to join it."""
        if topic not in policy.topics:
            who = _who(identity)
            self._by[topic] = _Topic(who)
            self._each[who] += 1

    def joined(self, topic: str, identity: Identity) -> None:
        """Somebody has joined a topic."""
        found = self._by.get(topic)
        if found is not None:
            found.here[_who(identity)] += 1

    def left(self, topic: str, identity: Identity, policy: Policy) -> None:
        """Somebody has left a topic in which others stay. Where the one who answers for it is not among them, one of those does
        who may open another; else it goes on counting for whoever opened it, so that two of them cannot take all."""
        found, gone = self._by.get(topic), _who(identity)
        if found is None:
            return
        found.here[gone] -= 1
        if not found.here[gone]:
            del found.here[gone]
        heir = None if found.by in found.here else self._heir(found, policy)
        if heir is not None:
            self._drop(found.by)
            found.by = heir
            self._each[heir] += 1

    def _heir(self, found: _Topic, policy: Policy) -> _Who | None:
        """One of the next few of those who are here: who leaves when nobody of ten thousand may asks no more of them than that."""
        for who in list(islice(found.here, _AT_ONCE)):
            if who[0] != "gateway" and self._each[who] < _share(policy):
                return who
            found.here[who] = found.here.pop(who)  # others are looked at next time
        return None

    def _may(self, identity: Identity, policy: Policy) -> bool:
        return self._each[_who(identity)] < _share(policy)

    def closed(self, topic: str) -> None:
        """Nobody is in it any more."""
        found = self._by.pop(topic, None)
        if found is not None:
            self._drop(found.by)

    def _drop(self, who: _Who) -> None:
        self._each[who] -= 1
        if not self._each[who]:
            del self._each[who]


def _share(policy: Policy) -> int:
    return max(LEAST, policy.max_topics // 10)


def _who(identity: Identity) -> _Who:
    return identity.who, "" if identity.way == "anonymous" else identity.id
