from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config.own_places import own_places, user_files


def test_a_users_own_files_count_for_every_gateway(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    first, *_ = user_files(environ)
    assert first == tmp_path / ".config" / "mgp" / "servers.toml"
    found = own_places(environ, tmp_path / "state", [Path("mgp.toml"), first], tmp_path / "here")
    assert found.files[:2] == (tmp_path / "here" / "mgp.toml", first)
    assert len({*found.files}) == len(found.files)


@pytest.mark.parametrize("place", ["", "xdg"])
def test_what_was_accepted_lies_beside_no_state_that_was_moved(tmp_path: Path, place: str) -> None:
    environ = {"HOME": str(tmp_path)}
    if place:
        environ["XDG_STATE_HOME"] = str(tmp_path / place)
    trust = tmp_path / (place or ".local/state") / "gatewright"
    assert own_places(environ, tmp_path / "state").folders == (trust, tmp_path / "state")
    assert own_places(environ, trust).folders == (trust,)
