"""What an operator sees of a server."""

import msgspec

from gatewright.servers.status import Status


def test_what_there_is_nothing_to_say_about_is_left_out() -> None:
    found = msgspec.to_builtins(Status("files", "connected", "stdio", tools=2))
    assert found == {"id": "files", "state": "connected", "transport": "stdio", "tools": 2}
