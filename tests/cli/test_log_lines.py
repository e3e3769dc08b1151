"""Log lines and words for people carry no secret."""

from __future__ import annotations

import logging

import pytest

from gatewright.cli.log_lines import LogLines, clean, watch_last_resort

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3


def record(text: str, *values: object, failed: bool = False) -> logging.LogRecord:
    problem: BaseException | None = ValueError(f"no {TOKEN}") if failed else None
    found = (type(problem), problem, None) if problem is not None else None
    return logging.LogRecord("gatewright", logging.WARNING, "", 0, text, values, found)


def test_a_log_line_loses_the_secret_in_its_values() -> None:
    line = LogLines("%(name)s: %(message)s").format(record("got %s", TOKEN))
    assert line == "gatewright: got [REDACTED:github-token]"


def test_a_log_line_shows_what_would_act_on_a_terminal() -> None:
    line = LogLines().format(record("called %s\nand more", "a\x1b[2J\u202eb\u200b"))
    assert line == "called a\\u001b[2J\\u202eb\\u200b\nand more"


def test_a_traceback_loses_it_too() -> None:
    assert TOKEN not in LogLines().format(record("broke", failed=True))


def test_text_that_is_no_unicode_is_still_shown() -> None:
    assert clean("odd \udcff name") == "odd \udcff name"


def test_warnings_that_nobody_asked_for_are_cleaned(capsys: pytest.CaptureFixture[str]) -> None:
    watch_last_resort()
    assert logging.lastResort is not None
    logging.lastResort.handle(record("got %s", TOKEN))
    assert capsys.readouterr().err == "got [REDACTED:github-token]\n"


def test_the_name_of_a_secret_is_no_secret_and_what_stands_beside_it_is() -> None:
    text = "moved: ${secret:b.API_KEY-2}; password=Kd83hs7Hq0zP4x"
    assert clean(text) == "moved: ${secret:b.API_KEY-2}; password=[REDACTED:named]"
