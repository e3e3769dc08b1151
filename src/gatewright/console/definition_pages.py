"""`DefinitionPages`: console pages that show a changed tool definition whole, page by page, and accept it on the last; `must_be_shown`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta

from gatewright.console.definition_diff import difference, is_whole
from gatewright.console.operations import ApiError, Asking, see
from gatewright.console.paging import url_of
from gatewright.console.rendering import laid_out
from gatewright.console.screen import Page, View, posted
from gatewright.console.server_requests import Accepting, OfTool
from gatewright.console.whole_texts import Proof, TextPage, WholeTexts
from gatewright.pins.store import Pin

__all__ = ["DefinitionPages", "OfToolText", "must_be_shown", "pages_of"]

_AT = "/servers/{id}/pin/text"


class OfToolText(OfTool, frozen=True, kw_only=True):
    """A page of a tool's definition."""

    page: Annotated[int, Meta(ge=1)] = 1
    proof: Proof = ""
    """Of the page before."""


class DefinitionPages:
    """Their page and operation, beside those of the screen `servers`."""

    def __init__(
        self,
        texts: WholeTexts,
        pin: Callable[[str, str], Pin],
        accept: Callable[[Asking], Awaitable[object]],
    ) -> None:
        """`pin` says what is known of a server's tool; `accept` accepts it as a form or the API asks for it."""
        self._texts = texts
        self._pin = pin
        self._accept = accept
        self.pages = (
            Page(path=_AT, power="see", run=self._page, takes=OfToolText),
            posted(_AT, self._accepted, Accepting),
        )
        self.operations = (
            see(
                "servers.pin_text",
                _AT,
                "Read a definition that is held back whole, page by page",
                self.text,
                takes=OfToolText,
                gives=TextPage,
            ),
        )

    async def text(self, asking: Asking) -> TextPage:
        """Raises `ApiError`, `StoreError`."""
        return await asyncio.to_thread(self._shown, asking, self._pin_of(asking))

    def _pin_of(self, asking: Asking) -> Pin:
        return self._pin(asking.path["id"], asking.given.tool)

    def _shown(self, asking: Asking, pin: Pin) -> TextPage:
        given: OfToolText = asking.given
        of = _of(asking.person.id, pin)
        return self._texts.page(of, laid_out(pin.seen.encode()), given.page, given.proof)

    async def _page(self, asking: Asking) -> View:
        pin = self._pin_of(asking)
        found = await asyncio.to_thread(self._shown, asking, pin)
        here = pages_of(pin.server)
        values = {
            "title": "Definition",
            "topics": "servers",
            "held": pin,
            "found": found,
            "way": lambda **other: url_of(here, OfToolText(tool=pin.tool, **other)),
        }
        return View("servers/text.html", values)

    async def _accepted(self, asking: Asking) -> View:
        await self._accept(asking)
        return View("", location=f"/servers/{quote(asking.path['id'], safe='')}")


def pages_of(server: str) -> str:
    """The path of the pages of a server's definitions."""
    return _AT.format(id=quote(server, safe=""))


async def must_be_shown(texts: WholeTexts, person: str, pin: Pin, proof: str) -> None:
    """Nobody accepts what was not shown to them: in one page, or to the last of several, which `proof` says. Raises `ApiError`."""
    if not await asyncio.to_thread(_was_shown, texts, person, pin, proof):
        raise ApiError(
            422,
            "not_shown",
            "this definition is longer than a page shows, and not all of it was shown to you",
            "read it page by page, to its end",
        )


def _was_shown(texts: WholeTexts, person: str, pin: Pin, proof: str) -> bool:
    if proof and texts.shown(_of(person, pin), laid_out(pin.seen.encode()), proof):
        return True
    return is_whole(difference(pin.pinned, pin.seen))


def _of(person: str, pin: Pin) -> tuple[str, ...]:
    return "definition", person, pin.server, pin.tool
