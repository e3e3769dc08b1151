"""Who is known: agents without a key are pointed at, and an issuer that cannot be asked is a problem."""

from __future__ import annotations

from pathlib import Path

from gatewright.cli.checks.state import key_names
from gatewright.config import Settings, load
from gatewright.identity.doctor import check_identity, check_names
from gatewright.identity.keys import KeyStore
from tests.identity.issuing import CLIENT, elsewhere
from tests.storage.parts import state_in

AGENTS = "".join(
    f'[agents."{name}"]\nrole = "x"\n'
    for name in ("*", "local", "cursor", "anonymous", "ann", "corp:bob")
)


def settings(folder: Path, text: str) -> Settings:
    (folder / "mgp.toml").write_text(text)
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def test_an_agent_that_no_key_was_made_for_is_pointed_at(tmp_path: Path) -> None:
    found = list(check_identity(settings(tmp_path, AGENTS), {"bob"}))
    assert [(one.level, one.subject) for one in found] == [
        ("warning", "ann"),
        ("warning", "corp:bob"),
    ]
    callers = KeyStore(state_in(tmp_path), clock=lambda: 1.0, random=lambda size: b"x" * size)
    callers.create("ann", by="test")
    callers.close()
    assert key_names(tmp_path) == {"ann"}
    left = check_identity(settings(tmp_path, AGENTS), key_names(tmp_path))
    assert [one.subject for one in left] == ["corp:bob"]
    assert key_names(tmp_path / "no" / "folder") == frozenset()


def test_an_issuer_that_cannot_be_asked_is_a_problem_and_says_why(tmp_path: Path) -> None:
    with elsewhere() as corp:
        text = (
            f'[[oauth.issuers]]\nname = "corp"\nissuer = "{corp.issuer}"\n'
            f'[[oauth.issuers]]\nname = "asked"\nissuer = "{corp.issuer}/"\n'
            f'client_id = "{CLIENT[0]}"\nclient_secret = "${{HOME}}"\n' + AGENTS
        )
        good, bad = [
            one for one in check_identity(settings(tmp_path, text), {"ann"}) if "(" in one.subject
        ]
    assert (good.level, good.what) == ("ok", "can be asked for its keys")
    assert (bad.level, bad.subject) == ("problem", f"asked ({corp.issuer}/)")
    assert "is of issuer" in bad.why
    assert "reaches it" in bad.fix


def test_keys_whose_names_people_read_as_one_are_pointed_at() -> None:
    assert list(check_names(["ann", "bob", "ann"])) == []
    (found,) = check_names(["ann", "Jos\u00e9", "bob", "Jose\u0301", "Jos\u00e9"])
    assert (found.level, found.subject) == ("warning", "Jos\u00e9")
    assert "'Jos\\xe9', 'Jose\\u0301'" in found.what
