"""The page about messages says what the table in the code says, and nothing else."""

from __future__ import annotations

from pathlib import Path

from gatewright.app.features import FEATURES
from gatewright.call import Mgp
from gatewright.feature import extensions_of
from gatewright.mcp.client.accepted_methods import AcceptedMethods
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.protocol.negotiate import EXTENSIONS as NEGOTIABLE
from gatewright.mcp.server.endpoints import DOORS, Door
from gatewright.mcp.wire.methods import WORDS, Word
from gatewright.mcp.wire.permissions import RULED
from gatewright.mcp.wire.versions import LEGACY, MODERN

PAGE = Path(__file__).resolve().parents[3] / "docs" / "messages.md"
EVERY = (*LEGACY, *MODERN)
EXTENSIONS = extensions_of(FEATURES)
REGISTRY = frozenset({"mgp/discovery/register", "mgp/discovery/deregister"})
"""Answered to operators, and to agents with the permission for it."""
TAKEN = {
    "notifications/initialized": "the connection",
    "notifications/cancelled": "the call that it names",
    "notifications/progress": "the server that asked",
    "notifications/roots/list_changed": "the servers of the session",
}


def row(word: Word) -> str:
    """One line of the page."""
    which = "all" if word.revisions == EVERY else ", ".join(word.revisions)
    cells = (
        f"`{word.method}`",
        word.extension or which,
        of_clients(word) if "client" in word.by else "",
        _of_servers(word) if "server" in word.by else "",
    )
    return f"| {' | '.join(cells)} |"


def door_row(door: Door) -> str:
    """One line of the table of endpoints."""
    envelopes = "envelopes, [rooms.md](rooms.md)"
    takes = ", ".join(f"`{one}`" for one in door.takes)
    asked = takes or ("all above" if door.dialect == "MCP" else envelopes)
    return f"| {' | '.join((door.name, door.place, door.dialect, asked))} |"


def of_clients(word: Word) -> str:
    """What a client reads that sends it."""
    if word.notification:
        return TAKEN.get(word.method, "dropped, recorded")
    if word.method in RULED or word.method in REGISTRY:
        and_agents = ", agents who may register as well" if word.method in REGISTRY else ""
        return f"operators are answered{and_agents}"
    served = not word.extension or word.extension in EXTENSIONS
    return "answered" if served else "-32601"


def _of_servers(word: Word) -> str:
    mgp = Mgp("0.2.0", EXTENSIONS)
    one = AcceptedMethods(lambda: Endpoint(id="a", methods=()))
    if not any(one.allows(word.method, Hello(name, mgp=mgp)) for name in word.revisions):
        return "dropped, logged" if word.notification else "-32601"
    return "passes"


def test_every_message_has_its_row_and_no_row_has_another_message() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [row(word) for word in WORDS]


def test_every_endpoint_has_its_row_and_no_row_has_another_endpoint() -> None:
    _, _, table = PAGE.read_text().partition("## Endpoints")
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert rows[2:] == [door_row(door) for door in DOORS]


def test_the_messages_are_those_of_all_five_revisions_and_of_every_extension_of_mgp() -> None:
    assert {one for word in WORDS for one in word.revisions} == set(EVERY)
    assert len(EVERY) == 5
    assert {word.extension for word in WORDS} - {""} == set(NEGOTIABLE) - {
        "code_safety"
    }  # which adds members alone
