"""Table of refused uses of project tools (nyc, cmake, rake, tox, just, lerna, prisma, psql …) that run code, publish or destroy.

A tool is known to the preset `develop` by its name; here stands what of it is refused, among its options and among its commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gatewright.patterns import DOTALL, IGNORECASE, Pattern

__all__ = ["WRAPPING", "tool_rule"]

WRAPPING = Pattern(r"--[\w-]+=\S+|--all|--silent|--check-coverage|--clean|--no-[\w-]+|-a|-s")
"""Options of tools that measure a run of another program, which stands behind them."""
_MEASURING = frozenset({"nyc", "c8"})
_OWN = frozenset("report check-coverage merge instrument --version --help".split())
_SQL = r"(?:.*\W)?(?:drop|truncate|delete\W.*from|alter\W+(?:user|role|system)|create\W+(?:user|role|extension))(?:\W.*)?"
_OPTIONS = {
    "cmake": r"-P.*",
    "rake": r"-[a-zA-Z]*[eEpfrR].*|--(?:e|p|ra|re|ru|li).*",
    "tox": r"-[a-zA-Z]*[xc].*|--(?:ov|ex|conf).*",
    "just": r"-[a-zA-Z]*[ce].*|--(?:com|sh|cho|ed|jus|work).*",
    "nox": r"-[a-zA-Z]*f.*|--nox.*",
    "prisma": r"--(?:force-reset|accept-data-loss|force).*",
    "drizzle-kit": r"--force.*",
    "ncu": r"-x|--(?:doctorTest|doctorInstall).*",
    "psql": _SQL,
    "mysql": _SQL,
    "mariadb": _SQL,
    "sqlite3": _SQL,
}
_COMMANDS = {
    "lerna": "exec|publish|version|run .*--npm-client.*|clean",
    "nx": "exec|release|publish",
    "changeset": "publish|version .*--snapshot.*",
    "prisma": "migrate reset|db execute|db drop",
    "knex": r"migrate:(?:rollback|down)",
    "sequelize": r"db:drop|db:\w+:undo(?::\w+)?",
    "typeorm": r"schema:drop|migration:revert|query",
    "drizzle-kit": "drop",
    "expo": "publish|upload.*|login",
    "gem": "exec|push|yank|owner|signin|cert|sources",
    "tox": "exec|e",
    "cargo": "yank|owner|login|publish",
    "npm-check-updates": "doctor",
    "django": "shell|dbshell|flush|sqlflush|reset_db",
}
_REFUSED: Mapping[str, Pattern[str]] = MappingProxyType(
    {
        name: Pattern(said, DOTALL | IGNORECASE if said is _SQL else DOTALL)
        for name, said in _OPTIONS.items()
    }
)
_VERBS: Mapping[str, Pattern[str]] = MappingProxyType(
    {name: Pattern(rf"(?:{said})(?: .*)?", DOTALL) for name, said in _COMMANDS.items()}
)
_CMAKE_COMMANDS = frozenset(
    """
    copy copy_if_different copy_directory make_directory rm remove remove_directory touch touch_nocreate echo echo_append cat compare_files
    md5sum sha1sum sha256sum sha512sum capabilities environment true false
    """.split()
)
"""What `cmake -E` does itself."""
_PROFILING = frozenset({"cProfile", "coverage", "trace", "pdb"})


def tool_rule(name: str, texts: Sequence[str]) -> str | None:
    """What speaks against a tool of a project: a rule's name, or None."""
    name = name.rpartition("/")[2]
    verb = " ".join(one for one in texts if not one.startswith("-"))
    if name in _VERBS and _VERBS[name].fits(verb):
        return "subcommand"
    if name in _REFUSED and any(map(_REFUSED[name].fits, texts)):
        return "option"
    if name in _MEASURING and texts and texts[0] not in _OWN:
        # What stands behind its options was taken for the command, had they all been known.
        return "runs_programs"
    if name == "cmake" and "-E" in texts:
        command = next(iter(texts[texts.index("-E") + 1 :]), "")
        return None if command in _CMAKE_COMMANDS else "runs_programs"
    return _module_rule(texts) if name in {"python", "python3", "pypy3"} else None


def _module_rule(texts: Sequence[str]) -> str | None:
    """What speaks against a module of Python that runs another, or code."""
    module = next((texts[at + 1] for at, one in enumerate(texts[:-1]) if one == "-m"), "")
    behind = texts[texts.index(module) + 1 :] if module else []
    if module == "timeit" or (module == "cProfile" and any(one in {"-c", "-m"} for one in behind)):
        return "inline_code"
    if module == "coverage" and any(one in _PROFILING | {"timeit", "code"} for one in behind):
        return "inline_code"
    return tool_rule(module, behind) if module in {"tox", "nox", "django"} else None
