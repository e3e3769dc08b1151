"""`ProposalPages`: console page and API operation that show a room proposal whole, page by page; checks that a decider was shown all."""

from __future__ import annotations

import asyncio
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
        return (await self._shown(asking, self._found(asking)))[1]

    def shown_in(self, asking: Asking) -> Callable[[Proposal], bool]:
        """Whether a decision proves that all of a proposal was shown to whoever decides. Goes through all of it: for a thread."""

        def shown(one: Proposal) -> bool:
            of = _of(asking, one, digest_of(one))
            return self._texts.shown(of, _text(one), asking.given.whole)

        return shown

    def _found(self, asking: Asking) -> Proposal:
        found = self._seat(asking).me.proposals.find(asking.given.proposal)
        if found is None:
            raise ApiError(404, "not_found", "no proposal has this id", "see what is proposed now")
        return found

    async def _shown(self, asking: Asking, one: Proposal) -> tuple[str, TextPage]:
        """Its digest, and the page that is asked for. Beside the loop: it may be a megabyte, which is written out and gone through twice."""
        return await asyncio.to_thread(self._read, asking, one)

    def _read(self, asking: Asking, one: Proposal) -> tuple[str, TextPage]:
        given: ProposalText = asking.given
        digest = digest_of(one)
        of = _of(asking, one, digest)
        return digest, self._texts.page(of, _text(one), given.page, given.proof)

    async def _page(self, asking: Asking) -> View:
        one, given = self._found(asking), asking.given
        first = ProposalText(topic=given.topic, proposal=given.proposal)
        digest, found = await self._shown(asking, one)
        values = {
            "title": "Proposal",
            "topics": "rooms",
            "one": one,
            "topic": given.topic,
            "found": found,
            "digest": digest,
            "way": lambda **other: url_of(_PAGE, first, **other),
        }
        return View("rooms/text.html", values)


def _of(asking: Asking, one: Proposal, digest: str) -> tuple[str, ...]:
    return "proposal", asking.person.id, asking.given.topic, one.id, digest


def _text(one: Proposal) -> str:
    return laid_out(jsonrpc.encode(one.operation.params))
