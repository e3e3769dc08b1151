"""Resolves a shell program's name (version, variant, alias); lists programs that run others, overwrite files, run tests; bounds nesting.

A known program has names with a version, a machine or a variant (`gcc-13`, `python3.12`, `x86_64-linux-gnu-g++`, `vim.basic`), names
by another maker (`cc`, `clang`, `pypy3`), and of GNU's programs a name with `g` before it where others have the plain one.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_files import SHELL_WORDS
from gatewright.validators.shell_syntax import Word

__all__ = [
    "ALIASES",
    "KEEPING",
    "REPLACING",
    "RUNNERS",
    "SERVING",
    "TESTING",
    "known_as",
    "program_name",
    "starts_another",
    "starts_too_many",
]

RUNNERS = frozenset(SHELL_WORDS["runners"])
"""What runs other programs by nature, or changes what a shell takes for one."""

ALIASES: Mapping[str, str] = {
    name: program for program, names in SHELL_WORDS["same_program"].items() for name in names
}
"""Name → the program that it is, or that has the same words."""
_STARTING_WORDS = frozenset(tuple(one.split()) for one in SHELL_WORDS["runners_by_subcommand"])
"""What runs another program by one of its subcommands."""
REPLACING = frozenset(SHELL_WORDS["replacing"])
"""What puts something else in place of a file that it is given."""
KEEPING = frozenset(SHELL_WORDS["keeping"])
"""What writes files as they were elsewhere, or changes nothing of what they say."""
TESTING = frozenset(SHELL_WORDS["testing"])
"""What runs tests, by whatever name."""
SERVING: tuple[str, ...] = SHELL_WORDS["serving"]
"""What shows the environment of services, or fills it in."""
_OF_TEX = Pattern(
    r"(?:pdf|xe|lua|e|pdfe|up|p|eup)?(?:la)?tex|latexmk|luahbtex|dvilualatex|tectonic|mpost|texi2dvi|texi2pdf"
)
_OPENS_TEX = Pattern(
    r"-{1,2}(?:(?:no-)?parse-first-line|(?:enable-)?write18|shell-?esc\w*|tex=.*|Z.*|e.*)"
)
"""Options by which a text that is set runs programs; some of them are taken abbreviated."""
_EMULATES = Pattern(
    r"qemu-(?:x86_64|i386|aarch64(?:_be)?|arm(?:eb)?|riscv\d+|ppc\w*|mips\w*|s390x|sparc\w*|m68k|alpha|hppa|sh4(?:eb)?|loongarch64|microblaze\w*|"
    r"or1k|xtensa\w*|hexagon|cris|nios2)(?:-static)?"
)
_NAME_MOST = 64
_VERSIONED = Pattern(r"(.*[A-Za-z+])-?\d[\d.]*")
_OF_MACHINE = Pattern(
    r"(?:x86_64|i[3-6]86|aarch64|arm\w*|riscv\d*|powerpc\w*|mips\w*|s390x|loongarch\d*|avr|xtensa|m68k|sparc\d*)(?:-\w+){0,3}-([\w+]+)"
)
_VARIANT = Pattern(r"(r?vim|vi|ex|view|nc|netcat|emacs)\.[a-z]\w*")
"""`vim.basic`, as distributions call what an alternative leads to."""
_BUILT = Pattern(
    r"(.*?)(?:[-._](?:x86[-_]64|amd64|i[3-6]86|aarch64|arm\w*|riscv\d*|powerpc\w*|ppc\w*|mips\w*|s390x|universal|intel64|linux|darwin|freebsd|"
    r"w64|mingw32|pc|unknown|apple|gnu\w*|musl\w*|posix|win32|static|shared|dynamic|dbg|debug|gdb|minimal|tiny|basic|nox|gtk\d?|full|huge|"
    r"cli|cgi|fpm|embed|threads?|multi|nogil|lto|bin|real|orig|original|distrib|dist|wrapped|unwrapped|exe|old|new|stable|dev|\d[\d.]*))+",
    DOTALL,
)
"""What a build adds behind a name: a machine, a way of linking, a variant (`perl5.36-x86_64-linux-gnu`, `bash-static`, `python3-dbg`)."""
_MARKED = Pattern(r"((?:python|pypy|ruby|perl|lua)\d[\d.]*)(?:[dmtu]{1,3}|-c)")
"""`python3.13t`, `python3.11d`: builds of one version."""
_GNU = Pattern(r"g([a-z]{2,})")


def known_as(name: str, *known: Container[str]) -> str:
    """By which name a program is known; its own where it is not."""
    forms = [name] if len(name) <= _NAME_MOST else []
    while forms:
        form = forms.pop(0)
        if any(form in one for one in known):
            return form
        if form in ALIASES:
            return ALIASES[form]
        # Some file systems make no difference between capitals and others.
        forms += _plainer(form) or ([form.casefold()] if form != form.casefold() else [])
    return name


def _plainer(form: str) -> list[str]:
    """The same name with less around it."""
    for pattern in (_VERSIONED, _OF_MACHINE, _VARIANT, _MARKED, _BUILT, _GNU):
        found = pattern.fullmatch(form)
        if found is not None:
            return [str(found[1])]
    return []


_FOLDERS = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"})


def program_name(word: str) -> str:
    """The program that a first word means; a path outside the system's folders stays as it is."""
    folder, slash, name = word.rpartition("/")
    return name if slash and folder in _FOLDERS else word


def starts_another(name: str, texts: Sequence[str]) -> bool:
    """Whether a program, by its plain name, starts another one with these words behind it: by a subcommand, wherever options stand, or by an
    option."""
    if _EMULATES.fits(name):
        return True
    if _OF_TEX.fits(name):
        return any(map(_OPENS_TEX.fits, texts))
    # Which of the words are values of options nobody knows.
    return any(one[:1] == (name,) and not {*one[1:]}.difference(texts) for one in _STARTING_WORDS)


_MOST_STARTED = 32
_STARTING = frozenset(
    "time nice timeout env stdbuf xargs command -exec -execdir -ok -okdir".split()
)


def starts_too_many(words: Sequence[Word]) -> bool:
    """Whether a command names what starts another one more often than rules descend."""
    return len(words) > _MOST_STARTED and (
        sum(program_name(word.text) in _STARTING for word in words) > _MOST_STARTED
    )
