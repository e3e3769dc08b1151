"""The options by which a key says what its caller may do."""

import pytest

from gatewright.call import UserContext
from gatewright.identity.commands.claims import as_document, as_text, calls_blindly
from tests.cli.shell import Shell

SAID = (
    "--permission",
    "ToolInvoke(files/*)",
    "--permission",
    "read:filesystem",
    "--role",
    "analyst",
    "--trust",
    "community",
    "--resource",
    "/srv/**",
    "--resource",
    "https://api.example/*",
)

RATES = ("requests_per_minute", "requests_per_hour")


@pytest.fixture
def operator(shell: Shell) -> str:
    """The first key of a fresh store, an operator's."""
    return shell.run("key", "create", "root", "--operator").out.strip()


def test_a_key_is_made_with_what_it_says_and_shown_with_it(shell: Shell, operator: str) -> None:
    """GRH-sec-3, GRH-sec-4 and GGEN-auth-2"""
    made = shell.run("key", "create", "bot", *SAID, "--key", operator, "--json").document
    listed = shell.run("key", "list", "--json").document[1]
    said = {
        "role": "analyst",
        "trust_level": "community",
        "allowed_resources": ["/srv/**", "https://api.example/*"],
        "permissions": ["ToolInvoke(files/*)", "filesystem.read"],
    }
    assert {name: made[name] for name in said} == said
    assert {name: listed[name] for name in said} == said
    assert len(listed["key_hash"]) == 64
    assert 0 < listed["created_at"] == made["created_at"]
    assert (made["last_used"], made["rate_limit"]) == (None, dict.fromkeys(RATES))
    row = shell.run("key", "list").rows[1]
    assert row[-1] == (
        "analyst; community; ToolInvoke(files/*), filesystem.read; /srv/**, https://api.example/*"
    )


def test_the_limits_of_a_key_are_shown_with_it(shell: Shell, operator: str) -> None:
    """GGEN-auth-2: its own before those of every key, as `[limits.calls]` has them, and when it was used last."""
    made = shell.run("key", "create", "bot", "--key", operator, "--json").document
    text = f"[limits.calls.key]\nper_hour = 50\n[limits.calls.keys.{made['id']}]\nper_minute = 7\n"
    (shell.folder / "mgp.toml").write_text(text)
    first, own = shell.run("key", "list", "--config", "mgp.toml", "--json").document
    assert first["rate_limit"] == dict(zip(RATES, (None, 50), strict=True))
    assert own["rate_limit"] == dict(zip(RATES, (7, None), strict=True))
    assert first["last_used"] >= first["created_at"]
    assert own["last_used"] is None


def test_who_may_call_and_see_nothing_is_told_so(shell: Shell, operator: str) -> None:
    done = shell.run("key", "create", "bot", "--permission", "ToolInvoke(a)", "--key", operator)
    assert "ToolsListAll shows them" in done.err
    more = ("--permission", "ToolInvoke(a)", "--permission", "ToolRead(a)")
    done = shell.run("key", "create", "other", *more, "--key", operator)
    assert done.code == 0
    assert "ToolsListAll" not in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--permission", "everything"), "is no permission"),
        (("--trust", "much"), "is no trust level"),
        (("--resource", "../up"), "leads out"),
        (("--operator", "--role", "boss"), "rights and limits are for agents"),
    ],
)
def test_what_cannot_be_meant_makes_no_key(
    shell: Shell, operator: str, words: tuple[str, ...], said: str
) -> None:
    done = shell.run("key", "create", "bot", *words, "--key", operator)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(shell.run("key", "list").rows) == 1


def test_what_is_not_said_is_shown_as_nothing() -> None:
    assert as_text(UserContext()) == ""
    assert as_document(UserContext())["trust_level"] is None
    assert not calls_blindly(UserContext())
