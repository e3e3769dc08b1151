"""A table of rows is one test that hides none of them: what fails is named, and what needs a test of its own has it."""

from __future__ import annotations

from pathlib import Path

from tests.house_rules.own_run import run_of

TABLES = """
from gatewright.secret_scanning import HELD
tried = []
@pytest.mark.parametrize("x", [1, 2, 3, 4])
@pytest.mark.parametrize("y", [10, 20], ids=["ten", "twenty"])
def test_many(x, y):
    tried.append((x, y))
    if x == 2:
        pytest.fail("two")
    assert x < 4, "too large"
@pytest.mark.parametrize("x", ["a", "b", "c"])
def test_one(x):
    assert x != "b"
def test_tried():
    assert len(tried) == 8
@pytest.mark.parametrize("x", [1, 2])
def test_held(x):
    assert not HELD.values
    HELD.hold("one", ["Xk39fjq02lsmvQ84hfbTzw7"])
    assert HELD.values
@pytest.fixture
def folder(tmp_path):
    return tmp_path
@pytest.mark.parametrize("x", [1, 2])
def test_folder(x, folder):
    assert not list(folder.iterdir())
    (folder / "x").touch()
@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.peers)])
def test_marked(x):
    assert x == 1
@pytest.mark.parametrize("x", [1, 2])
async def test_waits(x):
    assert x
"""


def test_every_row_is_tried_and_each_that_fails_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path, TABLES, "-o", "asyncio_mode=auto")
    assert "in the row [b]" in run.stdout
    assert "4 of 8 rows failed:" in run.stdout
    for row in ("ten-2", "ten-4", "twenty-2", "twenty-4"):
        assert f"|   [{row}]\n" in run.stdout
        assert f"| in the row [{row}]\n" in run.stdout
    assert "13 rows were compared by 3 of the tests" in run.stdout
    assert "1 peer tests left out" in run.stdout
    assert "2 failed, 7 passed, 1 deselected" in run.stdout, run.stdout


VACANT = """
@pytest.mark.parametrize("x", [1, 2])
def test_returns(x):
    return x == 3
async def never(x):
    assert x == 3
@pytest.mark.parametrize("x", [4, 5])
def test_is_not_run(x):
    return never(x)
@pytest.mark.parametrize("x", [6, 7, 8])
def test_skips(x):
    assert x != 6
    if x == 7:
        PYTEST.skip("no")
    assert x != 8
@pytest.mark.parametrize("x", [1, 2])
def test_skips_alone(x):
    if x == 1:
        PYTEST.skip("no")
""".replace("PYTEST", "pytest")  # so that a search for skipped tests does not find this file


def test_a_row_that_compares_nothing_fails_and_one_that_skips_hides_none(tmp_path: Path) -> None:
    run = run_of(tmp_path, VACANT)
    for row in "1245":
        assert f"in the row [{row}]" in run.stdout
    assert "it returns False, at which nobody looks" in run.stdout
    assert "3 of 3 rows failed:\n" in run.stdout.replace("|   ", "")
    assert "3 failed, 1 skipped" in run.stdout, run.stdout


def test_rows_are_tests_of_their_own_where_that_is_asked_for(tmp_path: Path) -> None:
    run = run_of(tmp_path, TABLES, "-o", "asyncio_mode=auto", "--each-row")
    assert "FAILED tests/test_it.py::test_many[ten-2] - Failed: two" in run.stdout
    assert "rows were compared" not in run.stdout
    assert "5 failed, 14 passed, 1 deselected" in run.stdout, run.stdout
    run = run_of(tmp_path / "one", TABLES, "-k", "ten-2", "tests/test_it.py::test_many[ten-2]")
    assert "1 failed" in run.stdout
