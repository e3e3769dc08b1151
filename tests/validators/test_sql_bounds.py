"""How far a statement that reads may reach."""

from __future__ import annotations

import pytest
import sqlglot

from gatewright.validators.sql_bounds import SQL_LISTS, bounds_rule
from gatewright.validators.sql_reading import sql_rule

_EXAMPLES = SQL_LISTS["examples"]


@pytest.mark.parametrize("text", [text for row in _EXAMPLES for text in row["refused"]])
@pytest.mark.parametrize("dialect", ["", "postgres", "mysql"])
def test_what_reaches_too_far_is_refused(text: str, dialect: str) -> None:
    assert sql_rule(text, dialect) is not None


@pytest.mark.parametrize("text", [text for row in _EXAMPLES for text in row["passes"]])
def test_what_reads_what_is_there_passes(text: str) -> None:
    assert sql_rule(text) is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("select * from pg_shadow", "secret_table"),
        ("select rolpassword from a.pg_catalog.pg_authid", "secret_table"),
        ("select Password from MYSQL.User", "secret_table"),
        ("select x from (select authentication_string as x from mysql.user) t", "secret_table"),
        ("with recursive a as (select 1 as i union all select i from a) select * from a", "endless"),
        ("select rpad('x', 99999999999)", "too_much"),
        ("select usename from pg_shadow", None),
        ("select 99999999999", None),
    ],
)  # fmt: skip
def test_the_rule_says_why(text: str, rule: str | None) -> None:
    assert bounds_rule(sqlglot.parse_one(text, dialect="postgres")) == rule
