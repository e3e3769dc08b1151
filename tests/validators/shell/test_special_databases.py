"""psql, mysql, sqlite3, redis-cli."""

import pytest

from gatewright.validators.sandbox import prepare

DEVELOP = prepare({"allow": ["develop"]})


@pytest.mark.parametrize(
    "line",
    ["psql -c 'select 1'", "psql -c '\\d users'", "psql -h localhost -f a.sql", "mysql -e 'show tables'", "sqlite3 a.db 'select 1'", "sqlite3 a.db .schema", "redis-cli get a",
     "sqlite3 a.db \"insert into a values (1)\"", "psql -c 'delete from a where b = 1'"],
)  # fmt: skip
def test_what_asks_this_machine_passes(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize(
    "line",
    ["psql -h db.x.example -c 'select 1'", "psql postgresql://u@x.example/a", "psql -c 'drop table a'", "psql -c 'delete from a'", "psql -c '\\! id'", "psql -f /srv/a.sql", "echo x | psql",
     "psql a < b.sql", "mysql -e 'system id'", "sqlite3 a.db .shell", "sqlite3 a.db 'drop table a'", "sqlite3 a.db \"vacuum into '/x'\"", "sqlite3 a.db \"attach 'x' as y\"", "redis-cli flushall",
     "redis-cli -u redis://x.example get a", "echo x | sqlite3 a.db", "sqlite3 /srv/a.db 'insert into a values (1)'"],
)  # fmt: skip
def test_what_destroys_runs_or_leads_away_does_not(line: str) -> None:
    assert DEVELOP.judge(line) is not None
