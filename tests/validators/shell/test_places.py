"""Where paths lead, part by part."""

import pytest

from gatewright.validators.shell.places import (
    HERE,
    Path,
    entered,
    holds_secrets,
    is_kept,
    is_secret,
    place,
    resolve,
    stands_for_hidden,
)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a/b", "inside"),
        (".", "inside"),
        ("a/../b", "inside"),
        ("../x", "outside"),
        ("a/../../x", "outside"),
        ("/usr/bin", "outside"),
        ("~/x", "outside"),
        ("/tmp/x", "temporary"),
        ("/private/tmp/x", "temporary"),
        ("/tmp", "outside"),
        ("/tmp/../etc/x", "outside"),
        ("/etc/shadow", "sensitive"),
        ("/etc/../etc/shadow", "sensitive"),
        ("~/.ssh/id_rsa", "sensitive"),
        (".env", "sensitive"),
        (".env.production.local", "sensitive"),
        (".env.example", "inside"),
        ("etc/shadow", "inside"),
        ("id_rsa.pub", "inside"),
        ("src/token.py", "inside"),
    ],
)
def test_a_path_is_in_one_place(text: str, where: str) -> None:
    assert place(resolve(HERE, text)) == where


def test_folders_are_counted() -> None:
    below = resolve(HERE, "a/b")
    assert place(resolve(below, "../../c")) == "inside"
    assert place(resolve(below, "../../../c")) == "outside"
    assert resolve(Path("/", ("etc",)), "shadow") == Path("/", ("etc", "shadow"))
    assert place(Path("?", ("x",))) == "unknown"


def test_of_tmp_as_a_whole_nothing_is_written() -> None:
    assert place(resolve(HERE, "/tmp/*", glob=True), written=True) == "outside"
    assert place(resolve(HERE, "/tmp/x*", glob=True), written=True) == "temporary"


@pytest.mark.parametrize("text", ["/home/u/proj", "/Users/u/code/x", "/workspace", "/srv/app"])
def test_what_looks_like_a_project_becomes_the_workspace(text: str) -> None:
    found = entered(HERE, text)
    assert place(found) == "inside"
    assert place(resolve(found, f"{text}/a")) == "inside"
    assert place(resolve(found, "..")) == "outside"
    assert place(entered(found, "/home/u/other")) == "outside"


@pytest.mark.parametrize("text", ["/etc", "/tmp/evil", "~/Downloads", "/home/u/Downloads", "/home/u/.cache/x", "/usr/local/bin", "/home/u"])  # fmt: skip
def test_other_folders_do_not(text: str) -> None:
    assert place(entered(HERE, text)) != "inside"


@pytest.mark.parametrize(
    "text",
    ["/etc/shadow.bak", "~/.claude.json", "~/.cache/huggingface/token", "~/.config/x/auth.json", "server.key", ".env~", "~/.netrc.old", "/proc/self/environ", "config/secrets.yml"],
)  # fmt: skip
def test_secrets_are_known_by_their_role(text: str) -> None:
    assert is_secret(resolve(HERE, text))


@pytest.mark.parametrize("text", [".e*", "/*/shadow", "~/.ss?/x", "/etc/sha[d]ow", "*.pem", ".en?"])
def test_jokers_may_become_secrets(text: str) -> None:
    assert is_secret(resolve(HERE, text, glob=True))


@pytest.mark.parametrize("text", ["*", "*.py", "src/*", "*/*"])
def test_most_jokers_mean_files(text: str) -> None:
    assert not is_secret(resolve(HERE, text, glob=True))


@pytest.mark.parametrize(
    ("text", "holds"),
    [("~", True), ("/", True), ("/etc", True), ("..", True), ("/et*", True), ("../lib", False), ("/usr/include", False), ("src", False), ("../../etc", True)],
)  # fmt: skip
def test_what_holds_secrets_is_read_by_nobody_as_a_whole(text: str, holds: bool) -> None:
    assert holds_secrets(resolve(HERE, text, glob="*" in text)) is holds


@pytest.mark.parametrize("text", [".git/hooks/x", ".git/config", "~/.bashrc", ".claude/settings.json", ".mcp.json", ".vscode/tasks.json", ".GIT/x"])  # fmt: skip
def test_what_runs_later_is_kept(text: str) -> None:
    assert is_kept(resolve(HERE, text))


@pytest.mark.parametrize("text", [".*", ".?*", ".??*", "./.*", "a/.*", "*/.*", ".*[!x]"])
def test_a_pattern_may_stand_for_all_that_is_hidden(text: str) -> None:
    assert stands_for_hidden(resolve(HERE, text, glob=True))
    assert not stands_for_hidden(resolve(HERE, text))


@pytest.mark.parametrize("text", ["*", "a.*", "*.*", ".*/a", ".?", ".g*", ".eslint*"])
def test_other_patterns_do_not(text: str) -> None:
    assert not stands_for_hidden(resolve(HERE, text, glob=True))


def test_jokers_may_become_what_is_kept() -> None:
    assert is_kept(resolve(HERE, ".gi[t]/x", glob=True))
    assert not is_kept(resolve(HERE, ".github/workflows/a.yml"))
    assert not is_kept(resolve(HERE, "*.py", glob=True))
