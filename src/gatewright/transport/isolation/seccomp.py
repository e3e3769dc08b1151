"""Compiles the seccomp filter of isolated children to classic BPF for x86_64 and aarch64: a deny list, and the families of sockets.

What is refused is what no tool server needs and what the ways out of a sandbox are made of: further user namespaces, mounts,
other processes' memory, kernel modules, BPF, io_uring, keys, sockets that speak to the kernel. Refused calls fail with EPERM.
`clone3` fails with ENOSYS, since a filter cannot see its flags: C libraries then use `clone`, whose flags it sees. So do calls that
are newer than this table. See seccomp(2) and linux/filter.h; the numbers are those of the kernel's system call tables.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

__all__ = ["MACHINES", "seccomp_filter"]

_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CALLS = {
    "x86_64": {"ioctl": 16, "socket": 41, "clone": 56, "unshare": 272, "clone3": 435},
    "aarch64": {"ioctl": 29, "socket": 198, "clone": 220, "unshare": 97, "clone3": 435},
}
MACHINES = frozenset(_ARCH)
"""The processors for which there is a filter, as `os.uname` calls them."""

_DENIED: dict[str, tuple[int, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "init_module": (175, 105),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
"""Name → number on x86_64, on aarch64."""
_DENIED_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "statmount": 457,
    "listmount": 458,
}
_DENIED_X86_64 = {
    "uselib": 134,
    "ustat": 136,
    "sysfs": 139,
    "modify_ldt": 154,
    "sysctl": 156,
    "iopl": 172,
    "ioperm": 173,
    "create_module": 174,
    "get_kernel_syms": 177,
    "query_module": 178,
}
_NEWEST = 462
"""`mseal`, the last call that this table was made with."""
_X32 = 0x40000000
"""The bit of the second table of x86_64."""

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000
_NEW_NAMESPACES |= 0x20000000 | 0x40000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE = 0, 4
_ROUTE = 0
"""NETLINK_ROUTE, by which a C library lists the interfaces."""


def seccomp_filter(machine: str, *, routes: bool) -> bytes:
    """The filter for a processor of `MACHINES`. With `routes` interfaces and routes can be listed by netlink."""
    calls, column = _CALLS[machine], 0 if machine == "x86_64" else 1
    parts = [
        _one(_LOAD, _ARCHITECTURE),
        _one(_EQUAL, _ARCH[machine], 1, 0),
        _one(_RETURN, _KILL),  # a table of numbers that is not ours
        _one(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        parts += _answer(_AT_LEAST, _X32, errno.ENOSYS)
    parts += _answer(_EQUAL, calls["clone3"], errno.ENOSYS)
    denied = {numbers[column] for numbers in _DENIED.values()} | {*_DENIED_EVERYWHERE.values()}
    if machine == "x86_64":
        denied |= {*_DENIED_X86_64.values()}
    for number in sorted(denied):
        parts += _answer(_EQUAL, number, errno.EPERM)
    for name in ("clone", "unshare"):
        parts += _when(
            calls[name], [*_arguments(0), *_answer(_ANY_BIT, _NEW_NAMESPACES, errno.EPERM)]
        )
    typed = [one for code in (_TIOCSTI, _TIOCLINUX) for one in _answer(_EQUAL, code, errno.EPERM)]
    parts += _when(calls["ioctl"], [*_arguments(1), *typed])
    parts += _when(calls["socket"], [*_sockets(routes)])
    parts += _answer(_AT_LEAST, _NEWEST + 1, errno.ENOSYS)
    return b"".join([*parts, _one(_RETURN, _ALLOW)])


def _sockets(routes: bool) -> Iterator[bytes]:
    yield from _arguments(0)
    for family in (_AF_UNIX, _AF_INET, _AF_INET6):
        yield _one(_EQUAL, family, 0, 1)
        yield _one(_RETURN, _ALLOW)
    if routes:
        yield _one(_EQUAL, _AF_NETLINK, 0, 3)
        yield from _arguments(2)
        yield _one(_EQUAL, _ROUTE, 0, 1)
        yield _one(_RETURN, _ALLOW)
    yield _one(_RETURN, _ERRNO | errno.EAFNOSUPPORT)


def _arguments(number: int) -> Iterator[bytes]:
    """Load the low half of an argument; both processors have that first."""
    yield _one(_LOAD, 16 + 8 * number)


def _answer(test: int, value: int, code: int) -> list[bytes]:
    """Where the value that is loaded passes the test, the call fails with this code."""
    return [_one(test, value, 0, 1), _one(_RETURN, _ERRNO | code)]


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """What decides about one call; it is allowed where that says nothing. Others go on."""
    whole = [*body, _one(_RETURN, _ALLOW)]
    return [_one(_EQUAL, number, 0, len(whole)), *whole]


def _one(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)
