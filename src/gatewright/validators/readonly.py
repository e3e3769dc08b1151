"""Validator `readonly`: refuses calls that write, by tool name, verb arguments, SQL and command lines (MGP §4.5).

Three things can write: the tool itself, whose name says so; an argument that chooses a verb; and an argument that is
a language of its own, SQL or a command line, which is parsed. A text whose language nobody declared is taken for what
its first word makes it, and has to be harmless as that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import re2  # type: ignore[import-untyped]

from gatewright.identifier_words import words_of
from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.schemas.json_pointers import Place, strings
from gatewright.schemas.objection import Objection
from gatewright.secret_scanning.unicode_forms import normal
from gatewright.validators.cloud_commands import CLOUD, cloud_rule
from gatewright.validators.command_members import COMMANDS, continued_lines
from gatewright.validators.database_clients import CLIENTS
from gatewright.validators.options import BadOptions, read_options
from gatewright.validators.shell.modes import Asked, Asking, reading_line
from gatewright.validators.shell.names import program_name
from gatewright.validators.shell.watching import Seen
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_commands import Command
from gatewright.validators.shell_pipelines import Step, read_list
from gatewright.validators.shell_syntax import Unacceptable, Word
from gatewright.word_tables import tables, words

__all__ = ["Options", "Part", "ReadOnly", "prepare", "writes_by_name"]

_WORDS: Mapping[str, tuple[str, ...]] = words(tables(__file__, "readonly.toml"))
"""What is in the lists says the file."""
_WRITE = frozenset(_WORDS["write"])
_READ = frozenset(_WORDS["read"])
_VERB_KEYS = frozenset(_WORDS["verb_keys"])
_SQL_KEYS = frozenset(_WORDS["sql_keys"])
_SEARCH_KEYS = frozenset(_WORDS["search_keys"])
_SEARCHING = frozenset(_WORDS["searching"])
_DATABASE = Pattern(
    r"sql|database|table|(?:^|[^b])rows|records|schema|postgres|maria_?db|duck_?db|bigquery|snowflake|redshift|"
    r"clickhouse|warehouse|oracle|cassandra",
    IGNORECASE,
)
_HTTP_WRITING = frozenset(_WORDS["http_writing"])
_COMMAND_KEYS = COMMANDS - {"execute", "run", "program", "executable", "binary"}
"""The others are words of many tools as well."""
_WRITE_MODE = Pattern(r"[rwaxbt+U]*[wax+][rwaxbt+U]*")

_SAY: Mapping[str, str] = tables(__file__, "sentences.toml")["readonly"]


_MOST_PARSED = 4096
"""Characters; of longer texts the parser is not asked (`sql_reading.MAX_CHARS`)."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator may set for one tool."""

    dialect: str = ""
    """The SQL dialect of the database; without it several have to agree."""
    trust_name: bool = False
    """Whether a tool whose name says that it writes may be called all the same."""


def prepare(options: Mapping[str, Any], tool: str = "") -> ReadOnly:
    """The validator for the tool of this name. Raises `BadOptions`."""
    found = read_options(Options, options)
    if found.dialect:
        # The SQL parser is loaded when SQL is judged.
        from gatewright.validators.sql_reading import DIALECTS  # noqa: PLC0415

        if found.dialect not in DIALECTS:
            raise BadOptions(f"dialect must be one of {', '.join(sorted(DIALECTS))}")
    return ReadOnly(found, tool)


def writes_by_name(tool: str) -> bool:
    """Whether a tool's name says that it writes: its verb, or any word where none says that it reads."""
    words = [word.casefold() for word in words_of(tool)]
    for word in words:
        if word in _WRITE:
            return True
        if word in _READ:
            return False
    return False


def _searches(tool: str) -> bool:
    """Whether a tool's name says that it looks something up, and not in a database."""
    words = {word.casefold() for word in words_of(tool)}
    return (
        not words.isdisjoint(_SEARCHING)
        and words.isdisjoint({"db", "dbs"})
        and not _DATABASE.within(tool)
    )


class ReadOnly:
    """Judges SQL and command lines (text), words of one (list of texts), and parts of a call."""

    takes_words = True
    at_once = 96
    """Twenty-five microseconds a character, and some forms of joins take the parser a time that doubles with each."""

    def __init__(self, options: Options, tool: str) -> None:
        self._dialect = options.dialect
        # The table is read here, and not in the middle of somebody's call.
        self._reader = Asking(_ASKED)
        self._writes = not options.trust_name and writes_by_name(tool)
        self._word_keys = (
            _SEARCH_KEYS if not options.dialect and _searches(tool) else frozenset[str]()
        )

    def judge(self, value: Any) -> Objection | None:
        """What speaks against one value."""
        if isinstance(value, Part):
            rule = self._part_rule(value)
        elif isinstance(value, list):
            rule = self._command_rule(value)
        else:
            rule = self._text_rule(value) if isinstance(value, str) else "no_text"
        return (
            None
            if rule is None
            else Objection("", rule, _SAY.get(rule) or _SAY["unknown_statement"])
        )

    def cost(self, value: Any) -> int:
        """Microseconds that judging a value takes: little where the parser is not asked."""
        text = value.text if isinstance(value, Part) else value
        if not isinstance(text, str):
            return 50 * len(text)
        loose = isinstance(value, Part) and value.key not in _SQL_KEYS | _COMMAND_KEYS
        if loose and _SQL_FORM.search(text.encode(errors="replace").decode()) is None:
            return 15 + len(text) // 4
        return 300 + 25 * min(len(text), _MOST_PARSED)

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        """The tool itself, then every text with the name of its member."""
        if self._writes:
            # The first part of all: nothing in the arguments makes a writing tool a reading one.
            yield None, _WRITING_TOOL
        # A command and the arguments beside it mean together what neither says alone.
        for at, line in continued_lines(arguments):
            if self._is_command(line if isinstance(line, str) else line[0]):
                yield at, Part("command", line) if isinstance(line, str) else line
        for place, text, is_name in strings(arguments):
            if not is_name:
                key = (
                    next((s for s in reversed(place.path()) if isinstance(s, str)), "")
                    if place
                    else ""
                )
                yield place, Part(key.replace("_", "").replace("-", "").casefold(), text)

    def _part_rule(self, part: Part) -> str | None:
        if part is _WRITING_TOOL:
            return "write_tool"
        if part.key in _VERB_KEYS:
            return _verb_rule(part.text)
        if part.key in self._word_keys:
            return self._search_rule(part.text)
        if part.key in _SQL_KEYS or part.key in _COMMAND_KEYS:
            return self._text_rule(part.text)
        return self._loose_rule(part.text)

    def _text_rule(self, text: str) -> str | None:
        return self._command_rule(text) if self._is_command(text) else self._sql(text)

    def _is_command(self, text: str) -> bool:
        found = _FIRST_WORD.match(text.encode(errors="replace").decode())
        first, rest = (found[1], found[2]) if found is not None else ("", "")
        if first.casefold() in _OF_SQL:
            return False
        return self._reader.knows(program_name(first)) or (rest != "" and _STARTS.fits(first))

    def watched(self, value: Any) -> tuple[Seen, tuple[str, str] | None]:
        """What the commands of a line do, as far as it is judged, and the rule that ends that with what it is about; for `why`."""
        seen: Seen = []
        if isinstance(value, list) or self._is_command(value):
            return seen, self._refused(value, seen)
        return seen, None

    def _command_rule(self, value: str | list[Any]) -> str | None:
        found = self._refused(value)
        return None if found is None else found[0]

    def _refused(self, value: str | list[Any], seen: Seen | None = None) -> tuple[str, str] | None:
        try:
            steps = read_list(value) if isinstance(value, str) else [Step([Command(_argv(value))])]
            reading_line(self._reader, seen).judge(steps)
        except Unacceptable as problem:
            return "unknown_statement", problem.what
        except Refused as problem:
            return problem.rule if problem.rule in _SAY else "unknown_statement", problem.why
        return None

    def _search_rule(self, text: str) -> str | None:
        """Words that are searched for, unless they begin as a statement and go on as one."""
        plain = text.encode(errors="replace").decode()
        first = _FIRST.match(plain)
        later = _LATER_FORM.search(plain) is not None
        if not later and (first is None or not _begins(first[1])):
            return self._loose_rule(text)
        rule = self._sql(text)
        if rule == "unknown_statement":
            # No reader understands it: words like these are said, too, if nothing in them is only written in SQL.
            return rule if later or _SQL_MARK.search(plain) else None
        if rule is None or later or _SQL_FORM.search(plain) or _STATEMENT.match(plain):
            return rule
        return rule if _ANY_MARK.search(plain) else None

    def _loose_rule(self, text: str) -> str | None:
        """A text of unknown meaning is refused only where it certainly is SQL that writes."""
        if _SQL_FORM.search(text.encode(errors="replace").decode()) is None:
            return None
        rule = self._sql(text, prose=True)
        # Prose is no SQL that anybody understands, and must pass.
        return rule if rule in {"write_statement", "statements"} else None

    def _sql(self, text: str, *, prose: bool = False) -> str | None:
        from gatewright.validators.sql_reading import sql_rule  # noqa: PLC0415 - loaded when it is needed

        return sql_rule(text, self._dialect, prose=prose)


class Part(msgspec.Struct, frozen=True):
    """A text of a call with the name of the member that holds it, in plain lower case."""

    key: str
    text: str


_WRITING_TOOL = Part("tool", "")
"""The tool itself, which writes by its name. Known by its identity: a member of arguments may be called `tool`, and be empty."""

_GAP = r"(?:\s|/\*.*?\*/|--[^\n]*\n)+"
_WRITING_FORM = (
    r"(?:(?:insert|merge|replace)#(?:or#\w+#)?into|update#\S+#(?:as#\w+#)?set|delete#from|copy#\S.*#(?:to|from)|"
    r"(?:create|alter|drop|rename)#(?:\w+#)*(?:table|view|index|schema|database|user|role|function|procedure|trigger|"
    r"sequence|type|extension)|truncate#(?:table#)?\w|(?:grant|revoke)#.*#(?:to|from)|attach#(?:database#)?\S|"
    r"call#\w+\s*\(|into#(?:outfile|dumpfile))\b"
).replace("#", _GAP)
_SQL_FORM = re2.compile(r"(?is)\b" + _WRITING_FORM)
"""The shape of a statement that writes. Only prose without it is spared the parser."""
_NOISE = r"(?:[\s(;]|/\*(?:![0-9]*|.*?\*/)|--[^\n]*\n|#[^\n]*\n)*"
"""What may stand before a statement; the content of a conditional comment is one."""
_LATER_FORM = re2.compile(r"(?is);" + _NOISE + _WRITING_FORM)
_FIRST = re2.compile(r"(?is)" + _NOISE + r"(\w+)")
_STATEMENT = re2.compile(
    r"(?is)" + _NOISE + r"(?:(?:select|with|explain|values|table|pragma|vacuum\s+into)\b|"
    r"(?:insert|replace|merge)\b.*\b(?:into|values?|select|set|using)\b|delete\b.*\bfrom\b|update\b.*\bset\b|load\s+data\b)"
)
"""How statements go on that people hardly search for, where other verbs (`kill`, `set`, `use`) are words as well."""
_SQL_MARK = re2.compile(
    r"(?is)[;=*$@\\`]|--|/\*|\w\(|'[^']*'|\b(?:values?|top)\s*\(|\bload\s+data\b"
)
_ANY_MARK = re2.compile(r"[;=*$@\\`()'\"]|--")


def _begins(word: str) -> bool:
    """Whether a statement of SQL can begin with this word."""
    from gatewright.validators.sql_reading import FIRST_WORDS  # noqa: PLC0415 - loaded when it is needed

    return word.casefold() in FIRST_WORDS


_ASKED: Mapping[str, Asked] = {**dict.fromkeys(CLOUD, cloud_rule), **CLIENTS}
"""Programs of which their own tables say whether a command reads."""
_FIRST_WORD = re2.compile(r"(?s)\s*([^\s;&|<>()]+)(.?)")
"""The word with which a line begins, and whether something follows."""
_OF_SQL = frozenset("exec open reset set".split())
"""Words of a shell with which a statement may begin as well: they are read as the latter."""
_STARTS = Pattern(r"(?:[A-Za-z_]\w*=\S*|for|if|while|\[\[?)", DOTALL)
"""How a line of a shell begins that names no program."""


def _verb_rule(text: str) -> str | None:
    # A server may fold what it compares: full-width letters spell a verb as well.
    text = normal("NFKC", text)
    words = [word.casefold() for word in words_of(text)]
    if (words and words[0] in _WRITE) or text.strip().casefold() in _HTTP_WRITING:
        return "write_verb"
    return "write_verb" if _WRITE_MODE.fits(text) else None


def _argv(value: list[Any]) -> list[Word]:
    if not value or not all(isinstance(one, str) and one.isprintable() for one in value):
        raise Unacceptable("no_command")
    return [Word(one, bare=False) for one in value]
