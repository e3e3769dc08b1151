"""What scripts need besides transforming text, and what reading many words costs."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from gatewright import patterns
from gatewright.validators import shell_files, shell_globs
from gatewright.validators.sandbox import prepare
from gatewright.validators.shell import line, places, script_capabilities
from gatewright.validators.shell.script_capabilities import awk_needs, jq_rule, sed_needs, yq_rule
from tests.costs import DOUBLED, lines_run


@pytest.mark.parametrize("script", [":a;ba", ":x;s/a/a/;tx", ":a;s/^/x/;ta", ":a;s/x/&x/;ta", "p;:a;p;ba"])  # fmt: skip
def test_a_loop_of_sed_may_have_no_end(script: str) -> None:
    assert sed_needs(script)


@pytest.mark.parametrize("script", ["s/a/b/", ":a;N;$!ba;s/\\n/ /g", ":a;s/^([0-9]+)([0-9]{3})/\\1,\\2/;ta", "/x/b end;s/a/b/;:end"])  # fmt: skip
def test_every_other_loop_has_an_end(script: str) -> None:
    assert not sed_needs(script)


@pytest.mark.parametrize(
    ("script", "needs"),
    [
        ("{for(i=1;i<=NF;i++) print $i}", []),
        ("{for(i=NF;i>0;i--) print $i}", []),
        ("BEGIN{for(k in a) print k}", []),
        ('{while(match($0,"x")) sub("x","")}', []),
        ("BEGIN{for(;;);}", ["endless"]),
        ("BEGIN{for(i=0;i>=0;i++);}", ["endless"]),
        ("BEGIN{for(i=0;i<2;i++) i=0}", ["endless"]),
        ("BEGIN{while(1);}", ["endless"]),
        ("BEGIN{do{}while(1)}", ["endless"]),
        ("function f(){f()} BEGIN{f()}", ["endless"]),
        ('BEGIN{print ENVIRON["A"]}', ["environment"]),
        ('{print "while(1)"}', []),
    ],
)
def test_loops_of_awk_are_counted_or_need_something(script: str, needs: list[str]) -> None:
    assert list(awk_needs(script)) == needs


@pytest.mark.parametrize(
    ("script", "needs"),
    [
        (".a | map(.b)", ()),
        ('.[] | select(.name | test("while"))', ()),
        ("[range(10)]", ()),
        ("recurse(.children[])", ()),
        (".env", ()),
        ("env", ("environment",)),
        ("$ENV.HOME", ("environment",)),
        ("repeat(1)", ("endless",)),
        ("[range(1e18)]", ("endless",)),
        ("last(range(infinite))", ("endless",)),
        ("def f: f; f", ("endless",)),
        ("recurse(.)", ("endless",)),
        ('import "a" as a {search:"/etc"}; .', ("script",)),
        ('include "a"; .', ("script",)),
    ],
)
def test_filters_of_jq(script: str, needs: tuple[str, ...]) -> None:
    assert jq_rule(script) == needs


def test_expressions_of_yq() -> None:
    assert yq_rule(".a") == ()
    assert yq_rule('load("f")') == ("script",)
    assert yq_rule("env(HOME)") == ("environment",)


@pytest.mark.parametrize(("mode", "words"), [
    ("inspect", lambda size: ["awk", "BEGIN{" + "for(i=0;i<1;i++)" * size + "x}", "f"]),
    ("inspect", lambda size: ["sed", "".join(f"N;:a{at};ta{size - at};" for at in range(size)), "f"]),
    ("inspect", lambda size: ["jq", "def f: range(1); " * size + "."]),
    ("develop", lambda size: ["touch", *("a" * size)]),
    ("develop", lambda size: ["cp", *("a" * size), "out"]),
    ("inspect", lambda size: ["cat", *(f"a{at}[^b]*" for at in range(size))]),
], ids=["awk", "sed", "jq", "touch", "cp", "jokers"])  # fmt: skip
def test_twice_as_long_a_list_of_words_costs_twice_as_much(mode: str, words: Callable[[int], list[str]]) -> None:  # fmt: skip
    validator = prepare({"allow": [mode]})

    def counted(size: int) -> int:
        said = words(size)
        return lines_run((script_capabilities, line, places, shell_files, shell_globs, patterns), lambda: validator.judge(said))  # fmt: skip

    found = [counted(size) for size in (40, 80, 160, 320)]
    assert max(after / before for before, after in pairwise(found)) <= DOUBLED, found
