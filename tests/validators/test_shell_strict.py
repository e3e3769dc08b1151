"""The strict `sandbox` validator: what a shell could read as more than plain words is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.validators.shell_strict import strict, strict_rule

METACHARACTERS = ";&|<>(){}[]$`\\'\"!*?~#^"

BLOCKED = {
    "metacharacter": [
        "ls; id",
        "ls && id",
        "ls | id",
        "echo $(id)",
        "echo `id`",
        "cat ${HOME}",
        "cat <(id)",
        "echo hi > file",
        "sleep 9 &",
        "{ls,-l}",
        "ls *",
        "ls ~",
        "cat 'a b'",
        'cat "a b"',
        "a\\nb",
        "%0aid",
        "x%u000aid",
        "echo hi # rest",
    ],
    "control_character": [
        "ls\nid",
        "ls\rid",
        "a\x00b",
        "\x1b[2J",
        "a\u202eb",
        "a\u200bb",
        "a\u2028b",
    ],
    "assignment": ["LD_PRELOAD=x ls", "  A=b", "A+=b"],
    "recursive_delete": [
        "rm -rf /",
        "rm -fr x",
        "rm -r -f x",
        "rm -R x",
        "rm x --recursive",
        "rm --r x",
        "rm --recurs --f x",
        "/bin/rm -rf x",
        "xyz rm -rf x",
        "rd /s x",
        "find . -delete",
        "find . -exec cat",
    ],
    "runs_programs": [
        "sh x",
        "bash -i",
        "env x",
        "xargs rm",
        "eval x",
        "timeout 5 x",
        ". x",
        "bash",
    ],
    "changes_rights": [
        "chown --recursive a b",
        "/usr/bin/SUDO.exe x",
        "sudo ls",
        "chmod -R 777 x",
        "passwd root",
        "iptables -F",
    ],
    "ends_the_host": ["shutdown -h now", "reboot", "mkfs.ext4 /x", "dd if=a of=b", "kill -9 1"],
    "opens_a_channel": ["nc -l 4444", "socat x y"],
    "inline_code": [
        "python3 -c x",
        "perl -e x",
        "node --eval x",
        "node --eval=x",
        "node --eva x",
        "php --run=x",
    ],
    "program_option": [
        "tar xf a --checkpoint-action=exec",
        "tar xf a --checkpoint-=exec=x",
        "tar xf a --to-com=x",
        "tar xf a --us x",
        "tar cf a --rsh-command=x",
        "git fetch --upl=x",
        "git push --receive-p x",
        "git -c core.pager=x log",
        "tar -I prog -xf a",
        "tar -xIprog -f a",
        "tar -cvIf prog a",
        "tar xIf prog a",
        "gtar -Fprog -cf a",
        "/bin/TAR.exe -I prog",
        "rsync -e prog a b",
        "rsync -ave prog a b",
        "zip a b -TT prog",
        "sort --compress-prog=prog f",
        "man -P prog ls",
    ],
    "host_file": [
        "wc ../../etc/shadow",
        "wc /./etc/passwd",
        "wc /proc/sys/x",
        "cat /etc/passwd",
        "cat /etc/shadow",
        "curl -d @/etc/passwd x",
        "wc /dev/sda",
        "cat /ETC/Passwd",
    ],
}


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in BLOCKED.items() for text in texts]
)
def test_dangerous_shell_text_is_refused_with_the_name_of_the_rule(rule: str, text: str) -> None:
    """MGP-4.5-1"""
    found = strict({"command": text})
    assert found is not None
    assert found.rule == rule


@pytest.mark.parametrize(
    "text",
    [
        "ls -la /tmp/sh-demo",
        "cat reboot-notes.md",
        "wc -l shutdown.log",
        "grep sudo README.md",
        "git log --oneline -n 5",
        "sort -k2,2n data.tsv",
        "date +%Y-%m-%d",
        "echo 100%",
        "rm one-file.txt",
        "python3 script.py",
        "find . -name x.txt",
        "chmod 644 x",
        "ls -R x",
        "cp -r a b",
        "grep -e x f",
        "grep -I x f",
        "tar -xf a -C Inbox",
        "tar -CInbox -xf a",
        "tar -czf If.tar a",
        "tar czf Inbox.tar x",
        "rsync -av a b",
        "rsync -fe a b",
        "zip -r a b",
        "sort -k2 -u f",
        "man ls",
        "echo -delete",
        "remark mkfs",
        "history",
        "time",
        "Grüße aus Köln",
        "",
        "   ",
    ],
)
def test_plain_words_pass(text: str) -> None:
    assert strict({"command": text}) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "rm", "args": ["-rf", "/"]},
        {"args": ["-rf", "/"], "command": "rm"},
        {"argv": ["rm", "-r", "-f", "x"]},
        {"program": "find", "options": {"path": ".", "action": "-delete"}},
    ],
)
def test_words_spread_over_several_values_mean_what_they_mean_together(arguments: Any) -> None:
    found = strict(arguments)
    assert found is not None
    assert found.rule == "recursive_delete"


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"a": {"b": ["x", "$(id)"]}}, "/a/b/1"),
        ({"a": {"$(id)": 1}}, "/a/$(id)"),
        ("`id`", ""),
        (["ok", "`id`"], "/1"),
    ],
)
def test_every_string_counts_wherever_it_stands_and_is_named(arguments: Any, path: str) -> None:
    found = strict(arguments)
    assert found is not None
    assert found.path == path


def test_names_of_members_are_no_programs() -> None:
    assert strict({"command": "ls", "shell": "x", "time": "5", "sudo": "no"}) is None


def test_the_refused_text_is_not_repeated() -> None:
    found = strict({"command": "echo $SECRET"})
    assert found is not None
    assert "SECRET" not in found.message


@given(st.text(), st.sampled_from(METACHARACTERS), st.text())
def test_no_text_with_a_metacharacter_passes(before: str, char: str, after: str) -> None:
    assert strict({"x": before + char + after}) is not None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_value_gets_a_verdict(value: Any) -> None:
    found = strict(value)
    assert found is None or found.message


@given(st.text(alphabet=st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Cs"]), min_size=1))
def test_no_control_or_invisible_character_passes(text: str) -> None:
    found = strict([text])
    assert found is not None
    assert found.rule == "control_character"


def test_words_of_one_command_are_judged_by_its_program_and_together() -> None:
    assert strict_rule(["sudo", "ls"]) == "changes_rights"
    assert strict_rule(["ls", "rm", "-r"]) == "recursive_delete"
    assert strict_rule(["history", "-c"]) == "ends_the_host"
    assert strict_rule(["history"]) is None
    assert strict_rule(["ls", "-l"]) is None
    assert strict_rule([]) is None
