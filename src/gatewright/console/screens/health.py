"""Screen `health`: problems with the command that fixes each; what is well; starts the checks and the audit verification anew."""

from __future__ import annotations

from typing import Any

from gatewright.command_text import to_type
from gatewright.console.audit_verifying import Verifying
from gatewright.console.dependencies import Dependencies
from gatewright.console.health import FINDINGS, Findings, Overview
from gatewright.console.health import Health as Checks
from gatewright.console.lists import place_in, placed
from gatewright.console.operations import Asking, Nothing, see
from gatewright.console.paging import url_of
from gatewright.console.people import Person
from gatewright.console.screen import Badge, Copies, Page, Screen, View, posted

__all__ = ["Health"]


class Health(Screen):
    """Findings, and the record."""

    name = "health"
    title = "Health"
    key = "h"
    group = 2

    def __init__(self, parts: Dependencies, verifying: Verifying) -> None:
        self._checks = Checks(parts, verifying)
        self.pages = (
            Page(path="/health", power="see", run=self._page, takes=Findings),
            Page(path="/health/list", power="see", run=self._list_part, takes=Findings),
            posted("/health/look", self._then(self.look), placed(Nothing), power="see"),
            posted("/health/verify", self._then(self.verify), placed(Nothing), power="see"),
        )
        self.operations = (
            see(
                "health.show",
                "/health",
                "Show what was found, and how far the record is verified",
                self.show,
                takes=Findings,
                gives=Overview,
            ),
            see(
                "health.look",
                "/health/look",
                "Have the checks of the doctor made anew",
                self.look,
                gives=Overview,
                method="POST",
            ),
            see(
                "health.verify",
                "/health/verify",
                "Have the audit trail verified from its first record on",
                self.verify,
                gives=Overview,
                method="POST",
            ),
        )

    def badge(self, person: Person) -> Badge | None:
        """How much there is to be done."""
        self._checks.look()
        things = self._checks.every()
        for level, state in (("problem", "bad"), ("warning", "warn")):
            count = sum(one.level == level for one in things)
            if count:
                word = level if count == 1 else f"{level}s"
                return Badge(str(count), "bad" if state == "bad" else "warn", f"{count} {word}")
        return Badge("ok", "ok", "no problem was found") if self._checks.looked else None

    # -- operations

    async def show(self, asking: Asking) -> Overview:
        """As far as it is known now; looks where that is long ago. Raises `ApiError`."""
        self._checks.look()
        return await self._checks.overview(asking.given)

    async def look(self, asking: Asking) -> Overview:
        """Anew, in the background: the topic `health` changes when it is done."""
        self._checks.look(anew=True)
        return await self._checks.overview(Findings())

    async def verify(self, asking: Asking) -> Overview:
        """In the background, too; not again within a minute."""
        self._checks.verify(asking.person.id)
        return await self._checks.overview(Findings())

    # -- pages

    async def _page(self, asking: Asking) -> View:
        copies = Copies(to_type("doctor"), f"GET /api/v1{url_of('/health', asking.given)}")
        values = self._values(await self.show(asking), asking.given)
        return View("health/page.html", values, copies)

    async def _list_part(self, asking: Asking) -> View:
        found = await self._checks.overview(asking.given)
        return View("health/list.html", self._values(found, asking.given))

    def _then(self, operation: Any) -> Any:
        async def run(asking: Asking) -> View:
            asked = place_in(asking.given, Findings)
            await operation(asking)
            found = await self._checks.overview(asked)
            return View("health/list.html", self._values(found, asked))

        return run

    def _values(self, found: Overview, asked: Findings) -> dict[str, Any]:
        return {
            "title": "Health",
            "topics": "health,servers",
            "found": found,
            "asked": asked,
            "list": FINDINGS.shown(asked, found.next),
            "open": [one for one in found.things if one.level != "ok"],
            "well": [one for one in found.things if one.level == "ok"],
            "can_look": self._checks.can_look,
        }
