"""The tables of code rules do not contradict themselves or the specification."""

from gatewright.validators import code_lists as lists


def test_the_lists_of_the_specification_are_among_them() -> None:
    """MGP-7.3-1: the example's lists."""
    assert {"subprocess", "shutil", "socket", "ctypes"} <= set(lists.BLOCKED_IMPORTS)
    assert {"eval(", "exec(", "__import__(", "os.system"} <= set(lists.BLOCKED_PATTERNS)
    assert {"asyncio", "json", "httpx", "os", "datetime", "typing"} <= set(lists.ALLOWED_IMPORTS)


def test_nothing_is_both_allowed_and_blocked() -> None:
    assert set(lists.ALLOWED_IMPORTS) & set(lists.BLOCKED_IMPORTS) == set()
    shared = set(lists.ONLY_MEMBERS) & set(lists.BLOCKED_MEMBERS)
    both = {name: lists.ONLY_MEMBERS[name] & lists.BLOCKED_MEMBERS[name] for name in shared}
    assert {name: found for name, found in both.items() if found} == {}
    assert set() == lists.HARMLESS_DUNDERS & lists.BLOCKED_ATTRIBUTES


def test_modules_that_reach_a_shell_are_allowed_only_in_parts() -> None:
    assert {"os", "asyncio", "sys", "types", "io", "logging"} <= set(lists.ONLY_MEMBERS)
    assert "system" not in lists.ONLY_MEMBERS["os"]
    assert "create_subprocess_shell" not in lists.ONLY_MEMBERS["asyncio"]


def test_dunders_that_lead_to_other_objects_are_not_harmless() -> None:
    hidden = "globals builtins subclasses bases base mro code closure getattribute reduce import self func"
    assert {f"__{name}__" for name in hidden.split()} & lists.HARMLESS_DUNDERS == set()


FRAMES = lists.FRAME_LISTS
PASSING = FRAMES["attributes"] | FRAMES["reducing"] | set().union(*lists.FRAME_MEMBERS.values())


def test_each_module_belongs_to_a_package_and_is_listed_in_its_parent() -> None:
    for module in lists.FRAME_MEMBERS:
        parent, _, name = module.rpartition(".")
        assert module in lists.FRAMES or name in lists.FRAME_MEMBERS[parent]


def test_nothing_listed_is_called_like_what_reads_or_writes() -> None:
    for name in PASSING:
        assert not name.startswith(("read_", "to_csv", "save", "memmap", "fromfile", "_os", "exec"))
    refused = (
        "io lib core os sys f2py ctypeslib compat plotting eval query style plot hist boxplot env loader compile_expression from_string "
        "render template codecs builtins ctypes tofile dump to_open open load write read getattr attrgetter methodcaller get_type_hints "
        "Formatter format_map import_module pickle read_xml to_xml to_html to_latex to_excel to_sql to_parquet func base data strides"
    )
    assert PASSING.isdisjoint(refused.split())


def test_a_member_stands_in_one_list_of_members() -> None:
    assert FRAMES["existing"].isdisjoint(FRAMES["attributes"] | FRAMES["fields"])
    assert FRAMES["fields"].isdisjoint(FRAMES["attributes"])
    assert FRAMES["storable"].isdisjoint(FRAMES["existing"] | {"data", "dtype", "strides"})


def test_listed_members_that_are_called_like_modules_are_functions_and_fields() -> None:
    # Whoever gets hold of a module through another one has a way out of the lists.
    alike = FRAMES["attributes"] & lists.MODULES
    assert alike <= set(
        "array bisect copy datetime pprint random select statistics time trace".split()
    )


def test_what_a_text_may_name_is_a_listed_member() -> None:
    assert FRAMES["reducing"] - {"sqrt", "exp", "log"} <= FRAMES["attributes"]
    assert FRAMES["frames"] <= FRAMES["companions"]
