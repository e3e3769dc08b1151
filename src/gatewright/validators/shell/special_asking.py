"""Reads commands of curl, wget, HTTPie and git (remotes, log, settings) into effects: what they request, and what they send."""

from __future__ import annotations

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.validators.shell.call import Call
from gatewright.validators.shell.effects import Effect
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_syntax import Word

__all__ = ["curl", "git_config", "git_log", "git_remote"]


_METHOD, _ITEM = Pattern(r"[A-Za-z]+"), Pattern(r"[\w.\[\]-]+(?:==|:=@?|=@?|@|:[^\d/]).*", DOTALL)


_ASKING = frozenset({"GET", "HEAD", "OPTIONS"})


_HTTPIE = frozenset({"http", "https", "xh", "httpie", "curlie"})


_FILED = frozenset(
    "-d -F --data --data-binary --data-ascii --data-urlencode --json --form --url-query".split()
)


def curl(call: Call) -> list[Word]:
    """What it asks, and what it sends from here."""
    for name, _, value in call.given.options:
        if value is not None:
            _of_curl(call, name, value)
    if call.name == "wget" and (call.has("--spider") or any(one.name in _KEPT and one.value and one.value.text == "-" for one in call.given.options)):  # fmt: skip
        call.does.discard("writes_here")
    globs = call.name == "curl" and not call.has("-g", "--globoff")
    if globs and any(_GLOB.within(one.text) for one in call.given.operands):
        raise Refused(
            "unknown_arguments", call.name
        )  # several URLs in one word, whose hosts nobody sees
    return _items(call) if call.name in _HTTPIE else call.given.operands


def _of_curl(call: Call, name: str, value: Word) -> None:
    text = value.text
    if name in _WRITING_OUT and "%output{" in text:
        raise Refused("option", call.name)
    if name in _METHODS:
        if text not in _ASKING:
            call.add("sends", None, text, name)
    elif name in _HEADERS and _OVERRIDES.fits(text):
        call.add("sends", None, text, name)
    elif name in _COOKIES:
        if "=" not in text:
            call.add_paths("reads", value, name)
            call.add("sends", None, text, name)
    elif name in _FILES or (name in _MAY_NAME and text.startswith("@")) or (name in _FILED and "@" in text):  # fmt: skip
        call.add_paths("reads", value._replace(text=text.rpartition("@")[2].partition(";")[0]), name)  # fmt: skip
        call.add("sends", None, text, name)


_KEPT = frozenset({"-O", "--output-document"})
"""Where it writes what it gets; to `-` it keeps nothing."""
_GLOB = Pattern(r"[{}]|\[[^\]:]*\]")
_METHODS = frozenset({"-X", "--request", "--method"})
_HEADERS = frozenset({"-H", "--header"})
_OVERRIDES = Pattern(r"x-(?:http-)?method(?:-override)?\s*[:;].*", IGNORECASE | DOTALL)
"""A header by which many servers take a question for another method."""
_COOKIES = frozenset({"-b", "--cookie", "--load-cookies"})
_WRITING_OUT = frozenset({"-w", "--write-out"})
_FILES = frozenset({"-T", "--upload-file", "--post-file", "--body-file"})
_MAY_NAME = frozenset({"-H", "--header", *_WRITING_OUT})
"""Options whose value may be `@file`."""


def _items(call: Call) -> list[Word]:
    """The URL of HTTPie; what stands before it is the method, what stands behind it is sent or asked."""
    operands = list(call.given.operands)
    # In small letters it is the same method; alone it is a host.
    if len(operands) > 1 and _METHOD.fits(operands[0].text) and operands.pop(0).text.upper() not in _ASKING:  # fmt: skip
        call.add("sends", None, "", "operand")
    for item in operands[1:]:
        if "@" in item.text:
            call.add_paths("reads", item._replace(text=item.text.rpartition("@")[2]), "operand")
        if "@" in item.text or ("=" in item.text and "==" not in item.text) or _OVERRIDES.fits(item.text):  # fmt: skip
            call.add("sends", None, item.text, "operand")
    return operands[:1]


_REMOTE = Pattern(r"[A-Za-z0-9_][\w./-]*")


_REFSPEC = Pattern(r"[\w@][\w./@^~{}*-]*(?::[\w@][\w./@^~{}*-]*)?")


def git_remote(call: Call) -> list[Word]:
    """A remote by its name; by its address only what is cloned or asked for its branches."""
    operands = list(call.given.operands)
    if call.name == "git clone" or (call.name == "git ls-remote" and operands and _is_address(operands[0].text)):  # fmt: skip
        if operands:
            call.add("host", None, operands[0].text, "operand")
            if operands[0].text.startswith("-") or "::" in operands[0].text:
                raise Refused("operand", operands[0].text)
        for one in operands[1:]:
            call.add_paths("writes" if call.name == "git clone" else "lists", one, "operand")
        return []
    if call.name == "git push" and call.has("-f", "--force"):
        _forced(operands)
    for at, one in enumerate(operands):
        if not (_REMOTE.fits(one.text) if not at else _REFSPEC.fits(one.text)):
            raise Refused("outside", f"{call.name} {one.text}")
    return []


def _forced(operands: list[Word]) -> None:
    """What overwrites is a branch by its name, and none that everybody works on."""
    branches = [one.text.rpartition(":")[2].removeprefix("refs/heads/") for one in operands[1:]]
    if not branches or any("*" in one or _SHARED.fits(one) for one in branches):
        raise Refused("operand", "git push --force")


_SHARED = Pattern(r"(?:main|master|trunk|develop|development|production|prod|staging|stable|gh-pages|HEAD|@)|(?:release|hotfix|support)s?[/-].*|v?\d[\d.x]*", IGNORECASE)  # fmt: skip


def _is_address(text: str) -> bool:
    return ":" in text


def git_log(call: Call) -> list[Word]:
    """`git stash list` drops `--` before it hands on what follows."""
    if call.name == "git stash list" and any(one.text[:1] == "-" for one in call.given.operands):
        raise Refused("option", call.name)
    return call.given.operands


_LISTING = frozenset({"-l", "--list", "--get-regexp", "--show-origin", "--get-urlmatch"})


_KEY = Pattern(r"[A-Za-z][\w-]*(?:\.[^\s=]+)*\.[A-Za-z][\w-]*")


_SECRET_KEY = Pattern(r"(?:credential|sendemail|github|gitlab|oauth)\..*|.*(?:token|passw|secret|key|header|cookie).*", IGNORECASE)  # fmt: skip


def git_config(call: Call) -> list[Word]:
    """Reading settings; and setting what only changes how git looks, in the repository."""
    operands = [one.text for one in call.given.operands]
    if call.has("--edit", "-e"):
        raise Refused("option", "git config --edit")
    if call.has(*_LISTING) or call.name == "git config list":
        _shown(call, operands)
        return []
    if not operands:
        raise Refused("subcommand", "git config")
    key, *values = operands
    if not _KEY.fits(key):
        raise Refused("subcommand", f"git config {key}")
    reads = call.name == "git config get" or call.has("--get", "--get-all", "--get-color", "--get-colorbool")  # fmt: skip
    if reads or (not values and not call.has("--unset", "--unset-all", "--add", "--replace-all")):
        _shown(call, operands)
        return []
    if call.has("--global", "--system"):
        raise Refused("subcommand", "git config --global")
    call.found.append(Effect("settings", None, f"{key}={' '.join(values)}", "operand", "git config"))  # fmt: skip
    return []


def _shown(call: Call, keys: list[str]) -> None:
    """Settings that hold secrets by what they are called. A password in an address is for whoever redacts what comes back."""
    if any(map(_SECRET_KEY.fits, keys)):
        call.add("environment", None, keys[0], "operand")
