"""What names and expressions of a tree stand for."""

import ast

import pytest

from gatewright.validators.code_names import Names, folded
from gatewright.validators.code_source import BadSource


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'a'", "a"),
        ("'a' 'b' + 'c'", "abc"),
        ("'-'.join(['a', 'b' + 'c'])", "a-bc"),
        ("''.join(('a', f\"{'b'}\"))", "ab"),
        ("f'a{\"b\"}c'", "abc"),
        ("'a' + x", None),
        ("f'{x}'", None),
        ("f'{\"a\"!r}'", None),
        ("f'{\"a\":>9}'", None),
        (f"('{'x' * 9000}').join(['', '', ''])", None),
        ("''.join(x)", None),
        ("x.join(['a'])", None),
        ("''.join(['a'], ['b'])", None),
        ("'a' * 2", "aa"),
        ("'a' * 101", None),
        ("'a' * n", None),
        ("x * 2", None),
        ("1", None),
        ("b'a'", None),
        ("str('a')", None),
    ],
)
def test_only_what_is_always_the_same_text_is_folded(expression: str, text: str | None) -> None:
    assert folded(ast.parse(expression, mode="eval").body) == text


@pytest.mark.parametrize(
    ("code", "paths"),
    [
        ("import a\na", {"a"}),
        ("import a.b\na", {"a"}),
        ("import a.b as c\nc", {"a.b"}),
        ("from a import b\nb", {"a.b"}),
        ("from a import b as c\nc.d", {"a.b.d"}),
        ("from . import b\nb", set()),
        ("from .a import b\nb", set()),
        ("import a\nx = a.b\ny = x\ny.c", {"a.b.c"}),
        ("y = x\nx = a\nimport a\ny", {"a"}),
        ("import a\nx: object = a\nx", {"a"}),
        ("import a\n(x := a)\nx", {"a"}),
        ("import a\nwith a as x: pass\nx", {"a"}),
        ("import a, b\na if x else b", {"a", "b"}),
        ("import a, b\na or b", {"a", "b"}),
        ("import a\nx = a\nx = 1\nx", {"a"}),
        ("import a\n(await a)", {"a"}),
        ("import a\n(x := a).b", {"a.b"}),
        ("import a\n[a][0]", set()),
        ("import a\na()", set()),
        ("b", set()),
    ],
)
def test_names_stand_for_everything_that_is_bound_to_them(code: str, paths: set[str]) -> None:
    tree = compile(code, "x", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    assert Names(ast.walk(tree)).paths(last.value) == paths


def nested(form: str, inner: str, times: int) -> str:
    for _ in range(times):
        inner = form.format(inner)
    return inner


@pytest.mark.parametrize("form", ["({} + 'a')", "('a' + {})", "f'{{{}}}'", "''.join([{}])"])
def test_texts_are_folded_to_a_certain_depth(form: str) -> None:
    def text(times: int) -> str | None:
        expression: ast.expr = ast.Constant("b")
        for _ in range(times):
            outer = ast.parse(form.format("HERE"), mode="eval").body
            expression = _Put(expression).visit(outer)
        return folded(expression)

    assert text(14) is not None
    assert text(40) is None


class _Put(ast.NodeTransformer):
    """Puts an expression where a name stands."""

    def __init__(self, expression: ast.expr) -> None:
        self.expression = expression

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.expression if node.id == "HERE" else node


@pytest.mark.parametrize(
    "form", ["({} if x else y)", "({} or x)", "(x if y else {})", "(z := {})", "{}.b"]
)
def test_names_are_followed_to_a_certain_depth(form: str) -> None:
    def found(times: int) -> bool:
        tree = ast.parse(f"import a\n{nested(form, 'a', times)}")
        last = tree.body[-1]
        assert isinstance(last, ast.Expr)
        return bool(Names(tree.body).paths(last.value))

    assert found(25)
    assert not found(40)


def test_a_name_reaches_the_package_of_what_it_stands_for() -> None:
    names = Names(ast.walk(ast.parse("from a.b import c\nimport de")))
    assert names.known == {"c", "de"}
    found = [names.reaches(frozenset({one})) for one in ("a", "d", "de", "c")]
    assert found == [True, False, True, False]
    assert names.modules == {"de"}


def test_aliases_are_followed_in_any_order_and_number() -> None:
    aliases = "\n".join(f"a{n} = a{n + 1}" for n in range(500))
    names = Names(ast.walk(ast.parse(f"{aliases}\nimport os as a500\nwith a0 as b: pass")))
    assert names.paths(ast.Name("b")) == {"os"}


def test_a_name_that_leads_ever_further_keeps_its_module_and_last_member() -> None:
    code = "from tree import node\nnode = node.left\nnode = node.right\nlast = node"
    paths = Names(ast.walk(ast.parse(code))).paths(ast.Name("last"))
    assert {"tree.node", "tree.node.left.right", "tree.left", "tree.right"} <= paths


def test_bindings_that_lead_to_more_than_is_followed_are_refused() -> None:
    imports = "\n".join(f"import m{n} as x" for n in range(300))
    aliases = "\n".join(f"x{n} = x" for n in range(300))
    with pytest.raises(BadSource, match="in more ways than are followed"):
        Names(ast.walk(ast.parse(f"{imports}\n{aliases}")))
