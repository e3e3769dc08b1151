"""Recognises URIs and git remotes (`user@host:path`) in texts; `read`: what a URI leads to, None where browsers, curl and Python differ.

Theory: a check that reads a URI in one way is passed by a spelling that a client reads in another. So what a text names is
judged by the most generous reader (a browser leaves out tabs, line ends and slashes; Python takes off `<…>` and `URL:`), and
what it leads to by all of them together: where they differ there is no reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

import ada_url

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.secret_scanning.unicode_forms import normal
from gatewright.validators.network import is_long_host, is_read_alike

__all__ = [
    "Reading",
    "has_scheme",
    "host_text",
    "is_copied",
    "is_remote",
    "is_uri",
    "read",
    "unbroken",
    "unwrapped",
]

_SPECIAL = ("http:", "https:", "ws:", "wss:", "ftp:")
_FILE = "file:"
_BREAKS = {ord(sign): None for sign in "\t\r\n"}
_HEAD, _LONG_HEAD = 256, 4096
"""Characters in which a scheme ends, and in which it is looked for, as browsers leave out some."""
_WRAPPING = Pattern(r"(?:url:\s*)+", IGNORECASE)
_NESTED = Pattern(r"(?:(?:jar|view-source|feed|zip|blob):|[a-z][a-z0-9+.-]*::)+", IGNORECASE)
"""`git::https://…` names how the rest is fetched."""
_BROWSERS = "(?:https?|wss?|ftp)"
_OTHERS = "(?:s?ftps?|ssh|git|svn|s3|gs|gopher|dict|ldaps?|smb|rsync)"
_AUTHORITY = r"(?:[^/\\?#]*@)?[^\s/\\?#@]"
"""Of a host and what is before it, which may be a sentence: browsers take that for somebody's name."""
_ENDS = r"(?:[/\\?#]|\n?\Z)"
_FORM = Pattern(
    rf"{_BROWSERS}:[/\\]*{_AUTHORITY}+{_ENDS}|{_OTHERS}:[/\\]{{2,}}{_AUTHORITY}*{_ENDS}|file:(?:\S|\s+[/\\%~])",
    IGNORECASE,
)
"""Of what is fetched by who leaves out tabs and ends of lines."""
_LINE = Pattern(
    # Without a blank before its path: `https:// is a scheme` is a sentence.
    rf"[a-z0-9][\w+.-]*:[/\\]{{2,}}{_AUTHORITY}*{_ENDS}|[a-z][a-z0-9+.-]+:[/\\][^\s/\\]",
    IGNORECASE,
)
"""Of any other, which is on one line: a word on the line before a URL is no part of its scheme."""
_COPIED = Pattern(
    # `image@sha256:0a1b` and `a@npm:b` are none: a host without a dot has somebody called git, or a folder.
    r"[\w.-]+@(?:[\w-]+(?:\.[\w-]+)+|\[[\da-f:.%]+\]):\S+|git@[\w-]+:\S+|[\w.-]+@[\w-]+:(?:[^\s/@][^\s/]*)?/\S*",
    IGNORECASE,
)
_HELPER = Pattern(r"(?:ext|fd)::", IGNORECASE)
"""What git runs, or reads from, in the place of a URL."""
_CALLED_REMOTE = Pattern(
    r"(?:^|[_\-.a-z])(?:repos?|repositor(?:y|ies)|remotes?|origin|upstream|clone|sources?|src)\n?\Z",
    IGNORECASE,
)
_REMOTE = Pattern(
    r"[\w.-]+@[\w.-]+:\S+|[\w-]+(?:\.[\w-]+)+:[^\s:]*[^\d\s:]\S*|[\w-]{2,}:[^\s:/][^\s:]*/\S*|[a-z][\w+.-]*::\S+",
    IGNORECASE | DOTALL,
)
"""`host:path` and `helper::address`, as git reads them: `main.py:10` is a line of a file."""
_SCHEME = Pattern(r"[a-z0-9][\w+.-]*://|[a-z][a-z0-9+.-]+:", IGNORECASE)
_PORT = Pattern(r"[a-z0-9.-]+:[0-9]*(?:[/?#].*)?", IGNORECASE | DOTALL)
_IPV6 = Pattern(r"[0-9a-f.]*:[0-9a-f:.]*:[0-9a-f:.]*", IGNORECASE)
_LOCAL = Pattern(r"file:(?://(?:localhost)?)?(/.*)", IGNORECASE | DOTALL)
_WEB = Pattern(r"(?:https?|wss?|ftp)://", IGNORECASE)
_OLDER_HOST = Pattern(r"[a-z]+://[^/?#]*[?#][^/]*@", IGNORECASE)
"""What is another host to parsers that end it at a slash alone."""
_UP = Pattern(r"(?:^|[/\\{,:])\.\.(?:[/\\},;?#]|\n?\Z)")
_SEVERAL = Pattern(r"//+")
_MOST_DECODES = 4
_LATE = ("htt", "wss", "ws:", "ftp")


class Reading(NamedTuple):
    """What a URI leads to: addresses without query, or paths of this machine; all of them are meant."""

    uris: list[str]
    paths: list[str]


def has_scheme(text: str) -> bool:
    """Whether a text begins as a URI does; `example.org:443` does as well."""
    return ":" in text[:_HEAD] and _SCHEME.begins(text[:_HEAD])


def unbroken(text: str) -> str:
    """A text without the signs that browsers leave out of a URL."""
    if "\n" in text or "\r" in text or "\t" in text:
        return text.translate(_BREAKS)
    return text


def unwrapped(text: str) -> str:
    """A text without what Python takes off around a URL."""
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    if text[:4].lower() == "url:":
        found = _WRAPPING.match(text)
        text = text[found.end() :].lstrip() if found else text
    return text


def is_copied(text: str) -> bool:
    """Whether a text is `user@host:path`, as git and scp read it, or is run by git."""
    if text[:2].lower() in {"ex", "fd"} and _HELPER.begins(text):
        return True
    return "@" in text[:_HEAD] and _COPIED.fullmatch(text) is not None


def is_remote(key: str, text: str) -> bool:
    """The same of what is one under the name of its member alone: `host:path`, `helper::address`."""
    return ":" in text[:_HEAD] and _CALLED_REMOTE.within(key) and _REMOTE.fits(text)


def is_uri(text: str) -> bool:
    """Whether a text, blanks around it taken away, would be fetched by somebody, whatever follows on it."""
    # First: what is taken off may be longer than what is looked at.
    plain = unwrapped(text)
    head = _head(plain)
    before, colon, _ = head[:_HEAD].partition(":")
    # No scheme has a blank in it, which spares most texts the patterns.
    may = bool(colon) and " " not in before
    if may and (_is_form(plain, head) or _climbing_file(head, plain)):
        return True
    # Whoever decodes before fetching: in one word only, a sentence with per cent in it is none.
    return "%" in head[:64] and " " not in plain and any(map(_leads, _decoded(plain[:_LONG_HEAD])))


def _head(text: str) -> str:
    head = unbroken(text[:_LONG_HEAD])
    return unbroken(text) if len(head) < _HEAD and len(text) > _LONG_HEAD else head


def _is_form(text: str, head: str) -> bool:
    """`head` is the beginning of the text without the signs that browsers leave out."""
    line = text[:_LONG_HEAD].partition("\n")[0].partition("\r")[0]
    for form, one in ((_FORM, head), (_LINE, line)):
        nested = _NESTED.match(one)
        if form.begins(one) or (nested is not None and form.begins(one[nested.end() :])):
            return True
    # A host may come late, behind a long name of somebody.
    late = len(text) > _LONG_HEAD and "@" in text and head[:3].lower() in _LATE
    return late and _FORM.begins(unbroken(text))


def _climbing_file(head: str, text: str) -> bool:
    """Whether a sentence behind `file:` is a path to a browser, which climbs out of its first blank."""
    if head[:5].lower() != _FILE:
        return False
    return (".." in text or "%2" in text) and ("/" in text or "\\" in text)


def _leads(form: str) -> bool:
    return form[:1] in {"/", "~", "\\"} or _is_form(form, unbroken(form))


def _decoded(text: str) -> Iterator[str]:
    """What is left after each decoding."""
    for _ in range(_MOST_DECODES):
        before, text = text, unquote(text)
        if text == before:
            return
        yield text


def host_text(text: str) -> str | None:
    """`//host…` for a host or a URL without its scheme; empty for what has another scheme, None for what is neither."""
    plain = unbroken(text)
    if _IPV6.fullmatch(plain):
        return f"//[{plain}]"
    if has_scheme(plain) and not _PORT.fullmatch(plain):
        return ""
    # A sentence is no host.
    end = min((at for at in map(plain.find, "/\\?#") if at >= 0), default=len(plain))
    return None if len(plain[:end].split()) != 1 else f"//{text}"


def read(text: str) -> Reading | None:
    """What a URI leads to; None where it is none, or one that not all clients read alike."""
    if not text.isprintable() or "\\" in text or _is_long(text):
        return None
    found = Reading([], [])
    # Some clients encode a blank, others end there.
    for one in {text.replace(" ", "%20"), text.partition(" ")[0]}:
        try:
            known = _read(one, ada_url.URL(one), found)
        except ValueError:
            return None
        if not known:
            return None
    return found


def _is_long(text: str) -> bool:
    """Whether a host takes long to read. Parsers skip any number of slashes before it, and normalize none of other schemes."""
    scheme, _, after = text.partition(":")
    return f"{scheme.strip().lower()}:" in (*_SPECIAL, _FILE) and is_long_host(after.lstrip("/"))


def _read(text: str, url: ada_url.URL, found: Reading) -> bool:
    """Add what it leads to; False where it has no one reading."""
    before, path = _path_of(text)
    # `https://allowed.example@elsewhere/` is read differently by people and programs.
    if url.username or url.password or _goes_up(path or url.pathname):
        return False
    if url.protocol == _FILE:
        local = _LOCAL.fullmatch(text)
        if local is None or url.hostname:
            return False
        # As Python opens it: what looks like a query is a part of the name, and nothing is resolved before.
        found.paths.extend((unquote(url.pathname), unquote(local[1])))
        return True
    if url.protocol in _SPECIAL and not _is_plain(text):
        return False
    found.uris.append(_without_query(url.href))
    if "//" in path:
        # Servers that take several slashes for one climb further than a browser.
        found.uris.append(_without_query(ada_url.URL(before + _SEVERAL.sub("/", path)).href))
    return True


def _is_plain(url: str) -> bool:
    """Whether a URL has its two slashes, and one host to everybody."""
    found = _WEB.match(url)
    if found is None or _OLDER_HOST.begins(url):
        return False
    secure = found[0].lower() in {"https://", "wss://"}
    # Nothing behind it makes it another host; a long text may follow on a URL.
    host = url[found.end() :].partition("/")[0].partition("?")[0].partition("#")[0]
    return is_read_alike(f"{'https' if secure else 'http'}://{host}/")


def _goes_up(path: str) -> bool:
    """Whether a path, as written, climbs above its root, or has a way up that is resolved later than by a browser."""
    depth, rest, climbs = 0, [], False
    for name in path.split("/"):
        plain = name.replace("%2e", ".").replace("%2E", ".") if "%2" in name else name
        if plain == "..":
            depth, climbs = depth - 1, True
        elif plain not in {"", "."}:
            depth += 1
            rest.append(name)
        if depth < 0:
            return True
    forms = ["/".join(rest)]
    forms += _decoded(forms[0])
    forms += [normal("NFKC", form) for form in forms if not form.isascii()]
    # To whoever decodes first it goes up from elsewhere where names turn into several.
    if climbs and any(form.count("/") != forms[0].count("/") or "\\" in form for form in forms):
        return True
    return any(".." in form and _UP.within(form) for form in forms)


def _path_of(uri: str) -> tuple[str, str]:
    """A URI up to its path, and the path as written."""
    scheme, slashes, rest = _without_query(uri).partition("://")
    if not slashes:
        return "", ""
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash + path


def _without_query(uri: str) -> str:
    return uri.partition("?")[0].partition("#")[0]
