"""The matrix of messages: each of MCP and MGP, as a request, a notification and a response, with an id that is one's own, another's and made up;
and what docs/messages.md says becomes of it.

The page is drawn from the code's own table (`tests/mcp/wire/test_methods_page.py`), so it is what the doors are held against
(`test_messages`, `test_messages_servers`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gatewright.mcp.protocol.negotiate import EXTENSIONS
from gatewright.mcp.wire.versions import LATEST_MODERN
from tests.behaviour.gateway import ROOT, Gateway, config, server
from tests.behaviour.hosts import EVERY_DOOR, Host

__all__ = [
    "CAN",
    "FORMS",
    "IDS",
    "MADE_UP",
    "PAGE",
    "Case",
    "Row",
    "beside",
    "cases",
    "logged",
    "quiet",
    "speaking",
    "unlimited",
]

FORMS = ("request", "notification", "response")
IDS = ("foreign", "forged", "own")
"""In this order: what is one's own can be used up."""
CAN: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {"listChanged": True},
    "mgp": {"version": "0.2.0", "extensions": list(EXTENSIONS)},
}


MADE_UP: dict[str, Any] = {
    "requestId": 4711,
    "request_id": 4711,
    "progressToken": "gw-4711",
    "taskId": "task_" + "0" * 32,
    "subscription_id": "sub-" + "0" * 32,
}
"""Ids of what never was."""


class Row(NamedTuple):
    """A message as the page has it."""

    method: str
    where: str
    client: str
    server: str

    @property
    def notification(self) -> bool:
        """Whether nobody answers it."""
        return self.method.startswith("notifications/")

    def within(self, revision: str) -> bool:
        """Whether a revision has it, or an extension of MGP adds it."""
        return self.where == "all" or revision in self.where or not self.where[:1].isdigit()


def _rows() -> Iterator[Row]:
    for line in (ROOT / "docs" / "messages.md").read_text().splitlines():
        if line.startswith("| `"):
            method, where, client, of_server = (one.strip() for one in line.split("|")[1:5])
            yield Row(method.strip("`"), where, client, of_server)


PAGE = tuple(_rows())


class Case(NamedTuple):
    """One message in one form, with one kind of id."""

    row: Row
    form: str
    ident: str

    @property
    def tag(self) -> str:
        """What stands in it, so that it is known again."""
        return f"{self.row.method} as a {self.form} with an id that is {self.ident}"


def cases(form: str, ident: str) -> Sequence[Case]:
    """Every message in one form."""
    return [Case(row, form, ident) for row in PAGE]


def speaking(
    folder: Path, ident: str, revision: str = "2025-11-25", extensions: Sequence[str] = ()
) -> dict[str, Any]:
    """The entry of a server that says what it is told (`tests/tool_servers/speaking.py`), one for each session."""
    words = str(folder / f"{ident}.log"), revision, ",".join(extensions)
    mgp = {"mgp": {"extensions": list(extensions)}} if extensions else {}
    return server("speaking", ident, *words, share="session", **mgp)


def logged(gateway: Gateway, ident: str) -> list[dict[str, Any]]:
    """All that a server got."""
    path = gateway.folder / f"{ident}.log"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def content(folder: Path, *names: tuple[str, str]) -> dict[str, Any]:
    """The configuration of a gateway in front of such servers, each in its revision."""
    return config(*(speaking(folder, *one) for one in names), gateway={"anonymous": "deny"})


def beside(door: str) -> str:
    """The door at which somebody else is at the same time: of the same era, who is asked in the same way, and mostly of another wire."""
    era = door.endswith(LATEST_MODERN)
    shared = [
        one for one in EVERY_DOOR if one.endswith(LATEST_MODERN) == era and "stdio" not in one
    ]
    return shared[(EVERY_DOOR.index(door) * 3 + 1) % len(shared)]


def unlimited() -> dict[str, Any]:
    """The table `mcp` of a gateway that speaks Groundhog and lets everybody say as much as they like there."""
    limits = {
        f"{who}_requests_per_{span}": 100_000
        for who in ("global", "user", "tool")
        for span in ("second", "minute")
    }
    return {"protocol": {"transport": {"type": "websocket", "port": 0}, "rate_limits": limits}}


async def quiet(client: Host, tool: str) -> None:
    """Whatever the client said before has been led to where it goes."""
    for _ in range(3):
        assert await client.text(tool, said=[]) == "said"
