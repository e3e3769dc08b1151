"""One caller at a door never stops the others: approvals, Groundhog's contracts, TLS, rooms, wishes and sessions, while somebody else calls.

The bounds are wide, as those of `test_hostile`. `python -m benchmarks.hostile` has the whole set and the bounds that are promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from benchmarks.hostile import doors
from benchmarks.hostile.__main__ import Innocent, turn
from benchmarks.hostile.house import House, house
from tests.costs import queued_ms, queued_since

LONGEST_MS, TURN_S = 1000.0, 0.3
SIZE = 400_000
CHOSEN = (
    "approvals.waiting.members_let_in",
    "approvals.answered.ones_let_in",
    "approvals.answered_later.nested",
    "approvals.changed.rows_let_in",
    "approvals.page.half_escapes",
    "approvals.page.fields",
    "approvals.shown.unseen",
    "approvals.asked_again_1000",
    "approvals.decided_while_900_wait",
    "groundhog.register.api_doubling",
    "groundhog.register.many_patterns.eighth",
    "groundhog.held_against.schema.any_of",
    "groundhog.invoke.nested",
    "groundhog.frame.repeats",
    "groundhog.registrations",
    "tls.half_hello",
    "tls.hello_of_one_byte_records_again",
    "tls.handshakes",
    "tls.pings.in_records_of_1",
    "rooms.low.chat.members",
    "rooms.full.request.lists_let_in",
    "rooms.full.hello.members_let_in",
    "rooms.low.flood",
    "rooms.capabilities.patterns",
    "wishes.subscribe.long",
    "wishes.listen.fitting",
    "wishes.levels",
    "wishes.away.fitting",
    "sessions.initialize",
    "sessions.capabilities.members_let_in",
    "methods.search.words",
    "methods.mgp/discovery/list.nested",
)


@pytest.fixture(scope="module")
def place(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[House, Innocent, dict[str, doors.Attack]]]:
    with ExitStack() as stack:
        found = stack.enter_context(house(tmp_path_factory.mktemp("hostile-doors")))
        innocent = Innocent(found.url, stack)
        every = doors.attacks(found, SIZE)
        yield found, innocent, {name: attack for name, attack in every if name in CHOSEN}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_hostile_input_at_a_door_keeps_nobody_else_waiting(
    place: tuple[House, Innocent, dict[str, doors.Attack]], name: str
) -> None:
    found, innocent, attacks = place
    before = queued_ms(found.pid, innocent.pid)
    row = turn(innocent, attacks[name], TURN_S)
    queued = queued_since(before, found.pid, innocent.pid)
    assert row["longest_ms"] < LONGEST_MS + queued, (row, queued)
    assert row["calls"] > 2
    assert not row["said"].startswith("ended"), row
