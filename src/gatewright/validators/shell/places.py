"""Resolves and classifies a path on a shell line (workspace, `/tmp`, outside, secret, unknown); follows `cd`; protected files, others' homes.

A line begins in the workspace, wherever that is. What `cd` and options add is counted part by part, so that `cd web` and `cd ..` lead back,
and a path that climbs above the beginning is outside. A `cd` to what looks like somebody's project makes that the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gatewright.patterns import DOTALL, IGNORECASE, Pattern, escape
from gatewright.short_cache import cached_if_short
from gatewright.validators.shell_files import SHELL_WORDS, holds_sensitive_files, is_sensitive
from gatewright.validators.shell_globs import letters_of, may_name

__all__ = ["ANYWHERE", "HERE", "SYSTEM", "Path", "chooses_secrets", "entered", "holds_secrets", "is_kept", "is_of_others", "is_secret", "place", "resolve", "stands_for_hidden", "workspace"]  # fmt: skip


class Path(NamedTuple):
    """A path, as far as it is known."""

    base: str
    """Where it begins: `""` the workspace, `/`, `~` a home, `^` a folder above the workspace, `?` nobody knows where, `#` nowhere: a number."""
    parts: tuple[str, ...] = ()
    wild: bool = False
    """Whether the shell, or what lists files, puts names in place of its jokers."""
    anchor: tuple[str, ...] = ()
    """The parts of the absolute path that is the workspace, where the line says it."""

    def text(self) -> str:
        """How it is spelled, the workspace being where it is spelled."""
        return _BEGINNINGS[self.base] + "/".join(self.parts)


_BEGINNINGS = {"": "", "/": "/", "~": "~/", "^": "../", "?": "", "#": ""}
HERE, ANYWHERE = Path(""), Path("?")
_WILD = Pattern(r"[*?\[]")


def resolve(folder: Path, text: str, *, glob: bool = False) -> Path:
    """The path that a text means in a folder."""
    base, parts, anchor = folder.base, list(folder.parts), folder.anchor
    if text.startswith("/"):
        base, parts = "/", []
    elif text.startswith("~"):
        name, _, text = text[1:].partition("/")
        # The home of somebody by name is where homes of others are.
        base, parts = ("/", ["home", name]) if name else ("~", [])
    for part in text.split("/"):
        if part == "..":
            base, parts = _climbed(base, parts, anchor)
        elif part and part != ".":
            parts.append(part)
    if base == "/" and anchor and tuple(parts[: len(anchor)]) == anchor:
        base, parts = "", parts[len(anchor) :]
    return Path(base, tuple(parts), glob or folder.wild, anchor)


def _climbed(base: str, parts: list[str], anchor: tuple[str, ...]) -> tuple[str, list[str]]:
    if parts:
        return base, parts[:-1]
    if base == "":
        return ("/", list(anchor[:-1])) if anchor else ("^", [])
    return ("^" if base == "~" else base), []


_PROJECTS = Pattern(
    r"(?:home|users)/[\w-]+/[\w][^/]*(?:/.+)?|(?:root|srv|opt|data|mnt/\w+|media/\w+)/\w[^/]*(?:/.+)?|"
    r"(?:workspaces?|app|repos?|code|project|projects|work|src|build|testbed|usr/src/app|github/workspace)(?:/.+)?|var/www/.+|"
    r"private/(?:var|home)/[\w-]+/.+|tmp/[\w.-]*work[\w.-]*/\w.*",
    IGNORECASE,
)  # fmt: skip
_NO_PROJECT = Pattern(
    r"(?:home|users)/[\w-]+/(?:downloads?|desktop|documents|library|pictures|music|movies|videos|public|templates|applications|bin|snap|local)(?:/.*)?|"
    r"(?:.*/)?\.[^/]*(?:/.*)?",
    IGNORECASE,
)


def entered(folder: Path, text: str, *, glob: bool = False) -> Path:
    """The folder that `cd` leads to."""
    found = resolve(folder, text, glob=glob)
    names = "/".join(found.parts)
    known = found.base == "/" and not folder.anchor and not glob and folder.base in {"", "^"}
    if known and _PROJECTS.fits(names) and not _NO_PROJECT.fits(names):
        return Path("", (), False, found.parts)
    return found


def place(path: Path, *, written: bool = False) -> str:
    """Where a path is: `inside`, `temporary`, `outside`, `sensitive` or `unknown`. The folder itself is inside; what is `written` to `/tmp` has
    a name there."""
    if is_secret(path):
        return "sensitive"
    if path.base == "":
        return "inside"
    if path.base == "/":
        parts = path.parts[1:] if path.parts[:1] == ("private",) else path.parts
        named = len(parts) > 1 and (not written or parts[1].strip("*?.") != "")
        return "temporary" if parts[:1] == ("tmp",) and named else "outside"
    return "unknown" if path.base in {"?", "#"} else "outside"


SYSTEM = ((), *((one,) for one in "bin boot dev etc lib lib64 proc root sbin sys usr".split()))
"""First parts of what belongs to the host."""


def workspace(text: str) -> Path:
    """Where a line runs that somebody runs in a folder: that is its workspace, but for places of the host, homes and what holds secrets."""
    found = entered(HERE, text)
    if (
        found.base != "/"
        or found.parts[:1] in SYSTEM
        or is_of_others(found)
        or holds_secrets(found)
    ):
        return found
    return Path("", (), False, found.parts)


_HINTS = Pattern(
    r"(?:^|/)\.|etc/|proc|dev/|var/|run/|root|library|secret|passw|shadow|credential|token|auth|key|\.pem|\.p12|\.pfx|\.ppk|\.jks|\.kdb|tfstate|\.ovpn|"
    r"id_[rde]|env|wp-config|rc|service.?account|keychain|cookies|logins|history|vault|\.crt",
    IGNORECASE,
)
_BACKUP = Pattern(r"(.+?)(?:\.(?:bak|old|save|orig|backup|swp|copy|tmp|\d+)|~|-|\.sw[op])+", DOTALL)
_ENVIRONMENT = Pattern(r"(?:.*/)?\.env(?:rc)?(?:[._-][^/]*)?", IGNORECASE)
_NO_ENVIRONMENT = Pattern(r".*[._-](?:example|sample|template|dist|default|defaults|tpl|schema|d\.ts|vault)(?:\.[^/]*)?", IGNORECASE)  # fmt: skip
_CODE = r"(?:py|pyi|pyc|js|mjs|cjs|ts|tsx|jsx|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|php|md|mdx|rst|html|css|scss|svg|png|sh|vue|snap|map)"
_ROLE = Pattern(
    r"(?:.*/)?(?:\.[^/]*(?:token|credential|passw|secret)[^/]*|\.claude\.json|\.claude\.json\.[^/]*)|"
    r"(?:.*/)?\.(?:cache|config|local|aws|azure|docker|kube|[a-z0-9_-]+)/(?:.*/)?(?:[^/]*(?:token|credential|passw|secret|api_?-?key)[^/]*|auth(?:\.[^/]*|rc)?|"
    r"hosts\.ya?ml|[^/]*\.(?:key|pem|p12))|"
    r"(?:.*/)?(?:[^/]*[._-])?(?:private|priv|secret|server|client|tls|ssl|ca|signing|master|deploy|ssh|host)[^/]*\.key|(?:.*/)?id_(?:rsa|dsa|ecdsa|ed25519)(?:[_.-][^/]*)?|"
    r"(?:.*/)?(?:secrets?|private|priv|keys?|credentials?)/(?:.*/)?[^/]*\.(?:pem|key|p12|pfx|jks)|(?:.*/)?secrets?/(?:.*/)?[^/]*\.(?:env|ya?ml|json|txt|ini|enc)|"
    r"(?:.*/)?\.[^/]+/(?:.*/)?state\.vscdb(?:\..*)?|(?:.*/)?[^/]*(?:prod|secret|private)[^/]*\.(?:pem|key)|(?:.*/)?(?:privkey|[^/]*private[_-]?key|[^/]*_rsa)(?:\.[^/]*)?|(?:.*/)?(?:secrets?|credentials?)\.(?:json|ya?ml|toml|env|ini|txt|xml|enc)(?:\.[^/]*)?",
    IGNORECASE,
)
_NO_ROLE = Pattern(
    rf"(?:.*/)?\.(?:github|gitlab|circleci|vscode|storybook|next|nuxt|venv|tox|nox|mypy_cache|pytest_cache|ruff_cache|yarn|pnpm|husky|git)/.*|.*\.{_CODE}|"
    r".*\.pub|.*[._-](?:example|sample|template|dist)(?:\.[^/]*)?",
    IGNORECASE,
)


def is_secret(path: Path) -> bool:
    """Whether a path is, or by its jokers may be, a file that holds secrets or belongs to the host."""
    return _secret(path.text(), path.base == "", path.wild)


@cached_if_short(4096)
def _secret(text: str, relative: bool, glob: bool) -> bool:
    if not glob and not _HINTS.within(text):
        return False
    if _by_role(text) or (glob and _globs_role(text)):
        return True
    plain = _BACKUP.fullmatch(text)
    if plain is not None and (_by_role(plain[1]) or _listed(plain[1], relative, glob=glob)):
        return True
    return _listed(text, relative, glob=glob)


def _listed(text: str, relative: bool, *, glob: bool) -> bool:
    if not is_sensitive(text, glob=glob):
        return False
    # `etc/shadow` of a workspace is a fixture; what begins with a dot is somebody's.
    return not (relative and _OF_HOST.fits(text) and not is_sensitive(text.rpartition("/")[2], glob=glob))  # fmt: skip


_OF_HOST = Pattern(r"(?:[^./][^/]*/)*(?:etc|proc|var|run|dev|root)/.*", IGNORECASE)


def _by_role(text: str) -> bool:
    if _ENVIRONMENT.fits(text):
        return not _NO_ENVIRONMENT.fits(text)
    return _ROLE.fits(text) and not _NO_ROLE.fits(text)


_ROLE_NAMES: tuple[str, ...] = SHELL_WORDS["role_names"]
_KEYS: tuple[str, ...] = SHELL_WORDS["key_endings"]


def _globs_role(text: str) -> bool:
    """Whether the last part, with letters of its own, could become a name of secrets."""
    for part in text.split("/"):
        if _WILD.within(part) and part.endswith(_KEYS):
            return True
        letters = part.replace("*", "").replace("?", "")
        if _WILD.within(part) and part[:1] not in "*?" and len(letters) > 1 and may_name(part, _ROLE_NAMES):  # fmt: skip
            return True
    return False


_CHOOSING = Pattern(
    r"[*?]*[^*?\[\]/]*[*?.]*(?:env|envrc|shadow|passwd|id_\w+|pem|p12|pfx|netrc|pgpass|\.?ssh|\.?aws|gnupg|npmrc|kube|credentials?|secrets?|tokens?|passwords?)[*?/]*",
    IGNORECASE,
)


def chooses_secrets(pattern: str) -> bool:
    """Whether a pattern of names, in which a joker stands for a dot as well, is there to find secrets (`*env*`, `*id_rsa*`, `*/.ssh/*`)."""
    return _WILD.within(pattern) and any(
        _CHOOSING.fits(part) for part in (pattern, *pattern.split("/")) if part.strip("*?")
    )


def stands_for_hidden(path: Path) -> bool:
    """Whether the last part of a path is a pattern that means every name with a dot before it (`.*`, `.??*`), and so `.env`."""
    last = path.parts[-1] if path.wild and path.parts else ""
    return last[:1] == "." and letters_of(last) == "." and may_name(last, _ROLE_NAMES)


_HOMES = (("home",), ("Users",), ("root",), ("var", "mail"), ("var", "spool", "mail"))
_SHARED = frozenset({("home", "linuxbrew"), ("Users", "Shared")})


def is_of_others(path: Path) -> bool:
    """Whether a path is in a home or a mailbox that the line names by itself, so that nobody knows whose it is."""
    if path.base != "/" or path.parts[:2] in _SHARED:
        return False
    for home in _HOMES:
        own = path.parts[: len(home)]
        if own == home or (path.wild and len(own) == len(home) and all(may_name(one, (part,)) for one, part in zip(own, home, strict=True))):  # fmt: skip
            return True
    return False


def holds_secrets(path: Path) -> bool:
    """Whether all that is below a folder holds secrets of the host or of a person, so that nothing reads it as a whole."""
    if path.base == "?" or (path.base == "^" and not path.parts):
        return True
    if path.base == "^":
        # It may be any folder of the host.
        return holds_sensitive_files("/" + "/".join(path.parts)) or is_secret(path)
    if path.base == "":
        return is_secret(path)
    parts = path.parts
    if path.wild:
        at = next((at for at, one in enumerate(parts) if _WILD.within(one)), None)
        if at is not None:
            return holds_secrets(path._replace(parts=parts[:at], wild=False)) or is_secret(path)
    return holds_sensitive_files(path.text() if path.base != "~" or parts else "~") or is_secret(path)  # fmt: skip


_KEPT = Pattern(
    r"(?:.*/)?(?:\.github/copilot-instructions\.md|\.windsurfrules|\.git/.*|\.git)", IGNORECASE
)


def is_kept(path: Path) -> bool:
    """Whether nothing may write there although it is inside: what runs later without being asked, and settings of agents."""
    text = path.text()
    if path.base == "~":
        return True
    if "." not in text and not path.wild:
        return False
    return _is_started(text) or bool(_KEPT.fits(text))


_HOOKS: tuple[str, ...] = SHELL_WORDS["hooks"]
_STARTING: tuple[str, ...] = SHELL_WORDS["started_later"]
_HOOK_NAMES = "|".join(map(escape, _HOOKS))
_HOOK = Pattern(
    rf"(?:.*[/\\])?(?:{_HOOK_NAMES}|\.config[/\\]+(?:systemd|fish|autostart|git))(?:[/\\].*)?",
    DOTALL | IGNORECASE,
)
_STARTED = Pattern(
    r"(?:.*[/\\])?(?:\.vscode|\.idea|\.\w*rc|\.\w*profile|\.bash_\w+|\.z(?:sh)?env|\.zsh\w+|\.zlog\w+|\.gitconfig|authorized_keys)(?:[/\\].*)?",
    DOTALL | IGNORECASE,
)
_JOKER = Pattern(r"[*?\[{]")


def _is_hook(path: str) -> bool:
    """Whether a path is, or by its jokers may be, a hook of a repository or a setting of an agent."""
    return _HOOK.fits(path) or _may_name(path, _HOOKS)


def _is_started(path: str) -> bool:
    """Whether a path is, or by its jokers may be, what somebody's program runs later without being asked."""
    return _is_hook(path) or _STARTED.fits(path) or _may_name(path, _STARTING)


def _may_name(path: str, names: Iterable[str]) -> bool:
    """Whether a component with jokers could become one of these names. A shell puts no name with a dot in place of a bare joker."""
    parts = [one for one in path.casefold().split("/") if _JOKER.within(one) and one[0] not in "*?"]
    return any(may_name(one, names) for one in parts)
