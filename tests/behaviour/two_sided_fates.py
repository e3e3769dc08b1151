"""What becomes of the tasks that servers of the two-sided model make: they ask something, end, or are cancelled.

A task that asks names its question (`put-one.q2`) as every question does; what it came to says whose task it was.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tests.behaviour.two_sided_facts import answers

__all__ = ["ASKS", "ENDS", "Fate", "Fates", "Made"]

ENDS = ("completed", "failed", "cancelled")
ASKS = "input_required"


class Made(NamedTuple):
    """A task that a server made: on which connection, under which id, and for which client."""

    end: Any
    ident: str
    who: str
    shared: bool
    """Whether that is the connection of all who share it."""


class Fate(NamedTuple):
    """How a task stands that does not just work; `put` is the question that it asks."""

    status: str
    put: str = ""


class Fates:
    """Those of all tasks, by their numbers."""

    def __init__(self) -> None:
        self._of: dict[int, Fate] = {}
        self.answered: set[str] = set()
        """The questions of tasks that were answered."""

    def status(self, number: int) -> str:
        """How a task stands."""
        return self._of[number].status if number in self._of else "working"

    def put(self, number: int | None) -> str:
        """What a task asks; nothing where it does not."""
        return "" if number is None or number not in self._of else self._of[number].put

    def asking(self) -> list[int]:
        """The tasks that wait for an answer."""
        return [number for number, one in self._of.items() if one.put]

    def becomes(self, number: int, status: str, put: str = "") -> None:
        """A task goes on; one that has ended does not."""
        if self.status(number) not in ENDS:
            self._of[number] = Fate(status, put)

    def got(self, number: int, method: str, params: Any) -> None:
        """A server is asked to cancel a task, or gets the answer to what that asks."""
        if method == "tasks/cancel":
            self.becomes(number, "cancelled")
            return
        put = self.put(number)
        if (
            put
            and method == "tasks/update"
            and put in {one for _, one in answers(json.dumps(params))}
        ):
            self.answered.add(put)
            del self._of[number]

    def told(self, number: int, words: str, *, modern: bool) -> dict[str, Any]:
        """What a server says of a task, besides that it has it."""
        fate = self._of.get(number)
        if fate is None:
            return {}
        more: dict[str, Any] = {}
        if fate.put:
            form = {"type": "object", "properties": {}}
            params = {"message": f"{words} put-{fate.put}", "requestedSchema": form}
            more["inputRequests"] = {"q1": {"method": "elicitation/create", "params": params}}
        elif fate.status == "completed" and modern:
            more["result"] = self.result(words)
        elif fate.status == "failed" and modern:
            more["error"] = {"code": 1, "message": words}
        return {"status": fate.status, **more}

    @staticmethod
    def result(words: str) -> dict[str, Any]:
        """What a task came to."""
        return {"resultType": "complete", "content": [{"type": "text", "text": words}]}
