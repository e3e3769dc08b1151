"""What it costs to judge cloud tools, clients of databases, parsed SQL and code grows as fast as their text, at one, two, four and eight times of it:
counted in lines of Python, whatever the machine does meanwhile."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import ModuleType

import pytest
import sqlglot
from sqlglot import expressions

from gatewright.validators import (
    cloud_commands,
    code_tree,
    database_clients,
    readonly,
    sql_bounds,
)
from gatewright.validators.cloud_commands import cloud_rule
from gatewright.validators.code_tree import Tree
from gatewright.validators.sql_bounds import bounds_rule
from tests.costs import DOUBLED, grows, lines_run

Work = Callable[[], object]
TIMES = (2, 4, 8)


def lines_of(modules: Sequence[ModuleType], work: Work) -> int:
    return lines_run(tuple(modules), work)


def check(modules: Sequence[ModuleType], work: Callable[[int], Work], size: int) -> None:
    """Hold what runs against the size of what is judged."""
    least = lines_of(modules, work(size))
    assert least > 0
    for times in TIMES:
        assert lines_of(modules, work(size * times)) <= least * times * 1.15, times


@pytest.mark.parametrize(
    "command",
    [
        ["terraform", "state", "list", "module.a"],
        ["terraform", "state", "list", "-no-color"],
        ["terraform", "fmt", "-check", "-diff"],
        ["terraform", "output", "-no-color"],
        ["terraform", "show", "plan.out"],
        ["terraform", "-chdir=a"],
        ["tofu", "providers", "schema"],
        ["aws", "--no-paginate"],
        ["aws", "--region=x"],
        ["aws", "lambda", "list-functions", "--query=Functions[*].FunctionName"],
        ["gcloud", "compute", "instances", "list", "--filter=x"],
        ["helm", "list", "-A"],
    ],
)
def test_a_command_of_a_cloud_tool(command: list[str]) -> None:
    check([cloud_commands], lambda size: lambda: cloud_rule([*command, *command[-1:] * size]), 50)


def test_of_a_long_command_every_word_is_looked_at_once() -> None:
    """What is matched and joined is no line of Python."""

    def work(size: int) -> Work:
        words = ["terraform", "state", "list", *["module.a"] * size]
        return lambda: cloud_rule(words)

    assert grows(work(500), work(2000)) <= DOUBLED**2


@pytest.mark.parametrize("more", [".b", ",b", "[*].b", "(b", " b"])
def test_what_is_chosen_of_an_answer(more: str) -> None:
    def work(size: int) -> Work:
        return lambda: cloud_rule(["aws", "lambda", "list-functions", "--query", "a" + more * size])

    check([cloud_commands], work, 50)


@pytest.mark.parametrize(
    ("head", "more", "tail"),
    [
        ("psql", " -c 'select 1'", ""),
        ("psql -c 'select 1'", " -qAt", ""),
        ("psql -c 'select 1' -", "qAtX", ""),
        ("mysql -e 'select 1'", " --table", ""),
        ("mysql", " -e 'select 1'", ""),
        ("redis-cli", " -n 1", " ping"),
        ("redis-cli mget", " x", ""),
    ],
)
def test_a_client_of_a_database(head: str, more: str, tail: str) -> None:
    judge = readonly.prepare({})
    assert judge.judge(f"{head}{more}{tail}") is None

    def work(size: int) -> Work:
        return lambda: judge.judge(head + more * size + tail)

    check([database_clients], work, 10)


@pytest.mark.parametrize(
    ("head", "more", "tail"),
    [
        ("select a, b from t where c = 1", " union all select 1", ""),
        ("select usename from pg_shadow", ", pg_authid", ""),
        ("with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select * from r", " join r as q on 1 = 1", ""),
        ("with recursive a as (select 1)", ", b as (select 1 union all select n + 1 from b where n < 5)", " select * from a"),
        ("select repeat('x', 3)", ", rpad('y', 3)", ""),
        ("select 99999999999", ", 99999999999", ""),
        ("select a from t where b in (1", ", 2", ")"),
        ("select a from t where a = 1", " or a = 1", ""),
    ],
)  # fmt: skip
def test_a_parsed_statement(head: str, more: str, tail: str) -> None:
    def work(size: int) -> Work:
        root = sqlglot.parse_one(head + more * size + tail, dialect="postgres")
        return lambda: bounds_rule(root)

    check([sql_bounds, expressions], work, 20)


@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("repeat(", "'x'", ", 2)"),
        ("repeat(", "'x'", ", 99999999999 - 99999999998)"),
        ("upper(", "99999999999", ")"),
        ("upper(", "1", " + 99999999999)"),
        ("(select ", "1", ")"),
        ("(with recursive a as (select 1 union all select n + 1 from a where n < 5) select ", "1", ")"),
    ],
)  # fmt: skip
def test_a_statement_within_statements(before: str, middle: str, after: str) -> None:
    def work(size: int) -> Work:
        root = sqlglot.parse_one(f"select {before * size}{middle}{after * size}", dialect="postgres")  # fmt: skip
        return lambda: bounds_rule(root)

    check([sql_bounds, expressions], work, 4)


CODES = [
    "x = a.b(c, d=[1, 2])\n",
    "while True:\n    if x:\n        break\n",
    "for i in count():\n    break\n",
    "y = [*range(3), *map(f, z)]\n",
    "z = list(enumerate(map(f, w)))\n",
    "n = 2 ** 3 ** 2 * 'a'\n",
    "sum(i for i in range(10) if i)\n",
    "sleep(1) or zeros((1, 2, 3))\n",
]


@pytest.mark.parametrize("code", CODES)
def test_the_nodes_of_code_by_their_kinds(code: str) -> None:
    def work(size: int) -> Work:
        root = ast.parse(code * size)
        return lambda: Tree(root)

    check([code_tree], work, 20)
