"""Classifies IP addresses as public internet or not, including IPv4 embedded in IPv6.

The answer of Python's `ipaddress` (`is_global`) is not enough for whoever wants to keep out of an operator's own
network: it differs between Python versions, and says nothing about IPv4 addresses that travel inside IPv6 ones.
So IPv4 is public unless it is in the table (IANA's special-purpose registry, and what clouds use for their
hosts); IPv6 is public only inside 2000::/3, without its special parts, and an embedded IPv4 address
(IPv4-mapped, NAT64, ISATAP) has to be public itself. Tunnels whose end cannot be seen (6to4, Teredo) are not.
"""

from __future__ import annotations

import ipaddress

from gatewright.short_cache import cached_if_short

__all__ = ["is_public"]

_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(one)
    for one in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # the host of every Azure machine
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
# Protocol assignments with Teredo, documentation, 6to4, AS112, and documentation again (RFC 9637).
_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(one)
    for one in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
# IPv4-mapped (RFC 4291 §2.5.5.2) and the well-known prefix of NAT64 (RFC 6052 §2.1): the last 32 bits are the IPv4 address.
_EMBEDDING = tuple(ipaddress.IPv6Network(one) for one in ("::ffff:0:0/96", "64:ff9b::/96"))
# Bits 64 to 95 of an ISATAP address (RFC 5214 §6.1), in front of the IPv4 address.
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


@cached_if_short(4096)
def is_public(address: str) -> bool:
    """Whether an address, without brackets, is one of the public internet. A name is not an address."""
    try:
        # A zone (`fe80::1%eth0`) names an interface of this machine and says nothing about the address.
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return _is_public_4(found) if isinstance(found, ipaddress.IPv4Address) else _is_public_6(found)


def _is_public_4(address: ipaddress.IPv4Address) -> bool:
    return not any(address in network for network in _NOT_PUBLIC_4)


def _is_public_6(address: ipaddress.IPv6Address) -> bool:
    last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in network for network in _EMBEDDING):
        return _is_public_4(last)
    if address not in _UNICAST_6 or any(address in network for network in _NOT_PUBLIC_6):
        return False
    isatap = int(address) >> 32 & 0xFFFFFFFF in _ISATAP
    return _is_public_4(last) if isatap else True
