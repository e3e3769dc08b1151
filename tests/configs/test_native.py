"""Our own format by somebody else: stricter is kept, easier is not."""

from typing import Any

import pytest

from gatewright.configs.entry import Entry
from gatewright.configs.model import Refused
from gatewright.configs.native import read_native


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
    assert (note.level, note.what) == ("warning", "it is given secret:mine, file:b of yours")
