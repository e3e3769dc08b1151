"""Screen `health`: what is to be done, the first thing open, with the command to type; what is well; how far the audit trail is verified."""

from __future__ import annotations

from functools import partial
from typing import Any

from gatewright.command_text import to_type
from gatewright.console.audit_verifying import Verifying
from gatewright.console.dependencies import Dependencies
from gatewright.console.health import Health as Checks
from gatewright.console.health import Overview
from gatewright.console.operations import Asking, Operation
from gatewright.console.people import Person
from gatewright.console.screen import Badge, Copies, Page, Screen, View

__all__ = ["Health", "pieces"]

_DO = partial(Operation, method="POST", power="see", gives=Overview)


class Health(Screen):
    """Findings, and the record."""

    name = "health"
    title = "Health"
    key = "h"
    group = 2

    def __init__(self, parts: Dependencies, verifying: Verifying) -> None:
        self._checks = Checks(parts, verifying)
        self.pages = (
            Page(path="/health", power="see", run=self._page),
            Page(path="/health/list", power="see", run=self._list_part),
            Page(path="/health/look", power="see", run=self._then(self.look), method="POST"),
            Page(path="/health/verify", power="see", run=self._then(self.verify), method="POST"),
        )
        self.operations = (
            Operation(
                name="health.show",
                method="GET",
                path="/health",
                power="see",
                summary="Show what was found, and how far the record is verified",
                run=self.show,
                gives=Overview,
            ),
            _DO(
                name="health.look",
                path="/health/look",
                summary="Have the checks of the doctor made anew",
                run=self.look,
            ),
            _DO(
                name="health.verify",
                path="/health/verify",
                summary="Have the audit trail verified from its first record on",
                run=self.verify,
            ),
        )

    def badge(self, person: Person) -> Badge | None:
        """How much there is to be done."""
        self._checks.look()
        found = self._checks.overview()
        for level, state in (("problem", "bad"), ("warning", "warn")):
            count = sum(one.level == level for one in found.things)
            if count:
                word = level if count == 1 else f"{level}s"
                return Badge(str(count), "bad" if state == "bad" else "warn", f"{count} {word}")
        return None if found.looked is None else Badge("ok", "ok", "no problem was found")

    # -- operations

    async def show(self, asking: Asking) -> Overview:
        """As far as it is known now; looks where that is long ago."""
        self._checks.look()
        return self._checks.overview()

    async def look(self, asking: Asking) -> Overview:
        """Anew, in the background: the topic `health` changes when it is done."""
        self._checks.look(anew=True)
        return self._checks.overview()

    async def verify(self, asking: Asking) -> Overview:
        """In the background, too; not again within a minute."""
        self._checks.verify(asking.person.id)
        return self._checks.overview()

    # -- pages

    async def _page(self, asking: Asking) -> View:
        copies = Copies(to_type("doctor"), "GET /api/v1/health")
        return View("health/page.html", self._values(await self.show(asking)), copies)

    async def _list_part(self, asking: Asking) -> View:
        return View("health/list.html", self._values(self._checks.overview()))

    def _then(self, operation: Any) -> Any:
        async def run(asking: Asking) -> View:
            return View("health/list.html", self._values(await operation(asking)))

        return run

    def _values(self, found: Overview) -> dict[str, Any]:
        return {
            "title": "Health",
            "topics": "health,servers",
            "found": found,
            "open": [one for one in found.things if one.level != "ok"],
            "well": [one for one in found.things if one.level == "ok"],
            "can_look": self._checks.can_look,
            "pieces": pieces,
        }


def pieces(text: str) -> list[tuple[str, bool]]:
    """A sentence, with whether each piece of it stood between backticks and is to be typed."""
    found = [(piece, number % 2 == 1) for number, piece in enumerate(text.split("`"))]
    return [one for one in found if one[0]]
