"""Clients of databases read where what they ask reads."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gatewright.validators import database_clients, readonly
from gatewright.validators.database_clients import CLIENTS

_EXAMPLES = tomllib.loads(Path(database_clients.__file__).with_name("clients.toml").read_text())["examples"]  # fmt: skip


@pytest.mark.parametrize("line", [line for row in _EXAMPLES for line in row["refused"]])
def test_what_may_do_more_than_read_is_refused(line: str) -> None:
    assert readonly.prepare({}).judge(line) is not None


@pytest.mark.parametrize("line", [line for row in _EXAMPLES for line in row["passes"]])
def test_what_reads_passes(line: str) -> None:
    assert readonly.prepare({}).judge(line) is None


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("docker inspect web", "secrets"),
        ("kubectl get pods -w", "endless"),
        ("psql -c 'select passwd from pg_shadow'", "secret_table"),
        ("psql -c 'drop table t'", "write_statement"),
        ("redis-cli flushall", "unknown_statement"),
        ("aws lambda list-functions", "secrets"),
    ],
)
def test_the_rule_says_why(line: str, rule: str) -> None:
    objection = readonly.prepare({}).judge(line)
    assert objection is not None
    assert objection.rule == rule


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("option", ["-f", "--file=x", "-o", "--output=x", "--init-command=x", "--eval", "--pager=x"])  # fmt: skip
def test_no_option_leads_elsewhere(name: str, option: str) -> None:
    asked = {"redis-cli": ["ping"], "psql": ["-c", "select 1"]}.get(name, ["-e", "select 1"])
    assert CLIENTS[name]([name, *asked]) is None
    assert CLIENTS[name]([name, option, *asked]) is not None
