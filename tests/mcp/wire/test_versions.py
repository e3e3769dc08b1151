"""The tables of revisions."""

from __future__ import annotations

import pytest

from gatewright.mcp.wire import versions


def test_five_revisions_are_known_oldest_first() -> None:
    assert (*versions.LEGACY, *versions.MODERN) == (
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    )
    assert versions.LATEST_LEGACY == "2025-11-25"
    assert versions.LATEST_MODERN == "2026-07-28"


@pytest.mark.parametrize("asked", versions.LEGACY)
def test_a_known_handshake_revision_is_answered_with_itself(asked: str) -> None:
    assert versions.answer_version(asked) == asked


@pytest.mark.parametrize("asked", ["1999-01-01", "2026-07-28", "", None, 7])
def test_any_other_is_answered_with_our_latest(asked: object) -> None:
    assert versions.answer_version(asked) == "2025-11-25"


def test_batches_exist_in_one_revision_only() -> None:
    names = (*versions.LEGACY, *versions.MODERN)
    assert [name for name in names if versions.revision(name).batches] == ["2025-03-26"]


def test_only_the_last_revision_is_modern() -> None:
    assert versions.is_modern("2026-07-28")
    assert not versions.is_modern("2025-11-25")
    assert not versions.is_modern("nonsense")


def test_tasks_are_in_the_core_of_one_revision_only() -> None:
    names = (*versions.LEGACY, *versions.MODERN, "nonsense")
    assert [name for name in names if versions.known_tasks(name)] == ["2025-11-25"]
