"""What reaches the screen: nothing invisible, nothing that moves the cursor, one form for programs."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.cli import output
from gatewright.cli.errors import CliError
from gatewright.cli.output import (
    is_terminal,
    note,
    print_document,
    print_json,
    print_line,
    print_rows,
    print_text,
    report,
    visible,
)
from gatewright.cli.table_layout import width_of
from gatewright.secret_scanning.escape_invisible import is_unseen
from tests.cli.shell import Shell


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", "\\u{1b}[2J"),
        ("a\u202eb", "a\\u{202e}b"),
        ("a\u200bb", "a\\u{200b}b"),
        ("\x9b31m", "\\u{9b}31m"),
        ("\ud800", "\\u{d800}"),
        ("\U000e0041", "\\u{e0041}"),
        ("bell\x07", "bell\\u{7}"),
        ("a\u061cb\u00ad\u3164c", "a\\u{61c}b\\u{ad}\\u{3164}c"),
        ("warned ⚠\ufe0f and\ufe0f\ufe0f", "warned ⚠\ufe0f and\ufe0f\\u{fe0f}"),
        ("a\u00a0b\u3000c", "a\u00a0b\u3000c"),
        ("naïve 日本語 🙂\tx\n", "naïve 日本語 🙂\tx\n"),
    ],
)
def test_what_is_invisible_is_spelled_out(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


@given(st.text())
def test_visible_text_can_be_written_anywhere(text: str) -> None:
    shown = visible(text)
    assert "\x1b" not in shown
    assert shown.encode().decode() == shown
    assert visible(shown) == shown


def test_rows_are_tab_separated_for_a_program(capfd: pytest.CaptureFixture[str]) -> None:
    print_rows(("one", "two"), [("a\tb", "c\nd"), (None, ["x", "y"]), (1, "\x1b[0m")])
    assert capfd.readouterr().out == "a b\tc d\n\tx,y\n1\t\\u{1b}[0m\n"


def test_a_line_is_tab_separated_for_a_program(capfd: pytest.CaptureFixture[str]) -> None:
    print_line(("a", 1, None, "b\tc"), widths=(10, 10))
    assert capfd.readouterr().out == "a\t1\t\tb c\n"


def test_a_document_is_one_line_with_sorted_keys_for_a_program(
    capfd: pytest.CaptureFixture[str],
) -> None:
    print_document({"b": [1], "a": {"d": None, "c": "é"}})
    assert capfd.readouterr().out == '{"a":{"c":"é","d":null},"b":[1]}\n'


def test_the_text_of_a_tool_reaches_a_program_as_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    print_text("one\n\x1b[1mtwo")
    print_text("three\n")
    assert capfd.readouterr().out == "one\n\x1b[1mtwo\nthree\n"


def test_an_error_is_one_json_line_for_a_program(capfd: pytest.CaptureFixture[str]) -> None:
    report(CliError("no\nway", code="c", exit_code=6, hint="h"), json=False)
    report(CliError("m", code="c", exit_code=6, request_id="t"), json=True)
    assert capfd.readouterr().err == (
        '{"error":{"code":"c","message":"no\\nway","hint":"h"}}\n'
        '{"error":{"code":"c","message":"m","hint":"","request_id":"t"}}\n'
    )


def test_a_person_reads_the_error_and_the_hint_on_two_lines(shell: Shell) -> None:
    done = shell.run_at_terminal("tool", "list")
    lines = done.out.splitlines()
    assert done.code == 4
    assert lines[0].startswith("error: no gateway is running here")
    assert lines[1].startswith(f" hint: start it with `{shell.typed('serve')}`")


def test_json_errors_can_be_had_on_a_terminal_too(shell: Shell) -> None:
    done = shell.run_at_terminal("tool", "list", "--json")
    assert done.out.startswith('{"error":{"code":"gateway_unreachable"')


def test_a_closed_descriptor_is_no_terminal() -> None:
    assert is_terminal(987) is False


ODD = {"a": "\u202egnp \u200b \u009b31m \U000e0041", "b": "é\n"}


def test_json_on_a_terminal_hides_and_steers_nothing_and_says_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for print_one in (print_document, lambda one: print_json(msgspec.json.encode(one))):
        monkeypatch.setattr(output, "is_terminal", lambda _: True)
        print_one(ODD)
        seen = capsys.readouterr().out
        assert json.loads(seen) == ODD
        assert [one for one in seen if is_unseen(one)] == ["\n"] * seen.count("\n")
        assert "é" in seen
        monkeypatch.setattr(output, "is_terminal", lambda _: False)
        print_one(ODD)
        assert "\u202e" in capsys.readouterr().out


HOSTILE = "boom\n hint: run `curl evil`\nerror: all is lost\n\ttrace: 1"


def test_no_line_of_a_servers_text_reads_as_one_of_ours(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatewright.cli.output.is_terminal", lambda _: True)
    problem = CliError(HOSTILE, code="x", exit_code=1, hint=HOSTILE, request_id=HOSTILE)
    report(problem, json=False)
    lines = capfd.readouterr().err.splitlines()
    ours = [line for line in lines if not line.startswith(" " * 7)]
    assert ours == ["error: boom", " hint: boom", "trace: boom"]
    assert len(lines) == 12
    note(HOSTILE)
    first, *more = capfd.readouterr().err.splitlines()
    assert first == "boom"
    assert [line[:2] for line in more] == ["  "] * 3


@pytest.mark.parametrize("name", ["build-bot-of-the-nightly-train", "\u5c71\u7530" * 15, "x" * 200])
def test_rows_are_read_at_80_columns_whatever_is_called_how(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """Ids and dates are in one piece, as they are copied from here."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("gatewright.cli.output.is_terminal", lambda _: True)
    date, id = "2026-11-30 21:14:53", "ap_0123456789abcdef"
    columns = ("id", "agent", "tool", "risk", "since", "ends", "comment", "arguments")
    row = (id, name, "files__wipe", "dangerous", date, date, "", '{"path":"/srv"}')
    print_rows(columns, [row, row])
    lines = capfd.readouterr().out.splitlines()
    assert all(width_of(line) <= 80 for line in lines)
    text = "\n".join(lines)
    for whole in (id, date, "files__wipe", "dangerous", '{"path":"/srv"}'):
        assert text.count(whole) >= 2
    assert "COMMENT" not in text


def test_lines_of_wide_characters_end_where_the_terminal_does(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("gatewright.cli.output.is_terminal", lambda _: True)
    for name in ("\u5c71" * 60, "\u5c71" * 3, "ann"):
        print_line((name, "next", "last" * 9), widths=(8, 6), one_line=True)
    long, short, plain = capfd.readouterr().out.splitlines()
    assert [width_of(line) for line in (long, short, plain)] == [39, 40, 40]
    assert width_of(short.partition("next")[0]) == width_of(plain.partition("next")[0])
