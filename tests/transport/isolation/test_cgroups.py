"""Groups in folders that look like those of the kernel; the probes of `test_inside` are held by real ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gatewright.transport.isolation import cgroups
from gatewright.transport.isolation.cgroups import Group, make_group


def test_v1_has_a_group_for_each_controller(tmp_path: Path) -> None:
    memory, pids = tmp_path / "memory", tmp_path / "pids"
    memory.mkdir()
    pids.mkdir()
    group = make_group("one", 1 << 26, 20, {"memory": memory, "pids": pids})
    assert group.bounds == {"memory", "pids"}
    name = f"gatewright-{cgroups._lifetime('self')}-one"
    assert group.entries == (memory / name / "tasks", pids / name / "tasks")
    assert (memory / name / "memory.limit_in_bytes").read_text() == str(1 << 26)
    assert (memory / name / "memory.memsw.limit_in_bytes").read_text() == str(1 << 26)
    assert (pids / name / "pids.max").read_text() == "20"


def test_v2_has_one_group(tmp_path: Path) -> None:
    name = f"gatewright-{cgroups._lifetime('self')}-one"
    (tmp_path / name).mkdir()
    (tmp_path / name / "cgroup.controllers").write_text("memory pids")
    group = make_group("one", 1 << 26, 20, {"memory": tmp_path, "pids": tmp_path})
    folder = tmp_path / name
    assert group == Group((folder,), frozenset({"memory", "pids"}), (folder / "cgroup.procs",))
    assert (tmp_path / name / "memory.max").read_text() == str(1 << 26)
    assert (tmp_path / name / "memory.swap.max").read_text() == "0"


def test_who_is_left_is_killed_and_somebody_of_another_namespace_is_not_taken_for_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    (tmp_path / "cgroup.procs").write_text("0\n4242\n")
    Group((tmp_path,)).remove()
    assert killed == [4242]


def test_where_no_group_can_be_made_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert make_group("one", 1, 1, {"memory": tmp_path / "file"}) == Group()
    assert make_group("one", 1, 1, {}) == Group()


@pytest.mark.parametrize(
    ("own", "mounts", "places"),
    [
        (
            "5:pids:/\n4:memory:/service/a\n0::/\n",
            (
                "30 25 0:1 / {0}/memory rw - cgroup cgroup rw,memory\n"
                "31 25 0:2 / {0}/pids rw - cgroup cgroup rw,pids\n"
                "32 25 0:3 / /proc rw - proc proc rw\n"
            ),
            {"memory": "memory/service/a", "pids": "pids"},
        ),
        (
            "0::/user.slice/a.service\n",
            "30 25 0:1 / {0} rw - cgroup2 cgroup2 rw\n",
            {"memory": "user.slice/a.service", "pids": "user.slice/a.service"},
        ),
        (
            "4:memory:/docker/abc\n",
            "30 25 0:1 /docker/abc {0}/memory ro - cgroup cgroup rw,memory\n",
            {"memory": "memory"},
        ),
        ("0::/\n", "", {}),
    ],
    ids=["v1", "v2", "v1 in a container", "not mounted"],
)
def test_groups_are_made_below_our_own(
    tmp_path: Path, own: str, mounts: str, places: dict[str, str]
) -> None:
    for place in places.values():
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "cgroup.subtree_control").write_text("memory pids")
    (tmp_path / "own").write_text(own)
    (tmp_path / "mounts").write_text(mounts.format(tmp_path))
    found = cgroups._parents(str(tmp_path / "own"), str(tmp_path / "mounts"))
    assert found == {name: tmp_path / place for name, place in places.items()}


def test_v2_that_hands_nothing_down_has_no_group(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/a\n")
    (tmp_path / "mounts").write_text(f"30 25 0:1 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    (tmp_path / "a").mkdir()
    assert cgroups._parents(str(tmp_path / "own"), str(tmp_path / "mounts")) == {}


def test_where_the_kernel_tells_nothing_there_are_no_groups() -> None:
    assert cgroups._parents("/nowhere", "/nowhere") == {}


def test_a_group_is_gone_when_nobody_is_in_it(tmp_path: Path) -> None:
    assert Group((tmp_path / "gone",)).remove()
    busy = tmp_path / "busy"
    busy.mkdir()
    (busy / "cgroup.procs").write_text("")
    assert not Group((busy,)).remove()  # no kernel takes this file away with its folder
    (busy / "cgroup.procs").unlink()


def test_groups_of_gateways_that_are_gone_are_swept_whoever_has_their_number_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "_parents", lambda: {"pids": tmp_path})
    pid, _, began = cgroups._lifetime("self").partition(".")
    assert pid == str(os.getpid())
    ours = {f"gatewright-{pid}.{began}-a", f"gatewright-{pid}-a"}
    left = {"gatewright-99999999-a", "gatewright-99999999.1-a", f"gatewright-{pid}.1-a"}
    others = {"gatewright-x", "gatewright-.1-a", "other"}
    for name in ours | left | others:
        (tmp_path / name).mkdir()
    cgroups.sweep()
    assert {one.name for one in tmp_path.iterdir()} == ours | others


def test_a_group_in_which_somebody_is_was_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another namespace its gateway has another number: by ours nobody can tell whether it is gone."""
    monkeypatch.setattr(cgroups, "_parents", lambda: {"pids": tmp_path})
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("somebody was killed"))
    (tmp_path / "gatewright-1.1-a").mkdir()
    (tmp_path / "gatewright-1.1-a/cgroup.procs").write_text("4242\n")
    cgroups.sweep()
    assert (tmp_path / "gatewright-1.1-a").exists()
