"""What is judged anew when a configuration names other servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.pins.pinning import Pinning
from gatewright.pins.store import Pins
from tests.pins.test_pinning import Trail, of, two_servers
from tests.storage.parts import state_in


def test_a_server_that_comes_or_goes_has_only_its_own_and_what_is_held_judged_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is done in one turn of the loop, and a server that lists thousands of tools is none of the others' business."""
    both = two_servers(tmp_path)
    one, other = both.servers[0].id, both.servers[2].id
    alone = replace(both, servers=both.servers[:1])
    made = Pinning(Pins(state_in(tmp_path), clock=lambda: 1.0), Trail())
    made.adopt(alone)
    many = [of(one, f"t{number}") for number in range(500)]
    strange = of(one, "t\u0430ke")
    made.shelved(one, [*many, of(one, "take"), strange])
    assert made.held(strange)
    judged, real = list[tuple[str, int]](), made.store.judge

    def judge(server: str, seen: Any, **more: Any) -> Any:
        judged.append((server, len(seen)))
        return real(server, seen, **more)

    monkeypatch.setattr(made.store, "judge", judge)
    made.adopt(both)
    made.shelved(other, [of(other, "x")])
    assert judged == [(one, 1), (other, 1)]
    judged.clear()
    made.adopt(alone)
    assert judged == [(one, 1)]
    assert made.held(strange)
    assert not any(made.held(tool) for tool in many)
    judged.clear()
    made.adopt(replace(alone, servers=(replace(alone.servers[0], pin="approve"),)))
    assert sum(number for server, number in judged if server == one) == 502
    assert {server for server, _ in judged} == {one}
    made.close()
