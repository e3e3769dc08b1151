"""Table of programs for `sandbox` in deny-list mode: build tools, scripts and `git` with refused options; programs that run others.

The allow-list knows these programs only in uses that read. Where unknown programs pass, refusing them would
refuse `go build` and accept `make`; so they pass too, without the options that make them run something else. Programs nobody knows pass there, so
those that run others by nature are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_managers import MANAGERS, is_folder_inside
from gatewright.validators.shell_options import Program, option_rule, shaped
from gatewright.validators.shell_programs import PROGRAMS
from gatewright.validators.shell_runners import RUNNERS
from gatewright.validators.shell_syntax import Word

__all__ = ["BUILDING"]


def _without(refused: str) -> Program:
    return Program(refused=Pattern(refused, DOTALL).fits)


_MODULES = frozenset("pytest unittest mypy ruff black flake8 isort build coverage tox nox".split())
_FILE = Pattern(r".*\.(?:py|rb|pl|js|cjs|mjs|php|lua|jl|R|hs|groovy|exs|ml|m)")


def _runs_a_file(words: Sequence[Word]) -> str | None:
    """A script by its name, or one of Python's modules that check and test; no code from elsewhere."""
    texts = [word.text for word in words[:2]]
    if texts[:1] == ["-m"]:
        return None if texts[1:] and texts[1] in _MODULES else "inline_code"
    named = texts[:1] and not texts[0].startswith(("-", "/dev/", "/proc/")) and _FILE.fits(texts[0])
    return None if named else "inline_code"


def _or_version(name: str, check: Program) -> Program:
    """What the allow-list accepts of a program, or this."""
    known = PROGRAMS[name].check

    def rule(words: Sequence[Word]) -> str | None:
        if known is not None and known(words) is None:
            return None
        return check.check(words) if check.check is not None else "option"

    return Program(check=rule)


_MAKE = Program(
    short="fE",
    valued="CIoWjlO",
    long=("file", "makefile", "eval"),
    refused=Pattern(
        r".*\$.*|[^=]*!=.*|\.?SHELL\w*[:+?]*=.*|(?:GNU)?(?:MAKE)?M?FLAGS[:+?]*=.*|MAKE(?:FILES)?[:+?]*=.*", DOTALL
    ).fits,
)  # fmt: skip
_MAKE_IN = Pattern(r"-[^CIoWjlO-]*C(.*)|--di[a-z]*(?:=(.*))?", DOTALL)
"""`-C` in a cluster, before any letter that takes the rest of the word; its value, unless that is the next word."""


_ONE_WORD = Pattern(r"[\w./,:+@%-]*")
_OPTIONS = Pattern(r"[\w./,:+@%= -]*")


def _make(words: Sequence[Word]) -> str | None:
    """The project's own makefiles: another folder has rules from elsewhere, as `-f` would bring them."""
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        found = _MAKE_IN.fullmatch(text)
        if found is not None:
            value = found[1] or found[2] or next(iter(texts[at + 1 : at + 2]), "")
            if not is_folder_inside(str(value)):
                return "option"
        name, equals, said = text.partition("=")
        # Built-in rules run `$(CC) $(CFLAGS) …` by a shell: a value is one word, or options.
        if (
            equals
            and not text.startswith("-")
            and not (_OPTIONS if name.endswith("FLAGS") else _ONE_WORD).fits(said)
        ):
            return "option"
    return option_rule(_MAKE, words)


_REF = r"\w[\w./@#-]*"
"""A remote or a branch by its name: no address, no folder, and nothing overwritten or deleted (`+main`, `:main`)."""
_GIT = {
    "add": Program(),
    "commit": Program(short="F", valued="mC", long=("file", "amend")),
    "switch": Program(short="f", valued="cC", long=("force", "discard-changes")),
    "checkout": Program(
        short="f", valued="bB", long=("force",), refused=Pattern(r"--|\.|.*/", DOTALL).fits
    ),
    "fetch": shaped(
        r"-[aptnkqv46]+|-j\d*|--(?:all|tags|no-tags|prune|dry-run|quiet|verbose|progress|no-progress|append|atomic|keep|"
        r"multiple|set-upstream|unshallow|ipv[46]|(?:depth|deepen|jobs)=\d+)",
        _REF,
    ),
    "pull": shaped(
        r"-[rtqvn46]+|--(?:all|tags|prune|dry-run|quiet|verbose|progress|no-progress|rebase(?:=(?:true|false|merges))?|no-rebase|"
        r"ff|ff-only|autostash|no-autostash|set-upstream|stat|no-stat|ipv[46])",
        _REF,
    ),
    "push": shaped(
        r"-[nuqv46]+|--(?:all|tags|follow-tags|set-upstream|dry-run|quiet|verbose|progress|no-progress|porcelain|atomic|ipv[46])",
        _REF,
    ),
}  # fmt: skip

_REFUSED = Program(check=lambda _: "runs_programs")
_SCRIPTED = "python python3 ruby node php lua julia".split()
BUILDING: Mapping[str, Program] = MappingProxyType(
    {
        # Its options are whole words; a linker is named in those of the linker as well.
        "go": _without(
            r"run|generate|install|get|tool|--?(?:exec|toolexec|vettool|overlay|compiler|gccgoflags|modfile|w)(?:=.*)?|.*-extldf?.*"
        ),
        "cargo": Program(
            short="ZC",
            valued="pjFADWLlE",
            long=("config",),
            refused=Pattern(r"run|r|install|publish|yank|owner|login|rustc|\+.*", DOTALL).fits,
        ),
        "ruff": Program(long=("config",)),
        "rustc": Program(
            short="CZ", valued="LloADWF", long=("codegen",), refused=Pattern("-|@.*", DOTALL).fits
        ),
        # No clusters and no beginnings; what is for the linker is read by it.
        "gcc": _without(
            r"-|@.*|--?(?:wrapper|specs|f(?:pass-)?plugin|load|config|plugin|Xlinker|Xassembler|Xpreprocessor|Xclang).*|-[Bx].*|"
            r"--(?:prefix|language|ld-path|for-linker|for-assembler).*|-fuse-ld=.*/.*|-W[lap],(?:.*,)?(?:--?plugin|@).*"
        ),
        "javac": _without(r"--?(?:J|processor|Xplugin).*|@.*"),
        **{
            name: _or_version(name, Program(check=_runs_a_file))
            for name in _SCRIPTED
        },
        **dict.fromkeys("Rscript runghc groovy elixir ocaml octave osascript".split(), Program(check=_runs_a_file)),
        **dict.fromkeys(RUNNERS, _REFUSED),
        **MANAGERS,
        **dict.fromkeys(("docker-compose", "podman-compose"), (PROGRAMS["docker"].subs or {})["compose"]),
        # `-f` and `--eval` bring rules from elsewhere; those of the project's own makefile run. What is set on the line is read as
        # a makefile is, and its flags as the line itself.
        "make": _MAKE._replace(check=_make),
        # `-e` names the program that makes the connection, `-M` an option of the other side.
        "rsync": Program(
            short="eM", valued="BTf@", long=("rsh", "rsync-path", "remote-option", "daemon", "config", "early-input")
        ),
        "split": Program(long=("filter",)),
        "zip": Program(short="T", long=("test", "unzip-command")),
        # `-z` runs a program for each file.
        "tcpdump": Program(short="z", valued="BcCEFGijmMQrsTVwWyZ"),
        "wget": Program(short="e", valued="oOaBiPUltQTwDRAIX", long=("use-askpass", "execute", "config")),
        # `\!`, `COPY … TO PROGRAM` and an output that begins with `|` run commands.
        "psql": Program(
            short="foL",
            valued="cdFhpPRTUv",
            long=("file", "output", "log-file"),
            refused=Pattern(r"(?i).*\\.*|(?:.*\W)?program(?:\W.*)?", DOTALL).fits,
        ),
        "mysql": Program(
            long=("pager", "tee", "plugin-dir", "default-auth", "defaults-file", "defaults-extra-file"),
            refused=Pattern(r"(?i).*\\.*|(?:.*\W)?system(?:\W.*)?|--(?:loose|enable|maximum)[-_].*", DOTALL).fits,
        ),
        # SQL functions of its own run an editor, load a library, read and write files.
        "sqlite3": Program(
            words=frozenset({"cmd", "init", "A"}),
            refused=Pattern(
                r"(?i)(?:.*\n)?\s*\..*|(?:.*\W)?(?:edit|load_extension|readfile|writefile|fsdir|fts3_tokenizer|lsdir)\W*(?:\(|/\*|--).*", DOTALL
            ).fits,
        ),
        "git": PROGRAMS["git"]._replace(subs={**(PROGRAMS["git"].subs or {}), **_GIT}),
    }
)  # fmt: skip
"""Program → what of it is refused in deny-list mode, in place of the allow-list's rules."""
