"""Whom a server tells what, where nobody has said anything."""

from gatewright.servers.server_callbacks import Told


def test_a_server_may_have_everything_where_nobody_decides() -> None:
    told = Told(lambda *_: None, lambda *_: None, lambda *_: None)
    assert told.permits is None
