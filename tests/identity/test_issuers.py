"""Issuers as the configuration names them: made once, kept while nothing changes, shut where a secret is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import Settings, load
from gatewright.identity.issuer import Introspection, Trusted
from gatewright.identity.issuers import Known, base_of, known_of, trusted_of
from tests.accepting import accept_file

ONE = '[[oauth.issuers]]\nname = "corp"\nissuer = "https://auth.example"\n'
ASKED = ONE + 'client_id = "gw"\nclient_secret = "${GW_TEST_SECRET}"\n'


def settings(folder: Path, text: str) -> Settings:
    (folder / "mgp.toml").write_text(text)
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def test_without_issuers_nothing_is_loaded_and_nothing_is_said(tmp_path: Path) -> None:
    assert known_of(settings(tmp_path, ""), Known()) == Known()
    before = known_of(settings(tmp_path, ONE), Known())
    assert before.tokens is not None
    assert known_of(settings(tmp_path, ""), before) == Known()


def test_what_was_learned_of_tokens_is_kept_while_nothing_changes(tmp_path: Path) -> None:
    first = known_of(settings(tmp_path, ONE), Known())
    again = known_of(settings(tmp_path, ONE + "[limits]\ndepth = 9\n"), first)
    assert again.tokens is first.tokens
    for text in (ONE + "leeway_s = 5\n", ONE + "[gateway]\nport = 9000\n"):
        assert known_of(settings(tmp_path, text), first).tokens is not first.tokens


@pytest.mark.parametrize(
    ("text", "base"),
    [
        (ONE, "http://127.0.0.1:8420"),
        ('[gateway]\nhost = "::1"\n' + ONE, "http://[::1]:8420"),
        ('[oauth]\nresource = "https://gw.example/"\n' + ONE, "https://gw.example"),
    ],
)
def test_the_public_url_is_what_was_written_or_our_own(
    tmp_path: Path, text: str, base: str
) -> None:
    assert base_of(settings(tmp_path, text)) == base


def test_each_word_about_an_issuer_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GW_TEST_SECRET", "s")
    text = ASKED + (
        'jwks_uri = "https://auth.example/k"\nalgorithms = ["RS256"]\naudience = ["us"]\nleeway_s = 5\n'
        'recheck_s = 0\nkeys_max_age_s = 1\nintrospection_url = "https://auth.example/i"\nsubject_claim = "email"\nrole_claim = "role"\n'
        'trust_level = "community"\nrequired_scopes = ["mcp"]\n'
        '[oauth.issuers.scopes]\n"read" = ["read:filesystem", "filesystem.read", "ToolsListAll"]\n'
    )
    assert trusted_of(settings(tmp_path, text)) == [
        Trusted(
            name="corp",
            issuer="https://auth.example",
            jwks_uri="https://auth.example/k",
            algorithms=("RS256",),
            audience=("us",),
            leeway_s=5,
            recheck_s=0,
            keys_max_age_s=1,
            introspection=Introspection("gw", "s", "https://auth.example/i"),
            subject_claim="email",
            role_claim="role",
            trust="community",
            required_scopes=("mcp",),
            permissions={"read": ("filesystem.read", "kernel.tools.list")},
        )
    ]
    assert trusted_of(settings(tmp_path, ONE)) == [
        Trusted(name="corp", issuer="https://auth.example")
    ]


def test_an_issuer_whose_secret_is_missing_takes_nobody_in(tmp_path: Path) -> None:
    (found,) = trusted_of(settings(tmp_path, ASKED))
    assert "GW_TEST_SECRET" in found.problem
    assert found.introspection is not None
    assert found.introspection.client_secret == ""


def test_a_secret_in_a_file_is_the_one_that_was_accepted(tmp_path: Path) -> None:
    secret, file = tmp_path / "secret", tmp_path / "mgp.toml"
    file.write_text(ONE + 'client_id = "gw"\nclient_secret = "${file:secret}"\n')
    secret.write_text("mine")
    home = {"HOME": str(tmp_path)}
    accept_file(file, home)
    loaded = load(environ=home, cwd=tmp_path)
    (found,) = trusted_of(loaded)
    assert (found.problem, found.introspection) == ("", Introspection("gw", "mine", ""))
    secret.write_text("another's")
    (found,) = trusted_of(loaded)
    assert "has changed since it was looked at" in found.problem
    (named,) = trusted_of(load(file, environ=home))
    assert named.problem == "", "one that is named is not asked about"
