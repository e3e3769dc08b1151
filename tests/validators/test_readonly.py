"""`readonly`: the tool's name, the verbs, the SQL and the commands of a call may only read."""

from pathlib import Path
from typing import Any

import pytest

from gatewright.validators.options import BadOptions
from gatewright.validators.readonly import prepare, writes_by_name
from gatewright.validators.registry import Checks, checks_for


@pytest.mark.parametrize(
    "value",
    [
        "curl -sSL -H 'A: b' http://example.net/",
        "curl -I -X HEAD http://example.net/",
        "wget -qO- http://example.net",
        "wget --spider http://example.net",
        "wget -q -O - http://example.net",
        "curl -so /dev/null -w '%{http_code}' http://example.net/",
        "curl --output - --url http://example.net/",
        "curl -Lm 10 --max-redirs=3 http://example.net/",
        "crontab -l",
        "mount",
        "less f",
        "SELECT * FROM t",
        "explain select 1",
        "ls -la",
        "cat f | sort -u | head",
        "git log --oneline",
        "cat /etc/passwd",
        ["ls", "-la"],
        "sort f",
        "file f",
    ],
)
def test_what_only_reads_passes(value: Any) -> None:
    assert prepare({}).judge(value) is None


@pytest.mark.parametrize(
    "value",
    [
        "DELETE FROM t",
        "rm f",
        "echo x > f",
        "cat f | tee g",
        "sed -i p f",
        "sort -o f f",
        "git push",
        "find . -delete",
        "mkdir d",
        "ls; rm f",
        ["rm", "f"],
        ["sort", "-o", "f"],
        [],
        ["ls", "a\nb"],
        [3],
        None,
        {"x": 1},
        "do what you like",
        "curl -X POST http://example.net",
        "curl -d x http://example.net",
        "curl -o f http://example.net",
        "curl -T f http://example.net",
        "curl --data=x http://example.net",
        "curl -sO http://example.net/f",
        "wget http://example.net/f",
        "wget -q http://example.net/f",
        "wget -O f http://example.net/f",
        "wget -qO- -O f http://example.net/f",
        "wget -qO- --post-data=x http://example.net/f",
        "wget -O - -o f http://example.net/f",
        "curl -oout http://example.net",
        "curl --output=out http://example.net",
        "curl -sXPOST http://example.net",
        "curl --request PUT http://example.net",
        "curl -sH @f http://example.net",
        "curl -w '%output{f}x' http://example.net",
        "curl -w @f http://example.net",
        "curl -A x -o f http://example.net",
        "crontab -r",
        "mount /dev/sda1 /mnt",
        "less +!id f",
    ],
)
def test_what_writes_or_is_unknown_is_refused(value: Any) -> None:
    """MGP-4.5-2"""
    found = prepare({}).judge(value)
    assert found is not None
    assert found.message


@pytest.mark.parametrize(
    "name",
    [
        "write_file",
        "deleteUser",
        "create-issue",
        "db_update",
        "file.append",
        "removeAll",
        "sendEmail",
        "SET",
    ],
)
def test_a_tool_that_writes_by_its_name_is_not_called(name: str) -> None:
    """MGP-4.5-2: a write tool."""
    assert writes_by_name(name)
    checks = checks_for("readonly", {}, {}, name)
    assert not isinstance(checks, str)
    _, found = checks.objection({}) or ("", None)
    assert found is not None
    assert found.rule == "write_tool"
    trusted = checks_for("readonly", {"readonly": {"trust_name": True}}, {}, name)
    assert not isinstance(trusted, str)
    assert trusted.objection({}) is None


@pytest.mark.parametrize(
    "name", ["get_updates", "listDeleted", "read_file", "search", "query_post", "weather", "x1", ""]
)
def test_a_tool_that_reads_by_its_name_is_called(name: str) -> None:
    assert not writes_by_name(name)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"method": "GET"}, None),
        ({"method": "DELETE"}, "write_verb"),
        ({"http_method": "post"}, "write_verb"),
        ({"operation": "delete_all"}, "write_verb"),
        ({"action": "list"}, None),
        ({"mode": "r"}, None),
        ({"mode": "rb"}, None),
        ({"mode": "w"}, "write_verb"),
        ({"mode": "r+"}, "write_verb"),
        ({"sql": "SELECT 1"}, None),
        ({"sql": "DROP TABLE t"}, "write_statement"),
        ({"query": "SELECT 1; DROP TABLE t"}, "statements"),
        ({"command": "ls"}, None),
        ({"command": "rm f"}, "unknown_statement"),
        ({"title": "Update the documents, please"}, None),
        ({"text": "DELETE FROM t"}, "write_statement"),
        ({"deep": [{"er": "DROP TABLE t"}]}, "write_statement"),
        ({"text": "x; DROP TABLE t"}, "statements"),
        ({"text": "first; second"}, None),
        ({"DELETE FROM t": 1}, None),
        ({"n": 1}, None),
        ({"note": ""}, None),
        ({"tool": "hammer"}, None),
        ({"method": ""}, None),
        ({"mode": "x"}, "write_verb"),
        ({"verb": "listAndDelete"}, None),
    ],
)
def test_each_argument_is_judged_as_what_it_is_called(arguments: Any, rule: str | None) -> None:
    checks = checks_for("readonly", {}, {}, "query")
    assert not isinstance(checks, str)
    found = checks.objection(arguments)
    assert (found and found[1].rule) == rule


def test_the_dialect_is_an_option() -> None:
    assert prepare({"dialect": "mysql"}).judge("SELECT `a\\'` FROM t") is None
    with pytest.raises(BadOptions, match="dialect must be one of"):
        prepare({"dialect": "dbase"})


def test_a_list_that_is_declared_as_a_command_is_judged_as_one() -> None:
    checks = checks_for("readonly", {}, {"readonly": ["/argv"]}, "query")
    assert not isinstance(checks, str)
    assert checks.objection({"argv": ["grep", "x", "f"]}) is None
    assert checks.objection({"argv": ["rm", "f"]}) is not None


def _refused(tool: str, arguments: dict[str, object], **options: object) -> bool:
    validator = prepare(options, tool)
    return any(validator.judge(part) is not None for _, part in validator.parts(arguments))


@pytest.mark.parametrize("tool", ["search", "web_search", "docs.searchPages", "find_issue"])
def test_the_query_of_a_search_is_plain_words(tool: str) -> None:
    """MGP-4.5"""
    assert not _refused(tool, {"query": "how to delete a file"})
    assert not _refused(tool, {"query": "create react app", "limit": 5})
    assert not _refused(tool, {"queries": ["set theory", "status:open label:bug"]})
    assert _refused(tool, {"query": "DELETE FROM t"})
    assert _refused(tool, {"query": "SELECT 1; DROP TABLE t"})
    assert _refused(tool, {"sql": "call p()"})


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM t WHERE a = '\\'",
        "DELETE FROM t WHERE " + "a = 1 OR " * 600 + "a = 2",
        "DELETE t FROM t JOIN u",
        "DELETE TOP (5) FROM t",
        "DELETE\x0bFROM t",
        "/*!50000 DELETE FROM t */",
        "-- words\nDELETE FROM t WHERE a = '\\'",
        "INSERT t VALUES (1)",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "SELECT setval('s', 1)",
        "(select lo_unlink(1))",
        "SELECT 1 FOR UPDATE",
        "SELECT 1; VACUUM",
        "words'; DELETE FROM t; --",
        "PRAGMA writable_schema = 1",
        "CALL p(1)",
        "EXEC p 'x'",
        "DO $$ BEGIN PERFORM p(); END $$",
        "SET GLOBAL x = 1",
    ],
)
def test_a_search_is_no_way_for_a_statement_that_writes(text: str) -> None:
    """MGP-4.5"""
    assert _refused("search_docs", {"query": text})
    assert _refused("find_issue", {"queries": ["words", text]})


@pytest.mark.parametrize(
    "text",
    [
        "select a school (public)",
        "with love, actually",
        "how to insert into a list; python",
        "explain photosynthesis (biology)",
        "show me john's files",
        "insert into a list python",
        "kill bill",
        "create a pull request, then merge it",
        "update: what's new (2024)?",
        "open source tools",
        "SELECT a FROM t",
        "not a word of SQL; (really)",
        "",
    ],
)
def test_words_that_begin_like_sql_can_be_searched_for(text: str) -> None:
    assert not _refused("search_docs", {"query": text})


def test_a_name_with_browse_in_it_is_no_database() -> None:
    assert not _refused("browse_catalog", {"query": "red shoes"})


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('a.csv')",
        "SELECT * FROM read_parquet('http://example.com/a')",
        "SELECT * FROM file('/etc/hosts')",
        "SELECT * FROM remote(h, d, t)",
        "SELECT * FROM '/etc/hosts'",
        'SELECT * FROM (SELECT * FROM "s3://a/b") x',
    ],
)
def test_what_is_read_is_a_table(text: str) -> None:
    """MGP-4.5"""
    assert _refused("query", {"sql": text})


@pytest.mark.parametrize(
    "text",
    [
        'SELECT * FROM "My Table" AS t',
        "SELECT * FROM (VALUES (1)) AS v (a)",
        "SELECT x.a FROM generate_series(1, 2) AS x (a)",
        "SELECT datepart(dw, ts) FROM t",
    ],
)
def test_tables_with_odd_names_and_aliases_are_read(text: str) -> None:
    assert not _refused("query", {"sql": text})


@pytest.mark.parametrize(
    "tool",
    [
        "query",
        "run_query",
        "search_rows",
        "find_in_db",
        "searchDatabase",
        "searchDb",
        "lookupDB",
        "find_in_postgres",
        "search_warehouse",
    ],
)
def test_the_query_of_a_database_is_sql(tool: str) -> None:
    """MGP-4.5"""
    assert _refused(tool, {"query": "CALL p()"})
    assert not _refused(tool, {"query": "SELECT 1"})


def test_with_a_dialect_every_query_is_sql() -> None:
    assert _refused("search", {"query": "CALL p()"}, dialect="postgres")


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "MKCOL"},
        {"http_verb": "proppatch"},
        {"methods": ["GET", "POST"]},
        {"method": "\uff30\uff2f\uff33\uff34"},
        {"method": "po\u017ft"},
        {"headers": {"X-HTTP-Method-Override": "DELETE"}},
    ],
)
def test_verbs_that_write_are_known_in_every_spelling(arguments: dict[str, object]) -> None:
    """MGP-4.5"""
    assert _refused("fetch", arguments)
    assert not _refused("fetch", {"method": "PROPFIND", "headers": {"X-HTTP-Method": "GET"}})


def test_an_empty_member_that_is_called_tool_says_nothing_of_the_tool() -> None:
    checks = checks_for("readonly", {}, {}, "get_item")
    assert isinstance(checks, Checks)
    assert checks.objection({"tool": ""}) is None


_CORPORA = Path(__file__).with_name("corpora")
_SHOWING = {"aws lambda list-functions", "terraform show", "terraform plan"}
"""Written as honest before anybody looked: the first two show environments and states, the last runs providers and external programs."""


@pytest.mark.parametrize("file", ["sql_attacks.txt", "cloud_attacks.txt"])
def test_what_was_written_as_an_attack_before_the_rules_is_refused(file: str) -> None:
    judge = prepare({}).judge
    lines = (_CORPORA / file).read_text().splitlines()
    assert len(lines) == 60
    assert [line for line in lines if judge(line) is None] == []


@pytest.mark.parametrize(("file", "refused"), [("sql_honest.txt", set()), ("cloud_honest.txt", _SHOWING)])  # fmt: skip
def test_what_was_written_as_honest_before_the_rules_passes(file: str, refused: set[str]) -> None:
    judge = prepare({}).judge
    lines = (_CORPORA / file).read_text().splitlines()
    assert len(lines) == 60
    assert {line for line in lines if judge(line) is not None} == refused
