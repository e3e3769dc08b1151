"""Path forms: every decoded reading of a path (escapes, Unicode, globs, braces), what has no honest use in one, and texts that are paths."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.secret_scanning.invisible import hidden
from gatewright.secret_scanning.unicode_forms import normal
from gatewright.validators.shell_globs import may_name

__all__ = [
    "climbs",
    "form_rule",
    "forms",
    "may_be_read_otherwise",
    "may_climb",
    "names_path",
    "names_variable",
    "readings",
]

_MAX_CHARS = 4096
_MAX_NAME_BYTES = 255
_SHORT = _MAX_NAME_BYTES // 4
"""So many characters are never too many: none takes more than four bytes."""
_MAX_DECODES = 4


def names_path(key: str, text: str) -> bool:
    """Whether a text is a path, by its member's name or by its own form."""
    return _NAMED.within(key) or _looks_like_path(text)


def readings(path: str) -> list[str] | None:
    """What somebody could read in a path, the text itself first; None where that has no end, or none of
    the forms an honest use."""
    found: list[str] = []
    for form in forms(path):
        if form is None or form_rule(form) is not None or _IN_BRACES.within(form):
            return None
        once = form.replace("../", "")
        found += dict.fromkeys((form, _expanded(form), _expanded(once) if ".." in once else form))
    return found


_NAMED = Pattern(
    r"(?:^|[_\-.a-z])(?:paths?|files?|file_?names?|file_?paths?|dir|dirs|directory|directories|folders?|cwd|src|dst|"
    r"dest|destination|root|location)\n?\Z",
    IGNORECASE,
)
_TRAVERSAL = Pattern(r"(?:^|[/\\%&;x])(?:\.|%|\uff0e|\u2024|\u2025)|\.\.")
_WEB = Pattern(r"https?://", IGNORECASE)
_HOME = Pattern(r"~(?:[^\s/~\\]*/.*|[A-Za-z_][\w.-]*|[+-])?")  # `~5` alone is mostly how many


def _looks_like_path(text: str) -> bool:
    """One line that begins like a path from elsewhere, or has a component that could climb."""
    if "\n" in text or _WEB.begins(text):
        return False
    if text.startswith(("/", "\\")) or _HOME.fits(text) or _DRIVE.begins(text):
        return " " not in text.strip()
    if not _TRAVERSAL.within(text):
        return False
    for form in forms(text.replace("\\", "/")):
        if form is None:
            return text.split() == [text]
        if ".." in form.split("/"):
            return True
    return False


_DRIVE = Pattern(
    r"[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]+:/|(?:data|file|php|phar|zip|glob|expect|jar|gopher|dict|ldaps?|s?ftp|"
    r"smb|netdoc|rar|ogg|ssh2|javascript|view-source):",
    IGNORECASE,
)
_VARIABLE = Pattern(r"\$[{(]|`|^\$\w+(?:/|\n?\Z)")
_VARIABLE_OF_WINDOWS, _ESCAPED = Pattern(r"%\w{3,}%"), Pattern(r"%u?[0-9A-Fa-f]{2}")
_UNICODE_ESCAPE = Pattern(
    r"%u[0-9A-Fa-f]{4}|&(?:#x?[0-9A-Fa-f]+|sol|period|bsol|lt|gt|amp|num);?", IGNORECASE
)
_PERCENT = Pattern(r"%[0-9A-Fa-f]{2}")
_HEX = Pattern(r"0x(2[eEfF]|5[cC])")
"""Dots and separators as some decoders read them."""
_NEEDLESS = Pattern(
    r"%(?:2[deDEfF]|3[0-9]|4[1-9a-fA-F]|5[0-9aAcCfF]|6[1-9a-fA-F]|7[0-9aAeE]|25[0-9A-Fa-f]{2})|"
    r"%%|(?:^|[^0-9%])%(?:[0-9A-Za-z][G-Zg-z]|[G-Zg-z][0-9A-Za-z])"
)
"""Escapes that no honest writer makes: of what needs none (letters, digits, `-._~/`, the backslash), of an
escape, and of what is none. Decoders of several kinds turn them into a way up."""
_UTF_7 = Pattern(r"\+[A-Za-z0-9+/]{3,}-?")
_ALIEN = Pattern("[\u2044\u2215\u29f8\u2571\uff0f\u2216\u29f5\uff3c\ufe68\u29f9]")


def form_rule(path: str) -> str | None:
    """What speaks against one form of a path by itself: a rule's name, or None."""
    if not path:
        return "empty"
    if not path.isprintable() and (_LINE.within(path) or hidden(path)):
        return "control_character"
    if len(path) > _SHORT and (
        len(path) > _MAX_CHARS
        or any(len(name.encode()) > _MAX_NAME_BYTES for name in path.split("/"))
    ):
        return "too_long"
    if "\\" in path:
        return "backslash"
    if path.startswith("~"):
        return "home"
    if names_variable(path):
        return "variable"
    return "drive" if ":" in path and _DRIVE.begins(path) else None


def names_variable(path: str) -> bool:
    """Whether a shell would put something else in the place of a part."""
    if "$" not in path and "`" not in path and "%" not in path:
        return False
    windows = path.startswith("%") and _VARIABLE_OF_WINDOWS.begins(path)
    return _VARIABLE.within(path) or (windows and not _ESCAPED.begins(path))


def forms(path: str) -> Iterator[str | None]:
    """The path, and what others could read in it; None where an escape decodes to nothing valid."""
    yield path
    if path.isascii() and not may_be_read_otherwise(path):
        return
    form: str | None = path
    for _ in range(_MAX_DECODES):
        before = form
        form = _decoded(before) if before is not None else None
        if form == before:
            return
        yield form
    # Still not stable: nobody encodes a name so often.
    yield None


_ESCAPES = frozenset("%&+;?#*")
_AFTER_DOTS = Pattern(r"\.\.([;?#+])")
_WILD = Pattern(r"[^*].*[?*\[]|[?\[]", DOTALL)
"""How a component begins that is a pattern for names with a dot before them. Some shells and servers take `.*` for `..`."""
_IN_BRACES = Pattern(r"\{(?:.*[/{,])?\.\.(?:[/,}]|\n?\Z)", DOTALL)
_LINE = Pattern(r"[\n\r\t]")


def may_be_read_otherwise(path: str) -> bool:
    """Whether something in an ASCII path is an escape to somebody, or a blank at an end of a name."""
    if not _ESCAPES.isdisjoint(path) or "0x" in path:
        return True
    return " " in path and (
        " /" in path or "/ " in path or path[0] == " " or path.endswith((" ", " \n"))
    )


def may_climb(path: str) -> bool:
    """Whether there are two dots in a path, or what some expand to them."""
    return ".." in path or "*" in path or "?" in path or "[" in path or "{" in path


def _decoded(path: str) -> str | None:
    """One step of everything that a server, a proxy or a file system might do to a path."""
    if _UNICODE_ESCAPE.within(path) or _NEEDLESS.within(path):
        return None
    # Decoders of one kind each; the caller repeats this until nothing changes, so their order does not matter.
    path = _HEX.sub(lambda found: chr(int(found[1], 16)), path)
    if _PERCENT.within(path):
        try:
            path = unquote_to_bytes(path).decode()
        except UnicodeDecodeError:
            return None
    if _UTF_7.within(path):
        path = _from_utf_7(path)
    path = normal("NFKC", _ALIEN.sub("/", path)).replace("\u3002", ".")
    return "/".join(map(_unpadded, path.split("/")))


def _unpadded(name: str) -> str:
    """A component without blanks around it and without what some servers leave out behind its two dots."""
    after = _AFTER_DOTS.search(name)
    return name[: after.start(1)].lstrip(" ") if after is not None else name.strip(" ")


def _from_utf_7(path: str) -> str:
    try:
        plain = path.encode("ascii").decode("utf-7")
    except UnicodeError:
        return path
    return plain if plain.isascii() else path


def climbs(path: str) -> bool:
    """Whether a path leads above where it begins, whichever of its patterns are expanded, also for whoever takes
    `../` out of it once."""
    once = path.replace("../", "")
    return may_climb(path) and (_IN_BRACES.within(path) or _falls(path) or _falls(once))


def _expanded(path: str) -> str:
    """A path with two dots for each name that some expand to them."""
    names = (".." if _WILD.begins(n) and may_name(n, ("..",)) else n for n in path.split("/"))
    return "/".join(names) if may_climb(path) else path


def _falls(path: str) -> bool:
    depth = 0
    for name in _expanded(path).split("/"):
        if name == "..":
            depth -= 1
        elif name not in {"", "."}:
            depth += 1
        if depth < 0:
            return True
    return False
