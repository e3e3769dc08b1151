"""Clients of the two-sided model that sit in a room: what they say to the gateway goes there in envelopes, and so comes what they hear.

To everybody else they are clients like all others, so each step and each clause of the judge holds for them as well.
"""

from __future__ import annotations

from typing import Any, Protocol

from gatewright.app.gateway import Gateway
from gatewright.rooms.feature import RoomsFeature
from gatewright.rooms.gateway_participant import GatewayParticipant
from gatewright.rooms.in_process import Inside
from tests.behaviour.two_sided_clients import Client, Sees
from tests.behaviour.two_sided_facts import HALL, KINDS, token_of
from tests.behaviour.two_sided_rooms import GATEWAY, KERNEL, Rooms

__all__ = ["Guest"]


class Sits(Sees, Protocol):
    """The house in which there are rooms."""

    rooms: Rooms


class Guest(Client):
    """See the module's text."""

    def __init__(self, house: Sits, name: str, key: str) -> None:
        self.chair = house.rooms.chairs[name, HALL]
        self.chair.heard = self._hears
        self.proposal = ""
        """What it says next fulfils this."""
        self.asking: dict[str, Any] = {}
        super().__init__(house, name, key)

    @property
    def rooms(self) -> Rooms:
        return self.chair.rooms

    def _plug(self) -> None:
        self.asking = {}
        self.proposal = ""
        self.sits()

    def sits(self) -> None:
        """Come in, or take the own place anew: now by one token, now by another. It is who it was; what it is shown is looked at anew."""
        for kind in KINDS:
            self.credit[f"notifications/{kind}/list_changed"] += 1
        token = self.key if self.chair.place % 2 else token_of(self.name)
        assert self.chair.sit(token)

    def _unplug(self) -> None:
        self.chair.leave()

    def _put(self, said: Any) -> None:
        method = said.get("method")
        if method is None:
            unknown = f"x-{said.get('id')}", "mcp/request:none"
            about, kind = self.rooms.questions.get(said.get("id"), unknown)
            kind = "mcp/response" + kind.removeprefix("mcp/request")
            self.chair.say(kind, said, to=[KERNEL], correlation_id=about)
        elif ":" not in method and method.isprintable():  # else it would be no kind
            more = {"correlation_id": self.proposal} if self.proposal else {}
            self.proposal = ""
            found = self.chair.say(f"mcp/request:{method}", said, to=[KERNEL], **more)
            if found is not None and said.get("id") is not None:
                self.asking[found.ident] = said["id"]

    @property
    def handle(self) -> str | None:
        features = self._gateway.features
        (hub,) = (one.hub for one in features if isinstance(one, RoomsFeature))
        seat = None if hub is None else hub.rooms[HALL].members[KERNEL].seat
        assert isinstance(seat, Inside)
        kernel = getattr(seat.participant._answering._responder, "__self__", None)
        assert isinstance(kernel, GatewayParticipant)
        host = kernel._hosts.get(self.name)
        return None if host is None else host.duplex.peer.session

    @property
    def _gateway(self) -> Gateway:
        return self.house.gateway

    def _hears(self, envelope: Any) -> None:
        """What is said to it, by the gateway."""
        payload, about = envelope["payload"], envelope.get("correlation_id")
        if self.name not in (envelope.get("to") or ()):
            return
        if envelope["from"] == GATEWAY:
            if envelope["kind"] == "system/error" and about in self.asking:
                flaw = {"code": -1, "message": payload["message"]}
                self.take({"id": self.asking.pop(about), "error": flaw}, None)
        elif envelope["from"] == KERNEL and envelope["kind"].startswith("mcp/request"):
            self.take(payload, None)
        elif envelope["from"] == KERNEL and about in self.asking:
            del self.asking[about]
            self.take(payload, None)
