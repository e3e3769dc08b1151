"""SQL that only reads passes; what writes, or could be read as writing by another database, does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.validators.sql_reading import DIALECTS, FIRST_WORDS, MAX_CHARS, sql_rule

READING = [
    "SELECT name, count(*) FROM person WHERE age > 30 GROUP BY name HAVING count(*) > 1 ORDER BY 2 LIMIT 5",
    "select 'drop table x; --' as text",
    "SELECT * FROM a JOIN b USING (id) LEFT JOIN c ON c.x = a.x",
    "WITH old AS (SELECT * FROM t) SELECT * FROM old UNION ALL SELECT * FROM new",
    "(SELECT 1) EXCEPT (SELECT 2)",
    "VALUES (1), (2)",
    "SELECT 1;",
    "SELECT 1 -- a note",
    "SELECT /* a note */ 1",
    "SELECT '--x', \"--y\" -- a note",
    "SELECT 1 /* --x */ --",
    "SELECT 1 # --x",
    "EXPLAIN SELECT 1",
    "EXPLAIN QUERY PLAN SELECT 1",
    "explain analyze select 1",
    "EXPLAIN (ANALYZE, BUFFERS) SELECT 1",
    "SHOW TABLES",
    "show create table t",
    "DESCRIBE t",
    "PRAGMA table_info(person)",
    "PRAGMA user_version",
    "SELECT upper(name), coalesce(x, 0), json_extract(d, '$.a') FROM deleted_updates",
    'SELECT "update" FROM "insert"',
    "SELECT * FROM t WHERE created_at >= date('now', '-1 day')",
    "SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t",
    "SELECT pg_size_pretty(pg_relation_size('t'))",
    "SELECT CASE WHEN a THEN b ELSE c END FROM t",
    "SELECT regexp_replace(a, '\\s+', ' ') FROM t WHERE a ~ '^\\d+$'",
    "SELECT a - b, a / b FROM t WHERE path LIKE 'C:\\temp\\%' AND name = 'it''s'",
    "SELECT * FROM t WITH (NOLOCK)",
    "SELECT * FROM pragma_table_info('t')",
    "SELECT bool_and(a), sha256(b), jsonb_set(c, '{d}', '1') FROM t",
]

OTHER = {
    "write_statement": [
        "INSERT INTO t VALUES (1)",
        "update t set a = 1",
        "DELETE FROM t",
        "REPLACE INTO t VALUES (1)",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "CREATE TABLE t (a int)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "DROP TABLE t",
        "ALTER TABLE t ADD b int",
        "TRUNCATE t",
        "GRANT ALL ON t TO x",
        "VACUUM",
        "ATTACH 'f' AS x",
        "SET x = 1",
        "BEGIN",
        "COMMIT",
        "CALL p()",
        "COPY t TO PROGRAM 'id'",
        "PRAGMA journal_mode = WAL",
        "PRAGMA journal_mode(WAL)",
        "PRAGMA writable_schema",
        "SELECT * INTO copied FROM t",
        "SELECT * FROM t FOR UPDATE",
        "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
        "EXPLAIN ANALYZE DELETE FROM t",
        "/* note */ DELETE FROM t",
        "-- note\nDELETE FROM t",
        "KILL 3",
        "EXPLAIN",
        "LOCK TABLE t",
        "SELECT * FROM t WITH (UPDLOCK)",
        "SELECT * FROM t WITH (NOLOCK, TABLOCKX)",
    ],
    "statements": ["SELECT 1; DROP TABLE t", "SELECT 1; SELECT 2", "SELECT ';'; DELETE FROM t"],
    "unknown_function": [
        "SELECT pg_terminate_backend(1)",
        "SELECT load_extension('x')",
        "SELECT writefile('a', 'b')",
        "SELECT nextval('s')",
        "SELECT set_config('a', 'b', true)",
        "SELECT lo_export(1, '/x')",
        "SELECT * FROM dblink('x', 'y')",
        "SELECT my_own(1)",
        "SELECT pg_sleep(9)",
    ],
    "ambiguous_sql": [
        "SELECT 1 /*! INTO OUTFILE 'x' */",
        "SELECT 'a\\'; DROP TABLE t; --'",
        "SELECT 'a\\\\'; DROP TABLE t; --'",
        "SELECT 'a\\\"b' ; DROP TABLE t",
        "SELECT 1 \\g |id",
        'SELECT "\'" \\g |id "\'"',
        "SELECT 1 -- ' \\g |id '",
        "SELECT 1 # ' \\g |id '",
        "SELECT 1 /* ' */ \\g |id /* ' */",
        "SELECT $$ ; DROP TABLE t; $$",
        "SELECT $x$ y $x$",
        "/* /* */ DELETE FROM t -- */",
        "SELECT 1 --1 INTO OUTFILE '/tmp/x'",
        "SELECT 1--1",
        "SELECT 1 -- it's\n --\u00a0 INTO OUTFILE '/tmp/x'",
        "SELECT '--' # '\n --1 INTO OUTFILE '/tmp/x'",
    ],
    "unknown_statement": [
        "",
        "hello world",
        "SELECT 1 INTO OUTFILE 'x'",
        "HANDLER t OPEN",
        ";",
        "EXPLAIN VACUUMS x",
    ],
    "control_character": ["SELECT 1\x00", "SELECT\u2028 1"],
    "too_long": ["SELECT " + "1," * MAX_CHARS, "SELECT " + "(" * 40 + "1" + ")" * 40],
}


@pytest.mark.parametrize("text", READING)
def test_statements_that_only_read_pass(text: str) -> None:
    assert sql_rule(text) is None


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in OTHER.items() for text in texts]
)
def test_everything_else_is_refused_with_the_reason(rule: str, text: str) -> None:
    """MGP-4.5-2"""
    assert sql_rule(text) == rule


@pytest.mark.parametrize("dialect", ["", "mysql"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 /*!50000 INTO OUTFILE '/tmp/x' */",
        "SELECT * FROM t /*! FOR UPDATE */",
        "SELECT 1 /*! ; DELETE FROM t */",
        "SELECT 1 /*M! INTO OUTFILE '/tmp/x' */",
        "SELECT 1 /*M!100100 INTO OUTFILE '/tmp/x' */",
        "SELECT 1 /*m! INTO OUTFILE '/tmp/x' */",
        "SELECT 1 /* ! INTO OUTFILE '/tmp/x' */",
        "SELECT 1 /*T! INTO OUTFILE '/tmp/x' */",
        "SELECT 1 /*T![placement] INTO OUTFILE '/tmp/x' */",
        "SELECT 1 /* x */ /*!99999 /* y */ INTO OUTFILE '/tmp/x' */",
        "SHOW TABLES /*! ; DELETE FROM t */",
        "EXPLAIN /*! ANALYZE */ SELECT 1",
    ],
)
def test_comments_that_a_server_executes_are_refused(text: str, dialect: str) -> None:
    """MGP-4.5-2"""
    assert sql_rule(text, dialect) == "ambiguous_sql"


@pytest.mark.parametrize("dialect", ["", *sorted(DIALECTS)])
def test_what_the_end_of_a_comment_closes_is_the_same_for_all_readers(dialect: str) -> None:
    hidden = "SELECT 1 /* /* */ INTO OUTFILE '/tmp/x' -- */"
    quoted = "SELECT /*+ QB_NAME(`*/ 1 -- `) */ 2 INTO OUTFILE '/tmp/x'"
    assert sql_rule(hidden, dialect) == sql_rule(quoted, dialect) == "ambiguous_sql"
    for hint in ("SET_VAR(sql_mode='')", "MAX(1) set_var (a)", "Set(work_mem)"):
        assert sql_rule(f"SELECT /*+ {hint} */ 1", dialect) == "ambiguous_sql"


@pytest.mark.parametrize("dialect", ["postgres", "snowflake", "tsql"])
def test_hints_for_the_planner_and_plain_comments_pass(dialect: str) -> None:
    assert sql_rule("SELECT /*+ INDEX(t i) FULL(@q t) */ a FROM t /* ! */", dialect) is None


def test_in_prose_several_readings_are_nothing_to_object_to() -> None:
    assert sql_rule("SELECT 1 /*! x */", prose=True) is None
    assert sql_rule("DELETE FROM t /*! x */", prose=True) == "write_statement"


def test_a_given_dialect_is_the_only_reader() -> None:
    assert sql_rule("SELECT 'a\\'b'", "mysql") is None
    assert sql_rule("SELECT $$a$$", "postgres") is None
    assert sql_rule("SELECT TOP 5 [name] FROM [t]", "tsql") is None
    assert sql_rule("SELECT 1; DROP TABLE t", "postgres") == "statements"


def test_every_dialect_can_be_loaded_and_first_words_are_plain() -> None:
    assert {name: sql_rule("SELECT 1", name) for name in DIALECTS} == dict.fromkeys(DIALECTS)
    assert all(word.isalpha() and word.islower() for word in FIRST_WORDS)


@given(st.text(alphabet="SELECTselect 1(),;'\"-*/FROMt.$", max_size=40))
def test_any_text_gets_a_verdict(text: str) -> None:
    assert sql_rule(text) in {None, *OTHER}


def test_length_and_depth_are_allowed_up_to_the_bound() -> None:
    assert sql_rule("SELECT '" + "a" * (MAX_CHARS - 9) + "'") is None
    assert sql_rule("SELECT '" + "a" * (MAX_CHARS - 8) + "'") == "too_long"
    assert sql_rule("SELECT " + "(" * 24 + "1" + ")" * 24) is None
    assert sql_rule("SELECT " + "(" * 25 + "1" + ")" * 25) == "too_long"
    assert sql_rule("SELECT " + ", ".join(["(1)"] * 40)) is None
    assert sql_rule("SELECT " + "(1), " * 40 + "(" * 25 + "1" + ")" * 25) == "too_long"


def test_what_is_judged_does_not_end_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    assert sql_rule("CALL secret_name()") == "write_statement"
    assert caplog.records == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("SELECT TOP 10 a FROM t", None),
        ("select distinct top (5) a from [dbo].[t] order by a", None),
        ("SELECT TOP 1 a INTO u FROM t", "write_statement"),
        ("SELECT TOP 1 a FROM t; DROP TABLE t", "statements"),
        ("SELECT TOP 1 a FROM t DELETE FROM u", "unknown_statement"),
        ("SELECT 1 DELETE FROM t", "statements"),
        ("SELECT * FROM t SHUTDOWN", "statements"),
        ("SELECT a FROM (SELECT 1) Delete", "statements"),
        ('SELECT a AS "delete" FROM t', None),
        ("SELECT deleted, checkpoint FROM t", None),
    ],
)
def test_what_transact_sql_reads_otherwise(text: str, rule: str | None) -> None:
    assert sql_rule(text) == rule


@pytest.mark.parametrize(
    "statement",
    [
        "SHOW a DELETE FROM users",
        "show a drop table users",
        "show x\nexec sp_who",
        "show a update t set b=1",
    ],
)
@pytest.mark.parametrize("dialect", ["", "tsql"])
def test_what_transact_sql_reads_as_two_statements_is_no_show(statement: str, dialect: str) -> None:
    assert sql_rule(statement, dialect) is not None


def test_transact_sql_has_no_show() -> None:
    assert sql_rule("SHOW TABLES", "tsql") is not None


@pytest.mark.parametrize(
    "text",
    [
        "SHOW COLUMNS FROM backup WHERE Field = 'x'",
        "SHOW INDEX FROM backup FROM shop",
        "SHOW FULL COLUMNS FROM `update` LIKE 'x'",
        "SHOW TABLES LIKE 'delete x'",
    ],
)
def test_a_show_may_name_what_is_spelled_like_a_verb(text: str) -> None:
    assert sql_rule(text, "") is None
    assert sql_rule(" ".join((text, "DELETE FROM users")), "") is not None
