"""`[oauth]`: what was written, and what cannot be meant."""

from pathlib import Path

import pytest

from gatewright.config import Settings, SettingsError
from gatewright.config.build import build, override
from gatewright.config.documents import parse
from gatewright.config.oauth import Issuer, OAuth

FILE = Path("/project/mgp.toml")
ONE = '[[oauth.issuers]]\nname = "corp"\nissuer = "https://auth.example"\n'
TWO = ONE + '[[oauth.issuers]]\nname = "more"\nissuer = "https://more.example"\n'


def settings(text: str) -> Settings:
    return build([parse(text, FILE)], {}, Path("/state"))


def test_without_issuers_there_are_no_tokens() -> None:
    assert settings("").oauth == OAuth()
    assert settings("[gateway]\nport = 0\n").oauth == OAuth()


def test_every_key_is_read() -> None:
    found = settings(
        '[oauth]\nresource = "https://gw.example/"\n'
        + ONE
        + 'client_id = "a"\nclient_secret = "${X}"\n'
        'required_scopes = ["mcp"]\ntrust_level = "community"\n'
        '[oauth.issuers.scopes]\nread = ["ToolsListAll", "read:filesystem"]\n'
    ).oauth
    assert found == OAuth(
        resource="https://gw.example/",
        issuers=(
            Issuer(
                name="corp",
                issuer="https://auth.example",
                client_id="a",
                client_secret="${X}",
                required_scopes=("mcp",),
                trust_level="community",
                scopes={"read": ("ToolsListAll", "read:filesystem")},
            ),
        ),
    )
    assert "${X}" not in repr(found)


WRONG = [
    ("[gateway]\nport = 0\n" + ONE, "nobody knows the URL"),
    ('[gateway]\nhost = "0.0.0.0"\n' + ONE, "nobody knows the URL"),
    ('[oauth]\nresource = "https://gw.example/mcp"\n' + ONE, "it has a path"),
    ('[oauth]\nresource = "http://gw.example"\n' + ONE, "only https"),
    (ONE.replace("https://", "http://"), "only https"),
    (ONE + 'jwks_uri = "ftp://x"\n', "not an HTTP URL"),
    (ONE + ONE, "the issuer https://auth.example stands twice"),
    (ONE + ONE, "the name corp stands twice"),
    (ONE + 'client_id = "a"\n', "go together"),
    (ONE + 'client_id = "a"\nclient_secret = "plain"\n', "stands in plain text"),
    (ONE + 'introspection_url = "https://auth.example/i"\n', "needs a client_id"),
    (ONE + '[oauth.issuers.scopes]\nread = ["everything"]\n', "is not a permission"),
    (ONE + 'algorithms = ["HS256"]\n', "algorithms"),
    (ONE + 'algorithms = ["none"]\n', "algorithms"),
    (ONE.replace("corp", "two words"), "name"),
    (ONE.replace("corp", "oidc"), "people of the console are called oidc:NAME"),
    (ONE.replace("corp", "local"), "users of this machine are called local:NAME"),
    (
        TWO.replace("issuer =", 'client_id = "a"\nclient_secret = "b"\nissuer ='),
        "whom to ask about a token",
    ),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_cannot_be_meant_is_named(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(text)
    assert said in str(caught.value)


def test_a_port_that_nobody_knows_beforehand_wants_a_resource() -> None:
    with pytest.raises(SettingsError, match="nobody knows the URL"):
        override(settings(ONE), port=0)
    placed = settings('[oauth]\nresource = "http://127.0.0.1:8420"\n' + ONE)
    assert override(placed, port=0).gateway.port == 0
