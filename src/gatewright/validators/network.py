"""Validator `network_restricted`: rejects URLs to internal or unlisted hosts, and URLs that parsers read differently (SSRF, MGP §4.5).

Theory: two programs that read one URL differently are how a check is passed. So a URL is parsed twice, as
browsers do it (WHATWG: `0x7f.1`, full-width digits and a trailing dot all become 127.0.0.1) and as `urllib`
does it, and one about which they disagree is refused; what they differ in by design (backslashes, percent
in the host, user names) is refused before. Then the host is judged: an address by its class, a name by what
names say by themselves, and, where a resolver is given, by all its addresses.

The look-up is not the connection: a name may lead elsewhere a moment later. Only a client that connects to the
address that was judged closes that gap; a server that fetches by itself needs an egress proxy besides this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import ada_url
import msgspec

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.schemas.json_pointers import Place, strings
from gatewright.schemas.objection import Objection
from gatewright.secret_scanning.unicode_forms import has_long_row, normal
from gatewright.validators.options import read_options
from gatewright.validators.url_ports import is_of_another_service
from gatewright.web.ip_addresses import is_public
from gatewright.word_tables import tables

__all__ = [
    "Loose",
    "Network",
    "Options",
    "Resolver",
    "Unresolved",
    "addresses_rule",
    "host_rule",
    "is_called_url",
    "is_long_host",
    "is_read_alike",
    "names_url",
    "prepare",
    "sentence",
    "url_rule",
]

Resolver = Callable[[str], Sequence[str]]
"""Name → all its addresses. Raises `Unresolved`."""

_MAX_CHARS = 8192
_HOST_CHARS = 255 + len(":65535")
_MAX_REDIRECTS = 3


class Unresolved(Exception):  # noqa: N818 - a verdict, not a malfunction
    """A name has no address now."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator may set for one tool."""

    hosts: tuple[str, ...] = ()
    """The only hosts that may be named; a leading dot stands for all names below. Empty: all public ones."""


_SAY: Mapping[str, str] = tables(__file__, "sentences.toml")["network"]

_SCHEMES = ("https://", "http://")
_AUTHORITY = Pattern(
    r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:%\[\]\\<>{}|^`$\"'()*,;!&+=~]+)(?::[0-9]{0,5})?(?:[/?#]|\Z)"
)
_USERINFO = Pattern(r"[^/?#]*@")
_NAME, _IPV6 = int(ada_url.HostType.DEFAULT), int(ada_url.HostType.IPV6)
_LOCAL_SUFFIXES = tuple(
    ".localhost .local .localdomain .internal .intranet .private .corp .lan .home .home.arpa .fritz.box .cluster.local .svc "
    ".consul .in-addr.arpa .ip6.arpa .onion".split()
)
_ADDRESS_IN_NAME = tuple(
    ".nip.io .sslip.io .xip.io .ip6.name .localtest.me .lvh.me .vcap.me .lacolhost.com .fuf.me .localh.st "
    ".rebind.network .rebind.it .localdomain.pw .local.gd .lndo.site .ddev.site .traefik.me .backname.io .1u.ms .rbndr.us .bugbounty.dod.network "
    ".spoofed.burpcollaborator.net .mail.ebc.apple.com".split()
)
"""Public names whose owners answer with an address that is written in the name, or with this machine's."""
_METADATA = frozenset(
    "metadata.google.internal metadata.goog metadata.tencentyun.com metadata.packet.net metadata.platformequinix.com "
    "metadata.azure.com instance-data.ec2.internal metadata.nicob.net".split()
)


def prepare(
    options: Mapping[str, Any], tool: str = "", resolver: Resolver | None = None
) -> Network:
    """The validator for one tool; its name does not matter. Without a resolver names are judged by themselves.

    Raises `BadOptions`."""
    del tool
    return Network(read_options(Options, options), resolver)


class Network:
    """Judges URLs (text), and for a dry run `{url, dns, redirects}` with a fake resolver."""

    def __init__(self, options: Options, resolver: Resolver | None) -> None:
        self._options = options
        self._resolver = resolver

    def judge(self, value: Any) -> Objection | None:
        """What speaks against one value."""
        if isinstance(value, dict):
            rule = _played(value, self._options.hosts)
        elif isinstance(value, Loose):
            rule = next(filter(None, (self._rule(one) for one in _urls_in(value.text))), None)
        else:
            rule = self._rule(value) if isinstance(value, str) else "no_url"
        return None if rule is None else Objection("", rule, _SAY[rule])

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        """Every text: as a URL or host where its member is called so, else for the URLs inside it."""
        for place, text, is_name in strings(arguments):
            steps = place.path() if place is not None and not is_name else []
            key = next((step for step in reversed(steps) if isinstance(step, str)), "")
            yield place, _as_url(text) if names_url(key, text) else Loose(text)

    def hosts(self, value: Any) -> Iterator[str]:
        """The names in one value whose addresses have to be looked up before anything is sent there."""
        urls = _urls_in(value.text) if isinstance(value, Loose) else [value]
        for url in urls:
            rule, host = _host_of(url) if isinstance(url, str) else ("no_url", "")
            if rule is None and not is_public(host):
                yield host

    def _rule(self, url: str) -> str | None:
        return url_rule(url, self._options.hosts, self._resolver)


def names_url(key: str, text: str) -> bool:
    """Whether a text is a URL or a host by its member's name, and has the form of one."""
    return is_called_url(key) and len(text.split(maxsplit=1)) == 1 and text == text.strip()


def is_called_url(key: str) -> bool:
    """Whether a member is called as one that has a URL or a host."""
    return _NAMED.within(key)


def is_read_alike(url: str) -> bool:
    """Whether all programs read one and the same host in a URL of the web, wherever that is."""
    return _host_of(url)[0] in {None, "internal_address"}


class Loose(msgspec.Struct, frozen=True):
    """A text that need not be a URL, but may hold some."""

    text: str


_NAMED = Pattern(
    r"(?:^|[_\-.a-z])(?:ur[il]s?|href|hosts?(?:name)?|endpoint|domain|ip|webhook|callback|proxy)\n?\Z",
    IGNORECASE,
)
_BETWEEN = str.maketrans(dict.fromkeys("\"'<>", " "))
_WITHIN = str.maketrans(dict.fromkeys("\"'<>,;|()={}@", " "))
"""What stands between tokens, and between the pieces of one. `str.split` costs a fifth of a pattern, and texts are long."""
_SCHEME_BEFORE = Pattern(r"[a-z][a-z0-9+.-]{0,20}\Z", IGNORECASE)
_IN_NUMBERS = Pattern(
    r"(?:0x[0-9a-f]{1,8}|\d{1,10})(?:\.(?:0x[0-9a-f]{1,8}|\d{1,10})){3}|0x[0-9a-f]{6,8}|\[[0-9a-f:.]{2,45}\]",
    IGNORECASE,
)
_ENDS = frozenset("/?#")
_MAX_URLS = 16
_MAX_HOST = 255


def _as_url(text: str) -> str:
    if "://" in text or text.startswith("//"):
        return text
    return (
        f"http://[{text}]"
        if text.count(":") > 1 and "/" not in text and "[" not in text
        else f"http://{text}"
    )


def _urls_in(text: str) -> Iterator[str]:
    """URLs, and hosts without a scheme that are internal by their form alone."""
    # Full-width letters and dots reach the same host (UTS 46 maps them).
    plain = text if text.isascii() else normal("NFKC", text)
    if "://" not in plain:
        yield from _internal(plain.translate(_WITHIN).split())
        return
    for token in plain.translate(_BETWEEN).split():
        if "://" in token:
            yield from _urls_of(token)
        else:
            yield from _internal(token.translate(_WITHIN).split())


def _internal(pieces: Iterable[str]) -> Iterator[str]:
    hosts = (piece.partition("/")[0] for piece in pieces)
    return (f"http://{host}" for host in hosts if _is_internal(host))


def _urls_of(token: str) -> Iterator[str]:
    """Every place in a token where a URL could begin, up to the token's end."""
    at = token.find("://")
    for _ in range(_MAX_URLS):
        scheme = _SCHEME_BEFORE.search(token[max(0, at - 21) : at])
        if scheme is not None:
            url = token[at - len(scheme[0]) :]
            # In a sentence the last sign belongs to the sentence; a bracket may close an IPv6 address.
            yield url if url.endswith("]") else url.rstrip(".,;:)!?]}")
        following = token.find("://", at + 3)
        # What comes in a query or a path belongs to the URL in which it stands.
        if following < 0 or not _ENDS.isdisjoint(token[at + 3 : following]):
            return
        at = following


def _is_internal(piece: str) -> bool:
    if not 2 < len(piece) <= _MAX_HOST:
        return False
    name = piece.casefold()
    if not name.startswith("["):
        name = name.partition(":")[0]
    host = name.rstrip(".")
    local = host == "localhost" or (host.endswith(_LOCAL_SUFFIXES) and host[:1] != ".")
    numbers = _IN_NUMBERS.begins(name)
    return (local or numbers) and url_rule(f"http://{piece}") in {
        "internal_address",
        "internal_name",
    }


def url_rule(url: str, hosts: Iterable[str] = (), resolver: Resolver | None = None) -> str | None:
    """What speaks against a URL: a rule's name, or None."""
    rule, host = _host_of(url)
    if rule is not None:
        return rule
    if "@" in url and _leads_elsewhere(url, hosts):
        return "ambiguous"
    if not _is_listed(host, hosts):
        return "not_listed"
    return host_rule(host, resolver) or (
        "port" if is_of_another_service(ada_url.URL(url).port) else None
    )


def _is_listed(host: str, hosts: Iterable[str]) -> bool:
    return not hosts or any(host == one or (one[:1] == "." and host.endswith(one)) for one in hosts)


_OLDER_HOST = Pattern(r"https?://[^/?#]*[?#][^/]*@(\[[0-9a-f:.]+\]|[\w.-]+)", IGNORECASE)
"""What a parser takes for the host that ends it at a slash alone, as older ones do."""


def _leads_elsewhere(url: str, hosts: Iterable[str]) -> bool:
    older = _OLDER_HOST.match(url)
    if older is None:
        return False
    rule, host = _host_of(f"http://{older[1]}/")
    rule = rule or host_rule(host)
    # A single word may as well be somebody's name.
    named = rule == "internal_name" and ("." in host or host == "localhost")
    return named or rule == "internal_address" or ("." in host and not _is_listed(host, hosts))


def _host_of(url: str) -> tuple[str | None, str]:
    """A rule that speaks against the form of a URL, or else its host: lower case, without a last dot."""
    if not url.isprintable() or " " in url or "\\" in url:
        return "control_character", ""
    if len(url) > _MAX_CHARS:
        return "too_long", ""
    head = url[:8].lower()
    scheme = next((one for one in _SCHEMES if head.startswith(one)), None)
    if scheme is None:
        return "scheme", ""
    after = url[len(scheme) :]
    if not _AUTHORITY.begins(after):
        return "userinfo" if _USERINFO.begins(after) else "host_syntax", ""
    if is_long_host(after):
        return "host_syntax", ""
    return _agreed(url)


def is_long_host(text: str) -> bool:
    """Whether a URL behind its `//` has a host that nobody's name is and that takes long to read: parsers put the marks on a letter in
    order, in the square of their number, also those that are a row only without what they leave out (U+034F)."""
    host = text.partition("/")[0].partition("?")[0].partition("#")[0]
    plain = unquote(host)
    return not plain.isascii() and (len(plain) > _HOST_CHARS or has_long_row(plain))


def _agreed(url: str) -> tuple[str | None, str]:
    """The host, where both parsers read the same one."""
    try:
        ours = ada_url.URL(url)
        theirs = urlsplit(url)
        port, name = theirs.port, theirs.hostname or ""
    except ValueError:
        return "unreadable", ""
    host, kind = ours.hostname.strip("[]").rstrip("."), ours.host_type
    # First: `0x7f.1` is to be called internal, not ambiguous.
    if kind != _NAME and not is_public(host):
        return "internal_address", host
    if not name.isascii():
        name = _in_ascii(name, host)
    elif kind == _IPV6:
        name = ada_url.URL(f"http://[{name}]/").hostname.strip("[]")
    # WHATWG leaves out the port that the scheme implies.
    same_port = port is None or port in {80, 443} or ours.port == str(port)
    if name.rstrip(".") != host or not same_port:
        return "ambiguous", host
    return None, host


def _in_ascii(name: str, host: str) -> str:
    """A name with other letters, encoded. One that turns out to be plain ASCII was a disguise."""
    return ada_url.idna_to_ascii(name).decode() if "xn--" in host else ""


def host_rule(host: str, resolver: Resolver | None = None) -> str | None:
    """What speaks against a host: an address, or a name in lower case without a last dot."""
    # WHATWG takes a host whose last label is a number for an IPv4 address, whatever stands before.
    if ":" in host or host.rpartition(".")[2].isdecimal():
        return None if is_public(host) else "internal_address"
    dotted = f".{host}"
    if "." not in host or dotted.endswith(_LOCAL_SUFFIXES) or host in _METADATA:
        return "internal_name"
    if dotted.endswith(_ADDRESS_IN_NAME):
        return "internal_name"
    if ".." in host or host.startswith("."):
        return "host_syntax"
    return None if resolver is None else _resolved(host, resolver)


def _resolved(host: str, resolver: Resolver) -> str | None:
    try:
        return addresses_rule(resolver(host))
    except Unresolved:
        return "unresolved"


def addresses_rule(addresses: Sequence[str]) -> str | None:
    """What speaks against a name that has these addresses: all of them have to be public."""
    if not addresses:
        return "unresolved"
    return None if all(map(is_public, addresses)) else "internal_address"


def sentence(rule: str) -> str:
    """What a rule of this validator says, to follow the subject."""
    return _SAY[rule]


def _played(value: Mapping[str, Any], hosts: Iterable[str]) -> str | None:
    """A dry run: `dns` maps names to one list of addresses for each look-up, `redirects` URLs to URLs.

    Names that are not in `dns` have a public address. A look-up returns what any of them would have, because
    between the check and the connection the next one may be the answer.
    """
    url, dns, redirects = value.get("url"), value.get("dns") or {}, value.get("redirects") or {}
    if not (isinstance(url, str) and isinstance(dns, dict) and isinstance(redirects, dict)):
        return "no_url"

    known = {_plain(f"http://{name}/"): answers for name, answers in dns.items()}
    led = {_plain(one): following for one, following in redirects.items()}

    def resolver(name: str) -> Sequence[str]:
        return [
            str(one) for answer in known.get(f"http://{name}/", [["1.1.1.1"]]) for one in answer
        ]

    for _ in range(_MAX_REDIRECTS + 1):
        rule = url_rule(url, hosts, resolver)
        following = led.get(_plain(url))
        if rule is not None or following is None:
            return rule
        if not isinstance(following, str):
            return "no_url"
        url = ada_url.join_url(url, following)
    return "redirects"


def _plain(url: str) -> str:
    """A URL in its one plain spelling, without a fragment; the text itself where it is none."""
    try:
        found = ada_url.URL(url)
        found.hash = ""
        found.hostname = found.hostname.rstrip(".")
    except ValueError:
        return url
    return found.href
