"""The filter is run here by an interpreter of classic BPF, so that it is judged without a kernel that loads it."""

from __future__ import annotations

import errno
import struct

import pytest

from gatewright.transport.isolation.seccomp import MACHINES, seccomp_filter

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE_NEWUSER, CLONE_THREAD = 0x10000000, 0x00010000
READ = {"x86_64": 0, "aarch64": 63}
SOCKET = {"x86_64": 41, "aarch64": 198}
CLONE = {"x86_64": 56, "aarch64": 220}
UNSHARE = {"x86_64": 272, "aarch64": 97}
IOCTL = {"x86_64": 16, "aarch64": 29}
MOUNT = {"x86_64": 165, "aarch64": 40}
PTRACE = {"x86_64": 101, "aarch64": 117}


def verdict(program: bytes, arch: int, number: int, *arguments: int) -> int:
    given = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, arch, 0, *given)
    instructions = [*struct.iter_unpack("=HBBI", program)]
    value, at = 0, 0
    while True:
        code, true, false, operand = instructions[at]
        at += 1
        if code == 0x06:
            return int(operand)
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
            continue
        held = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        at += true if held else false


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("routes", [True, False])
def test_what_every_program_does_is_allowed(machine: str, routes: bool) -> None:
    program, arch = seccomp_filter(machine, routes=routes), ARCH[machine]
    assert verdict(program, arch, READ[machine], 0, 0, 0) == ALLOW
    assert verdict(program, arch, CLONE[machine], CLONE_THREAD) == ALLOW
    assert verdict(program, arch, IOCTL[machine], 0, 0x5401) == ALLOW
    assert verdict(program, arch, UNSHARE[machine], 0x400) == ALLOW
    for family in (1, 2, 10):
        assert verdict(program, arch, SOCKET[machine], family, 1, 0) == ALLOW


@pytest.mark.parametrize("table", [MOUNT, PTRACE])
def test_ways_out_are_refused(machine: str, table: dict[str, int]) -> None:
    program, arch = seccomp_filter(machine, routes=True), ARCH[machine]
    assert verdict(program, arch, table[machine]) == ERRNO | errno.EPERM
    for number in (425, 426, 427, 428, 430, 442):
        assert verdict(program, arch, number) == ERRNO | errno.EPERM


def test_no_namespace_can_be_made(machine: str) -> None:
    program, arch = seccomp_filter(machine, routes=True), ARCH[machine]
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        for table in (CLONE, UNSHARE):
            assert verdict(program, arch, table[machine], flag | 17) == ERRNO | errno.EPERM
    assert verdict(program, arch, 435, CLONE_NEWUSER) == ERRNO | errno.ENOSYS


def test_sockets_are_those_of_the_network_and_of_this_machine(machine: str) -> None:
    program, arch = seccomp_filter(machine, routes=False), ARCH[machine]
    for family in (16, 17, 38, 40, 44):
        said = verdict(program, arch, SOCKET[machine], family, 3, 0)
        assert said == ERRNO | errno.EAFNOSUPPORT
    with_routes = seccomp_filter(machine, routes=True)
    assert verdict(with_routes, arch, SOCKET[machine], 16, 3, 0) == ALLOW
    audit = verdict(with_routes, arch, SOCKET[machine], 16, 3, 9)
    assert audit == ERRNO | errno.EAFNOSUPPORT


def test_nothing_is_typed_into_a_terminal(machine: str) -> None:
    program, arch = seccomp_filter(machine, routes=True), ARCH[machine]
    for request in (0x5412, 0x541C, 0x5412 | 1 << 32):
        assert verdict(program, arch, IOCTL[machine], 0, request) == ERRNO | errno.EPERM


def test_calls_by_another_table_of_numbers_do_not_pass(machine: str) -> None:
    program = seccomp_filter(machine, routes=True)
    assert verdict(program, 0x40000003, READ[machine]) == KILL
    x32 = verdict(seccomp_filter("x86_64", routes=True), ARCH["x86_64"], 0x40000000)
    assert x32 == ERRNO | errno.ENOSYS


def test_calls_that_are_newer_than_the_table_are_not_there(machine: str) -> None:
    program = seccomp_filter(machine, routes=True)
    assert verdict(program, ARCH[machine], 463) == ERRNO | errno.ENOSYS
    assert verdict(program, ARCH[machine], 462) == ALLOW
