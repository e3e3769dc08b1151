"""`code_safety`: four levels, the lists of a tool, and the body of a rejection."""

from typing import Any

import pytest

from gatewright.validators.code_safety import prepare
from gatewright.validators.options import BadOptions
from gatewright.validators.registry import checks_for

EXAMPLE = {
    "level": "standard",
    "language": "python",
    "max_code_size_bytes": 10000,
    "blocked_imports": ["subprocess", "shutil", "socket", "ctypes"],
    "blocked_patterns": ["eval(", "exec(", "__import__(", "os.system"],
    "allowed_imports": ["asyncio", "json", "httpx", "os", "datetime", "typing"],
}


def violations(code: Any, **options: Any) -> list[str]:
    found = prepare(options).judge(code)
    return [] if found is None else list(found.details["violations"])


def test_the_level_unrestricted_checks_nothing_but_a_declared_size() -> None:
    """MGP-7.2-1"""
    code = "import subprocess; eval('1'); (" + "#" * 20_000
    assert violations(code, level="unrestricted") == []
    assert violations(code, level="unrestricted", max_code_size_bytes=10) == [
        "Code size: 20031 bytes, at most 10"
    ]
    assert violations("puts 1", level="unrestricted", language="ruby") == []


def test_the_level_standard_blocks_listed_imports_and_patterns() -> None:
    """MGP-7.2-2"""
    assert violations("import subprocess") == ["Blocked import: 'subprocess'"]
    assert violations("import json\nprint(json.loads('{}'))") == []
    assert violations("import requests") == []


def test_the_level_strict_allows_listed_imports_up_to_a_size() -> None:
    """MGP-7.2-3"""
    assert violations("import json", level="strict") == []
    assert violations("import requests", level="strict") == ["Blocked import: 'requests'"]
    assert violations("import requests", level="strict", allowed_imports=["requests"]) == []
    assert violations("import json", level="strict", allowed_imports=["requests"]) == [
        "Blocked import: 'json'"
    ]
    assert violations("x = 12", level="strict", max_code_size_bytes=6) == []
    assert violations("x = 123", level="strict", max_code_size_bytes=6) == [
        "Code size: 7 bytes, at most 6"
    ]
    assert violations("import os\nos.remove('x')", level="strict") == ["Blocked call: 'os.remove'"]
    assert violations("import asyncio\nasyncio.open_connection('x', 1)", level="strict") != []
    assert violations("from . import x", level="strict") == ["Blocked import: '.'"]


def test_the_level_readonly_is_strict_without_writing() -> None:
    """MGP-7.2-4"""
    writing = "import httpx\nhttpx.post('https://example.com', json=[1])"
    assert violations(writing, level="strict") == []
    assert violations(writing, level="readonly") != []
    reading = "import httpx\nprint(httpx.get('https://example.com').text)"
    assert violations(reading, level="readonly") == []
    assert violations("open('f', 'w').close()", level="readonly") != []
    assert violations("o = open\no('f', 'w')", level="readonly") == ["Blocked name: 'open'"]
    assert violations("import requests", level="readonly") == ["Blocked import: 'requests'"]


def test_a_tool_brings_lists_of_its_own() -> None:
    """MGP-7.3-1"""
    own = {"blocked_imports": ["json"], "blocked_patterns": ["secret_call(", "a.b", "while True:"]}
    code = "import json\nsecret_call(1)\na.b.c\nwhile True: pass\n'secret_call('  # a.b"
    assert violations(code, **own) == [
        "Blocked import: 'json'",
        "Blocked pattern: 'secret_call('",
        "Blocked pattern: 'a.b'",
        "Blocked pattern: 'while True:'",
    ]
    assert violations("my_secret_call(1); x.a.bc", **own) == []


def test_a_rejection_has_the_body_of_the_specification() -> None:
    """MGP-7.4-1 and MGP-7.4-2: every violation at once, in the words of the specification."""
    found = prepare(EXAMPLE).judge("import subprocess\neval('1')")
    assert found is not None
    body = dict(found.details)
    hints = dict(body.pop("hints"))
    assert body == {
        "status": "rejected",
        "reason": "Code validation failed",
        "violations": ["Blocked import: 'subprocess'", "Blocked pattern: 'eval('"],
    }
    assert hints["max_code_size_bytes"] == 10000
    assert hints["allowed_imports"] == EXAMPLE["allowed_imports"]
    assert {"subprocess", "shutil", "socket", "ctypes"} <= set(hints["blocked_imports"])


def test_the_hints_are_enough_to_write_it_anew() -> None:
    """MGP-7.4-3: an agent that knows nothing but the hints."""
    judge = prepare({**EXAMPLE, "level": "strict"}).judge
    wanted = ["subprocess", "json", "requests", "datetime"]
    first = judge("".join(f"import {name}\n" for name in wanted))
    assert first is not None
    allowed = first.details["hints"]["allowed_imports"]
    assert judge("".join(f"import {name}\n" for name in wanted if name in allowed)) is None


@pytest.mark.parametrize("code", [None, 3, ["x"], "x =", "(" * 200, "\0"])
def test_what_is_no_source_is_a_violation(code: Any) -> None:
    assert len(violations(code)) == 1


@pytest.mark.parametrize(
    "options",
    [{"level": "loose"}, {"language": "ruby"}, {"max_code_size_bytes": "9"}, {"blocked": []}],
)
def test_options_that_cannot_be_used_are_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(BadOptions):
        prepare(options)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"code": "import subprocess", "name": "x y"}, "/code"),
        ({"name": "import subprocess", "source_code": "x = 1"}, None),
        ({"a": [{"script": "eval('1')"}]}, "/a/0/script"),
        ({"x": "import socket"}, "/x"),
        ({"x": 1}, None),
        ("eval('1')", ""),
    ],
)
def test_code_members_are_judged_and_without_any_all_texts(
    arguments: Any, where: str | None
) -> None:
    """MGP-4.5-4"""
    checks = checks_for("code_safety", {}, {}, "tool")
    assert not isinstance(checks, str)
    found = checks.objection(arguments)
    assert (found and found[1].path) == where


def test_code_is_never_larger_than_what_can_be_parsed_in_time() -> None:
    assert violations("x = 1\n" * 20_000, max_code_size_bytes=10**9) == [
        "Code size: 120000 bytes, at most 102400"
    ]


@pytest.mark.parametrize("level", ["standard", "strict", "readonly"])
def test_code_may_be_as_large_as_the_bound(level: str) -> None:
    assert violations("#" * 10_000, level=level) == []
    assert violations("#" * 10_001, level=level) == ["Code size: 10001 bytes, at most 10000"]
    assert violations("#" * 102_400, level=level, max_code_size_bytes=10**9) == []


@pytest.mark.parametrize("language", ["Python", "python3", "PY"])
def test_python_has_several_names(language: str) -> None:
    assert violations("x = 1", language=language) == []


def test_the_hints_say_which_lists_are_in_force() -> None:
    """MGP-7.4-3"""
    standard, strict = (
        dict(found.details["hints"])
        for level in ("standard", "strict")
        if (found := prepare({"level": level, "blocked_imports": ["json"]}).judge("x ="))
    )
    assert "json" in standard["blocked_imports"]
    assert strict["blocked_imports"] == []
    assert "json" not in strict["allowed_imports"]
    assert "os" in strict["allowed_imports"]
    assert standard["allowed_members"] == {}


def test_whatever_the_hints_name_passes() -> None:
    """MGP-7.4-3: imports, and members where only some pass."""
    found = prepare({"level": "strict"}).judge("x =")
    assert found is not None
    hints = found.details["hints"]
    members = {(module, one) for module, them in hints["allowed_members"].items() for one in them}
    assert ("os", "path") in members
    assert ("os", "listdir") not in members
    for module, member in members - {("os", "environ")}:
        assert violations(f"import {module}\nx = {module}.{member}", level="strict") == []
    for module in hints["allowed_imports"]:
        assert violations(f"import {module}", level="strict") == []


@pytest.mark.parametrize("level", ["standard", "strict", "readonly"])
def test_a_module_is_followed_through_aliases_that_are_bound_in_any_order(level: str) -> None:
    """Each is bound in a function, so the order in which they run is not that of the source."""
    names = "abcdefgh"
    binds = [
        f"def f{n}():\n  global {names[n + 1]}\n  {names[n + 1]} = {names[n]}"
        for n in range(len(names) - 1)
    ]
    bound = "\n".join(reversed(binds))
    runs = "\n".join(f"f{n}()" for n in range(len(names) - 1))
    code = f"import os\n{bound}\na = os\n{runs}\nh.system('id')"
    assert violations(code, level=level) == ["Blocked pattern: 'os.system'"]


def test_names_that_cannot_be_followed_are_a_violation() -> None:
    bound = [f"import m{n} as x" for n in range(300)] + [f"x{n} = x" for n in range(300)]
    assert violations("\n".join(bound)) == [
        "Names: bound to each other in more ways than are followed"
    ]


def test_an_empty_list_of_allowed_imports_allows_none() -> None:
    found = prepare({"level": "strict", "allowed_imports": []}).judge("import asyncio")
    assert found is not None
    assert found.details["violations"] == ["Blocked import: 'asyncio'"]
    assert found.details["hints"]["allowed_imports"] == []
