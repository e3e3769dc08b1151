"""The marks of a tool: the operator's word, else what its server says of it, never a guess."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.servers.data_flow import marks_of


@pytest.mark.parametrize(
    ("permissions", "declared", "annotations", "marks"),
    [
        ((), None, None, ()),
        ((), None, {"readOnlyHint": True}, ()),
        ((), None, {"openWorldHint": False}, ()),
        ((), None, {"openWorldHint": True}, ("untrusted", "outbound")),
        ((), None, {"openWorldHint": True, "readOnlyHint": True}, ("untrusted",)),
        ((), None, {"openWorldHint": 1, "readOnlyHint": True}, ()),
        (("network.outbound",), None, None, ("untrusted", "outbound")),
        (("filesystem.read",), None, None, ("private",)),
        (("memory.read", "notification"), None, None, ("private", "outbound")),
        (("filesystem.write", "shell.execute"), None, None, ()),
        ((), {"side_effects": ["network"]}, None, ("untrusted", "outbound")),
        ((), {"side_effects": ["database", "process"]}, None, ("private",)),
        ((), {"side_effects": "network"}, None, ()),
        ((), {"side_effects": [7, None]}, None, ()),
        ((), ["network"], ["openWorldHint"], ()),
        (
            ("filesystem.read",),
            {"side_effects": ["network"]},
            {"openWorldHint": True},
            ("untrusted", "private", "outbound"),
        ),
    ],
)
def test_a_server_marks_its_tools_by_what_it_declares(
    permissions: tuple[str, ...], declared: Any, annotations: Any, marks: tuple[str, ...]
) -> None:
    assert marks_of(permissions, declared, annotations) == marks


@pytest.mark.parametrize("said", [(), ("outbound",), ("private", "untrusted")])
def test_the_word_of_the_operator_replaces_what_the_server_says(said: Any) -> None:
    found = marks_of(("network.outbound",), {"side_effects": ["database"]}, None, said)
    assert set(found) == set(said)
