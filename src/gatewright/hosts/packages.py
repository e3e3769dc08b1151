"""Detects unpinned packages in a server's command line (npx, uvx, docker, …) and says how to pin them.

A server that is not pinned is whatever its author, or whoever took over the name, publishes next.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gatewright.patterns import Pattern

__all__ = ["Unpinned", "unpinned"]

_VALUED = {
    "npx": {"-p", "--package", "-c", "--call", "-w", "--workspace", "--registry", "--cache"},
    "uvx": {"--from", "--with", "--python", "-p", "--index-url", "--index", "--directory"},
    "docker": set(),
}
_RUN = {
    "npx": ("npx", ()),
    "bunx": ("npx", ()),
    "uvx": ("uvx", ()),
    "pnpm": ("npx", ("dlx",)),
    "yarn": ("npx", ("dlx",)),
    "bun": ("npx", ("x",)),
    "npm": ("npx", ("exec", "x")),
    "uv": ("uvx", ("tool",)),
    "pipx": ("uvx", ("run",)),
    "docker": ("docker", ("run",)),
    "podman": ("docker", ("run",)),
}
"""Program → how it names packages, and the words after it that make it fetch one."""

_NPM = Pattern(r"(?P<name>(?:@[\w.-]+/)?[\w.-]+)(?:@(?P<version>[^\s]+))?")
_PYPI = Pattern(r"(?P<name>[\w.-]+)(?:\[[\w,.-]*\])?(?:(?:==|@)(?P<version>[^\s]+))?")
_EXACT = Pattern(r"v?\d+(?:\.\d+)+(?:[-+.\w]*)")
_IMAGE = Pattern(r"[a-z0-9][a-z0-9._/:-]*")
# Options of `docker run` without a value; any other takes the word behind it.
_DOCKER_BARE = Pattern(
    r"-[a-z]*[itdP]+|--(?:rm|init|interactive|tty|detach|privileged|read-only|publish-all|no-healthcheck)"
)


class Unpinned(msgspec.Struct, frozen=True):
    """`package` as it is written, and `pin`: how to write it with a version. `name` is what `kind` of
    runner (`npx`, `uvx`, `docker`) fetches."""

    package: str
    pin: str
    name: str = ""
    kind: str = ""


def unpinned(command: str, args: Sequence[str]) -> Unpinned | None:
    """The package that this command line takes in any version; None where it is pinned, or none."""
    # Some files have the whole command line as `command`.
    words = [*command.split(), *args] if not args else [command, *args]
    program = (
        words[0].replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd")
        if words
        else ""
    )
    kind, verbs = _RUN.get(program, ("", ()))
    rest = list(words[1:])
    if verbs:
        if not rest or rest[0] not in verbs:
            return None
        rest = rest[2:] if rest[:2] == ["tool", "run"] else rest[1:]
    if kind == "docker":
        return _image(rest)
    if not kind:
        return None
    package = _package(rest, kind)
    return None if package is None else _judged(package, kind)


def _package(words: Sequence[str], kind: str) -> str | None:
    """The word that names the package."""
    skipped = False
    for number, word in enumerate(words):
        name, _, value = word.partition("=")
        # `-p` is a package to npx and a version of Python to uvx.
        if name in {"--from", "--package", "-p"} and (kind == "npx" or name == "--from"):
            return value or next(iter(words[number + 1 :]), None)
        if skipped:
            skipped = False
        elif not word.startswith("-"):
            return word
        else:
            skipped = word in _VALUED[kind]
    return None


def _judged(package: str, kind: str) -> Unpinned | None:
    found = (_NPM if kind == "npx" else _PYPI).fullmatch(package)
    if found is None or (found["version"] and _EXACT.fullmatch(found["version"])):
        return None
    joint = "@" if kind == "npx" else "=="
    return Unpinned(package, f"{found['name']}{joint}VERSION", found["name"], kind)


def _image(words: Sequence[str]) -> Unpinned | None:
    """The image of a `docker run`: the first word that is neither an option nor an option's value."""
    valued = False
    for word in words:
        if valued:
            valued = False
        elif word.startswith("-"):
            valued = "=" not in word and not _DOCKER_BARE.fullmatch(word)
        elif "@sha256:" in word or not _IMAGE.fullmatch(word):
            return None
        else:
            name, _, tag = (
                word.rpartition(":") if ":" in word.rpartition("/")[2] else (word, "", "")
            )
            exact = bool(_EXACT.fullmatch(tag))
            return None if exact else Unpinned(word, f"{name}@sha256:DIGEST", name, "docker")
    return None
