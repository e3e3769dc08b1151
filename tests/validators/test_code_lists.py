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
