"""Says which paths of a shell line stay inside the workspace, for the preset `develop` of `sandbox`; what is written elsewhere runs later.

Inside is what is relative and climbs nowhere, and a named file below `/tmp`. What somebody's program runs without being asked (start
files of shells, hooks of repositories, settings of agents) is outside wherever it lies.
"""

from __future__ import annotations

from gatewright.patterns import DOTALL, IGNORECASE, Pattern

__all__ = ["is_elsewhere", "is_harmless_url", "is_inside", "is_written_inside"]

_OUTSIDE = Pattern(
    r"[/~\\].*|(?:.*[/\\])?\.\.(?:[/\\].*)?|[A-Za-z]:[/\\].*|.*[$`].*|[a-z][\w+.-]*::?//?.*|@.*",
    DOTALL | IGNORECASE,
)
_TEMPORARY = Pattern(r"/(?:private/)?tmp/[\w][\w. -]*(?:/[\w. +@-]+)*/?")
_STARTED = Pattern(
    r"(?:.*/)?(?:\.git|\.hg|\.husky|\.vscode|\.idea|\.\w*rc|\.\w*profile|\.bash_\w+|\.z(?:sh)?env|\.zlog\w+|\.envrc|\.ssh|authorized_keys|"
    r"\.claude|\.codex|\.cursor|\.gemini|\.mcp\.json|autostart|launchagents|launchdaemons|\.config/(?:systemd|fish|autostart))(?:/.*)?",
    DOTALL | IGNORECASE,
)
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


def is_written_inside(path: str) -> bool:
    """Whether a file may be written, changed or deleted there."""
    inside = is_inside(path) or bool(_TEMPORARY.fits(path) and ".." not in path)
    return inside and not _STARTED.fits(path)


def is_harmless_url(text: str) -> bool:
    """Whether a URL leads to this machine, where a developer's own server runs."""
    return bool(_LOCAL_URL.fits(text))
