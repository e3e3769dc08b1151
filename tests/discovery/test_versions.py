from __future__ import annotations

import pytest

from gatewright.call import Caller
from gatewright.discovery.versions import ToolIds
from gatewright.mcp.wire.groundhog import About
from tests.discovery.offers import Offered, made

ANN, ROOT = Caller("ann"), Caller("root")
OFFER = Offered(
    (made("gatewright", "list", "list"), About("list", "2.0.0")),
    (made("gatewright", "list.v1.0.0", "list.v1.0.0"), About("list", "1.0.0")),
    (made("files", "read"), About("read", "1.1.0")),
    (made("mail", "send"), About("send", "1")),
    (made("chat", "send"), About("send", "1")),
    (made("secret", "dig"), About("dig", "3")),
    (made("secret", "list"), About("list", "9.9.9")),
    hidden=["secret__dig", "secret__list"],
)


def meant(tool_id: str, version: str | None = None, caller: Caller = ANN) -> str:
    return ToolIds(lambda: OFFER)("", caller, tool_id, version)


@pytest.mark.parametrize("version", [None, "", "2.0.0"])
def test_the_newest_version_is_the_default(version: str | None) -> None:
    """GRH-msg-4."""
    assert meant("list", version) == "list"


def test_an_older_version_is_the_tool_that_it_is() -> None:
    """GRH-msg-4."""
    assert meant("list", "1.0.0") == "list.v1.0.0"
    assert meant("gatewright/list", "1.0.0") == "list.v1.0.0"


def test_a_version_that_is_not_there_is_a_name_that_nobody_has() -> None:
    """GRH-msg-4."""
    assert meant("list", "7.0.0") == "list 7.0.0"
    assert OFFER.tool("", "list 7.0.0") is None


def test_a_tools_own_name_does_where_only_one_server_has_it() -> None:
    assert meant("read") == "files__read"
    assert meant("read", "1.1.0") == "files__read"
    assert meant("files__read", "1.1.0") == "files__read"
    assert meant("send") == "send"
    assert meant("nothing", "1") == "nothing"


def test_what_the_caller_must_not_see_is_left_to_the_kernel() -> None:
    """GRH-test-3: neither its versions nor its own name tell anything."""
    assert meant("dig") == "dig"
    assert meant("secret__dig", "3") == meant("secret__dig", "4") == "secret__dig"
    assert meant("list", "9.9.9") == "list 9.9.9"
    assert meant("dig", caller=ROOT) == "secret__dig"


def test_a_tools_own_name_is_of_several_also_while_one_of_them_is_away() -> None:
    away = Offered((made("files", "read"), About("read", "1.1.0")), missing=["read"])
    ids = ToolIds(lambda: away)
    assert ids("", ANN, "read", None) == "read"
    assert ids("", ANN, "read", "1.1.0") == "read"
    assert ids("", ANN, "files__read", None) == "files__read"
