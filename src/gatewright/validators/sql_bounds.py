"""Refuses read-only SQL, parsed, that names password tables, recurses without end or asks for unbounded amounts; names the rule.

What a server keeps of itself (hashes of passwords, connection strings) is read as any table is, so its names are data: `sql.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from gatewright.word_tables import tables

__all__ = ["SQL_LISTS", "bounds_rule"]

SQL_LISTS: Mapping[str, Any] = tables(__file__, "sql.toml")
"""What is in the file, which says what it means."""
_SECRET = {
    table: frozenset(row["plain"].split())
    for row in SQL_LISTS["secret"]
    for table in row["tables"].split()
}
_AMOUNTS = frozenset(SQL_LISTS["amounts"].split())


def bounds_rule(root: exp.Expr) -> str | None:
    """What speaks against a statement that reads: a rule's name, or None."""
    if _reads_secrets(root):
        return "secret_table"
    if any(_is_endless(one) for one in root.find_all(exp.With)):
        return "endless"
    return "too_much" if _asks_for_much(root) else None


def _reads_secrets(root: exp.Expr) -> bool:
    plain: set[str] | None = None
    for table in root.find_all(exp.Table):
        names = [part.name.casefold() for part in table.parts]
        allowed = next(
            (_SECRET[name] for end in (1, 2) if (name := ".".join(names[-end:])) in _SECRET), None
        )
        if allowed is not None:
            plain = set(allowed) if plain is None else plain & allowed
    if plain is None:
        return False
    # In a statement with such a table every column may be one of it, and so may a row as a whole.
    if isinstance(root, exp.Table) or not plain:
        return True
    return any(_shows(one, plain) for one in root.walk())


def _shows(node: exp.Expr, plain: set[str]) -> bool:
    if isinstance(node, exp.Star):
        return not isinstance(node.parent, exp.Count)
    if isinstance(node, exp.Table) and node.parent is None:
        return True
    return isinstance(node, exp.Column) and node.name.casefold() not in plain


def _is_endless(clause: exp.With) -> bool:
    """Whether a recursion has neither a condition, nor a limit, nor another table that ends it."""
    if not clause.args.get("recursive"):
        return False
    outer = clause.parent
    limited = (
        isinstance(outer, exp.Select)
        and outer.args.get("limit") is not None
        and not any(outer.args.get(one) for one in ("group", "order", "distinct"))
        and outer.find(exp.AggFunc) is None
    )
    return not limited and any(_grows(one) for one in clause.expressions)


def _grows(table: exp.Expr) -> bool:
    union = table.this
    if not isinstance(union, exp.Union) or union.args.get("limit") is not None:
        return False
    name = table.alias_or_name.casefold()
    step = union.expression
    own = [one for one in step.find_all(exp.Table) if one.name.casefold() == name]
    if not own or len(own) < len(list(step.find_all(exp.Table))):
        return False
    bound = step.args.get("where") or step.args.get("having")
    return bound is None or bound.find(exp.Column) is None


def _asks_for_much(root: exp.Expr) -> bool:
    """Whether a large number stands in a call that makes as much as it is told. What one number has climbed the next leaves out."""
    climbed: set[int] = set()
    for literal in root.find_all(exp.Literal):
        node = literal.parent if _number(literal) > SQL_LISTS["largest"] else None
        while node is not None and id(node) not in climbed:
            if isinstance(node, exp.Func) and _makes(node):
                return True
            climbed.add(id(node))
            node = node.parent
    return False


def _makes(call: exp.Func) -> bool:
    name = call.name if isinstance(call, exp.Anonymous) else call.sql_name()
    return bool({name.casefold(), name.casefold().removeprefix("exploding_")} & _AMOUNTS)


def _number(literal: exp.Literal) -> float:
    try:
        return 0.0 if literal.is_string else float(literal.this)
    except ValueError:
        return 0.0
