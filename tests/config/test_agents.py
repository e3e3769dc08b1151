"""`[agents.NAME]`: what is said of callers, and what cannot be meant."""

from pathlib import Path

import pytest

from gatewright.call import UserContext
from gatewright.config import Settings, SettingsError
from gatewright.config.agents import Agent
from gatewright.config.build import build
from gatewright.config.documents import parse

FILE = Path("/project/mgp.toml")


def settings(*texts: str) -> Settings:
    return build([parse(text, FILE) for text in texts], {}, Path("/state"))


def test_every_key_is_read_and_permissions_are_spelled_one_way() -> None:
    """GRH-sec-3 and table 2.2 of the decisions."""
    found = settings(
        '[agents.ann]\nrole = "analyst"\ntrust_level = "community"\n'
        'allowed_resources = ["/srv/**"]\n'
        'permissions = ["ToolInvoke(a/b)", "read:filesystem", "shell", "filesystem.read"]\n'
        '[agents."*"]\ntrust_level = "untrusted"\n'
    )
    said = {name: one.context for name, one in found.agents.items()}
    assert said == {
        "ann": UserContext(
            "analyst",
            "community",
            ("/srv/**",),
            ("kernel.tool.invoke:a/b", "filesystem.read", "shell.execute"),
        ),
        "*": UserContext(trust="untrusted"),
    }


def test_the_first_file_that_names_somebody_decides() -> None:
    found = settings('[agents.ann]\nrole = "a"\n', '[agents.ann]\nrole = "b"\n[agents.bob]\n')
    assert found.agents == {"ann": Agent(role="a"), "bob": Agent()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[agents.ann]\npermissions = ["rule the world"]\n', "is not a permission"),
        ('[agents.ann]\nallowed_resources = ["~/x"]\n', "no whole path"),
        ('[agents.ann]\ntrust_level = "much"\n', "trust_level"),
        ("agents = 3\n", "agents are tables"),
        ("agents.ann = 3\n", "where a table belongs"),
    ],
)
def test_what_cannot_be_meant_is_named(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(text)
    assert said in str(caught.value)
