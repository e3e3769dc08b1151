"""What a link learns of authorization that there is not."""

from __future__ import annotations

from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.mcp.client.link import ServerFailed


def test_who_is_not_authorized_is_told_whether_another_call_may_fare_better() -> None:
    whole = NotAuthorized("log in: gatewright server login s")
    one = NotAuthorized("this tool needs the scope files", altogether=False)
    assert isinstance(whole, ServerFailed)
    assert (whole.altogether, one.altogether) == (True, False)
    assert str(whole) == "log in: gatewright server login s"
