"""How paths name profiles."""

from __future__ import annotations

import pytest

from gatewright.mcp.server.routes import profile_of, within

SMALL = frozenset({"small"})


@pytest.mark.parametrize(
    ("path", "profile"),
    [("/rpc", ""), ("/rpc/small", "small"), ("/rpc/none", None), ("/rpc/", None), ("/x", None)],
)
def test_a_path_below_a_root_names_a_profile_that_there_is(path: str, profile: str | None) -> None:
    assert profile_of(path, "/rpc", SMALL) == profile


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/tools", ("", "/tools")),
        ("/profiles/small/tools/a", ("small", "/tools/a")),
        ("/profiles/none/tools", (None, "/tools")),
    ],
)
def test_a_profiles_own_paths_begin_with_its_name(path: str, found: tuple[str | None, str]) -> None:
    assert within(path, SMALL) == found
