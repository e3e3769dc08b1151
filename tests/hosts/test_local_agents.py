"""Names of hosts behind a local token: those of the table and no others."""

import pytest

from gatewright.call import Caller
from gatewright.hosts.host_table import HOSTS
from gatewright.hosts.local_agents import AGENTS, check, credential, credentials
from gatewright.patterns import Pattern

TOKEN = "gwt_1"


def test_every_host_of_the_table_is_an_agent_of_its_own_name() -> None:
    assert list(AGENTS) == list(HOSTS)
    assert AGENTS["cursor"] == Caller("cursor", "owner")
    assert {credential(TOKEN, id): one for id, one in AGENTS.items()} == credentials(TOKEN)
    assert TOKEN not in credentials(TOKEN), "the token alone is nobody of these"


@pytest.mark.parametrize(
    "name", ["", "local", "operator", "anonymous", "build-bot", "Cursor", "cursor ", "*", "claude"]
)
def test_no_other_name_counts(name: str) -> None:
    with pytest.raises(ValueError, match=r"is no host; these are: claude-desktop"):
        check(name)
    with pytest.raises(ValueError, match="is no host"):
        credential(TOKEN, name)
    assert f"{TOKEN}~{name}" not in credentials(TOKEN)


def test_what_is_shown_may_stand_in_a_header_as_it_is() -> None:
    """RFC 6750 §2.1: the characters of a bearer token."""
    token = Pattern(r"[A-Za-z0-9._~+/-]+=*")
    assert all(token.fullmatch(one) for one in credentials(TOKEN))


def test_no_host_is_called_as_somebody_else_is() -> None:
    assert not {"local", "anonymous", "operator", "gateway-client", "system", "*"} & set(AGENTS)
