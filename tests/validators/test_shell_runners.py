"""Other names of programs."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_builds import BUILDING
from gatewright.validators.shell_programs import PROGRAMS
from gatewright.validators.shell_runners import RUNNERS, known_as
from gatewright.validators.shell_strict import DANGEROUS

KNOWN = {**PROGRAMS, **BUILDING}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gcc", "gcc"),
        ("gcc-13", "gcc"),
        ("x86_64-linux-gnu-g++-12", "gcc"),
        ("pypy3.10", "python3"),
        ("lua5.4", "lua"),
        ("gxargs", "xargs"),
        ("git", "git"),
        ("go", "go"),
        ("mytool2", "mytool2"),
        ("my-tool", "my-tool"),
        ("my-env", "my-env"),
        ("vim.basic", "vim"),
        ("arm-none-eabi-gcc", "gcc"),
        ("python3-config", "python3-config"),
        ("x.sh", "x.sh"),
        ("time.py", "time.py"),
        ("g", "g"),
        ("perl5.36-x86_64-linux-gnu", "perl"),
        ("bash-static", "bash"),
        ("python3-dbg", "python3"),
        ("python3.13t", "python"),
        ("i686-w64-mingw32-gcc-12-posix", "gcc"),
        ("sh.distrib", "sh"),
        ("PERL.exe", "perl"),
        ("bash-language-server", "bash-language-server"),
        ("node-gyp", "node-gyp"),
        ("-", "-"),
        ("", ""),
    ],
)
def test_a_name_is_taken_for_the_program_that_it_is(name: str, expected: str) -> None:
    assert known_as(name, KNOWN, DANGEROUS) == expected


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_name_stays_as_it_is(name: str) -> None:
    assert known_as(name, KNOWN) == name


def test_who_runs_others_is_refused_whatever_follows() -> None:
    for name in RUNNERS:
        check = BUILDING[name].check
        assert check is not None
        assert check([]) == "runs_programs"
