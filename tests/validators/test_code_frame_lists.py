"""The listed members of numpy and pandas: none of them reads, writes or imports."""

from __future__ import annotations

from gatewright.validators.code_frame_lists import FRAME_MEMBERS, FRAMES


def test_each_module_belongs_to_a_package_and_is_listed_in_its_parent() -> None:
    for module in FRAME_MEMBERS:
        parent, _, name = module.rpartition(".")
        assert module in FRAMES or name in FRAME_MEMBERS[parent]


def test_nothing_listed_is_called_like_what_reads_or_writes() -> None:
    names = {name for members in FRAME_MEMBERS.values() for name in members}
    for name in names:
        assert not name.startswith(("read_", "to_csv", "save", "load", "memmap", "fromfile", "_os"))
    assert names.isdisjoint(
        {
            "io",
            "lib",
            "core",
            "os",
            "sys",
            "testing",
            "f2py",
            "ctypeslib",
            "compat",
            "plotting",
            "eval",
        }
    )
