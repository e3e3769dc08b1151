"""`TopicShares`: limits how many existing topics count for one participant; when its opener leaves, a topic may pass to another member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gatewright.rooms.policy import Identity, Policy

__all__ = ["LEAST", "TopicShares"]

LEAST = 10
"""So many topics everybody may open, also where a tenth of all is less."""


class TopicShares:
    """Who answers for which topics of those that exist: who opened one, until others alone are in it; everybody without a token
    counts as one."""

    def __init__(self) -> None:
        self._by: dict[str, tuple[str, str]] = {}
        self._each: Counter[tuple[str, str]] = Counter()

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
        """A topic begins to exist by somebody who joins it."""
        if topic not in policy.topics:
            self._by[topic] = who = _who(identity)
            self._each[who] += 1

    def left(self, topic: str, stay: Iterable[Identity], policy: Policy) -> None:
        """Somebody has left a topic in which these `stay`. Where the one who answers for it is not among them, one of those does
        who may open another; else it goes on counting for whoever opened it, so that two of them cannot take all."""
        who = self._by.get(topic)
        if who is None:
            return
        heir = None
        for identity in stay:
            if _who(identity) == who:
                return
            if heir is None and identity.way != "gateway" and self._may(identity, policy):
                heir = _who(identity)
        if heir is not None:
            self.closed(topic)
            self._by[topic] = heir
            self._each[heir] += 1

    def _may(self, identity: Identity, policy: Policy) -> bool:
        return self._each[_who(identity)] < _share(policy)

    def closed(self, topic: str) -> None:
        """Nobody is in it any more."""
        who = self._by.pop(topic, None)
        if who is not None:
            self._each[who] -= 1
            if not self._each[who]:
                del self._each[who]


def _share(policy: Policy) -> int:
    return max(LEAST, policy.max_topics // 10)


def _who(identity: Identity) -> tuple[str, str]:
    return identity.who, "" if identity.way == "anonymous" else identity.id
