"""Shell rules for find, sed, awk, tar, date and ip (read-only uses pass), and for env, xargs and wrappers (judged by what they run).

Each function gets the words after the program's name and returns the name of a rule that speaks
against them, or None. Those that start another program judge that one in the same way; `judged` is
how they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_scripts import awk_rule, sed_rule
from gatewright.validators.shell_syntax import Word

__all__ = [
    "Judged",
    "awk",
    "command",
    "date",
    "env",
    "find",
    "ip",
    "sed",
    "tar",
    "tested",
    "wrapper",
    "xargs",
]

Judged = Callable[[Sequence[Word], bool], str | None]
"""Judges a program with its arguments; the flag says that unknown arguments will be added to them."""

_FIND = frozenset(
    "H L P D O follow daystart depth maxdepth mindepth mount noleaf regextype xdev warn nowarn d E X x s f "
    "ignore_readdir_race noignore_readdir_race amin anewer atime cmin cnewer ctime empty executable "
    "false fstype gid group ilname iname inum ipath iregex iwholename links lname mmin mtime name "
    "newer nogroup nouser path perm print print0 printf prune quit readable regex samefile size true type "
    "uid used user wholename writable xtype a and o or not ls context help version".split()
)
_FIND_VALUE = Pattern(r"\d*[cwbkMG]?|[ugoa]*[=+]?[rwxst]*\d*")
_NEWER = Pattern(r"newer[aBcm][aBcmt]|O\d|[HLPEXdsx]+")


def find(arguments: Sequence[Word]) -> str | None:
    """Only tests and printing; everything that deletes, runs or writes is no known word here."""
    # Operands are folders. `-exec`, `-delete`, `-fprint` are not in the list.
    found = (word.text[1:] for word in arguments if word.text.startswith("-"))
    return None if all(_is_find_test(name) for name in found) else "option"


def _is_find_test(name: str) -> bool:
    # The value of a test may begin like an option: `-mtime -10`, `-perm -u+x`.
    return name in _FIND or _NEWER.fits(name) or _FIND_VALUE.fits(name)


def date(arguments: Sequence[Word]) -> str | None:
    """Anything but setting the clock."""
    value_next = False
    for word in arguments:
        text = word.text
        if value_next:
            value_next = False
        elif text.startswith("--"):
            name = text[2:].partition("=")[0]
            # Any beginning of `--set`.
            if name and "set".startswith(name):
                return "option"
            value_next = name in {"date", "reference"} and "=" not in text
        elif text.startswith("-"):
            letters = _DATE_LETTERS.match(text[1:])
            if letters is None or letters[1] == "s":
                return "option"
            value_next = letters[1] in set("drf") and not letters[2]
        elif not text.startswith("+"):
            return "operand"
    return None


def sed(arguments: Sequence[Word]) -> str | None:
    """Scripts on the command line that only transform, without changing files in place."""
    scripts: list[str] = []
    operands: list[str] = []
    texts = iter(word.text for word in arguments)
    for text in texts:
        if text in {"-e", "--expression"}:
            scripts.append(next(texts, ""))
        elif text.startswith("--expression="):
            scripts.append(text.partition("=")[2])
        elif _SED_PLAIN.fits(text) or text in _SED_LONG:
            continue
        elif match := _SED_SCRIPT.fullmatch(text):
            scripts.append(match[1] or next(texts, ""))
        elif text.startswith("-") and text != "-":
            return "option"
        else:
            operands.append(text)
    if not scripts:
        scripts = operands[:1]
    return next((rule for rule in map(sed_rule, scripts) if rule), None)


_DATE_LETTERS = Pattern(r"[^sdrfI]*(.?)(.*)")
_SED_PLAIN, _SED_SCRIPT = Pattern("-[nErsuz]+"), Pattern("-[nErsuz]*e(.*)")
_SED_LONG = frozenset(
    "--quiet --silent --regexp-extended --separate --null-data --unbuffered --posix --debug --sandbox".split()
)


def awk(arguments: Sequence[Word]) -> str | None:
    """A program on the command line that only computes and prints."""
    texts = [word.text for word in arguments]
    while texts and texts[0].startswith("-") and texts[0] != "-":
        option = texts.pop(0)
        if option == "--":
            break
        if option in {"-F", "-v", "--field-separator", "--assign"}:
            del texts[:1]
        elif not _AWK_OPTION.fits(option):
            return "option"
    return awk_rule(texts[0]) if texts else None


_AWK_OPTION = Pattern(r"-[Fv].+|--(field-separator|assign)=.*|--(re-interval|posix|csv)|-[Pr]")


def tar(arguments: Sequence[Word]) -> str | None:
    """Only listing, or writing what is in it to the output, of a file that is here."""
    if not arguments:
        return "option"
    texts = [word.text for word in arguments]
    first, rest = texts[0].removeprefix("-"), texts[1:]
    if texts[0] == "--list":
        first = "t"
    dashed = texts[0].startswith("-")
    # Behind a dash what follows `f` in its word is its value, without one the next word.
    shown = "O" in (first.partition("f")[0] if dashed else first)
    shown = shown or any(
        one in _TAR_SHOWING and not _TAR_WANTS.fits(before)
        for before, one in pairwise(rest if "f" in first and not dashed else texts)
    )
    if not _TAR_FIRST.fits(first) or not (
        ("x" in first and shown) or ("t" in first and "x" not in first)
    ):
        return "option"
    for text in rest:
        if text.startswith("-") and not _TAR_OPTION.fits(text):
            return "option"
        # `host:file` is a tape on another machine, reached by `rsh` (GNU tar).
        if ":" in text:
            return "operand"
    return None


_TAR_SHOWING, _TAR_WANTS = frozenset({"-O", "--to-stdout"}), Pattern("-[A-Za-z]*f")
_TAR_FIRST = Pattern("[txvzjJafO]+")
_TAR_OPTION = Pattern(
    r"-[vzjJafO]+|--file=[^:]*|--verbose|--gzip|--list|--wildcards|--exclude=.*|--to-stdout"
)
_IP_OPTIONS = frozenset(
    "-s -4 -6 -br -brief -c -color -o -oneline -d -details -h -human -j -json -p -pretty -0 -V -r -resolve".split()
)
_IP_CHANGING = {
    "a addr address": "add change chg delete replace flush restore",
    "l link": "add change delete property replace set",
    "r ro route": "add append change chg delete flush prepend replace restore test",
    "n neigh neighbor neighbour": "add change chg delete flush replace",
    "ru rule": "add delete flush restore",
    "maddr maddress": "add delete",
    "mroute": "flush",
    "tunnel": "6rd add change delete prl replace",
}
"""Names of an object → its commands that do more than read."""
_IP_OBJECTS = {
    name: tuple(changing.split())
    for names, changing in _IP_CHANGING.items()
    for name in names.split()
}
_IP_READING = ("show", "list", "lst", "get")


def ip(arguments: Sequence[Word]) -> str | None:
    """Showing addresses, links, routes and neighbours."""
    rest = [word.text for word in arguments]
    while rest and rest[0].startswith("-"):
        if rest.pop(0) not in _IP_OPTIONS:
            return "option"
    if not rest:
        return None
    changing = _IP_OBJECTS.get(rest[0])
    if changing is None:
        return "subcommand"
    return None if len(rest) == 1 or _reads(rest[1], changing) else "subcommand"


def _reads(verb: str, changing: tuple[str, ...]) -> bool:
    """Whether every command that `ip` could take an abbreviation for reads: the first that begins so is meant (`set` before
    `show`), and the order is not the same everywhere."""
    known = verb != "" and any(one.startswith(verb) for one in _IP_READING)
    return known and not any(one.startswith(verb) for one in changing)


_SAFE_VARIABLE = Pattern(r"(?:LC_[A-Z]+|LANG|LANGUAGE|TZ|COLUMNS|LINES|NO_COLOR|TERM)=.*", DOTALL)


_COMPARING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_INTEGER = Pattern(r"[+-]?\d{1,18}")


def tested(arguments: Sequence[Word]) -> str | None:
    """Questions that evaluate nothing: shells take the sides of a comparison by number, and the names behind `-v` and `-R`, for
    expressions, whose subscripts run commands."""
    texts = [word.text for word in arguments]
    if any(text in {"-v", "-R"} for text in texts):
        return "option"
    compared = (
        side
        for at, text in enumerate(texts)
        if text in _COMPARING
        for side in (texts[max(at - 1, 0)], texts[min(at + 1, len(texts) - 1)])
    )
    evaluated = not all(map(_INTEGER.fits, compared))
    return "operand" if evaluated or any("[" in one or "$" in one for one in texts) else None


def command(arguments: Sequence[Word]) -> str | None:
    """Where a program is, never running it."""
    return None if arguments and arguments[0].text in {"-v", "-V"} else "runs_programs"


def env(judged: Judged) -> Callable[[Sequence[Word]], str | None]:
    """The environment as it is, or a judged program with harmless variables."""

    def rule(arguments: Sequence[Word]) -> str | None:
        rest = list(arguments)
        while rest:
            text = rest[0].text
            if text in {
                "-i",
                "-",
                "-0",
                "--ignore-environment",
                "--null",
            } or _SAFE_VARIABLE.fits(text):
                del rest[0]
            elif text in {"-u", "--unset"}:
                del rest[:2]
            else:
                break
        return judged(rest, False) if rest else None

    return rule


def wrapper(
    judged: Judged, options: str, operand: str = ""
) -> Callable[[Sequence[Word]], str | None]:
    """A program that runs another one: its own options (a pattern, in which a blank is before a value in
    the next word), an operand of its own, then the other."""
    allowed, own = Pattern(options), Pattern(operand)

    def rule(arguments: Sequence[Word]) -> str | None:
        at = 0
        while at < len(arguments) and arguments[at].text.startswith("-"):
            texts = [word.text for word in arguments[at : at + 2]]
            if allowed.fits(texts[0]):
                at += 1
            elif allowed.fits(" ".join(texts)):
                at += 2
            else:
                return "option"
        if operand:
            if at == len(arguments) or not own.fits(arguments[at].text):
                return "operand"
            at += 1
        return judged(arguments[at:], False) if at < len(arguments) else "operand"

    return rule


_XARGS_VALUED = Pattern(r"-[LnPsdEI]|--(max-lines|max-args|max-procs|max-chars|delimiter|replace)")
_XARGS_PLAIN = Pattern(
    r"-[0rtx]+|-[LnPsdEI].+|--(null|no-run-if-empty|verbose|exit)|--(max-|delim|replace)[a-z]*=.*|-i"
)


def xargs(judged: Judged) -> Callable[[Sequence[Word]], str | None]:
    """Arguments for a program that none of whose options is refused. From its input only: what a file holds (`-a`) nobody has seen."""

    def rule(arguments: Sequence[Word]) -> str | None:
        rest = list(arguments)
        while rest and rest[0].text.startswith("-"):
            text = rest.pop(0).text
            if _XARGS_VALUED.fits(text):
                del rest[:1]
            elif not _XARGS_PLAIN.fits(text):
                return "option"
        # Without a program `xargs` runs `echo`.
        return judged(rest, True) if rest else None

    return rule
