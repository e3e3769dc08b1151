"""`ProposalPages`: console pages that show what a room proposal would call, whole, page by page, and approve it on the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from gatewright.console.operations import ApiError, Asking, see
from gatewright.console.paging import url_of
from gatewright.console.rendering import laid_out
from gatewright.console.room_seats import RoomSeat, digest_of
from gatewright.console.screen import Page, View
from gatewright.console.whole_texts import Proof, TextPage, WholeTexts
from gatewright.mcp.wire import jsonrpc
from gatewright.rooms.participants.proposals import Proposal

__all__ = ["ProposalPages", "ProposalText"]

_PAGE, _AT = "/rooms/proposal", "/rooms/proposals/text"


class ProposalText(msgspec.Struct, frozen=True, kw_only=True):
    """A page of what a proposal asks for."""

    topic: Annotated[str, Meta(min_length=1, max_length=128)]
    proposal: Annotated[str, Meta(min_length=1, max_length=256)]
    page: Annotated[int, Meta(ge=1)] = 1
    proof: Proof = ""
    """Of the page before."""


class ProposalPages:
    """Their page and operation, beside those of the screen `rooms`."""

    def __init__(self, texts: WholeTexts, seat: Callable[[Asking], RoomSeat]) -> None:
        """`seat` gives the place of whoever asks. Raises `ApiError`."""
        self._texts = texts
        self._seat = seat
        self.pages = (Page(path=_PAGE, power="see", run=self._page, takes=ProposalText),)
        self.operations = (
            see(
                "rooms.proposal_text",
                _AT,
                "Read what a proposal asks for whole, page by page",
                self.text,
                takes=ProposalText,
                gives=TextPage,
            ),
        )

    async def text(self, asking: Asking) -> TextPage:
        """Raises `ApiError`."""
        return self._shown(asking, self._found(asking))

    def shown_in(self, asking: Asking) -> Callable[[Proposal], bool]:
        """Whether a decision proves that all of a proposal was shown to whoever decides."""

        def shown(one: Proposal) -> bool:
            of = self._of(asking, one)
            return self._texts.shown(of, _text(one), asking.given.whole)

        return shown

    def _found(self, asking: Asking) -> Proposal:
        found = self._seat(asking).me.proposals.find(asking.given.proposal)
        if found is None:
            raise ApiError(404, "not_found", "no proposal has this id", "see what is proposed now")
        return found

    def _shown(self, asking: Asking, one: Proposal) -> TextPage:
        given: ProposalText = asking.given
        return self._texts.page(self._of(asking, one), _text(one), given.page, given.proof)

    def _of(self, asking: Asking, one: Proposal) -> tuple[str, ...]:
        return "proposal", asking.person.id, asking.given.topic, one.id, digest_of(one)

    async def _page(self, asking: Asking) -> View:
        one, given = self._found(asking), asking.given
        first = ProposalText(topic=given.topic, proposal=given.proposal)
        values = {
            "title": "Proposal",
            "topics": "rooms",
            "one": one,
            "topic": given.topic,
            "found": self._shown(asking, one),
            "digest": digest_of(one),
            "way": lambda **other: url_of(_PAGE, first, **other),
        }
        return View("rooms/text.html", values)


def _text(one: Proposal) -> str:
    return laid_out(jsonrpc.encode(one.operation.params))
