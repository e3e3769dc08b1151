"""Mode `strict` of `sandbox`: refuses shell metacharacters, recursive deletion and dangerous programs in any text (MGP §4.5).

Theory: what a server does with an argument is unknown, so the text is judged as if a shell read it.
The strict form needs no grammar: every character that a shell may interpret is refused, quotes
included, because what is quoted here may be unquoted there. What is left is words, and about words
only two things are asked: whether they delete recursively, and whether one of them starts a program
that ends the host, changes who may do what, or runs further programs.

Words are collected over all strings of a call before they are judged: `["rm", "-rf", "/"]` says the
same as `"rm -rf /"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from gatewright.patterns import IGNORECASE, Pattern, escape
from gatewright.schemas.json_pointers import Place, pointer, strings
from gatewright.schemas.objection import Objection
from gatewright.validators.shell_files import SHELL_WORDS
from gatewright.word_tables import tables

__all__ = ["DANGEROUS", "DELETERS", "SENTENCES", "harm_of", "strict", "strict_rule", "text_rule"]

# Percent escapes as well: who decodes them later gets the characters.
_META = Pattern(r"""[;&|<>(){}\[\]$`\\'"!*?~#^]|%[0-9A-Fa-f]{2}|%u[0-9A-Fa-f]{4}""")
_ASSIGNMENT = Pattern(r"\s*[A-Za-z_][A-Za-z0-9_]*\+?=")


def _shortened(*options: str) -> str:
    """Long options with every beginning from `|` on, by which their programs know them, too."""
    marks = ((option.index("|"), option.replace("|", "")) for option in options)
    return "|".join(escape(one[:end]) for at, one in marks for end in range(at, len(one) + 1))


DELETERS = frozenset(SHELL_WORDS["deleters"])
_RECURSIVE = Pattern(
    rf"-[A-Za-z]*[rR][A-Za-z]*|{_shortened('--r|ecursive', '--no-p|reserve-root')}|/[sSqQ]"
)
_FIND_ACTIONS = Pattern(r"-(delete|exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls)")

_RULE_OF = {program: rule for rule, group in SHELL_WORDS["dangerous"].items() for program in group}
DANGEROUS = frozenset(_RULE_OF)
"""Programs that are refused whatever follows."""
_ORDINARY = frozenset(SHELL_WORDS["everyday"])
"""Program names that are also everyday words: harmless as the only word of a value."""

_INTERPRETERS = Pattern(r"(python|perl|ruby|node|nodejs|php|lua|deno|bun|osascript)[\d.]*")
_CODE_LONG = _shortened("--ev|al", "--exe|c", "--pri|nt", "--comm|and", "--run|")
_CODE_OPTIONS = Pattern(rf"-[A-Za-z]*[ceErpi]|(?:{_CODE_LONG})(?:=.*)?|eval")
_PROGRAM_LONG = _shortened(
    "--checkpoint-|action", "--to-c|ommand", "--us|e-compress-program", "--rsh|-command", "--rmt-|command", "--info-|script",
    "--new-v|olume-script", "--upl|oad-pack", "--rece|ive-pack",
)  # fmt: skip
_PROGRAM_OPTIONS = Pattern(
    rf"(?:(?:-o)?(?:ProxyCommand|LocalCommand|PermitLocalCommand)|{_PROGRAM_LONG}|core\.(?:pager|editor|sshcommand|fsmonitor))"
    r"(?:[^\w\n-].*)?",
    IGNORECASE,
)
_SHORT_PROGRAM_OPTIONS = {
    # Up to an option that takes the rest of the word.
    "tar": Pattern(r"-[^CfbgKLNTVXH-]*[IF].*"),
    "rsync": Pattern(r"-[^efBMT@-]*e.*"),
    "zip": Pattern(r"-TT.*|--unzip-c.*"),
    "sort": Pattern(r"--comp.*"),
    "man": Pattern(r"-[A-Za-z]*[PH].*|--pag.*|--ht.*"),
}
"""Program → its options that name a program: short ones, which mean other things elsewhere, and such as no other has."""
_OLD_STYLE = Pattern(r"[A-Za-z]*[IF][A-Za-z]*")
"""`tar xIf`: options as the first word, without a dash."""
_ALIASES = {"gtar": "tar", "bsdtar": "tar"}
_HOST_FILES = Pattern(
    r"@?(?:\.{0,2}/)+(etc/(passwd|shadow|gshadow|sudoers|cron[^/]*|ssh|pam\.d)(/.*)?|proc/(sysrq-trigger|sys/.*)|"
    r"dev/(sd|hd|vd|nvme|xvd|mapper|mem|kmem|tcp|udp).*)",
    IGNORECASE,
)

SENTENCES: Mapping[str, str] = tables(__file__, "sentences.toml")["strict"]


def strict(arguments: Any) -> Objection | None:
    """Refuse any string of the arguments that a shell could read as more than plain words."""
    words: list[str] = []
    for place, text, is_name in strings(arguments):
        rule = text_rule(text)
        if rule is None and not is_name:
            found = text.split()
            rule = _start_rule(found)
            words.extend(found)
        if rule is not None:
            return _objection(place, rule)
    rule = _words_rule(words)
    return None if rule is None else _objection(None, rule)


def strict_rule(words: list[str]) -> str | None:
    """What speaks against a command whose words are known: its program, or what they are together."""
    return _start_rule(words) or _words_rule(words)


def text_rule(text: str) -> str | None:
    """What speaks against the characters of a text: a rule's name, or None."""
    if not text.isprintable():
        return "control_character"
    if _META.within(text):
        return "metacharacter"
    return "assignment" if _ASSIGNMENT.begins(text) else None


def _start_rule(words: list[str]) -> str | None:
    """What speaks against a string that begins with this word, whatever follows."""
    if not words:
        return None
    program = _program(words[0])
    # `watch` may be a value; `watch ls` is a command.
    if len(words) == 1 and program in _ORDINARY:
        return None
    return harm_of(program)


def harm_of(program: str) -> str | None:
    """What speaks against a program whatever its words are: a rule's name, or None."""
    return "ends_the_host" if program.startswith("mkfs.") else _RULE_OF.get(program)


def _words_rule(words: list[str]) -> str | None:
    """What speaks against all words of the call together."""
    programs = {_program(word) for word in words}
    if programs & DELETERS and any(_RECURSIVE.fits(word) for word in words):
        return "recursive_delete"
    if "find" in programs and any(_FIND_ACTIONS.fits(word) for word in words):
        return "recursive_delete"
    if programs & {"chmod", "chown", "chgrp"} and any(_RECURSIVE.fits(word) for word in words):
        return "changes_rights"
    if any(_INTERPRETERS.fits(one) for one in programs) and any(
        _CODE_OPTIONS.fits(word) for word in words
    ):
        return "inline_code"
    return _short_rule(words, programs) or _word_rule(words)


def _short_rule(words: list[str], programs: set[str]) -> str | None:
    """An option that names a program only for one of the programs among the words."""
    there = {_ALIASES.get(one, one) for one in programs}
    for program, options in _SHORT_PROGRAM_OPTIONS.items():
        if program in there and any(options.fits(word) for word in words):
            return "program_option"
    if "tar" in there:
        for before, word in pairwise(words):
            if _ALIASES.get(was := _program(before), was) == "tar" and _OLD_STYLE.fits(word):
                return "program_option"
    return None


def _word_rule(words: list[str]) -> str | None:
    for word in words:
        if _PROGRAM_OPTIONS.fits(word):
            return "program_option"
        if _HOST_FILES.fits(word):
            return "host_file"
    return None


def _program(word: str) -> str:
    # By its last name: `/bin/RM` and `rm.exe` are `rm` to some systems.
    return word.rpartition("/")[2].casefold().removesuffix(".exe") or word


def _objection(place: Place | None, rule: str) -> Objection:
    return Objection("" if place is None else pointer(place.path()), rule, SENTENCES[rule])
