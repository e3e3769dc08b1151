"""Each rule bites: a small bad example, and a good one beside it."""

from __future__ import annotations

import pytest

from tests.house_rules import rules

# Put together, so that a search for skipped tests does not find this file.
PYTEST = "pytest"
MARK = f"{PYTEST}.mark"


def test_a_file_may_have_four_hundred_lines_and_no_more() -> None:
    assert rules.too_long("a.py", "x\n" * 400) == []
    assert rules.too_long("a.py", "x\n" * 400 + "x") == ["a.py: 401 lines, at most 400"]


def test_a_first_line_is_a_statement_of_at_most_so_many_characters() -> None:
    assert rules.first_lines("a.py", '"""Reads keys."""\n') == []
    assert rules.first_lines("a.py", '"""Routes:\n\n    GET /\n"""\n') == []
    assert rules.first_lines("a.py", "x = 1\n") == ["a.py: no first line"]
    assert rules.first_lines("a.py", '"""Who asks?"""\n') == [
        "a.py: 'Who asks?' is no whole statement"
    ]
    assert rules.first_lines("a.py", f'"""{"x" * 140}."""\n') == [
        "a.py: 141 characters, at most 140"
    ]


def test_two_modules_do_not_have_one_first_line() -> None:
    same = '"""Reads keys."""\n'
    assert rules.same_first_lines({"a.py": same, "b.py": '"""Writes keys."""\n'}) == []
    assert rules.same_first_lines({"a.py": same, "b.py": same}) == [
        "b.py: has the first line of a.py"
    ]


def test_literals_of_the_same_values_in_another_order_are_found() -> None:
    """`typing` keeps one of two unions that are equal, whichever was imported first."""
    one = 'from typing import Literal\nx: Literal["a", "b"] | None = None\n'
    other = 'import typing\ny: int | typing.Literal["b", "a"] = 1\nz: typing.Literal["b", "a"]\n'
    assert rules.reordered_literals({"a.py": one, "b.py": one}) == []
    assert rules.reordered_literals({"a.py": one, "b.py": other}) == [
        "b.py:2: typing.Literal['b', 'a'] is in another order than in a.py:2"
    ]


@pytest.mark.parametrize("path", ["src/gatewright/utils/x.py", "tests/helpers.py", "a/core/b.md"])
def test_a_drawer_is_refused_wherever_it_stands(path: str) -> None:
    assert len(rules.forbidden_names(path)) == 1


def test_a_domain_name_that_contains_a_drawer_is_fine() -> None:
    assert rules.forbidden_names("src/gatewright/audit/scores.py") == []


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error"])
def test_work_left_for_later_is_found_with_its_line(word: str) -> None:
    assert rules.leftovers("a.py", f"x = 1\n# {word} later\n") == [f"a.py:2: {word}"]


def test_the_value_not_implemented_of_the_data_model_is_no_leftover() -> None:
    assert rules.leftovers("a.py", "return NotImplemented\n") == []


@pytest.mark.parametrize("mark", ["noqa", "noqa: C901", "noqa: E501, PLR0915", "ruff: noqa"])
def test_the_size_limits_cannot_be_silenced(mark: str) -> None:
    assert len(rules.silenced_limits("a.py", f"def f():  # {mark}\n")) == 1


def test_another_lint_rule_may_be_silenced_with_its_name() -> None:
    assert rules.silenced_limits("a.py", "x()  # noqa: S310 - the scheme is checked above\n") == []


@pytest.mark.parametrize(
    "line",
    [
        '"resolved": ' + '"https://npm.example/x.tgz"',
        "--index" + "-url https://index.example/simple",
        "registry = " + "https://npm.example",
        "cd /work" + "/main && make",
    ],
)
def test_addresses_of_indexes_and_paths_of_a_machine_are_found(line: str) -> None:
    assert len(rules.foreign_addresses("a", f"ok\n{line}\n")) == 1


def test_a_word_of_this_machine_is_found_as_well() -> None:
    assert rules.foreign_addresses("a", "see mirror.example/x", ["mirror.example"]) == [
        "a:1: see mirror.example/x"
    ]


def test_each_module_needs_a_test_file_of_its_own_name() -> None:
    modules = {"audit/trail.py": "x = 1", "call.py": "x = 1", "limits/gate.py": "x = 1"}
    tests = ["audit/test_trail_chain.py", "test_call.py", "test_rate.py"]
    assert rules.missing_twins(modules, tests) == [
        "src/gatewright/limits/gate.py: no tests/limits/test_gate.py"
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("desk.page = page.url", "sets desk.page from outside"),
        ("self.app.rooms = rooms", "sets self.app.rooms from outside"),
        ("self.one, desk.page = 1, 2", "sets desk.page from outside"),
        ("desk.count += 1", "sets desk.count from outside"),
        ("setattr(desk, 'page', url)", "sets desk.… from outside"),
        ("go(lambda: self.kernel)", "`lambda: self.kernel` stands for a part to come"),
    ],
)
def test_what_completes_an_object_later_is_found(line: str, complaint: str) -> None:
    assert rules.late_parts("a.py", f"x = 1\n{line}\n") == [f"a.py:2: {complaint}"]


@pytest.mark.parametrize("line", ["self.page = url", "page: str = url", "go(lambda one: one.page)"])
def test_what_completes_an_object_itself_is_fine(line: str) -> None:
    assert rules.late_parts("a.py", line) == []


def test_what_the_features_of_folders_contribute_is_tested_in_whole_gateways() -> None:
    modules = {"flow/feature.py": "x = 1", "feature.py": "x = 1"}
    assert rules.missing_twins(modules, []) == [
        "src/gatewright/feature.py: no tests/test_feature.py"
    ]


def test_a_package_file_needs_a_test_only_when_it_defines_something() -> None:
    modules = {"a/__init__.py": "from x import y", "b/__init__.py": "def f(): ..."}
    assert rules.missing_twins(modules, []) == [
        "src/gatewright/b/__init__.py: no tests/b/test_init.py"
    ]


def test_a_test_file_that_mirrors_nothing_is_found_outside_the_free_folders() -> None:
    tests = ["audit/test_gone.py", "behaviour/test_cancel.py", "audit/test_trail_crash.py"]
    assert rules.stray_twins(["audit/trail.py"], tests) == [
        "tests/audit/test_gone.py: mirrors no module of src/gatewright"
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1\n", "a.py: no literal __all__"),
        ("__all__ = make()\n", "a.py: no literal __all__"),
        ("__all__ = ['gone']\n", "a.py: __all__ names 'gone', not defined here"),
        ("from b import c\n__all__ = ['c']\n", "a.py: __all__ names 'c', not defined here"),
        ("__all__ = []\ndef f(): ...\n", "a.py: 'f' is public but not in __all__"),
    ],
)
def test_exports_that_lie_are_found(text: str, complaint: str) -> None:
    assert rules.dishonest_exports("a.py", text) == [complaint]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "__all__ = ['X', 'f']\nX = 1\ndef f(): ...\ndef _g(): ...\n"),
        ("a/__init__.py", "from b import c\n__all__ = ['c']\n"),
        ("a/__init__.py", '"""Only words."""\nfrom __future__ import annotations\n'),
    ],
)
def test_honest_exports_pass_without_a_complaint(name: str, text: str) -> None:
    assert rules.dishonest_exports(name, text) == []


def test_a_name_that_a_module_does_not_offer_cannot_be_imported_from_it() -> None:
    exports = {"gatewright.call": ["Call"], "gatewright.limits": [], "gatewright.limits.gate": []}
    text = "from gatewright.call import Call, _mint\nfrom gatewright.limits import gate\n"
    assert rules.private_imports("a.py", text, exports) == [
        "a.py:1: gatewright.call does not export '_mint'"
    ]


@pytest.mark.parametrize(
    "line",
    [
        f"@{MARK}.skip",
        f"@{MARK}.skipif(True, reason='x')",
        f"{PYTEST}.skip('later')",
        f"@{MARK}.xfail",
        f"{PYTEST}.importor" + "skip('x')",
        "raise unittest.SkipTest",
    ],
)
def test_every_way_to_skip_a_test_is_found(line: str) -> None:
    body = f"{line}\ndef test_a(): ..." if line.startswith("@") else line
    assert len(rules.unwanted_marks("test_a.py", body)) == 1


def test_a_method_called_skip_on_something_else_is_no_skip() -> None:
    assert rules.unwanted_marks("test_a.py", "reader.skip(4)\n") == []


def test_a_test_name_has_at_least_three_words() -> None:
    text = "def test_cancel(): ...\ndef test_a_cancelled_call_ends(): ...\n"
    assert rules.unreadable_test_names("t.py", text) == ["t.py:1: test_cancel is no sentence"]


@pytest.mark.parametrize(
    "body",
    [
        "assert x",
        "with pytest.raises(E): f()",
        "assert_same(a, b)",
        "h.check_order(x)",
        "within(e.wait())",
    ],
)
def test_a_test_that_checks_something_passes_the_rule(body: str) -> None:
    assert rules.untested_tests("t.py", f"def test_a_b_c():\n    {body}\n") == []


def test_a_test_that_cannot_fail_is_found() -> None:
    text = "async def test_a_b_c():\n    await run()\n"
    assert rules.untested_tests("t.py", text) == ["t.py:1: test_a_b_c asserts nothing"]


def test_a_public_method_needs_a_docstring_where_no_base_gives_one() -> None:
    text = "class A:\n    def f(self): return 1\n    def _g(self): return 2\n"
    assert rules.undocumented_methods("a.py", text) == ["a.py:2: A.f has no docstring"]
    assert rules.undocumented_methods("a.py", text.replace("A", "A(Protocol)")) == []
    overloaded = text.replace("    def f", "    @overload\n    def f")
    assert rules.undocumented_methods("a.py", overloaded) == []
