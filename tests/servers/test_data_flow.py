"""The marks of a tool: the operator's word, else what its server says of it, never a guess."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.servers.data_flow import marks_of


@pytest.mark.parametrize(
    ("permissions", "declared", "hints", "marks"),
    [
        ((), None, (), ()),
        ((), None, ("destructive",), ()),
        ((), None, ("open_world",), ("untrusted", "outbound")),
        ((), None, ("destructive", "open_world"), ("untrusted", "outbound")),
        (("network.outbound",), None, (), ("untrusted", "outbound")),
        (("filesystem.read",), None, (), ("private",)),
        (("memory.read", "notification"), None, (), ("private", "outbound")),
        (("filesystem.write", "shell.execute"), None, (), ()),
        ((), {"side_effects": ["network"]}, (), ("untrusted", "outbound")),
        ((), {"side_effects": ["database", "process"]}, (), ("private",)),
        ((), {"side_effects": "network"}, (), ()),
        ((), {"side_effects": [7, None]}, (), ()),
        ((), ["network"], (), ()),
        (
            ("filesystem.read",),
            {"side_effects": ["network"]},
            ("open_world",),
            ("untrusted", "private", "outbound"),
        ),
    ],
)
def test_a_server_marks_its_tools_by_what_it_declares(
    permissions: tuple[str, ...],
    declared: Any,
    hints: tuple[str, ...],
    marks: tuple[str, ...],
) -> None:
    assert marks_of(permissions, declared, hints) == marks


@pytest.mark.parametrize("said", [(), ("outbound",), ("private", "untrusted")])
def test_the_word_of_the_operator_replaces_what_the_server_says(said: Any) -> None:
    found = marks_of(("network.outbound",), {"side_effects": ["database"]}, ("open_world",), said)
    assert set(found) == set(said)
