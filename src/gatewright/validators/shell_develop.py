"""Judges one shell command for the preset `develop` of `sandbox`: takes off what only starts another, then asks where it reads and writes.

Beside the table of programs hold, for every program: nothing is sent from here but to this machine, no address of a cloud's metadata is
asked, settings and code from outside the workspace are refused, and what a line has fetched it does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, starmap

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.validators import shell_special as special
from gatewright.validators.cloud_commands import CLOUD, cloud_rule
from gatewright.validators.shell_clients import CLIENTS, client_rule
from gatewright.validators.shell_developing import NODE_TOOLS
from gatewright.validators.shell_files import holds_sensitive_files
from gatewright.validators.shell_found import DELETING, find_roots, lists_all
from gatewright.validators.shell_made import made_rule, note_written
from gatewright.validators.shell_programs import program_name, program_rule
from gatewright.validators.shell_readers import READERS
from gatewright.validators.shell_syntax import Word
from gatewright.validators.shell_targets import climbs, leads_out, touches_hook
from gatewright.validators.shell_tools import WRAPPING, tool_rule
from gatewright.validators.shell_workspace import (
    is_elsewhere,
    is_inside,
    is_written_inside,
)

__all__ = ["develop_rule", "unwrapped_git", "unwrapped_words"]

Judge = Callable[[list[Word]], str | None]
_MOST_WRAPPED = 6
_METADATA = Pattern(
    r"169\.254\.\d+\.\d+|metadata\.google|metadata\.azure|100\.100\.100\.200|fd00:ec2::|instance-data|0xa9fe|2852039166",
    IGNORECASE,
)
_TIME = Pattern(
    r"-p|--foreground|-v|--preserve-status|-k|--kill-after=\S+|-s|--signal=\w+|-n|-\d+|--adjustment=-?\d+"
)
_DURATION = Pattern(r"\d+(?:\.\d+)?[smhd]?")
_ENV = Pattern(r"(?:[A-Z][A-Z0-9_]*)=.*", DOTALL)
_RUNNERS = {
    "npx": ((), frozenset("-y --yes --no-install --no".split())),
    "bunx": ((), frozenset("-y --bun".split())),
    "pnpm": (("exec",), frozenset()),
    "bundle": (("exec",), frozenset()),
    "poetry": (("run",), frozenset()),
    "pipenv": (("run",), frozenset()),
    "pdm": (("run",), frozenset()),
    "rye": (("run",), frozenset()),
    "hatch": (("run",), frozenset()),
    "uv": (("run",), frozenset("-q --quiet --frozen --locked --no-sync".split())),
}
"""Program → its subcommand, and options of it, behind which another program stands."""
_FETCHED = frozenset({"npx", "bunx"})
"""These fetch what is not there."""
_LINKS = frozenset({"memcheck", "--leak-check=full", "--leak-check=yes", "--error-exitcode=1", "--track-origins=yes", "--show-leak-kinds=all", "-q", "-s", "-v"})  # fmt: skip
_GIT_SETTINGS = Pattern(
    r"(?:color\.[\w.]+|user\.(?:name|email)|core\.(?:quotepath|autocrlf|abbrev|safecrlf|filemode)|advice\.\w+|commit\.gpgsign|init\.defaultbranch|log\.\w+|"
    r"diff\.(?:renames|mnemonicprefix|noprefix|context)|merge\.conflictstyle|rebase\.autostash|pull\.(?:rebase|ff)|push\.default|column\.ui)=[^`$]*",
    IGNORECASE,
)


def unwrapped_words(words: list[Word]) -> list[Word]:
    """A command without what only starts it: a time limit, variables, the runner of a project's own tools, git's folder and harmless settings."""
    for _ in range(_MOST_WRAPPED):
        inner = _inner(words)
        if inner is None:
            return words
        words = inner
    return words


def _inner(words: list[Word]) -> list[Word] | None:
    name, texts = program_name(words[0].text), [one.text for one in words]
    if name == "git":
        return _plain_git(words, texts)
    behind = _STARTING.get(name, _behind_runner if name in _RUNNERS else None)
    at = behind(name, texts) if behind is not None else None
    return words[at:] if at is not None and at < len(words) and texts[at][:1] != "-" else None


def _behind_timer(name: str, texts: Sequence[str]) -> int | None:
    """Where the other program stands behind `time`, `nice` or `timeout`."""
    at = 1
    while at < len(texts) and texts[at].startswith("-"):
        if not _TIME.fits(texts[at]):
            return None
        at += 2 if texts[at] in {"-k", "-s", "-n"} else 1
    if name != "timeout":
        return at
    return at + 1 if at < len(texts) and _DURATION.fits(texts[at]) else None


def _behind_checker(name: str, texts: Sequence[str]) -> int | None:
    """The same behind `valgrind`, which runs what the project built."""
    del name
    at = 1
    while at < len(texts) and (texts[at] in _LINKS or texts[at].startswith("--tool=")):
        at += 1
    return at if at < len(texts) and is_inside(texts[at]) and "/" in texts[at] else None


def _behind_measure(name: str, texts: Sequence[str]) -> int | None:
    """The same behind what measures how much of a program is run."""
    at = 1
    while at < len(texts) and WRAPPING.fits(texts[at]):
        at += 1
    return at if at < len(texts) and tool_rule(name, texts[at:]) else None


def _behind_runner(name: str, texts: Sequence[str]) -> int | None:
    """The same behind the runner of a project's own tools."""
    subcommand, options = _RUNNERS[name]
    at = 1 + len(subcommand)
    if tuple(texts[1:at]) != subcommand:
        return None
    while at < len(texts) and (texts[at] in options or texts[at] == "--"):
        at += 1
    fetches = name in _FETCHED and at < len(texts) and texts[at] not in NODE_TOOLS
    return None if fetches else at


_STARTING: dict[str, Callable[[str, Sequence[str]], int | None]] = {
    **dict.fromkeys(("time", "timeout", "nice"), _behind_timer),
    **dict.fromkeys(("nyc", "c8"), _behind_measure),
    "valgrind": _behind_checker,
}


def unwrapped_git(words: list[Word]) -> list[Word]:
    """A command of git in a folder inside, or with harmless settings, without them; every other as it is."""
    texts = [one.text for one in words]
    return (_plain_git(words, texts) or words) if program_name(texts[0]) == "git" else words


def _plain_git(words: list[Word], texts: Sequence[str]) -> list[Word] | None:
    at = 1
    while at + 1 < len(texts):
        if (texts[at] == "-C" and is_inside(texts[at + 1])) or (texts[at] == "-c" and _GIT_SETTINGS.fits(texts[at + 1])):  # fmt: skip
            at += 2
        else:
            break
    return [words[0], *words[at:]] if at > 1 else None


def develop_rule(words: list[Word], judge: Judge, written: set[str]) -> str | None:
    """What speaks against one command: a rule's name, or None. `written` are the files that this line has made before, and gets those
    that this command fetches."""
    words = unwrapped_words(words)
    name, texts = program_name(words[0].text), [one.text for one in words[1:]]
    if _METADATA.within(" ".join(texts)):
        return "metadata"
    rule = "program_name" if _runs_made(name, texts, written) else made_rule(name, words, written)
    if rule is not None:
        return rule
    placed = name not in _RUNNING and (
        touches_hook(texts) or (name == "git" and any(map(climbs, texts)))
    )
    if placed and program_rule(words):
        return "outside"
    note_written(name, texts, written)
    if name in _RUNNING:
        return _RUNNING[name](words, judge, written)
    if name in CLOUD:
        return _cloud(name, texts)
    rule = tool_rule(name, texts) or judge(words)
    if rule is not None:
        return rule
    if name not in _PLACING and program_rule(words) and any(map(leads_out, texts)):
        return "outside"
    return client_rule(name, texts, written) if name in CLIENTS else _from_elsewhere(name, texts)


def _runs_made(name: str, texts: Sequence[str], written: set[str]) -> bool:
    """Whether a program is run from outside, or one that the line itself has made."""
    if "/" in name and not is_inside(name):
        return True
    run = [name, *texts] if name in _RUNS_FILES else [name]
    return any(one.removeprefix("./") in written for one in run)


_PLACING = frozenset(
    {
        "cp",
        "rsync",
        "ditto",
        "install",
        "sed",
        "gsed",
        "git",
        "tar",
        "bsdtar",
        "cd",
        "pushd",
        "grep",
        "echo",
        "printf",
        *CLIENTS,
    }
)
"""These say of each operand whether it is read, written, a text or an address."""

_RUNS_FILES = frozenset(
    "python python3 node ruby perl php bash sh source . chmod java Rscript lua deno bun".split()
)
_CLOUD_MORE = {"terraform": {"fmt", "init", "validate", "get"}, "gh": {"pr create", "pr checkout", "pr comment", "issue create", "issue comment"}, "helm": {"lint", "template", "dependency build"}}  # fmt: skip


_PUBLISHED = Pattern(
    r"-[tblmaprdfvBH]|--(?:title|body|label|milestone|assignee|project|reviewer|draft|fill|fill-first|fill-verbose|base|head|detach|force|branch|"
    r"edit-last|no-maintainer-edit|dry-run|recurse-submodules)(?:=.*)?",
    DOTALL,
)


def _cloud(name: str, texts: Sequence[str]) -> str | None:
    operands = [one for one in texts if not one.startswith("-")]
    more = _CLOUD_MORE.get(CLOUD[name], set())
    if operands[:1] and (operands[0] in more or " ".join(operands[:2]) in more):
        # Another repository is another's, and a file would be published.
        if CLOUD[name] == "gh" and not all(
            _PUBLISHED.fits(one) for one in texts if one.startswith("-")
        ):
            return "sends_away"
        return "outside" if any(map(is_elsewhere, texts)) else None
    return cloud_rule([name, *texts])


_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _find(words: list[Word], judge: Judge, written: set[str]) -> str | None:
    """What is found is below the folders that it begins in, so that these decide where something is deleted or changed."""
    roots = find_roots([one.text for one in words[1:]])
    plain, run = [words[0]], []
    rest = words[1:]
    while rest:
        if rest[0].text in _FIND_RUNS:
            end = next((at for at, one in enumerate(rest) if one.text in {";", "+"}), 0)
            run.append(rest[1:end])
            rest = rest[end + 1 :] if end else []
        else:
            plain.append(rest.pop(0))
    tests = [one for one in plain if one.text != "-delete"]
    deletes = len(tests) < len(plain)
    if (run or deletes) and not all(one in {".", "./"} or is_written_inside(one) for one in roots):
        return "outside"
    deletes = deletes or any(
        program_name(one.text) in DELETING for command in run for one in command
    )
    if deletes and lists_all([one.text for one in tests]):
        return "recursive_delete"
    rules = (_found_rule(one, judge, written) for one in run)
    return next(filter(None, rules), None) or special.find(tests[1:])


def _found_rule(command: list[Word], judge: Judge, written: set[str]) -> str | None:
    """The same of a command that gets what is found, in whose place a file inside stands."""
    if not command:
        return "option"
    given = [one._replace(text="./found") if one.text == "{}" else one for one in command]
    return develop_rule(given, judge, written)


_XARGS = Pattern(
    r"-[0rt]+|-[nPL]\d*|-I|-I\S+|--null|--no-run-if-empty|--max-args=\d+|--max-procs=\d+|\d+"
)


def _xargs(words: list[Word], judge: Judge, written: set[str]) -> str | None:
    """Names that a pipe lists, as arguments of a command that passes with a file inside in their place."""
    at, placed = 1, ""
    while at < len(words) and _XARGS.fits(words[at].text):
        text = words[at].text
        if text.startswith("-I"):
            placed = text[2:] or (words[at + 1].text if at + 1 < len(words) else "")
            at += 1 if text[2:] else 2
        else:
            at += 1
    inner = [
        one._replace(text=one.text.replace(placed, "./found")) if placed else one
        for one in words[at:]
    ]
    if not inner:
        return None
    return develop_rule(inner if placed else [*inner, Word("./found")], judge, written)


_RUNNING: dict[str, Callable[[list[Word], Judge, set[str]], str | None]] = {
    "find": _find,
    "xargs": _xargs,
}
_SETTINGS = Pattern(
    r"-(?:c|f|I|C|P|D|r|e|F|x|S|L|B|l|o|j|b)|--(?:config|config-file|conf|settings|rcfile|rules|rulesdir|plugin|plugins|load|load-plugins|require|import|init-script|"
    r"init-hook|build-file|file|makefile|project|directory|chdir|bootstrap|preload|env-file|registry|index|index-url|extra-index-url|source|"
    r"find-links|trusted-host|engine|module|script|script-shell|hook|on-\w+|exec|command|cmd|shell|pager|editor|rsh|to-command|use-compress-program)",
    DOTALL,
)
_ALWAYS = Pattern(r"--(?:init-hook|script-shell|on-[\w-]+|use-compress-program|to-command|trusted-host|extra-index-url|dangerously[\w-]*|pre-exec|post-exec|node-options)(?:=.*)?|-pre", DOTALL)  # fmt: skip
_MANAGERS = frozenset("npm pnpm yarn bun gem pip pip3 pipenv poetry uv cargo composer conda mamba brew apt apt-get dnf yum apk pacman snap flatpak luarocks cpan cpanm opam cabal stack nuget".split())  # fmt: skip
_NODE = frozenset({"npm", "pnpm", "yarn", "bun"})
_ADDS = frozenset("i install add a in update up".split())
_BY_ADDRESS = Pattern(
    r"(?:github|gitlab|bitbucket|gist|git|file|link|http|https|npm):.*|[\w.-]+/[\w.-]+(?:#.*)?"
)
"""A package from a repository or under another name."""
_SCOPED = Pattern(r"@[\w.-]+/[\w.-]+(?:@[\w.^~<>=*-]+)?")
"""A package, or a member of a workspace, by its scope."""
_SETS = (["config", "set"], ["config", "edit"], ["config", "delete"], ["set"], ["env", "-w"], ["publish"], ["push"], ["login"], ["adduser"], ["token"], ["owner"], ["access"])  # fmt: skip


def _from_elsewhere(name: str, texts: Sequence[str]) -> str | None:
    """Settings, code and packages from outside, and what changes a manager's own settings or publishes."""
    # These have no settings, and patterns for values.
    if name in READERS or name in {"sed", "gsed"}:
        return None
    operands = [one for one in texts if not one.startswith("-")]
    if any(map(_ALWAYS.fits, texts)):
        return "program_option"
    rule = _managed(name, texts, operands) if name in _MANAGERS else None
    if rule is not None:
        return rule
    project = name.removeprefix("./") in _RUNS_PROJECT
    foreign = project and any(is_elsewhere(one) or _FOREIGN_GOAL.fits(one) for one in texts)
    if foreign or any(starmap(_is_set_outside, pairwise(["", *texts]))):
        return "outside"
    sends = name in _SENDERS and any(map(holds_sensitive_files, operands))
    return "host_file" if sends else None


def _managed(name: str, texts: Sequence[str], operands: list[str]) -> str | None:
    """What speaks against a package manager's command: its settings and what it publishes, and packages by an address."""
    if any(operands[: len(one)] == one for one in _SETS):
        return "subcommand"
    adds = name in _NODE and operands[:1] and operands[0] in _ADDS
    if adds and any(map(_BY_ADDRESS.fits, operands[1:])):
        return "outside"
    addressed = ("://" in one or one.startswith(("git+", "git@")) for one in texts)
    elsewhere = (is_elsewhere(one) and not _SCOPED.fits(one) for one in texts)
    return "outside" if any(addressed) or any(elsewhere) else None


def _is_set_outside(before: str, text: str) -> bool:
    """Whether a word, or with it the option before it, leads to settings or code outside."""
    if not text.startswith("-"):
        return bool(_SETTINGS.fits(before)) and _is_outside(text)
    option, sign, value = text.partition("=")
    if sign and _SETTINGS.fits(option):
        return _is_outside(value)
    return text[1:2] not in {"-", ""} and bool(_SETTINGS.fits(text[:2])) and _is_outside(text[2:])


_RUNS_PROJECT = frozenset(
    "pytest py.test tox nox behave robot rspec cucumber phpunit pest gradle gradlew mvn mvnw ant sbt lein rake make ninja cmake ctest meson scons invoke "
    "just task mypy pylint flake8 pyright pre-commit swift xcodebuild dotnet composer".split()
)
"""What runs the code of a project, by the project's own settings."""
_FOREIGN_GOAL = Pattern(
    r"(?:exec|antrun|groovy):.*|[\w.-]+\.[\w.-]+:[\w.-]+(?::[\w.-]+)+|-Dexec\..*"
)
_SENDERS = frozenset("cp rsync tar zip 7z docker podman scp".split())


def _is_outside(text: str) -> bool:
    return bool(text) and ((text[0] in "/~." and is_elsewhere(text)) or text[0] == "{")
