"""Other names of programs, and those that are refused by their names."""

from __future__ import annotations

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell.names import (
    REPLACING,
    RUNNERS,
    SERVING,
    TESTING,
    known_as,
    program_name,
    starts_another,
    starts_too_many,
)
from gatewright.validators.shell.table import table
from gatewright.validators.shell_strict import DANGEROUS
from gatewright.validators.shell_syntax import Word

ENTRIES, PARENTS = table()
KNOWN = ENTRIES.keys() | PARENTS | RUNNERS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gcc", "gcc"),
        ("gcc-13", "gcc"),
        ("x86_64-linux-gnu-g++-12", "g++"),
        ("pypy3.10", "pypy"),
        ("lua5.4", "lua"),
        ("gxargs", "gxargs"),
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
        ("python3-dbg", "python"),
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


@pytest.mark.parametrize("name", sorted(one for one in KNOWN if " " not in one))
def test_a_known_name_stays_as_it_is(name: str) -> None:
    assert known_as(name, KNOWN) == name


def test_a_program_is_known_by_its_name_in_the_folders_of_the_system_only() -> None:
    assert program_name("/usr/local/bin/jq") == "jq"
    assert program_name("/opt/bin/jq") == "/opt/bin/jq"
    assert program_name("jq") == "jq"


def test_nobody_types_a_program_that_starts_dozens_of_others() -> None:
    assert not starts_too_many([Word("env")] * 32)
    assert starts_too_many([Word("env")] * 33)
    assert not starts_too_many([Word("a")] * 99)


STARTERS = """gosu me|su-exec me|s6-setuidgid me|run0|machinectl shell x|systemd-nspawn -D /x|systemd-cat|tini --|dumb-init|with-contenv|schedtool -e|qemu-x86_64|
qemu-aarch64-static|gdbserver :1|poop|rush|lxc exec c --|incus exec c --|crictl exec c|ctr task exec c|ctr -n x t exec c|toolbox run|distrobox enter x --|
nix run x --|nix --offline shell x -c|guix shell x --|tcc -run|foot|alacritty -e|kitty|ansible all -a|salt x cmd.run|pssh -H x|dsh -a|clush -a|pdsh -w x|
vagrant ssh -c|dc -e|pdflatex -shell-escape|lualatex --shell-escape|xelatex -enable-write18|latexmk -e|distrobox-enter x --|scons"""


@pytest.mark.parametrize("starter", "".join(STARTERS.splitlines()).split("|"))
@pytest.mark.parametrize("before", ["", "env ", "time nice ", "timeout 5 ", "/usr/bin/"])
def test_a_deny_list_refuses_what_starts_others(starter: str, before: str) -> None:
    """MGP-4.5-1"""
    assert prepare({"mode": "deny-list"}).judge(f"{before}{starter} id x") is not None


@pytest.mark.parametrize("line", ["machinectl list", "lxc list", "crictl ps", "nix build", "nix flake check", "guix search x", "vagrant status", "pdflatex a.tex", "latexmk -pdf a.tex", "qemu-img info a.img", "just test", "task build", "mage build"])  # fmt: skip
def test_its_other_words_pass(line: str) -> None:
    assert prepare({"mode": "deny-list"}).judge(line) is None


@pytest.mark.parametrize("program", ["just", "task", "mage", "invoke"])
@pytest.mark.parametrize("words", ["-f /tmp/x", "-t /tmp/x", "-d /tmp/x", "-c x", "--shell sh x", "--unheard"])  # fmt: skip
def test_what_runs_goals_takes_no_other_option_as_make_does(program: str, words: str) -> None:
    assert prepare({"mode": "deny-list"}).judge(f"{program} {words}") is not None


def test_a_program_starts_another_by_its_words() -> None:
    assert starts_another("nix", ["--x", "run", "y"])
    assert not starts_another("nix", ["build"])
    assert starts_another("qemu-arm", [])


@pytest.mark.parametrize("name", sorted({*REPLACING, *SERVING, *TESTING}))
def test_a_program_with_a_part_of_its_own_in_the_policy_is_in_the_table(name: str) -> None:
    assert name in ENTRIES or name in PARENTS or name.replace("python3", "python") in ENTRIES
