"""Normalizes resource URIs and template prefixes as clients that parse them do (RFC 3986, 6.2.2; WHATWG URL), for comparison.

Clients write a URI anew before they ask for it: scheme and host small, no default port, a path where there was none, no dots in
it, no escapes that need not be. So whoever claims a URI claims all its spellings. In doubt two URIs count as one.
"""

from __future__ import annotations

from string import ascii_letters, digits

__all__ = ["alike", "begins"]

_PORTS = {"http": ":80", "https": ":443", "ws": ":80", "wss": ":443", "ftp": ":21", "file": ""}
"""Schemes whose URIs have a path always, and which port need not be written."""
_FREE = {
    spelled: char
    for char in f"{ascii_letters}{digits}-._~"
    for spelled in (f"{ord(char):02x}", f"{ord(char):02X}", f"{ord(char):x}".capitalize())
}
_LONGEST = 8192
"""Characters. No list has a longer one (`server_catalogue`)."""
_BLANKS = "".join(map(chr, range(33)))


def alike(uri: str) -> str:
    """What all spellings of one URI have in common; good for comparing, and for nothing else."""
    scheme, authority, rest = _parted(uri)
    if authority is None:
        return f"{scheme}{rest}"
    port = _PORTS.get(scheme[:-1])
    if port is not None:
        authority = authority.removesuffix(port or ":")
    at = min(_at(rest, "?"), _at(rest, "#"))
    # Dots that were written as escapes are dots by now (`_plain`).
    path = _without_dots(rest[:at])
    return (
        f"{scheme}//{authority.removesuffix(':')}{path or ('' if port is None else '/')}{rest[at:]}"
    )


def begins(text: str) -> str:
    """The same of what URIs begin with, or of a template for them: nothing that stands further behind changes it."""
    scheme, authority, rest = _parted(text)
    return f"{scheme}{rest}" if authority is None else f"{scheme}//{authority}{rest}"


def _parted(uri: str) -> tuple[str, str | None, str]:
    """Scheme with its colon, authority where there is one, and the rest."""
    scheme, colon, rest = uri.strip(_BLANKS).partition(":")
    if not colon or len(uri) > _LONGEST:
        return "", None, uri
    scheme, rest = scheme.lower(), _plain(rest)
    if scheme in _PORTS:
        # As the WHATWG URL parser does for these schemes.
        rest = rest.replace("\\", "/")
    if not rest.startswith("//"):
        return f"{scheme}:", None, rest
    end = min(_at(rest, one, 2) for one in "/?#")
    return f"{scheme}:", rest[2:end].lower(), rest[end:]


def _plain(text: str) -> str:
    """Without escapes for characters that need none, and the others in capitals."""
    if "%" not in text:
        return text
    first, *pieces = text.split("%")
    return first + "".join(f"{_escaped(one[:2])}{one[2:]}" for one in pieces)


def _escaped(code: str) -> str:
    return _FREE.get(code) or f"%{code.upper()}"


def _at(text: str, char: str, begin: int = 0) -> int:
    """Where a character stands; behind the end where it does not."""
    found = text.find(char, begin)
    return len(text) if found < 0 else found


def _without_dots(path: str) -> str:
    if "/." not in path:
        return path
    found: list[str] = []
    pieces = path.split("/")
    for piece in pieces:
        if piece == ".." and len(found) > 1:
            found.pop()
        elif piece not in (".", ".."):
            found.append(piece)
    if pieces[-1] in (".", ".."):
        found.append("")
    return "/".join(found)
