"""Why a command ends, and with which exit code."""

from __future__ import annotations

from gatewright.cli.errors import CliError, Exit
from gatewright.mcp.wire.codes import REASONS


def test_an_error_carries_what_is_said_of_it() -> None:
    problem = CliError(
        "no", code="denied", exit_code=Exit.DENIED, hint="ask olga", request_id="r-1"
    )
    assert str(problem) == problem.message == "no"
    assert (problem.code, problem.exit_code) == ("denied", 6)
    assert (problem.hint, problem.request_id) == ("ask olga", "r-1")
    plain = CliError("no", code="usage", exit_code=Exit.USAGE)
    assert (plain.hint, plain.request_id) == ("", "")


def test_no_two_exit_codes_are_one_and_those_of_reasons_are_among_them() -> None:
    codes = [code for name, code in vars(Exit).items() if name.isupper()]
    assert len(codes) == len(set(codes)) == 11
    assert {row.exit for row in REASONS.values()} <= set(codes)
