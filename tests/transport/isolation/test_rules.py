from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.transport.isolation.rules import CannotIsolate, Isolation, real_path
from gatewright.transport.launch import CannotStart


@pytest.mark.parametrize("server", ["files", "mind.cerebras", "a_b-c"])
def test_a_plain_id_is_the_name_of_its_files(server: str) -> None:
    assert Isolation(server=server, level="strict", state="/s").name == server


@pytest.mark.parametrize("server", ["../up", ".uids", "a/b", "naïve", "x" * 65, "..."])
def test_any_other_is_a_digest(server: str) -> None:
    name = Isolation(server=server, level="strict", state="/s").name
    assert name.startswith("sha256-")
    assert "/" not in name


def test_what_cannot_be_isolated_cannot_be_started() -> None:
    """Whoever handles a server that does not start handles this as well."""
    assert issubclass(CannotIsolate, CannotStart)


def test_a_circle_of_links_leads_somewhere(tmp_path: Path) -> None:
    """One child could make one, and no other server started any more."""
    (tmp_path / "b").symlink_to("b")
    assert real_path(tmp_path / "b" / "c").name == "c"
    (tmp_path / "one").symlink_to(tmp_path)
    assert real_path(str(tmp_path / "one")) == tmp_path.resolve()


def test_more_links_than_python_follows_lead_nowhere(tmp_path: Path) -> None:
    """No system follows as many, and no other server fails to start by them."""
    (tmp_path / "0").touch()
    for at in range(1, 1_200):
        (tmp_path / str(at)).symlink_to(str(at - 1))
    assert real_path(tmp_path / "1199") in (tmp_path / "1199", tmp_path / "0")
