"""Our own format by somebody else: stricter is kept, easier is not."""

from typing import Any

import pytest

from gatewright.hosts.entry import Entry
from gatewright.hosts.model import Refused
from gatewright.hosts.native import read_native


def test_rules_that_forbid_are_kept_and_others_left_out() -> None:
    entry = Entry(
        {
            "command": "x",
            "tools": {
                "off": {"enabled": False},
                "asked": {"confirmation_required": True, "risk_level": "dangerous"},
                "eased": {
                    "confirmation_required": False,
                    "permissions_required": [],
                    "validator": "none",
                },
                "checked": {"validator": "readonly", "permissions_required": ["shell.execute"]},
            },
        }
    )
    server, _ = read_native(entry)
    assert server.tools.exclude == ("off",)
    assert server.native == {
        "tools": {
            "asked": {"confirmation_required": True, "risk_level": "dangerous"},
            "checked": {"validator": "readonly", "permissions_required": ["shell.execute"]},
        }
    }
    assert [note.key for note in entry.notes] == ["tools.eased"]


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("deny_all", {"permission_policy": "deny_all"}),
        ("interactive", {}),
        ("config_only", {"permission_policy": "config_only"}),
        ("auto_approve", {}),
    ],
)
def test_who_decides_on_permissions_is_taken_over_where_that_is_not_easier_than_ours(
    policy: str, kept: dict[str, Any]
) -> None:
    entry = Entry({"command": "x", "mgp": {"permission_policy": policy}})
    assert read_native(entry)[0].mgp == kept
    assert [note.key for note in entry.notes] == ([] if kept else ["mgp.permission_policy"])


def test_what_is_not_taken_over_of_a_table_inside_is_told() -> None:
    auth = {"type": "none", "bearer": "${T}", "client_metadata_url": "https://a.example/c.json"}
    entry = Entry({"url": "https://a.example/mcp", "auth": auth, "mgp": {"frob": 1}})
    read_native(entry)
    keys = {note.key for note in entry.notes}
    assert keys == {"auth.type", "auth.client_metadata_url", "mgp.frob"}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"command": "x", "transport": "pigeon"},
        {"url": "ftp://a"},
        {"command": "x", "args": ["${cmd: id}"]},
        {"command": "x", "env": {"A": "${ shell: id }"}},
        {"command": "x", "tools": {"a": 1}},
        {"command": "x", "env": {"A B": "x"}},
    ],
)
def test_what_cannot_stand_in_our_file_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        read_native(Entry(data))


def test_what_the_file_would_read_of_ours_is_told() -> None:
    entry = Entry({"command": "x", "env": {"A": "${secret:mine}", "B": "${file:b}", "C": "${D}"}})
    server, _ = read_native(entry)
    assert server.env == {"A": "${secret:mine}", "B": "${file:b}", "C": "${D}"}
    (note,) = entry.notes
    assert (note.level, note.what) == ("warning", "it is given ${secret:mine}, ${file:b} of yours")


def test_no_word_of_the_file_makes_the_policy_easier() -> None:
    mgp = {"permissions_required": ["shell.execute"], "trust_level": "trusted"}
    entry = Entry({"command": "x", "schema": "off", "share": "gateway", "mgp": mgp})
    server, _ = read_native(entry)
    assert (server.mgp, server.native) == ({}, {})
    told = {note.key: note.what for note in entry.notes}
    assert told.keys() == {"schema", "share", "mgp.permissions_required", "mgp.trust_level"}
    assert "shell.execute" in told["mgp.permissions_required"]


def test_words_that_are_stricter_or_say_nothing_are_not_told() -> None:
    entry = Entry({"command": "x", "schema": "enforce", "share": "session", "tool_prefix": "p"})
    server, _ = read_native(entry)
    assert server.native == {"schema": "enforce", "share": "session", "tool_prefix": "p"}
    usual = Entry({"command": "x", "share": "auto", "mgp": {"permissions_required": []}})
    server, _ = read_native(usual)
    assert (server.mgp, server.native) == ({}, {"share": "auto"})
    assert entry.notes == usual.notes == []


@pytest.mark.parametrize(
    ("said", "taken"), [("strict", "strict"), ("confined", "confined"), ("none", None)]
)
def test_isolation_of_the_file_is_kept_and_never_taken_away(said: str, taken: str | None) -> None:
    server, _ = read_native(Entry({"id": "a", "command": "x", "isolation": said}))
    assert server.native.get("isolation") == taken
