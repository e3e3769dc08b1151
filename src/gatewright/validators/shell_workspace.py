"""Says which paths of a shell line stay inside the workspace, for the preset `develop` of `sandbox`; what is written elsewhere runs later.

Inside is what is relative and climbs nowhere, and a named file below `/tmp`. What somebody's program runs without being asked (start
files of shells, hooks of repositories, settings of agents) is outside wherever it lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from gatewright.patterns import DOTALL, IGNORECASE, Pattern, escape

__all__ = ["is_elsewhere", "is_harmless_url", "is_hook", "is_inside", "is_started", "is_written_inside", "option_values"]  # fmt: skip

_OUTSIDE = Pattern(
    r"[/~\\].*|(?:.*[/\\])?\.\.(?:[/\\].*)?|[A-Za-z]:[/\\].*|.*[$`].*|[a-z][\w+.-]*::?//?.*|@.*",
    DOTALL | IGNORECASE,
)
_TEMPORARY = Pattern(r"/(?:private/)?tmp/[\w][\w. -]*(?:/[\w. +@-]+)*/?")
_HOOKS = (
    ".git .hg .husky .ssh .claude .codex .cursor .cursorrules .gemini .mcp.json .windsurf .continue .goose .qwen .opencode .aider.conf.yml .clinerules "
    ".roo .kiro autostart launchagents launchdaemons"
)
_STARTING = (
    ".vscode .idea .zshenv .zenv .zlogin .zlogout .bash_login .bash_logout .bash_aliases .profile .bash_profile .zprofile .bashrc .zshrc .cshrc .kshrc "
    ".tcshrc .vimrc .inputrc .npmrc .pythonrc .envrc .gitconfig authorized_keys"
)
_HOOK_NAMES = "|".join(map(escape, _HOOKS.split()))
_HOOK = Pattern(
    rf"(?:.*[/\\])?(?:{_HOOK_NAMES}|\.config[/\\]+(?:systemd|fish|autostart|git))(?:[/\\].*)?",
    DOTALL | IGNORECASE,
)
_STARTED = Pattern(
    r"(?:.*[/\\])?(?:\.vscode|\.idea|\.\w*rc|\.\w*profile|\.bash_\w+|\.z(?:sh)?env|\.zsh\w+|\.zlog\w+|\.gitconfig|authorized_keys)(?:[/\\].*)?",
    DOTALL | IGNORECASE,
)
_JOKER = Pattern(r"[*?\[{]")
_LOCAL_URL = Pattern(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|host\.docker\.internal)(?::\d+)?(?:[/?#].*)?",
    DOTALL | IGNORECASE,
)


def is_inside(path: str) -> bool:
    """Whether a path, an option's value among them, stays inside the workspace."""
    return path != "" and not _OUTSIDE.fits(path)


def is_elsewhere(text: str) -> bool:
    """Whether an argument names something outside: a path, a URL, or an option whose value is one."""
    if text.startswith("-"):
        _, sign, value = text.partition("=")
        # A value may stand right behind a letter: `-I/tmp/x`.
        found = value if sign else text[2:] if text[1:2] != "-" else ""
        return bool(found) and _OUTSIDE.fits(found)
    return bool(text) and bool(_OUTSIDE.fits(text))


def is_hook(path: str) -> bool:
    """Whether a path is, or by its jokers may be, a hook of a repository or a setting of an agent."""
    return _HOOK.fits(path) or _may_name(path, _HOOKS.split())


def is_started(path: str) -> bool:
    """Whether a path is, or by its jokers may be, what somebody's program runs later without being asked."""
    return is_hook(path) or _STARTED.fits(path) or _may_name(path, _STARTING.split())


def _may_name(path: str, names: Iterable[str]) -> bool:
    """Whether a component with jokers could become one of these names. A shell puts no name with a dot in place of a bare joker."""
    parts = [one for one in path.casefold().split("/") if _JOKER.within(one) and one[0] not in "*?"]
    return any(fnmatchcase(name, one) for one in parts for name in names)


def is_written_inside(path: str) -> bool:
    """Whether a file may be written, changed or deleted there."""
    inside = is_inside(path) or bool(_TEMPORARY.fits(path) and ".." not in path)
    return inside and not is_started(path)


def option_values(text: str) -> list[str]:
    """The texts of one word in which a path may stand: the word, what follows `=`, and what follows the letters behind one dash."""
    found = [text]
    if "=" in text:
        found.append(text.partition("=")[2])
    if text[:1] == "-" and text[1:2] not in {"-", ""}:
        found.append(text[2:])
        found += [text[text.index(sign) :] for sign in "./~" if sign in text]
    return found


def is_harmless_url(text: str) -> bool:
    """Whether a URL leads to this machine, where a developer's own server runs."""
    return bool(_LOCAL_URL.fits(text))
