"""Classifies arguments on a shell line: build targets that publish or delete, values with an outside path, harmless git settings.

A goal of a build tool that publishes, deletes what is kept or runs what is not the project's is refused by its name, where the tool and not
the project says what it does.
"""

from __future__ import annotations

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.validators.shell.places import HERE, Path, place, resolve

__all__ = ["is_git_setting", "is_goal", "leads_out", "publishes"]

_PLACES = Pattern(
    r"(?:^|[=,:;@\s]|-[A-Za-z])((?:/|~/|\.\./)[^=,:;\s]*)|(?:^|[=,:])(\.\.|~(?:[A-Za-z_][\w-]*)?(?:/[^=,:;\s]*)?)(?:[,:;]|\Z)"
)
_HOSTS = Pattern(
    r"/(?:tmp|home|Users|var|root|srv|private|dev|proc|etc|mnt|media|run)(?:/.*)?", DOTALL
)


def leads_out(value: str, folder: Path | None) -> bool:
    """Whether a value, or a part of it, is a path outside that another may write."""
    for found in _PLACES.finditer(value):
        text = found[1] or found[2] or ""
        if text.startswith("/"):
            if _HOSTS.fits(text) and place(resolve(folder or HERE, text)) != "inside":
                return True
        elif place(resolve(folder or HERE, text)) != "inside":
            return True
    return False


_PUBLISHING = Pattern(
    r"(?:.*[:._-])?(?:deploy|publish\w*|upload\w*|release(?:[:_-]?(?:perform|prepare))?|install-?dist|signing)|.*(?:exec|antrun|groovy|shell):.*|(?:.*[:.])?(?:db:)?(?:drop|reset|wipe|"
    r"flush|truncate|purge|destroy|fresh)(?::.*)?|eval|cmd|shell|console|tinker|(?:archive|escript|plugin)[.:]install|[\w-]+(?:\.[\w-]+)+:[\w.-]+(?::[\w.-]+)+|.*:(?:fresh|wipe|drop|reset)",
    IGNORECASE,
)
"""Goals that put something elsewhere, delete what is kept, or run what is not the project's."""


_OWN_GOALS = frozenset("make gmake just task npm pnpm yarn bun invoke".split())
"""Programs all of whose goals the project itself has written."""


_TARGET = Pattern(r"[\w@%+./:,~#*()=' \[\]-]*")


def publishes(goal: str, program: str) -> bool:
    """Whether a goal of a program that knows it by itself puts something elsewhere, or deletes what is kept."""
    return program.partition(" ")[0] not in _OWN_GOALS and bool(_PUBLISHING.fits(goal))


def is_goal(text: str) -> bool:
    """Whether a text is the name of a goal, and no address or path that climbs."""
    return "://" not in text and bool(_TARGET.fits(text)) and ".." not in text.split("/")


_GIT_SETTINGS = Pattern(
    r"(?:color\.[\w.]+|user\.(?:name|email)|core\.(?:quotepath|autocrlf|eol|abbrev|safecrlf|filemode|ignorecase|longpaths)|advice\.\w+|commit\.gpgsign|tag\.gpgsign|"
    r"init\.defaultbranch|log\.(?:date|decorate|abbrevcommit|follow|graphcolors|mailmap|showroot|diffmerges)|diff\.(?:renames|mnemonicprefix|noprefix|context|algorithm)|"
    r"merge\.(?:conflictstyle|ff)|rebase\.(?:autostash|autosquash)|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote|followtags)|fetch\.prune|rerere\.enabled|"
    r"column\.ui|status\.\w+|branch\.[\w./-]+\.(?:merge|rebase|description))=[^`$!\x00]*|branch\.[\w./-]+\.remote=[\w.-]+",
    IGNORECASE,
)


def is_git_setting(text: str) -> bool:
    """Whether `name=value` changes only how git looks, or what it asks."""
    return bool(_GIT_SETTINGS.fits(text))
