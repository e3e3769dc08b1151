"""TCP ports of other services than the web, refused in URLs: mail, shells, databases, queues, container daemons (WHATWG Fetch, IANA).

A URL to one of them is no web address, but a line of text for a service that reads commands: browsers refuse most of them, too.
"""

from __future__ import annotations

__all__ = ["is_of_another_service"]

_FETCH = """
    1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 143 161 179 389 427
    465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665
    6666 6667 6668 6669 6679 6697 10080
"""
_STORES_AND_DAEMONS = """
    445 873 1433 1521 2181 2375 2376 2379 2380 3306 3389 5432 5433 5672 5900 6379 6380 9042 9092 10250 10255 11211 26257 27017 27018
"""
_PORTS = frozenset([*_FETCH.split(), *_STORES_AND_DAEMONS.split()])


def is_of_another_service(port: str) -> bool:
    """Whether a port, in decimal digits as a parser of URLs gives it, is one of these; empty is the scheme's own."""
    return port in _PORTS
