"""`server pin`: what is held back, how it differs, and that only an operator lets it go on."""

import re
from collections.abc import Iterator
from hashlib import sha256

import pytest

from gatewright.cli.errors import CliError
from gatewright.pins import commands
from gatewright.pins.store import Pins, Seen
from tests.cli.shell import Shell
from tests.storage.parts import state_in

CONFIG = '[[servers]]\nid = "files"\ncommand = "true"\n'


def seen(says: str) -> Seen:
    return Seen(
        "wipe", f'{{"description":"{says}","name":"wipe"}}', sha256(says.encode()).hexdigest()
    )


@pytest.fixture
def operator(shell: Shell) -> str:
    shell.write("mgp.toml", CONFIG)
    return shell.run("key", "create", "olga", "--operator").out.strip()


@pytest.fixture
def pins(shell: Shell, operator: str) -> Iterator[Pins]:
    made = Pins(state_in(shell.state), clock=lambda: 1_790_000_000.0)
    made.judge("files", [seen("reads"), Seen("read", "{}", "d")], ask_first=False)
    made.judge("files", [seen("wipes\u00ad all")], ask_first=False)
    yield made
    made.close()


def test_what_is_held_back_is_listed(shell: Shell, pins: Pins) -> None:
    done = shell.run("server", "pin")
    assert [row[:3] for row in done.rows] == [["files", "wipe", "changed"]]
    assert len(shell.run("server", "pin", "files", "--all").rows) == 2


def test_the_difference_is_shown_with_everything_visible(shell: Shell, pins: Pins) -> None:
    done = shell.run("server", "pin", "files", "wipe")
    assert '-  "description": "reads",' in done.out
    assert '+  "description": "wipes\\u{ad} all",' in done.out
    assert "changed" in done.err


def test_an_operator_accepts_it_and_is_named(shell: Shell, pins: Pins, operator: str) -> None:
    words = ("server", "pin", "files", "wipe", "--accept", "--key", operator, "--json")
    (accepted,) = shell.run(*words).document
    assert (accepted["standing"], accepted["by"]) == ("pinned", "olga")
    assert shell.run("server", "pin").out == ""


def test_what_changed_again_after_somebody_looked_at_it_is_not_accepted_by_its_digest(
    shell: Shell, pins: Pins, operator: str
) -> None:
    shown = shell.run("server", "pin", "files", "wipe").err
    (digest,) = re.findall(r"--accept --digest (\w+)", shown)
    words = ("server", "pin", "files", "wipe", "--accept", "--digest", digest, "--key", operator)
    pins.judge("files", [seen("wipes more")], ask_first=False)
    done = shell.run(*words)
    assert (done.code, done.error["code"]) == (1, "conflict")
    assert "has changed again" in done.error["message"]
    assert pins.of("files")[1].standing == "changed"
    pins.judge("files", [seen("wipes\u00ad all")], ask_first=False)
    assert shell.run(*words).code == 0
    assert pins.of("files")[1].standing == "pinned"


@pytest.mark.parametrize("words", [("wipe", "--digest", "digest"), ("--digest", "d" * 16)])
def test_a_digest_is_of_one_tool_and_long_enough(
    shell: Shell, pins: Pins, operator: str, words: tuple[str, ...]
) -> None:
    done = shell.run("server", "pin", "files", *words, "--accept", "--key", operator)
    assert (done.code, done.error["code"]) == (2, "usage")


def test_no_name_adds_a_line_that_looks_like_one_of_ours(shell: Shell, pins: Pins) -> None:
    name = "say\nfiles/wipe: pinned"
    pins.judge("files", [Seen(name, "{}", "d" * 20)], ask_first=True)
    done = shell.run("server", "pin", "files", name)
    assert done.err.splitlines()[0] == "files/say\\u{a}files/wipe: pinned: new"


def test_all_of_a_server_can_be_accepted_at_once(shell: Shell, pins: Pins, operator: str) -> None:
    pins.judge("files", [Seen("read", '{"a":1}', "e")], ask_first=False)
    done = shell.run("server", "pin", "files", "--accept", "--key", operator)
    assert [row[:3] for row in done.rows] == [
        ["files", "read", "pinned"],
        ["files", "wipe", "pinned"],
    ]


@pytest.mark.parametrize(
    ("before", "now"),
    [("0.1", "0.10000000000000000001"), ("1e401", "1e500"), ("1", "1" + "0" * 4000)],
)
def test_numbers_that_a_float_takes_for_one_are_shown_as_two(
    shell: Shell, pins: Pins, before: str, now: str
) -> None:
    for text in (before, now):
        pins.judge("files", [Seen("read", f'{{"a":{text}}}', text[-8:])], ask_first=False)
        pins.judge("files", [Seen("count", f'{{"a":{text}}}', text[-8:])], ask_first=False)
    shown = shell.run("server", "pin", "files", "count").out.splitlines()
    assert [f'-  "a": {before}', f'+  "a": {now}'] == [one for one in shown if '"a"' in one]


@pytest.mark.parametrize("meanwhile", ["changed", "forgotten"])
def test_what_is_not_there_any_more_as_it_was_read_is_a_conflict(
    pins: Pins, meanwhile: str
) -> None:
    """And nothing of what was read with it is accepted either."""
    pins.judge("files", [Seen("read", '{"a":1}', "e")], ask_first=False)
    read = [one for one in pins.of("files") if one.standing == "changed"]
    if meanwhile == "changed":
        pins.judge("files", [seen("wipes more")], ask_first=False)
    else:
        pins.forget("files", by="otto")
        pins.judge("files", [Seen("read", '{"a":1}', "e")], ask_first=True)
    with pytest.raises(CliError, match="wipe has") as problem:
        commands._accept(pins, read, "files", "olga")
    assert problem.value.code == "conflict"
    assert {one.standing for one in pins.of("files")} <= {"changed", "new"}


def test_what_is_accepted_already_is_not_accepted_again(
    shell: Shell, pins: Pins, operator: str
) -> None:
    done = shell.run("server", "pin", "files", "--all", "--accept", "--key", operator)
    assert [row[:3] for row in done.rows] == [["files", "wipe", "pinned"]]
    assert [one.by for one in pins.of("files")] == ["first use", "olga"]


def test_a_digest_alone_accepts_nothing(shell: Shell, pins: Pins) -> None:
    done = shell.run("server", "pin", "files", "wipe", "--digest", "d" * 16)
    assert (done.code, done.error["code"]) == (2, "usage")


def test_an_agent_with_a_shell_accepts_nothing(shell: Shell, pins: Pins) -> None:
    done = shell.run("server", "pin", "files", "wipe", "--accept")
    assert (done.code, done.error["code"]) == (6, "permission_denied")
    assert pins.of("files")[1].standing == "changed"


def test_to_accept_everything_of_every_server_is_no_command(
    shell: Shell, pins: Pins, operator: str
) -> None:
    done = shell.run("server", "pin", "--accept", "--key", operator)
    assert (done.code, done.error["code"]) == (2, "usage")


def test_an_unknown_tool_is_named(shell: Shell, pins: Pins) -> None:
    done = shell.run("server", "pin", "files", "none")
    assert (done.code, done.error["code"]) == (2, "not_found")
    assert "files__none" in done.error["message"]


def test_where_no_gateway_has_run_there_are_no_pins(shell: Shell) -> None:
    done = shell.run("server", "pin")
    assert (done.code, done.error["code"]) == (4, "not_found")


def test_an_operator_lets_a_server_begin_anew(shell: Shell, pins: Pins, operator: str) -> None:
    words = ("server", "pin", "files", "--forget")
    assert shell.run(*words).code != 0
    assert len(pins.of("files")) == 2
    done = shell.run(*words, "--key", operator, "--json")
    assert [one["tool"] for one in done.document] == ["read", "wipe"]
    assert pins.of("files") == []
    again = shell.run(*words, "--key", operator)
    assert (again.code, again.error["code"]) == (2, "not_found")


@pytest.mark.parametrize("more", [("--digest", "0" * 16), ("wipe",), ("--accept",)])
def test_to_forget_takes_a_server_and_nothing_else(
    shell: Shell, pins: Pins, operator: str, more: tuple[str, ...]
) -> None:
    done = shell.run("server", "pin", "files", *more, "--forget", "--key", operator)
    assert (done.code, done.error["code"]) == (2, "usage")
    assert len(pins.of("files")) == 2


@pytest.mark.parametrize(
    "words", [("files__wipe",), ("files/wipe",), ("files", "files__wipe"), ("files", "wipe")]
)
def test_a_tool_is_meant_by_any_of_its_names(
    shell: Shell, pins: Pins, words: tuple[str, ...]
) -> None:
    done = shell.run("server", "pin", *words)
    assert done.code == 0
    assert done.err.splitlines()[0] == "files__wipe: changed"


def test_a_tool_whose_name_no_host_takes_is_meant_by_the_one_that_lists_show(
    shell: Shell, pins: Pins
) -> None:
    pins.judge("files", [Seen("l\u00f6schen", "{}", "d" * 20)], ask_first=True)
    for words in (("files__l_schen",), ("files", "l_schen"), ("files", "l\u00f6schen")):
        done = shell.run("server", "pin", *words)
        assert done.err.splitlines()[0] == "files/l\u00f6schen: new", words
