"""Reads commands about the host into effects: ps, top, ping, ip, date, sysctl, pkill, sleep; refuses changes, marks endless output."""

from __future__ import annotations

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.validators.shell.call import Call
from gatewright.validators.shell.effects import marked
from gatewright.validators.shell.words import Refused, given
from gatewright.validators.shell_syntax import Word

__all__ = [
    "date",
    "interval",
    "ip",
    "named",
    "numbers",
    "ping",
    "pkill",
    "ps",
    "seq",
    "shown",
    "sleep",
    "sysctl",
    "top",
]


_IP_OPTIONS = frozenset(
    "-s -4 -6 -br -brief -c -color -o -oneline -d -details -h -human -j -json -p -pretty -0 -V -r -resolve".split()
)
_IP_CHANGING = {
    "a addr address": "add change chg delete replace flush restore",
    "l link": "add change delete property replace set",
    "r ro route": "add append change chg delete flush prepend replace restore test",
    "n neigh neighbor neighbour": "add change chg delete flush replace",
    "ru rule": "add delete flush restore",
    "maddr maddress": "add delete",
    "mroute": "flush",
    "tunnel": "6rd add change delete prl replace",
}
"""Names of an object → its commands that do more than read."""
_IP_OBJECTS = {
    name: tuple(changing.split())
    for names, changing in _IP_CHANGING.items()
    for name in names.split()
}
_IP_READING = ("show", "list", "lst", "get")


def ip(call: Call) -> bool:
    """Addresses, links, routes and neighbours are shown."""
    rest = [word.text for word in call.words]
    while rest and rest[0].startswith("-"):
        if rest.pop(0) not in _IP_OPTIONS:
            raise Refused("option", "ip")
    changing = _IP_OBJECTS.get(rest[0]) if rest else ()
    if changing is None or (rest[1:] and not _reads(rest[1], changing)):
        raise Refused("subcommand", "ip")
    if any(word.text in _RESOLVES for word in call.words):
        call.add("network")
    return True


def _reads(verb: str, changing: tuple[str, ...]) -> bool:
    """Whether every command that `ip` could take an abbreviation for reads: the first that begins so is meant (`set` before
    `show`), and the order is not the same everywhere."""
    known = verb != "" and any(one.startswith(verb) for one in _IP_READING)
    return known and not any(one.startswith(verb) for one in changing)


_RESOLVES = frozenset({"-r", "-resolve"})
_NUMBERED, _NAME = Pattern(r"[\da-f]*:[\da-f]*:[\da-f:.]*"), Pattern(r"[A-Za-z_][\w.-]*")
_SOCKET = frozenset(
    "dst src dport sport state exclude and or not dev fwmark autobound eq neq ne lt gt le ge all connected synchronized bucket big established "
    "syn-sent syn-recv fin-wait-1 fin-wait-2 time-wait closed close-wait last-ack listen listening closing".split()
)
"""Words of `ss` that are no name of a host."""
_LSOF_HOST = Pattern(r".*@[^:]*[A-Za-z].*")


_SHOWING_NAMES = frozenset({"netstat", "arp", "route", "iptables", "ip6tables"})
_NUMERIC = (
    "-n",
    "--numeric",
    "--numeric-hosts",
    "-s",
    "--statistics",
    "-i",
    "--interfaces",
    "-S",
    "--list-rules",
)
"""With these they ask for no names of hosts."""


def named(call: Call) -> list[Word]:
    """Of sockets, those of a host by its name: a server of names is asked for it."""
    operands = call.given.operands
    if call.name in _SHOWING_NAMES:
        asks = not call.has(*_NUMERIC, "--version", "--help")
    elif call.name == "ss":
        texts = [_NUMBERED.sub("", one.text) for one in operands]
        asks = any(one[0] not in _SOCKET for text in texts for one in _NAME.finditer(text))
    else:
        texts = [one.text for one in operands] + [one.value.text for one in call.given.options if one.name == "-i" and one.value]  # fmt: skip
        asks = any(map(_LSOF_HOST.fits, texts))
    if asks:
        call.add("network", None, "", "operand")
    return operands


def date(call: Call) -> list[Word]:
    """Anything but setting the clock."""
    for one in call.given.operands:
        if not one.text.startswith("+"):
            raise Refused("operand", f"date {one.text}")
    return []


_SECONDS = Pattern(r"\d{1,2}(?:\.\d*)?|1[0-2]\d|\d{1,2}(?:\.\d*)?s|[12]m|\.\d+")


def sleep(call: Call) -> list[Word]:
    """Two minutes at most is what somebody waits for."""
    if not all(_SECONDS.fits(one.text) for one in call.given.operands):
        call.add("endless", None, "", "operand")
    return call.given.operands


def seq(call: Call) -> list[Word]:
    """Numbers up to an end."""
    if any("inf" in one.text.lower() or len(one.text) > 9 or marked(one.text) for one in call.given.operands):  # fmt: skip
        call.add("endless", None, "", "operand")
    return call.given.operands


_NUMBER = Pattern(r"-?\d{1,9}")


def numbers(call: Call) -> list[Word]:
    """Some shells take anything else for an expression, whose subscripts run commands."""
    if not all(_NUMBER.fits(one.text) for one in call.given.operands):
        raise Refused("operand", call.name)
    return call.given.operands


def ping(call: Call) -> list[Word]:
    """With a count it ends."""
    if not call.has("-c", "-w", "--count", "--deadline"):
        call.add("endless", None, "", "")
    return call.given.operands


def interval(call: Call) -> list[Word]:
    """`vmstat 1` goes on, `vmstat 1 5` does not."""
    numbers = [one for one in call.given.operands if one.text.isdigit()]
    if len(numbers) == 1 and not call.has("-c", "--count"):
        call.add("endless", None, "", "operand")
    return call.given.operands


_LETTERS = Pattern(r"[A-Zacefghjklmnorstuvwx]{1,24}")
"""Letters of BSD; behind an option that takes a word it is read with that."""


def ps(call: Call) -> bool:
    """BSD's letters have no dash; `e` among them shows the environment, as a column of that name does."""
    words = list(call.words)
    while words:
        text = words[0].text
        if (
            text[:1] == "-" and text != "-"
        ):  # a dash alone is no option, and would never be left behind
            found, read = given(call.entry, words, most=1)
            if any(one.value is not None and "environ" in one.value.text for one in found.options):
                call.add("environment", None, "", "option")
            if any(one.name == "-E" for one in found.options):
                call.add("environment", None, "", "-E")
            words = words[read - 1 if found.operands else read :]
            continue
        del words[0]
        if _LETTERS.fits(text) and "e" in text:
            call.add("environment", None, "", text)
        if "environ" in text:
            call.add("environment", None, "", text)
    return True


def top(call: Call) -> list[Word]:
    """With a count it ends."""
    if not call.has("-n", "-l", "--no-stream"):
        call.add("endless", None, "", "")
    return call.given.operands


def sysctl(call: Call) -> list[Word]:
    """Settings of the kernel are shown, never set."""
    if any("=" in one.text for one in call.given.operands):
        raise Refused("operand", "sysctl")
    return call.given.operands


def shown(call: Call) -> list[Word]:
    """Without an option a shell shows all of its variables."""
    if not call.given.options:
        call.add("environment", None, "", "")
    return call.given.operands


_WATCHING = Pattern(r".*(?:falco|auditd|osquery|sysmon|crowdstrike|wazuh|ossec|clamd|clamav|defender|sentinel|fail2ban|apparmor|selinux|gatewright|firewalld|sshd|systemd|dockerd|containerd).*", IGNORECASE)  # fmt: skip
"""Names of what watches over a host, or keeps it going."""


def pkill(call: Call) -> list[Word]:
    """Processes by a name of their own: not all, and none that watch."""
    for one in call.given.operands:
        if not any(map(str.isalnum, one.text)) or _WATCHING.fits(one.text):
            raise Refused("changes_host", f"{call.name} {one.text}")
    return call.given.operands
