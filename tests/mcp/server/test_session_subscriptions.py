"""Which resources one host wants to hear of."""

from __future__ import annotations

from gatewright.mcp.server.session_subscriptions import Subscribed


def test_an_answer_settles_its_own_request_and_no_other() -> None:
    found = Subscribed()
    found.ask("x:1", b"1")
    found.settle("x:1", b"1", granted=True)
    found.ask("x:1", b"2")
    found.settle("x:1", b"2", granted=False)
    assert "x:1" in found, "it was granted before"
    for by in (b"3", b"4"):
        found.ask("x:2", by)
    found.settle("x:2", b"3", granted=False)
    assert "x:2" in found
    assert len(found) == 2
    found.settle("x:2", b"4", granted=False)
    assert "x:2" not in found
    assert len(found) == 1


def test_what_is_granted_after_its_end_is_not_wanted() -> None:
    found = Subscribed()
    found.ask("x:1", b"1")
    found.end("x:1")
    found.settle("x:1", b"1", granted=True)
    assert "x:1" not in found


def test_what_is_not_wanted_any_more_counts_until_that_is_answered() -> None:
    found = Subscribed()
    found.ask("x:1", b"1")
    found.settle("x:1", b"1", granted=True)
    for uri in ("x:1", "x:never"):
        found.end(uri)
    assert ("x:1" in found, len(found)) == (False, 1)
    assert found.full("x:2", 1)
    assert not found.full("x:1", 1)
    found.ask("x:1", b"2")
    found.settle("x:1", b"2", granted=True)
    found.left("x:1")
    assert ("x:1" in found, len(found)) == (True, 1)
