"""Judges whether SQL is one read-only statement of known functions, parsed in the given dialect or, without one, in several.

Theory: which statement a text is depends on who reads it, so without a given dialect the text is read in
several, one reader suffices to refuse it, and spellings about which they differ (backslashes in texts, dollar
quotes, nested or conditional comments) are refused before. One statement passes, of a kind that reads, in
whose whole tree nothing writes, locks or calls a function that nobody here knows.

The server's own read-only transaction is the real control; this one tells the agent early and clearly.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from gatewright.patterns import ASCII, IGNORECASE, Pattern

__all__ = ["DIALECTS", "FIRST_WORDS", "MAX_CHARS", "sql_rule"]

MAX_CHARS = 4096
# Parentheses: the parser recurses, and some forms double its work with each level.
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

_NESTED = Pattern(r"/\*(?:[^*]|\*+[^*/])*/\*")
"""Whether the first end closes both is a matter of the database, and of its version."""
_EXECUTED = Pattern(r"/\*\s*[MT]?\s*!", IGNORECASE)
"""Comments whose content MySQL, MariaDB and TiDB execute."""
_EXECUTING = frozenset({"", "mysql"})
_ANY_HINT = Pattern(r"/\*\+")
_HINT = Pattern(r"/\*\+[\w\s(),.@]*\*/")
"""Without quotes, in which a server reads `*/` as part of a name, and without `=`, by which a variable is set."""
_SETTING_HINT = Pattern(r"/\*\+[\w\s(),.@]*\bset(?:_var)?\s*\(", ASCII | IGNORECASE)
_DOLLAR_QUOTES = Pattern(r"\$\w*\$")
_MYSQL_TOKEN = Pattern(
    r"'[^']*'|\"[^\"]*\"|`[^`]*`|/\*(?:[^*]|\*+[^*/])*\*+/|(?:#|--[\t\n\r ])[^\n]*|(?P<minus>--[^\t\n\r ])|[^'\"`/#-]+|."
)
"""What MySQL reads at a place: two dashes begin a comment only before a blank, for everybody else always."""
_PLAIN = r"(?:'(?:[^'\\]|''|\\[^'\"`\\])*'|\"[^\"\\]*\"|`[^`\\]*`|[^'\"`\\#/*-])"
_DASHES = "(?:-?/)*"
_BACKSLASHES = Pattern(rf"(?:{_DASHES}-?{_PLAIN}|(?:{_DASHES}-)?\*)*{_DASHES}-?")
"""Statements in which backslashes stand only in texts, and never where a text could end. A client's own commands
begin with one, too."""
_CONTROL = Pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_EXPLAIN = Pattern(
    r"\s*explain\s+(?:query\s+plan\s+|analyze\s+|verbose\s+|extended\s+|format\s*=\s*\w+\s+|"
    r"\(\s*(?:(?:analyze|verbose|costs|settings|buffers|wal|timing|summary|format)(?:\s+\w+)?\s*,?\s*)+\)\s*)*",
    IGNORECASE,
)
_SHOW = Pattern(r"\s*show\s+[\w\s.'`\"%=]+;?\s*", IGNORECASE)
_SHOW_CREATE = Pattern(r"\s*show\s+create\s", IGNORECASE)
_WRITES = Pattern(
    r"\b(?:insert|update|delete|merge|drop|create|alter|truncate|grant|revoke|deny|exec|execute|kill|shutdown|backup|restore|dbcc)"
    r"[^\w.'%=;]",
    ASCII | IGNORECASE,
)
"""A verb that writes, with something behind it, which behind `SHOW CREATE` nothing has that is one SHOW."""
_NAMED = Pattern(r"\b(?:from|in)\s+[\w.]+|`[^`]*`|'[^']*'|\"[^\"]*\"", ASCII | IGNORECASE)
"""Names and texts in a SHOW, which may be spelled as a verb is."""
_TOP = Pattern(r"\s*select\s+(?:distinct\s+)?top(?:\W|\Z)", IGNORECASE)
"""How Transact-SQL alone limits a result."""
_PRAGMA = Pattern(
    r"\s*pragma\s+(?:\w+\.)?(\w+)\s*(?:\(\s*(?P<of>[\w'\".\[\]]+)\s*\))?\s*;?\s*", IGNORECASE
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
    abs acos add_months age array_agg array_append array_cat array_contains array_dims array_distinct
    array_fill array_join array_length array_lower array_ndims array_position array_positions array_prepend
    array_remove array_replace array_to_json array_to_string array_upper ascii asin atan atan2 avg avgif
    bit_and bit_count bit_length bit_or bool_and bool_or broadcast btrim cardinality cbrt ceiling changes
    char char_length choose chr clock_timestamp coalesce col_description concat concat_ws convert cos cosh
    cot count countif crc32 cume_dist current_database current_schema current_schemas current_setting
    current_user database date date_format date_part date_trunc datepart dateadd datediff datename datetime dayname
    dayofmonth dayofweek dayofyear decode degrees dense_rank digest element_at elt encode eomonth every exp
    extract family field find_in_set first_value floor format format_date format_type from_days from_unixtime
    gcd generate_series getdate getutcdate glob greatest group_concat grouping has_table_privilege hex host
    ifnull iif inet_aton inet_ntoa inet_server_addr initcap instr isfinite isnull isnumeric json json_agg
    json_array json_array_elements json_array_length json_build_array json_build_object json_contains
    json_each json_extract json_group_array json_group_object json_insert json_keys json_length json_object
    json_object_agg json_object_keys json_patch json_populate_record json_quote json_remove json_replace
    json_search json_set json_tree json_type json_typeof json_unquote json_valid jsonb_agg
    jsonb_array_elements jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_insert
    jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_query jsonb_path_query_array
    jsonb_path_query_first jsonb_pretty jsonb_set jsonb_typeof julianday justify_days justify_hours lag
    last_insert_rowid last_value lcase lcm lead least left length levenshtein like likelihood likely listagg
    locate log log10 log1p log2 lower lpad ltrim make_date make_time make_timestamp makedate masklen max md5
    metaphone mid min mod mode monthname months_between mysql_version netmask network newid next_day now
    nth_value ntile nullif num_nonnulls num_nulls nvl2 obj_description object_keys octet_length ord overlay
    parse_date parse_ident percent_rank pg_backend_pid pg_column_size pg_database_size pg_get_constraintdef
    pg_get_expr pg_get_functiondef pg_get_indexdef pg_get_userbyid pg_get_viewdef pg_indexes_size
    pg_is_in_recovery pg_postmaster_start_time pg_relation_size pg_size_pretty pg_table_is_visible
    pg_table_size pg_total_relation_size pg_typeof phraseto_tsquery pi plainto_tsquery position pow power
    pragma_foreign_key_list pragma_index_info pragma_index_list pragma_index_xinfo pragma_table_info
    pragma_table_list pragma_table_xinfo printf quantile quarter quote quote_ident quote_literal
    quote_nullable radians random rank regexp_count regexp_extract regexp_instr regexp_like regexp_match
    regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_intercept
    regr_slope repeat replace reverse right round row_count row_number row_to_json rownum rpad rtrim scale
    schema sec_to_time set_masklen sha1 sha2 sha224 sha256 sha384 sha512 sign similarity sin sinh soundex
    space split_part sqlite_compileoption_used sqlite_source_id sqlite_version sqrt st_area st_asgeojson
    st_astext st_buffer st_centroid st_contains st_distance st_dwithin st_geomfromtext st_intersects
    st_length st_makepoint st_point st_setsrid st_transform st_within st_x st_y starts_with
    statement_timestamp str_to_date strcmp strftime string_agg string_split string_to_array string_to_table
    strpos stuff substr substring sum sumif sysdatetime tan tanh time time_bucket time_format time_to_sec
    timediff timeofday timestamp_diff timestamp_trunc timestampdiff to_char to_date to_days to_hex to_json
    to_jsonb to_number to_timestamp to_tsquery to_tsvector todate tostartofday tostartofhour tostartofmonth
    top total total_changes transaction_timestamp translate trim trunc truncate ts_headline ts_rank ts_rank_cd
    txid_current_if_assigned typeof ucase unaccent unhex unicode uniq uniqexact unix_timestamp unixepoch
    unlikely unnest upper user utc_date utc_time utc_timestamp values version websearch_to_tsquery week
    weekday weekofyear width_bucket word_similarity year yearweek zeroblob
    """.split()
)

# Its warnings repeat the text that is judged.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


def sql_rule(text: str, dialect: str = "", *, prose: bool = False) -> str | None:
    """What speaks against a text as SQL that only reads: a rule's name, or None. In prose, which nobody need
    execute, several readings are nothing to object to."""
    if _CONTROL.within(text) or _is_torn(text):
        return "control_character"
    if len(text) > MAX_CHARS or _depth(text) > _MAX_DEPTH:
        return "too_long"
    if not prose and _is_ambiguous(text, dialect):
        return "ambiguous_sql"
    pragma = _PRAGMA.fullmatch(text)
    if pragma is not None:
        allowed = _PRAGMAS_OF if pragma["of"] else _PRAGMAS
        return None if pragma[1].casefold() in allowed else "write_statement"
    explained = _EXPLAIN.match(text)
    if explained is not None:
        return (
            sql_rule(text[explained.end() :], dialect, prose=prose)
            if explained.end() < len(text)
            else "unknown_statement"
        )
    # Transact-SQL has no SHOW, and needs no `;` between a procedure's call and the next statement.
    if _SHOW.fits(text) and dialect != "tsql":
        created = _SHOW_CREATE.match(text)
        rest = text if created is None else text[created.end() :]
        return "write_statement" if _WRITES.within(_NAMED.sub(" ", rest)) else None
    if dialect:
        return _statement_rule(text, (dialect,))
    # Nobody else understands TOP, so without this reader no text with it would pass.
    return _statement_rule(text, (*_TRIED, "tsql") if _TOP.begins(text) else _TRIED)


def _is_ambiguous(text: str, dialect: str) -> bool:
    """Whether somebody else reads it in another way than the parser."""
    if "/*" in text:
        if _NESTED.within(text) or (dialect in _EXECUTING and _EXECUTED.within(text)):
            return True
        if len(_HINT.findall(text)) < len(_ANY_HINT.findall(text)) or _SETTING_HINT.within(text):
            return True
    # With a dialect there is one reader, who knows what these mean.
    if dialect:
        return False
    return (
        _DOLLAR_QUOTES.within(text)
        or ("\\" in text and not _BACKSLASHES.fits(text))
        or ("--" in text and any(one["minus"] for one in _MYSQL_TOKEN.finditer(text)))
    )


def _is_torn(text: str) -> bool:
    """Whether a text holds half a surrogate pair."""
    return any("\ud800" <= one <= "\udfff" for one in text if one > "\ud7ff")


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
        # `;` between two, or nothing but comments.
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
        if isinstance(node, exp.WithTableHint) and _locks(node):
            return "write_statement"
        if isinstance(node, exp.Alias | exp.TableAlias) and _is_statement(node):
            return "statements"
        if _is_unknown(node):
            return "unknown_function"
    return None


_STATEMENTS = frozenset("delete shutdown checkpoint reconfigure revert".split())
"""What Transact-SQL, which needs nothing between statements, reads as another one where others read an alias."""


def _is_statement(alias: exp.Expr) -> bool:
    name = alias.args.get("alias") if isinstance(alias, exp.Alias) else alias.this
    return (
        isinstance(name, exp.Identifier) and not name.quoted and name.name.casefold() in _STATEMENTS
    )


def _is_unknown(node: exp.Expr) -> bool:
    """Whether this calls a function that nobody here knows, or reads a file or an address where a table stands."""
    if isinstance(node, exp.Anonymous):
        return node.name.casefold() not in _KNOWN_FUNCTIONS
    if isinstance(node, exp.Table):
        alias = node.args.get("alias")
        # A function with names for arguments is read as a table with nameless columns.
        called = alias is not None and alias.this is None and bool(alias.args.get("columns"))
        # DuckDB and others read a file or an address where a table's name stands.
        return called or "/" in node.name
    return isinstance(node, exp.ReadCSV | exp.ReadParquet)


_FREE_HINTS = frozenset({"nolock", "readuncommitted", "readpast", "noexpand"})


def _locks(hint: exp.WithTableHint) -> bool:
    """Whether a hint of Transact-SQL keeps others from their work."""
    return any(one.name.casefold() not in _FREE_HINTS for one in hint.expressions)
