"""Tools of a project check and build; they run nothing else, publish nothing and destroy nothing."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_tools import WRAPPING, tool_rule

PASSING = [
    "lerna run test", "nx test", "changeset", "prisma migrate dev", "prisma generate", "knex migrate:latest", "gem install rails", "tox -e py311", "just test",
    "rake test", "cmake -S . -B build", "cmake -E copy a b", "nyc report", "python -m pytest -m slow", "python -m cProfile a.py", "python -m coverage run -m pytest",
]  # fmt: skip
REFUSED = [
    "lerna exec -- sh", "lerna publish", "changeset publish", "prisma migrate reset", "prisma db push --force-reset", "knex migrate:rollback", "gem exec evil",
    "tox -x x", "tox exec -- sh", "just --command sh", "just -c sh", "rake -e x", "rake --exec=x", "cmake -E env sh -c id", "cmake -P x", "nyc sh -c id",
    "c8 --reporter text sh", "python -m timeit x", "python -m cProfile -m x", "python -m coverage run -m timeit x", "python -m tox -x x", "x/bin/lerna exec sh",
]  # fmt: skip


@pytest.mark.parametrize("line", PASSING)
def test_checking_and_building_pass(line: str) -> None:
    name, *texts = line.split()
    assert tool_rule(name, texts) is None


@pytest.mark.parametrize("line", REFUSED)
def test_running_publishing_and_destroying_do_not(line: str) -> None:
    name, *texts = line.split()
    assert tool_rule(name, texts) is not None


@pytest.mark.parametrize("name", ["psql", "mysql", "sqlite3"])
def test_nothing_is_destroyed_by_sql(name: str) -> None:
    for said in ("drop table x", "DELETE\nFROM x", "select 1; Truncate x"):
        assert tool_rule(name, ["-c", said]) == "option"
    assert tool_rule(name, ["-c", "select * from drops"]) is None


def test_only_options_of_one_word_stand_before_what_is_measured() -> None:
    assert WRAPPING.fits("--reporter=text")
    assert not WRAPPING.fits("--reporter")
