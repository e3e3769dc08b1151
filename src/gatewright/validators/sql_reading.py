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

from gatewright.patterns import ASCII, DOTALL, IGNORECASE, Pattern
from gatewright.validators.sql_bounds import SQL_LISTS as _DATA
from gatewright.validators.sql_bounds import bounds_rule

__all__ = ["DIALECTS", "FIRST_WORDS", "MAX_CHARS", "sql_rule"]

MAX_CHARS = 4096
# Parentheses: the parser recurses, and some forms double its work with each level.
_MAX_DEPTH = 24

DIALECTS = frozenset(
    "sqlite postgres mysql tsql oracle duckdb snowflake bigquery clickhouse redshift presto trino spark".split()
)
_TRIED = ("sqlite", "postgres", "mysql")

FIRST_WORDS = frozenset(_DATA["first_words"].split())
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
_EXPLAINED = r"(?:analyze|verbose|costs|settings|buffers|wal|timing|summary|format)(?:\s+\w+)?"
_EXPLAIN = Pattern(
    r"\s*explain\s+(?:query\s+plan\s+|analyze\s+|verbose\s+|extended\s+|format\s*=\s*\w+\s+|"
    rf"\(\s*{_EXPLAINED}(?:\s*,\s*{_EXPLAINED})*\s*\)\s*)*",
    IGNORECASE,
)
_SHOW = Pattern(r"\s*show\s+[\w\s.'`\"%=]+;?\s*", IGNORECASE)
_SHOW_SECRET = Pattern(
    r"\s*show\s+(?:create\s+user(?:\s.*)?|primary_conninfo\s*;?\s*|ssl_passphrase_command\s*;?\s*)",
    DOTALL | IGNORECASE,
)
"""What shows a password's hash, or how servers connect."""
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
_PRAGMAS_OF = frozenset(_DATA["pragmas_of"].split())
_PRAGMAS = _PRAGMAS_OF | frozenset(_DATA["pragmas"].split())
_KNOWN_FUNCTIONS = frozenset(_DATA["functions"].split())

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
        return _show_rule(text)
    if dialect:
        return _statement_rule(text, (dialect,))
    # Nobody else understands TOP, so without this reader no text with it would pass.
    return _statement_rule(text, (*_TRIED, "tsql") if _TOP.begins(text) else _TRIED)


def _show_rule(text: str) -> str | None:
    if _SHOW_SECRET.fits(text):
        return "secret_table"
    created = _SHOW_CREATE.match(text)
    rest = text if created is None else text[created.end() :]
    return "write_statement" if _WRITES.within(_NAMED.sub(" ", rest)) else None


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
    return bounds_rule(root)


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
