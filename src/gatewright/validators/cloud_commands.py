"""Refuses command lines of aws, gcloud, az, gh, terraform, helm, heroku and others that may write or show secrets; returns the broken rule.

Their commands are nouns and, last, a verb. A command reads where its verb is known to read and no option leads elsewhere, writes a file or
shows a secret: of what carries an environment, user data or a client only single members are shown. The tables are `cloud.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any, NamedTuple

from gatewright.patterns import ASCII, DOTALL, IGNORECASE, Pattern
from gatewright.word_tables import tables

__all__ = ["CLOUD", "cloud_rule"]


class _Tool(NamedTuple):
    depth: int
    verbs: Pattern[str]
    """A command that reads: its words, joined by blanks."""
    options: tuple[str, ...]
    letters: str


class _Shows(NamedTuple):
    tool: str
    command: Pattern[str]
    choosing: tuple[str, ...]
    only_with: tuple[str, ...]
    plain: Pattern[str] | None


_DATA = tables(__file__, "cloud.toml")
"""What is in the tables says the file."""
_HARMLESS = frozenset(_DATA["harmless"].split())
"""Whole names that are beginnings of refused ones."""


def _tool(row: dict[str, Any]) -> _Tool:
    nouns = {"{gcloud_nouns}": _DATA["gcloud_nouns"], "{az_nouns}": _DATA["az_nouns"]}
    verbs = "|".join(row["verbs"])
    for name, told in nouns.items():
        verbs = verbs.replace(name, told)
    options = (*(_DATA["everywhere"].split() if row["everywhere"] else ()), *row["options"])
    return _Tool(row["depth"], Pattern(verbs), options, row.get("letters", ""))


_TOOLS = {name: _tool(row) for name, row in _DATA["tools"].items()}
_SHOWS = [
    _Shows(
        row["tool"],
        Pattern(row["command"]),
        tuple(row["choosing"]),
        tuple(row.get("only_with", ())),
        Pattern(row["plain"]) if "plain" in row else None,
    )
    for row in _DATA["shows"]
]
_LEAF = Pattern(_DATA["leaf"]["names"], IGNORECASE)
_ELSEWHERE = Pattern(r"environment|variables|user_?data|metadata|secret|env\b", ASCII | IGNORECASE)
_PATH = Pattern(r"[\w.\[\]*]+")
_CHOICE = Pattern(r"(?:value|csv|table|json)?[(\[]?[\w.,\[\]* ]+[)\]]?")
"""Members of an answer that are chosen by name, without functions and conditions."""
_SECRET = Pattern(rf"(?:.*[ -])?(?:{_DATA['secrets']})(?:[ -].*)?", IGNORECASE)
_ASSIGNED = Pattern(
    r"-[a-zA-Z]*[fFXH].*|--(?:raw-field|field|method|input|header|silent|cache)(?:=.*)?", DOTALL
)
_TOKENS = Pattern(
    r".* (?:get|list|batch-get)-(?:password-data|authorization-token)|.*(?:print-(?:access|identity)-token|get-access-token|export-credentials|get-session-token|get-login|get-credentials|auth token|assume-role).*"
)
_BEFORE = frozenset(
    "--profile --region --output --query --project --format --subscription -o -R --repo -n --namespace --kube-context --configuration --verbosity --color".split()
)
_BEFORE_ALONE = frozenset({"--no-cli-pager", "--no-paginate", "--quiet", "--only-show-errors"})
"""Options that may stand before a command, with a value and without."""
_FROM_FILE = Pattern(r"(?:[^=]*=)?(?:fileb?://|@).*", DOTALL)
CLOUD: Mapping[str, str] = MappingProxyType(
    {**{name: name for name in _TOOLS}, "tofu": "terraform", "terragrunt": "terraform"}
)
"""Program → under which name its commands are known."""


def cloud_rule(texts: Sequence[str]) -> str | None:
    """What speaks against a cloud tool's command that only reads: a rule's name, or None. The program is the first word."""
    name = CLOUD[texts[0]]
    tool = _TOOLS[name]
    rest = list(texts[1:])
    while rest and (rest[0].partition("=")[0] in _BEFORE or rest[0] in _BEFORE_ALONE):
        del rest[: 1 if "=" in rest[0] or rest[0] in _BEFORE_ALONE else 2]
    words = list(takewhile(lambda one: not one.startswith("-"), rest))
    options = [one for one in texts[1:] if one.startswith("-")]
    if options in (["--version"], ["--help"]) or words[:1] == ["help"]:
        return None
    if any(_is_refused(tool, one) for one in options) or any(map(_FROM_FILE.fits, texts)):
        return "option"
    if name == "gh" and words[:1] == ["api"] and any(map(_ASSIGNED.fits, options)):
        return "subcommand"
    rule = _option_needed(name, words, rest)
    if rule is not None:
        return rule
    # Options may stand between a noun and its verb; values then may, too, so that a command has to stand before them. What follows
    # a whole command is what it is about; of the tools whose commands have others below them, nothing follows.
    ends = [len(words)] if name == "terraform" else range(1, min(len(words), tool.depth) + 1)
    told = next((one for end in ends if tool.verbs.fits(one := " ".join(words[:end]))), "")
    if not told:
        return "subcommand"
    secret = _TOKENS.fits(told) or _holds_values(name, told) or _shows(name, told, rest)
    return "secrets" if secret else None


def _shows(name: str, told: str, rest: Sequence[str]) -> bool:
    """Whether a command shows what carries secrets, and more of it than members that are none."""
    for row in _SHOWS:
        if row.tool == name and row.command.fits(told):
            if row.only_with and not any(_values(rest, row.only_with)):
                continue
            chosen = list(_values(rest, row.choosing))
            if not chosen or not all(_is_plain(one, row.plain) for one in chosen):
                return True
    return False


def _values(rest: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Values of long options, also of beginnings of their names."""
    for at, word in enumerate(rest):
        name, has_value, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name and any(one.startswith(name) for one in names):
            yield value if has_value else next(iter(rest[at + 1 : at + 2]), "")


def _is_plain(choice: str, plain: Pattern[str] | None) -> bool:
    if plain is not None:
        return plain.fits(choice)
    if not _CHOICE.fits(choice):
        return False
    if _ELSEWHERE.within(choice):
        return False
    shape = choice.partition("(")[2] or choice
    last = [one[0].strip("[]*.").rpartition(".")[2] for one in _PATH.finditer(shape)]
    # `Functions[*].[FunctionName,Runtime]`: what stands before a bracket leads to what stands in it.
    ends = [one for one in last if one.rpartition("[")[2]]
    return bool(ends) and all(_LEAF.fits(one.rpartition("[")[2]) for one in ends)


def _is_refused(tool: _Tool, option: str) -> bool:
    """Whether a word with a dash is, or begins, a refused option."""
    name = option.lstrip("-").partition("=")[0]
    if option[1:2] != "-" and tool is not _TOOLS["terraform"]:
        return any(one in tool.letters for one in name)
    return name not in _HARMLESS and any(one.startswith(name) for one in tool.options)


_CHECKS = frozenset("-check --check -diff --diff -recursive --recursive -no-color".split())


def _option_needed(name: str, words: list[str], rest: list[str]) -> str | None:
    """What speaks against a command that shows secrets, or writes, by its options or for want of one."""
    options = {one for one in rest if one.startswith("-")}
    operands = len(rest) - len(options)
    if name == "terraform" and words[:1] == ["fmt"]:
        return None if options & {"-check", "--check"} and options <= _CHECKS else "subcommand"
    if name == "terraform" and words[:1] in (["output"], ["show"]):
        # A value by its name is written as it is, and so is JSON; without a plan it is the state that is shown.
        fine = options <= {"-no-color"} and operands == (1 if words[0] == "output" else 2)
        return None if fine else "secrets"
    if name == "gh" and words[:2] == ["auth", "status"]:
        return None if options <= {"-a", "--active"} else "secrets"
    # In other notations than the table stands what a release was installed with.
    if name == "helm" and words[:1] == ["status"] and any(one.startswith(("-o", "--o")) for one in options):  # fmt: skip
        return "secrets"
    return None


def _holds_values(name: str, told: str) -> bool:
    """Whether a command shows what is secret, and not only which secrets there are."""
    lists = told.endswith((" list", " ls")) or " list-" in told or " describe-" in told
    return (
        bool(_SECRET.fits(told)) and not lists and not (name == "gh" and told.startswith("ssh-key"))
    )
