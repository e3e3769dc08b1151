"""What somebody types who sits in a room."""

from __future__ import annotations

import pytest

from gatewright.rooms.commands.chat_input import HELP, obey
from gatewright.rooms.participants.tool_responder import Tools
from tests.rooms.participants.bus import Bus, within


@pytest.mark.parametrize(
    ("line", "kind", "to"),
    [
        ("hello there", "chat", None),
        ('/propose worker dig {"deep": 1}', "mcp/proposal:tools/call:dig", ["worker"]),
        ("/propose worker dig", "mcp/proposal:tools/call:dig", ["worker"]),
        ("/ask worker tools/list", "mcp/request:tools/list", ["worker"]),
    ],
)
async def test_a_line_becomes_a_message(line: str, kind: str, to: list[str] | None) -> None:
    bus = Bus()
    bus.join("worker", responder=Tools("worker"))
    ada = bus.join("ada")
    await within(obey(ada, line))
    (said,) = bus.of("ada")
    assert (said["kind"], said.get("to")) == (kind, to)


@pytest.mark.parametrize(
    "line", ["/fulfil", "/reject", "/propose x", "/ask x", "/ask x y [1]", "/propose a b {"]
)
async def test_a_line_that_cannot_be_read_says_how_to_write_it(line: str) -> None:
    with pytest.raises(ValueError, match=r"write /|JSON object|Expecting"):
        await obey(Bus().join("ada"), line)


async def test_an_unknown_word_shows_what_there_is_and_nothing_is_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bus = Bus()
    ada = bus.join("ada")
    await obey(ada, "/dance")
    await obey(ada, "")
    assert HELP in capsys.readouterr().err
    assert bus.of("ada") == []


async def test_who_is_there_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    bus = Bus()
    bus.join("bob", ("chat",))
    await obey(bus.join("ada"), "/who")
    assert capsys.readouterr().out == "bob\tchat\n"


async def test_a_proposal_is_fulfilled_or_rejected_by_its_id() -> None:
    bus = Bus()
    tools = Tools("worker")
    bus.join("worker", responder=tools)
    eve, ada = bus.join("eve"), bus.join("ada")
    one = eve.propose("tools/list", to=["worker"])
    await within(obey(ada, f"/fulfil {one.id}"))
    other = eve.propose("tools/list", to=["worker"])
    await obey(ada, f"/reject {other.id} too late")
    assert (one.proposal.status, other.proposal.status) == ("fulfilled", "rejected")
