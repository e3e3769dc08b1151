"""Nodes of a tree by kind and by name."""

import ast

from gatewright.validators.code_tree import Tree

CODE = """
@a.b
class C(D, metaclass=E):
    x: int = [i for i in range(3) if i]
    async def f(self, *args, k=1, **kw) -> "text":
        async with g() as h, open(h): await self.f(*args, **{"a": 1, **kw})
try:
    lambda y, z=2: (yield)
except (K, L) as e:
    raise e from None
match p:
    case {"q": [1, *_], **rest} | C(x=1) as s if s: print(f"{s!r:>{w}}"[1:2])
"""


def test_every_node_is_found_that_the_walk_of_the_library_finds() -> None:
    root = ast.parse(CODE)
    tree = Tree(root)
    left_out = (ast.expr_context, ast.operator, ast.boolop, ast.alias)
    wanted = {
        id(node)
        for node in ast.walk(root)
        if not isinstance(node, left_out)
        and not (isinstance(node, ast.Constant) and not isinstance(node.value, str))
    }
    kinds = {type(node) for node in ast.walk(root)}
    found = {id(node) for node in (*tree.of(*kinds), *tree.texts)}
    assert found | {id(node) for nodes in tree.names.values() for node in nodes} == wanted


def test_each_node_stands_after_the_one_it_is_in() -> None:
    tree = Tree(ast.parse("a.b.c.d; f(g(h()))"))
    assert [node.attr for node in tree.of(ast.Attribute)] == ["d", "c", "b"]
    assert [node.func.id for node in tree.of(ast.Call)] == ["f", "g", "h"]


def test_names_members_and_calls_are_found_by_their_name() -> None:
    tree = Tree(ast.parse("f(x.f()); f.g; (lambda: 0)(); f"))
    assert len(tree.names["f"]) == 3
    assert len(tree.members["f"]) == 1
    assert len(tree.calls["f"]) == 2
    assert len(tree.calls[""]) == 1
    assert [name for name, _ in tree.called({"f", "h"})] == ["f", "f"]


def test_depth_is_no_matter() -> None:
    assert len(Tree(ast.parse("-" * 90 + "1")).of(ast.UnaryOp)) == 90
