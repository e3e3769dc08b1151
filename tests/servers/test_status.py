"""What an operator sees of a server."""

import msgspec

from gatewright.servers.status import Status, Told


def test_what_there_is_nothing_to_say_about_is_left_out() -> None:
    found = msgspec.to_builtins(Status("files", "connected", "stdio", tools=2))
    assert found == {"id": "files", "state": "connected", "transport": "stdio", "tools": 2}


def test_a_server_may_have_everything_where_nobody_decides() -> None:
    told = Told(lambda *_: None, lambda *_: None, lambda *_: None)
    assert told.permits is None
