"""SQL that only reads, in whatever dialect the database speaks.

Theory: which statement a text is depends on who reads it, so without a given dialect the text is read in
several, one reader suffices to refuse it, and spellings about which they differ (backslashes in texts, dollar
quotes, nested or conditional comments) are refused before. One statement passes, of a kind that reads, in
whose whole tree nothing writes, locks or calls a function that nobody here knows.

The server's own read-only transaction is the real control; this one tells the agent early and clearly.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

__all__ = ["DIALECTS", "FIRST_WORDS", "MAX_CHARS", "sql_rule"]

MAX_CHARS = 4096
_MAX_DEPTH = 24

DIALECTS = frozenset(
    "sqlite postgres mysql tsql oracle duckdb snowflake bigquery clickhouse redshift presto trino spark".split()
)
_TRIED = ("sqlite", "postgres", "mysql")

FIRST_WORDS = frozenset(
    """
    select with values explain show describe desc pragma table insert update delete replace merge create alter
    drop truncate grant revoke begin start commit rollback savepoint release end set reset use attach detach
    vacuum reindex analyze analyse copy call do execute exec prepare deallocate declare lock unlock load import
    export handler rename comment cluster refresh listen notify unlisten discard checkpoint kill flush optimize
    repair install uninstall shutdown purge change upsert cache uncache security reassign fetch move close open
    """.split()
)
"""What a statement can begin with, in lower case."""

_READING = (
    exp.Select,
    exp.SetOperation,
    exp.Subquery,
    exp.Values,
    exp.Describe,
    exp.Show,
    exp.Table,
)
_WRITING = (
    exp.DDL,
    exp.DML,
    exp.Command,
    exp.Into,
    exp.Lock,
    exp.Set,
    exp.Use,
    exp.Copy,
    exp.Attach,
    exp.Detach,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
    exp.Grant,
    exp.Kill,
    exp.Drop,
    exp.Alter,
    exp.TruncateTable,
    exp.LoadData,
    exp.Analyze,
    exp.Comment,
    exp.Merge,
    exp.Pragma,
    exp.NextValueFor,
    exp.PropertyEQ,
    exp.Cache,
    exp.Uncache,
    exp.Refresh,
    exp.Execute,
    exp.ToFile,
)
_READING_DDL = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.Table)

_AMBIGUOUS = re.compile(r"/\*[!+M]|/\*(?:(?!\*/).)*/\*|\\|\$\w*\$", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_EXPLAIN = re.compile(
    r"\s*explain\s+(?:query\s+plan\s+|analyze\s+|verbose\s+|extended\s+|format\s*=\s*\w+\s+|"
    r"\(\s*(?:(?:analyze|verbose|costs|settings|buffers|wal|timing|summary|format)(?:\s+\w+)?\s*,?\s*)+\)\s*)*",
    re.IGNORECASE,
)
_SHOW = re.compile(r"\s*show\s+[\w\s.'`\"%=]+;?\s*", re.IGNORECASE)
_PRAGMA = re.compile(
    r"\s*pragma\s+(?:\w+\.)?(\w+)\s*(?:\(\s*(?P<of>[\w'\".\[\]]+)\s*\))?\s*;?\s*", re.IGNORECASE
)
_PRAGMAS_OF = frozenset(
    "table_info table_xinfo index_list index_info index_xinfo foreign_key_list foreign_key_check integrity_check "
    "quick_check table_list".split()
)
_PRAGMAS = _PRAGMAS_OF | frozenset(
    "database_list collation_list function_list module_list pragma_list compile_options encoding user_version "
    "schema_version page_count page_size freelist_count journal_mode query_only synchronous foreign_keys "
    "auto_vacuum cache_size application_id busy_timeout data_version max_page_count".split()
)
_KNOWN_FUNCTIONS = frozenset(
    """
    abs acos asin atan avg bit_and bit_length bit_or btrim cardinality ceiling changes char char_length chr
    coalesce col_description concat concat_ws convert cos count current_database current_schema current_schemas
    current_setting current_user database date date_format date_part date_trunc datediff datetime dayname dayofmonth
    dayofweek dayofyear decode degrees elt encode exp field find_in_set floor format format_type from_days
    from_unixtime generate_series glob greatest group_concat has_table_privilege hex ifnull iif inet_aton inet_ntoa
    initcap instr isnull json json_array json_array_length json_each json_extract json_keys json_length json_object
    json_quote json_tree json_type json_valid jsonb_array_elements jsonb_array_length jsonb_each jsonb_object_keys
    jsonb_pretty jsonb_typeof json_array_elements json_object_keys json_typeof julianday last_insert_rowid lcase
    least left length like likelihood likely locate log log10 log2 lower lpad ltrim make_date makedate max
    md5 mid min mod monthname mysql_version now nullif obj_description octet_length ord pg_column_size
    pg_database_size pg_get_constraintdef pg_get_expr pg_get_functiondef pg_get_indexdef pg_get_viewdef
    pg_indexes_size pg_is_in_recovery pg_postmaster_start_time pg_relation_size pg_size_pretty pg_table_is_visible
    pg_table_size pg_total_relation_size pg_typeof pi position pow power printf quarter quote quote_ident
    quote_literal radians random regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
    regexp_split_to_array regexp_split_to_table repeat replace reverse right round row_count row_to_json rpad rtrim
    schema sec_to_time sha1 sha2 sign similarity sin soundex space split_part sqlite_compileoption_used
    sqlite_source_id sqlite_version sqrt starts_with strcmp strftime string_agg string_to_array str_to_date strpos
    substr substring sum tan time time_format time_to_sec timediff timestampdiff to_char to_date to_days
    to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector total total_changes trim trunc truncate
    ts_headline ts_rank typeof ucase unhex unicode unix_timestamp unixepoch unlikely unnest upper user utc_date
    utc_time utc_timestamp version week weekday weekofyear year yearweek zeroblob array_agg array_append array_cat
    array_length array_position array_to_json array_to_string json_agg json_build_object jsonb_agg
    jsonb_build_object json_group_array json_group_object age extract width_bucket ntile lag lead
    first_value last_value nth_value row_number rank dense_rank percent_rank cume_dist values
    """.split()
)

# Its warnings repeat the text that is judged.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


def sql_rule(text: str, dialect: str = "") -> str | None:
    """What speaks against a text as SQL that only reads: a rule's name, or None."""
    if _CONTROL.search(text):
        return "control_character"
    if len(text) > MAX_CHARS or _depth(text) > _MAX_DEPTH:
        return "too_long"
    if not dialect and _AMBIGUOUS.search(text):
        return "ambiguous_sql"
    pragma = _PRAGMA.fullmatch(text)
    if pragma is not None:
        allowed = _PRAGMAS_OF if pragma["of"] else _PRAGMAS
        return None if pragma[1].casefold() in allowed else "write_statement"
    explained = _EXPLAIN.match(text)
    if explained is not None:
        return (
            sql_rule(text[explained.end() :], dialect)
            if explained.end() < len(text)
            else "unknown_statement"
        )
    if _SHOW.fullmatch(text):
        return None
    return _statement_rule(text, (dialect,) if dialect else _TRIED)


def _depth(text: str) -> int:
    deepest = depth = 0
    for one in text:
        depth += 1 if one == "(" else -1 if one == ")" else 0
        deepest = max(deepest, depth)
    return deepest


def _statement_rule(text: str, dialects: Iterable[str]) -> str | None:
    understood = False
    for dialect in dialects:
        try:
            statements = [one for one in sqlglot.parse(text, dialect=dialect) if one is not None]
        except (
            SqlglotError,
            RecursionError,
            ValueError,
            TypeError,
            AttributeError,
            IndexError,
            KeyError,
        ):
            continue
        if len(statements) != 1:
            return "statements" if statements else "unknown_statement"
        rule = _tree_rule(statements[0])
        # What is no statement at all for one database says nothing about another one.
        if rule not in {None, "unknown_statement"}:
            return rule
        understood = understood or rule is None
    return None if understood else "unknown_statement"


def _tree_rule(root: exp.Expr) -> str | None:
    if isinstance(root, _WRITING) and not isinstance(root, _READING_DDL):
        return "write_statement"
    if not isinstance(root, _READING):
        return "unknown_statement"
    for node in root.walk():
        if isinstance(node, _WRITING) and not isinstance(node, _READING_DDL):
            return "write_statement"
        if isinstance(node, exp.Anonymous) and node.name.casefold() not in _KNOWN_FUNCTIONS:
            return "unknown_function"
    return None
