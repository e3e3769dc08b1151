"""Files that hold secrets or belong to the host are found behind every spelling of their path."""

from itertools import pairwise

import pytest

from gatewright.validators import shell_files, shell_globs
from gatewright.validators.sandbox import prepare
from gatewright.validators.shell_files import is_sensitive
from tests.costs import DOUBLED, lines_run

DENYING = prepare({"mode": "deny-list"})


@pytest.mark.parametrize(
    "argument",
    [
        "/etc/shadow",
        "/etc//shadow",
        "/etc/./shadow",
        "/etc/x/../shadow",
        "../../etc/passwd",
        "/etc/sudoers.d/admin",
        "~/.ssh/config",
        "/home/a/.ssh",
        "id_ed25519",
        ".env",
        "app/.env.production",
        "~/.aws/credentials",
        "/root/.bash_history",
        "/proc/self/environ",
        "/proc/1/mem",
        "/dev/sda1",
        "/dev/nvme0n1",
        "/dev/tcp/10.0.0.1/80",
        "/var/run/docker.sock",
        "/e?c/shadow",
        "/etc/sha*",
        "/etc/[s]hadow",
        "/???/??adow",
        "/*/shadow",
        "~/.ss?/x",
        ".e*",
        "id_*",
        "--file=/etc/shadow",
        "-f/etc/shadow",
        "-f.env",
        "-iid_ed25519",
        "if=/dev/sda",
        "HEAD:.env",
        "HEAD~3:app/.env.production",
        ":0:.env",
        "stash@{0}:.env",
        "box:/etc/shadow",
        "/etc/shadow:/x:ro",
        "c1:id_rsa",
        "@/etc/passwd",
        "x=.env",
        "file@id_rsa",
        "/e't'c/shadow",
        "/etc/pass\\wd",
        "~/.SSH/config",
        ".ENV",
        "app/.Env.Production",
        "ID_RSA",
        "/ETC/Shadow",
        "~/.AWS/Credentials",
        "~/library/keychains/x",
        "~/Library/Keychains/x",
        "~/LIBRARY/[!b]eychains/x",
        "~/.\u017f\u017fh/config",
        ".E*",
        "/DEV/NVME0n1",
        "--file=/ETC/SHADOW",
    ],
)
def test_sensitive_files_are_found(argument: str) -> None:
    found = DENYING.judge(f"mytool {argument}")
    assert found is not None
    assert found.rule == "host_file"


@pytest.mark.parametrize(
    "argument",
    [
        "/etc/hosts",
        "/etc/fstab",
        "shadow.txt",
        "etc.txt",
        "passwd",
        ".environment",
        "my.env",
        "/dev/null",
        "/proc/cpuinfo",
        "*.txt",
        "*",
        "*/*",
        "*/*.php",
        "src/**/x",
        "/var/log/*",
        "/tmp/*",
        "docs/ssh.md",
        "-n",
        "i*",
        "?",
        "e?c/*",
        "--color=auto",
    ],
)
def test_ordinary_files_are_not(argument: str) -> None:
    assert DENYING.judge(f"mytool {argument}") is None


def test_a_pattern_is_read_as_it_stands_and_in_lower_case() -> None:
    assert is_sensitive(".[!E]nv", glob=True)
    assert is_sensitive(".[D-F]NV", glob=True)
    assert not is_sensitive(".[!e]nv", glob=True)


def test_a_quoted_pattern_is_only_a_text() -> None:
    assert is_sensitive("/e?c/shadow", glob=True)
    assert not is_sensitive("/e?c/shadow")
    assert DENYING.judge("mytool '/e?c/shadow'") is None


@pytest.mark.parametrize("part", ["a*", "e*", "*", "etc", "a", "[^a]*", "[a-z][a-z]"])
def test_a_long_path_is_compared_a_few_times_for_each_component(part: str) -> None:
    def counted(size: int) -> int:
        text = "/" + f"{part}/" * size + "x/" * 7 * size
        work = [lambda glob=glob: is_sensitive(text, glob=glob) for glob in (False, True)]
        return sum(lines_run((shell_files, shell_globs), one) for one in work)

    found = [counted(size) for size in (8, 16, 31)]
    assert max(after / before for before, after in pairwise(found)) <= DOUBLED, found


def test_a_word_with_more_patterns_than_a_path_has_is_refused() -> None:
    assert not is_sensitive("a*/" * 32, glob=True)
    assert is_sensitive("a*/" * 33, glob=True)
    assert not is_sensitive("a*/" * 33)


def test_one_name_with_more_jokers_than_anybody_types_is_refused() -> None:
    assert not is_sensitive("x" + "[" * 32, glob=True)
    assert is_sensitive("x" + "[" * 33, glob=True)
    assert not is_sensitive("x" + "[" * 33)
