from __future__ import annotations

from gatewright.discovery.index import Entry
from gatewright.discovery.kept import digest_of
from gatewright.transport.slices import whole

TOOLS = [Entry(f"s/{n}", "s", f"tool_{n}", "Does it") for n in range(200)]


def test_the_same_tools_have_the_same_digest_and_others_another() -> None:
    one = whole(digest_of(TOOLS))
    assert one == whole(digest_of([*TOOLS]))
    assert one != whole(digest_of(TOOLS[1:]))
    assert one != whole(digest_of([*TOOLS[:-1], Entry("s/199", "s", "tool_199", "Does not")]))
    assert whole(digest_of([])) != one


def test_a_text_that_cannot_be_written_has_a_digest_too() -> None:
    odd = [Entry("s/x", "s", "x", "\ud800")]
    assert whole(digest_of(odd)) == whole(digest_of(odd)) != whole(digest_of(TOOLS))


def test_a_digest_is_made_in_steps() -> None:
    assert len(list(digest_of(TOOLS))) >= 3
