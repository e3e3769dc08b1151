"""What a server's configuration gives away."""

from __future__ import annotations

from gatewright.servers.spec import ServerSpec


def test_secrets_of_a_server_are_not_in_its_repr() -> None:
    spec = ServerSpec(id="s", env={"KEY": "hush"}, headers={"Authorization": "hush"})
    assert repr(spec) == "ServerSpec(id='s', transport='stdio')"
