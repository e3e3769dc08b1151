"""`[redaction]` as rules: the tool over its server over the default."""

from __future__ import annotations

from pathlib import Path

from gatewright.config import Settings, load
from gatewright.config.held_secrets import own_secrets
from gatewright.redaction.filter import Rules
from gatewright.redaction.policy import NotificationCleaner, redaction_of, wanted_of
from gatewright.secret_scanning import HIDDEN, Redactor

KEY = bytes(32)
MAIL = b'{"t":"write to someone@example.org"}'
TOKEN = b'{"t":"gh' + b"p_" + b"a1B2c3D4e5F6" * 3 + b'"}'
TERM = b'{"t":"about Project Zebra"}'


def rules(folder: Path, text: str) -> Rules:
    (folder / "mgp.toml").write_text(text)
    return redaction_of(load(folder / "mgp.toml", environ={"HOME": str(folder)}), KEY)


def finds(redactor: Redactor | None) -> list[bool]:
    """Whether it takes out a token, an address, a term."""
    assert redactor is not None
    return [bool(redactor.json(raw).rules) for raw in (TOKEN, MAIL, TERM)]


def test_secrets_are_taken_out_where_nothing_is_said(tmp_path: Path) -> None:
    found = rules(tmp_path, "")
    assert finds(found.default) == [True, False, False]
    assert not found.servers
    assert not found.tools


def test_each_server_and_each_tool_can_have_its_own_level(tmp_path: Path) -> None:
    """GRH-out-1"""
    found = rules(
        tmp_path,
        """
        [redaction]
        terms = ["Project Zebra"]
        [[servers]]
        id = "one"
        command = "x"
        redaction = "off"
        [servers.tools.read]
        redaction = "personal"
        """,
    )
    assert finds(found.default) == [True, False, True]
    assert found.servers == {"one": None}
    assert [*found.tools] == [("one", "read")]
    assert finds(found.tools["one", "read"]) == [True, True, True]


def test_what_counts_as_personal_is_said_once(tmp_path: Path) -> None:
    """GRH-out-2"""
    found = rules(tmp_path, '[redaction]\nlevel = "personal"\npersonal = ["card"]\n')
    assert finds(found.default) == [True, False, False]


HIDDEN_TEXT = b'{"t":"a\\u200bb"}'
WORDS = """
[redaction]
hidden = "remove"
[[servers]]
id = "one"
command = "x"
redaction = "off"
hidden = "keep"
result_bytes = 100
[servers.tools.read]
hidden = "remove"
result_bytes = 10
[servers.tools."*"]
result_bytes = 50
"""


def test_what_nobody_sees_is_taken_out_where_that_is_wanted(tmp_path: Path) -> None:
    """GRH-val-3, GRH-out-3: for arguments and for results alike, and where no secrets are looked for as well."""
    found = rules(tmp_path, WORDS)
    assert found.default is not None
    assert found.default.json(HIDDEN_TEXT)[:2] == (b'{"t":"ab"}', [HIDDEN])
    assert found.default.text("a\x00b")[:2] == (b"ab", [HIDDEN])
    assert found.servers == {"one": None}
    read = found.tools["one", "read"]
    assert read is not None
    assert read.json(HIDDEN_TEXT).rules == [HIDDEN]
    assert read.json(TOKEN).rules == []
    wanted = wanted_of(load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)}))
    asked = [wanted.of(*pair) for pair in (("one", "read"), ("one", "x"), ("two", "x"))]
    assert asked == [True, False, True]


def test_what_servers_say_outside_calls_is_cleaned_by_their_own_level(tmp_path: Path) -> None:
    """GRH-out-1"""
    (tmp_path / "mgp.toml").write_text(
        '[[servers]]\nid = "one"\ncommand = "x"\nredaction = "off"\n'
    )
    spoken = NotificationCleaner(load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)}), KEY)
    clean = spoken.clean
    said = {"data": TOKEN.decode()}
    assert clean("one", "notifications/message", said) == said
    assert clean("other", "notifications/message", said) != said


def test_what_servers_say_outside_calls_is_cleaned_by_the_settings_of_now(tmp_path: Path) -> None:
    def level(word: str) -> Settings:
        (tmp_path / "mgp.toml").write_text(f'[redaction]\nlevel = "{word}"\n')
        return load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)})

    spoken, said = NotificationCleaner(level("off"), KEY), {"data": TOKEN.decode()}
    clean = spoken.clean
    assert clean("one", "notifications/message", said) == said
    spoken.adopt(level("secrets"))
    assert clean("one", "notifications/message", said) != said


def test_the_gateways_own_secrets_are_taken_out_by_their_exact_value(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("plain words of a file\n")
    text = """
        [[servers]]
        id = "one"
        command = "x"
        args = ["--home", "${HOME}", "--mode=${MODE}", "--key", "${file:key.txt}"]
        [servers.env]
        API_TOKEN = "Bearer ${TOKEN_OF_ONE}"
        FLAG = "${secret_less:-no}"
        [[servers]]
        id = "two"
        url = "https://example.org/mcp"
        [servers.headers]
        Authorization = "Bearer ${TWO}"
        """
    environ = {
        "HOME": str(tmp_path),
        "TOKEN_OF_ONE": "lorem-ipsum-dolor",
        "TWO": "sit-amet-elitr",
        "MODE": "productive",
    }
    (tmp_path / "mgp.toml").write_text(text.replace('FLAG = "${secret_less:-no}"\n', ""))
    found = load(tmp_path / "mgp.toml", environ=environ)
    assert own_secrets(found.servers) == (
        "lorem-ipsum-dolor",
        "plain words of a file",
        "sit-amet-elitr",
    )
    redactor = redaction_of(found, KEY).default
    assert redactor is not None
    for value in own_secrets(found.servers):
        clean = redactor.json(b'{"t":"it said %s today"}' % value.encode())
        assert list(clean.rules) == ["own-secret"]
    assert redactor.json(b'{"t":"productive in %s"}' % str(tmp_path).encode()).rules == []


def test_after_a_reload_the_new_value_counts(tmp_path: Path) -> None:
    text = '[[servers]]\nid = "one"\ncommand = "x"\n[servers.env]\nTOKEN = "${TOKEN}"\n'
    (tmp_path / "mgp.toml").write_text(text)
    for value in ("lorem-ipsum-dolor", "consetetur-sadipscing"):
        found = load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path), "TOKEN": value})
        redactor = redaction_of(found, KEY).default
        assert redactor is not None
        assert list(redactor.json(b'["lorem-ipsum-dolor"]').rules) == (
            ["own-secret"] if value == "lorem-ipsum-dolor" else []
        )
