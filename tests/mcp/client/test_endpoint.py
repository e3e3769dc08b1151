"""Where a server is, without its secrets in any log."""

from __future__ import annotations

from gatewright.mcp.client.endpoint import Endpoint


def test_secrets_of_an_endpoint_are_not_in_its_repr() -> None:
    endpoint = Endpoint(id="s", env={"KEY": "hush"}, headers={"Authorization": "hush"})
    assert repr(endpoint) == "Endpoint(id='s', transport='stdio')"
