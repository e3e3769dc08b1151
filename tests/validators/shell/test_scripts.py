"""What scripts need besides transforming text."""

import pytest

from gatewright.validators.shell.scripts import awk_needs, jq_rule, sed_needs, yq_rule


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
