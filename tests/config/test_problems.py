"""How a problem reads."""

from pathlib import Path

from gatewright.config import Origin, Problem, SettingsError

FILE = Path("mgp.toml")


def test_a_problem_reads_place_key_fault_and_way_out() -> None:
    problem = Problem(Origin(FILE, 3), "gateway.port", '"x" does not fit here', "write a number")
    assert str(problem) == 'mgp.toml:3: gateway.port: "x" does not fit here; write a number'


def test_what_concerns_the_whole_file_has_no_line_and_no_key() -> None:
    assert (
        str(Problem(Origin(FILE), "", "no such file", "check")) == "mgp.toml: no such file; check"
    )


def test_an_error_shows_every_problem_on_its_own_line() -> None:
    problems = [Problem(Origin(FILE, line), "k", "bad", "fix it") for line in (1, 2)]
    error = SettingsError(problems)
    assert error.problems == tuple(problems)
    assert str(error).splitlines() == ["mgp.toml:1: k: bad; fix it", "mgp.toml:2: k: bad; fix it"]
