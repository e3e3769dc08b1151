"""The listed members of numpy and pandas: none of them reads, writes, imports or runs a text."""

from __future__ import annotations

import sys

from gatewright.validators.code_frame_lists import (
    ATTRIBUTES,
    COMPANIONS,
    FRAME_MEMBERS,
    FRAMES,
    REDUCING,
)

REFUSED = frozenset(
    "io lib core os sys testing f2py ctypeslib compat plotting eval query style plot hist boxplot env loader compile_expression from_string render "
    "template codecs builtins ctypes tofile dump dumps_to open load write read getattr attrgetter methodcaller get_type_hints Formatter "
    "format_map import_module pickle read_xml to_xml to_html to_latex to_excel to_sql to_parquet api util tseries pandas_ func base data strides ".split()
)


def test_each_module_belongs_to_a_package_and_is_listed_in_its_parent() -> None:
    for module in FRAME_MEMBERS:
        parent, _, name = module.rpartition(".")
        assert module in FRAMES or name in FRAME_MEMBERS[parent]


def test_nothing_listed_is_called_like_what_reads_or_writes() -> None:
    names = {name for members in FRAME_MEMBERS.values() for name in members}
    for name in names | ATTRIBUTES | REDUCING:
        assert not name.startswith(("read_", "to_csv", "save", "memmap", "fromfile", "_os", "exec"))
    assert (names | ATTRIBUTES | REDUCING).isdisjoint(REFUSED)


def test_listed_members_that_are_called_like_modules_are_functions_and_fields() -> None:
    # Whoever gets hold of a module through another one has a way out of the lists.
    alike = ATTRIBUTES & sys.stdlib_module_names
    fields = "array bisect copy datetime pprint random select statistics time trace"
    assert alike <= set(fields.split())


def test_what_a_text_may_name_is_a_listed_member() -> None:
    assert REDUCING - {"sqrt", "exp", "log"} <= ATTRIBUTES
    assert FRAMES <= COMPANIONS
