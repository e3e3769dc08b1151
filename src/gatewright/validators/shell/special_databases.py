"""Reads commands of psql, mysql, sqlite3 and redis-cli into effects: which database, and what their SQL or commands may do."""

from __future__ import annotations

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.validators.database_clients import CLIENTS
from gatewright.validators.shell.call import Call
from gatewright.validators.shell.places import resolve
from gatewright.validators.shell.values import is_local
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_syntax import Word
from gatewright.validators.sql_reading import sql_rule

__all__ = ["sql", "sqlite"]


_DOTTED = Pattern(r"\.(?:tables|schema|fullschema|indexes|indices|databases|dbinfo|dump|headers?|mode|help|show|stats|timer|width|nullvalue|separator|quit|exit)(?: [\w \"'%*.,-]*)?")  # fmt: skip


_SQL_DANGER = Pattern(
    r"(?:.*\W)?(?:drop|truncate|attach|detach|load_extension|readfile|writefile|edit|fts3_tokenizer|pragma|copy|lo_import|lo_export|dblink\w*|pg_read\w*|pg_ls\w*|"
    r"into\s+(?:outfile|dumpfile)|vacuum\s+(?:\w+\s+)?into|create\s+(?:\w+\s+)*(?:extension|function|language|server|user|role)|alter\s+(?:system|role|user)|grant|revoke|"
    r"load\s+data|system|program)(?:\W.*)?",
    IGNORECASE | DOTALL,
)


_ALL_ROWS = Pattern(
    r"(?:.*;)?\s*(?:delete\s+from\s+[\w.\"`]+|update\s[^;]*\sset\s[^;]*)\s*(?:;.*)?",
    IGNORECASE | DOTALL,
)


def sqlite(call: Call) -> list[Word]:
    """A file of a database, and what is asked of it."""
    operands = list(call.given.operands)
    call.hold(*operands[1:])
    for code in operands[1:]:
        text = code.text.strip()
        if text.startswith("."):
            if not _DOTTED.fits(text):
                raise Refused("operand", f"sqlite3 {text}")
        elif sql_rule(text, "sqlite") is not None:
            if _SQL_DANGER.fits(text) or _ALL_ROWS.fits(text) or "\\" in text:
                raise Refused("operand", "sqlite3")
            call.add_paths("writes", operands[0], "operand")
    if not call.has("-readonly", "--readonly", "-safe"):
        call.add("writes_here", call.at.folder, "", "operand")
    if len(operands) == 1 and call.at.fed:
        call.add("code", None, call.at.fed, "input")
    return operands[:1]


_META = Pattern(r"\\(?:d\w*\+?|l\+?|dt|x|q|timing|conninfo|echo|z|encoding|set)(?: [\w.*\"' ]*)?")


_SQL_TEXTS = frozenset("-c --command -e --execute".split())


_REDIS = frozenset(
    "ping get mget set setex setnx hget hgetall hset hkeys hlen hvals hexists hscan keys scan exists ttl pttl type strlen llen lrange lindex lpush rpush lpop rpop "
    "smembers scard sadd srem sismember sscan zrange zrevrange zcard zadd zscore zrem zscan info dbsize time echo del unlink expire incr decr incrby select memory "
    "object xlen xrange xinfo randomkey getrange persist command help".split()
)


def sql(call: Call) -> list[Word]:
    """What is asked of a database of this machine, or of a service by a plain name."""
    operands = call.given.operands
    client = CLIENTS.get(call.name)
    if client is not None and client([call.name, *(one.text for one in call.words)]) is not None:
        call.add("acts", None, "", "operand")
    _hold_hosts(call)
    files = [one.value for one in call.given.options if one.name in {"-f", "--file"} and one.value]
    files += [one for one in operands if one.text.endswith((".js", ".mongodb"))]
    for one in files:
        call.add("run", resolve(call.at.folder, one.text), one.text, "operand")
    if call.name in {"redis-cli", "valkey-cli"}:
        if operands and operands[0].text.casefold() not in _REDIS:
            raise Refused("operand", f"{call.name} {operands[0].text}")
        return []
    asked = [one.value.text for one in call.given.options if one.name in _SQL_TEXTS and one.value]
    if not all(map(_is_harmless, asked)):
        raise Refused("operand", call.name)
    if call.at.fed and not asked and not call.has("-f", "--file"):
        call.add("code", None, call.at.fed, "input")
    return []


def _hold_hosts(call: Call) -> None:
    """Refuse what is not this machine, nor a service by a plain name."""
    values = [(one.opt.kind, one.value.text) for one in call.given.options if one.value]
    hosts = [text for kind, text in values if kind == "hosts" or "://" in text]
    hosts += [one.text for one in call.given.operands if "://" in one.text or "host=" in one.text]
    for host in hosts:
        if not is_local(host.rpartition("host=")[2]) and ("." in host or ":" in host):
            raise Refused("sends_away", f"{call.name} {host}")


def _is_harmless(text: str) -> bool:
    """Whether SQL, or a command of the client, destroys nothing and runs nothing."""
    lines = [one.strip() for one in text.strip().splitlines()]
    if not all(_META.fits(one) for one in lines if one.startswith("\\")):
        return False
    escaped = "\\" in text and not text.strip().startswith("\\")
    return not (escaped or _SQL_DANGER.fits(text) or _ALL_ROWS.fits(text))
