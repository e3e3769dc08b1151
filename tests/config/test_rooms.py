from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.config.model import Settings
from gatewright.config.problems import SettingsError

TOKEN = "a-token-of-sixteen-or-more"


def loaded(text: str, **variables: str) -> Settings:
    return build([parse(text, Path("mgp.toml"))], variables, Path("/state"))


def flaws(text: str, **variables: str) -> str:
    with pytest.raises(SettingsError) as found:
        loaded(text, **variables)
    return str(found.value)


def test_without_the_table_or_switched_off_there_are_no_rooms() -> None:
    assert loaded("").rooms is None
    assert loaded("[rooms]\nenabled = false").rooms is None
    assert loaded("[rooms]").rooms is not None


def test_tokens_are_kept_as_digests_alone() -> None:
    """MCPX-5.1-1."""
    text = '[[rooms.participants]]\nid = "ann"\ntoken = "${ANN}"\nprofile = "own"\n'
    rooms = loaded(text + '[rooms.profiles]\nown = ["chat"]', ANN=TOKEN).rooms
    assert rooms is not None
    assert rooms.tokens == {sha256(TOKEN.encode()).hexdigest(): "ann"}
    assert TOKEN not in repr(rooms)
    assert rooms.capabilities("own") == ("chat",)
    assert rooms.capabilities("full") == ("mcp/*", "chat")


def test_the_key_of_signed_tokens_is_in_no_repr() -> None:
    secret = "a-shared-secret-of-32-bytes-or-more"
    rooms = loaded(f'[rooms.jwt]\nkey = "{secret}"').rooms
    assert rooms is not None
    assert rooms.jwt_key == secret
    assert secret not in repr(rooms)
    assert "32 bytes" in flaws('[rooms.jwt]\nkey = "short"')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('id = "system:gateway"', "cannot be a participant"),
        ('id = "a"\ntoken = "short"', "16 or more visible"),
        ('id = "a"\ntoken = "${NONE}"', "NONE is not set"),
        ('id = "a"\nprofile = "none"', 'no profile is called "none"'),
        ('id = "a"\nprofile = "full"\ncapabilities = []', "both profile and capabilities"),
        ('id = "a"\ncapabilities = ["*"]', "a bare * is no capability"),
        ('id = "a"\ncapabilities = ["ch*"]', "must not reach into chat"),
        ('id = "a"\n[[rooms.participants]]\nid = "a"', "stands twice"),
        (
            f'id = "a"\ntoken = "{TOKEN}"\n[[rooms.participants]]\nid = "b"\ntoken = "{TOKEN}"',
            "another participant's",
        ),
        ('id = "a"\n[rooms.topics."a\\u0000"]', "no topic can be called so"),
        ('id = "a"\n[rooms]\ndefault_profile = "x"', ""),
    ],
)
def test_what_cannot_be_meant_is_said_with_a_way_out(text: str, said: str) -> None:
    """MCPX-4.2-5, decision C-23."""
    if not said:
        text, said = '[rooms]\ndefault_profile = "x"', 'no profile is called "x"'
        assert said in flaws(text)
        return
    assert said in flaws(f"[[rooms.participants]]\n{text}")


def test_what_has_no_effect_is_a_warning() -> None:
    """MCPX-4.1-8: a capability that only the gateway could use."""
    found = loaded(
        '[[rooms.participants]]\nid = "a"\ncapabilities = ["system/*"]\n'
        '[rooms.topics.p]\naccess = "private"\n[rooms.topics.q]\nmembers = ["a"]'
    )
    told = [one.what for one in found.warnings]
    assert '"system/*": only the gateway sends that' in told
    assert "nobody may come in" in told
    assert "members have no effect where access is public" in told


def test_nobody_comes_in_without_a_token_from_elsewhere() -> None:
    """MCPX-6.2-7."""
    text = '[gateway]\nhost = "0.0.0.0"\n[rooms]\nanonymous_profile = "response-only"'
    assert "cannot be let in on 0.0.0.0" in flaws(text)
    here: Any = loaded('[rooms]\nanonymous_profile = "response-only"').rooms
    assert here.table.anonymous_profile == "response-only"
