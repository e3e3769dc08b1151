"""Where programs write by their options, and hooks of repositories and settings of agents."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_targets import climbs, edits_rule, given, leads_out, touches_hook


def test_values_of_options_are_found_in_every_spelling() -> None:
    for line in ("-rt b a", "-r -t b a", "-rtb a", "--target-directory=b -r a", "--target-directory b a"):  # fmt: skip
        found = given("cp", line.split())
        assert found is not None
        assert (found.operands, found.target, found.placed) == (["a"], "b", ["b"])
    found = given("patch", ["-p1", "-dx", "-oy", "--", "-z"])
    assert found is not None
    assert (found.operands, found.placed) == (["-z"], ["x", "y"])


@pytest.mark.parametrize("line", ["--target=x a", "--t x", "-é", "-rZq a", "--t=x", "--", "-"])
def test_an_option_of_no_table_is_refused(line: str) -> None:
    assert (given("cp", line.split()) is None) == (line not in {"--", "-"})


@pytest.mark.parametrize(
    "line",
    ["-i s/a/b/ x", "-ni -e p x", "-Ei.bak -e p -es/a/b/ x", "--in-place=.o s/a/b/ x", "s/a/b/ /x"],
)
def test_files_inside_are_edited(line: str) -> None:
    assert edits_rule(line.split()) is None


@pytest.mark.parametrize(
    "line",
    ["-i -Ees/a/b/ /x", "-i s/a/b/ ../x", "-i -e p -- ~/x", "-i s/a/b/e x", "-ie s/a/b/ x", "-i -f x", "--in-p s/a/b/ x", "-i/x s/a/b/ x"],
)  # fmt: skip
def test_other_edits_are_refused(line: str) -> None:
    assert edits_rule(line.split()) is not None


def test_the_empty_ending_of_bsd_hides_no_script() -> None:
    assert edits_rule(["-i", "", "s/a/b/", "x"]) is None
    assert edits_rule(["-i", "", "1e id", "x"]) is not None


@pytest.mark.parametrize(
    "line",
    [".git/hooks/x", "x/.git .", "-o .git/x", "-o.git/x", "--out=.GIT/x", "--outDir .git", ".gi[t]/x", ".cl?ude/x", "-o .bashrc", "-o /x", "--output=../x", "-so.git/x"],
)  # fmt: skip
def test_hooks_and_outputs_elsewhere_are_found(line: str) -> None:
    assert touches_hook(line.split())


@pytest.mark.parametrize(
    "line",
    ["a.git b", ".gitignore .github/x", "--exclude .git a", "--exclude=.git a", "-o a", "-o /dev/null", "*.py src/*", ".eslintrc", "-fno-x"],
)  # fmt: skip
def test_other_arguments_are_none(line: str) -> None:
    assert not touches_hook(line.split())


def test_what_climbs_is_found_behind_options() -> None:
    assert all(map(climbs, ("a/../../x", "--output=a/../x", "-o../x", "..")))
    assert not any(map(climbs, ("HEAD~3..HEAD", "a..b/c", "--output=x", "@{u}..")))


def test_operands_that_lead_out_are_found() -> None:
    assert all(map(leads_out, ("/x", "~/x", "../x", "a/../../x", "/tmp/../x")))
    assert not any(map(leads_out, ("a", "./a", "/tmp/x/a", "-I/x", "a..b", ".eslintrc")))
