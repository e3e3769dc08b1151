"""Table of programs for `sandbox` in deny-list mode: build tools, scripts and `git` with refused options; programs that run others.

The allow-list knows these programs only in uses that read. Where unknown programs pass, refusing them would
refuse `go build` and accept `make`; so they pass too, without the options that make them run something else. Programs nobody knows pass there, so
those that run others by nature are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_options import Program
from gatewright.validators.shell_programs import PROGRAMS
from gatewright.validators.shell_syntax import Word

__all__ = ["BUILDING"]


def _without(refused: str) -> Program:
    return Program(refused=Pattern(refused, DOTALL).fits)


_MODULES = frozenset("pytest unittest mypy ruff black flake8 isort build coverage tox nox".split())
_FILE = Pattern(r".*\.(?:py|rb|pl|js|cjs|mjs|php|lua|jl|R)")


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


_OVERWRITING = Pattern(r"-f.*|-u.+|-d|.*[:+].*", DOTALL)
_KEEPING = ("--all", "--tags", "--prune", "--rebase", "--ff-only", "--set-upstream", "--dry-run")


def _overwrites(text: str) -> bool:
    unknown = text.startswith("--") and not text.startswith(_KEEPING)
    return unknown or _OVERWRITING.fits(text)


_GIT_REMOTE = Program(refused=_overwrites)
"""With remotes by their names, and nothing overwritten or deleted there."""
_GIT = {
    "add": Program(),
    "commit": Program(short="F", valued="mC", long=("file", "amend")),
    "switch": Program(short="f", valued="cC", long=("force", "discard-changes")),
    "checkout": _without(r"-[a-zA-Z]*f.*|--f.*|--|\.|.*/"),
    **dict.fromkeys("fetch pull push".split(), _GIT_REMOTE),
}  # fmt: skip

_RUNNERS = """
    vi vim nvim view rvim ex ed emacs gdb lldb expect tclsh wish xvfb-run strace ltrace flock taskset chrt capsh
    start-stop-daemon systemd-run screen tmux npx bunx pipx enable hash mapfile readarray read shopt set
""".split()
"""What runs other programs by nature, or changes what a shell takes for one."""
_REFUSED = Program(check=lambda _: "runs_programs")
_SCRIPTED = "python python3 ruby node php lua julia".split()
BUILDING: Mapping[str, Program] = MappingProxyType(
    {
        "go": _without(r"run|generate|install|get|tool|--?(?:exec|toolexec|vettool|overlay)(?:=.*)?"),
        "cargo": _without(r"run|r|install|publish|yank|owner|login|--config(?:=.*)?|-Z.*|\+.*"),
        "ruff": _without(r"--config(?:=.*)?"),
        "rustc": _without(r"-|-C.*|--codegen.*|-Z.*|@.*"),
        "gcc": _without(r"-|-wrapper.*|-B.*|-fplugin.*|-specs.*|--specs.*|@.*|-x.*"),
        "javac": _without(r"-J.*|-processor.*|--processor.*|-Xplugin.*|@.*"),
        **{
            name: _or_version(name, Program(check=_runs_a_file))
            for name in _SCRIPTED
        },
        **dict.fromkeys(_RUNNERS, _REFUSED),
        # `-f` and `--eval` bring rules from elsewhere; those of the project's own makefile run.
        "make": _without(r"-[a-zA-Z]*f.*|--(?:f|mak|ev).*|-E.*|\.?SHELL\w*=.*"),
        # `-e` names the program that makes the connection.
        "rsync": _without(r"-[a-zA-Z0-9]*e.*|--rsh.*|--rsync-path.*"),
        "split": _without("--f.*"),
        "zip": _without("-[a-zA-Z]*T.*|--te.*|--unz.*"),
        # `-z` runs a program for each file.
        "tcpdump": _without("-[a-zA-Z]*z.*"),
        # `\!`, `COPY … TO PROGRAM` and an output that begins with `|` run commands.
        "psql": _without(r".*\\.*|(?:.*\W)?program(?:\W.*)?|-[AabeEHlnqsStwWxXz01]*[fo].*|--fil.*|--o.*"),
        "mysql": _without(r".*\\.*|(?:.*\W)?system(?:\W.*)?|--(?:pag|te|plugin).*"),
        "sqlite3": _without(r"\..*|-cmd|-init"),
        "git": PROGRAMS["git"]._replace(subs={**(PROGRAMS["git"].subs or {}), **_GIT}),
    }
)  # fmt: skip
"""Program → what of it is refused in deny-list mode, in place of the allow-list's rules."""
