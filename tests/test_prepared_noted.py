"""Tests that have prepared calls made are noted, and are run alone where that is asked for."""

from __future__ import annotations

from pathlib import Path

from tests.house_rules.own_run import run_of
from tests.prepared_noted import is_noted, noted_in

_TESTS = """
from contextlib import suppress
from gatewright.prepared import Prepared

def test_without(): pass

def test_with():
    with suppress(TypeError):
        Prepared()  # nothing that there is, but that is found out later
"""


def _noted(folder: Path, *lines: str) -> frozenset[str]:
    file = folder / "noted"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return noted_in(file)


def test_what_a_test_had_made_is_noted_with_its_id(tmp_path: Path) -> None:
    noted = _noted(tmp_path, "tests/a.py::test_it[with a space] (call)")
    assert is_noted("tests/a.py::test_it[with a space]", noted)
    assert not is_noted("tests/a.py::test_it[another]", noted)


def test_what_a_fixture_had_made_is_noted_for_the_whole_file(tmp_path: Path) -> None:
    """It may be there for all of its tests, and says the one with which it began."""
    noted = _noted(tmp_path, "tests/a.py::test_it[with a space] (setup)")
    assert is_noted("tests/a.py::test_another", noted)
    assert not is_noted("tests/b.py::test_it", noted)
    assert not is_noted("tests/a.pyx::test_it", noted)


def test_what_nobody_knows_the_test_of_is_noted_for_all(tmp_path: Path) -> None:
    """A gateway may have an environment of its own."""
    assert is_noted("tests/a.py::test_it", _noted(tmp_path, ""))


def test_a_list_that_is_not_there_ends_the_run(tmp_path: Path) -> None:
    """Else nothing would be run, and nothing would have failed."""
    done = run_of(tmp_path, "def test_a(): pass\n", f"--noted-prepared={tmp_path / 'none'}")
    assert done.returncode != 0
    assert "FileNotFoundError" in done.stderr


def test_a_run_notes_its_tests_and_the_next_leaves_the_others_out(tmp_path: Path) -> None:
    file = tmp_path / "noted"
    (tmp_path / "first").mkdir()
    assert run_of(tmp_path / "first", _TESTS, f"--note-prepared={file}").returncode == 0
    assert noted_in(file) == {"tests/test_it.py::test_with"}
    (tmp_path / "next").mkdir()
    done = run_of(tmp_path / "next", _TESTS, f"--noted-prepared={file}")
    assert (done.returncode, "1 passed, 1 deselected" in done.stdout) == (0, True), (
        done.stdout + done.stderr
    )


_SHARED = """
@pytest.fixture(scope="session")
def gateway(): return 7
"""


def test_who_takes_a_fixture_of_several_files_is_run_with_those_that_are_noted(
    tmp_path: Path,
) -> None:
    """Its gateway knows the test with which it began, and none of the later ones."""
    file = tmp_path / "noted"
    file.write_text("tests/other.py::test_first (setup)\n", encoding="utf-8")
    tests = f"{_SHARED}def test_without(): pass\ndef test_shares(gateway): assert gateway == 7\n"
    done = run_of(tmp_path, tests, f"--noted-prepared={file}")
    assert (done.returncode, "1 passed, 1 deselected" in done.stdout) == (0, True), (
        done.stdout + done.stderr
    )
