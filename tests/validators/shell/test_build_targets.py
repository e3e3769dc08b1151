"""Goals of build tools, values that lead out, settings of git."""

import pytest

from gatewright.validators.shell.build_targets import is_git_setting, is_goal, leads_out, publishes


@pytest.mark.parametrize("goal", ["deploy", "publish", "publishToMavenCentral", "release:perform", "exec:exec", "db:drop", "ecto.reset", "org.evil:plugin:1:run"])  # fmt: skip
def test_what_publishes_or_destroys_is_refused_by_its_name(goal: str) -> None:
    assert publishes(goal, "mvn")
    assert not publishes(goal, "make")


@pytest.mark.parametrize(
    "goal", ["test", "clean", "package", ":app:assembleDebug", "spotless:apply"]
)
def test_what_builds_is_not(goal: str) -> None:
    assert not publishes(goal, "mvn")


def test_a_goal_is_a_name() -> None:
    assert is_goal("//src:a")
    assert is_goal("//...")
    assert not is_goal("../x")
    assert not is_goal("https://x.example")


@pytest.mark.parametrize(
    "value",
    [
        "/tmp/x",
        "x=/home/u/x",
        "-I/tmp/x",
        "~/x",
        "../x",
        "a,/var/x",
        "..",
        "~",
        "out=..",
        "x=~",
        "~dev/x",
        "~dev",
    ],
)
def test_values_lead_out(value: str) -> None:
    assert leads_out(value, None)


@pytest.mark.parametrize(
    "value",
    [
        "/usr/lib",
        "a/b",
        "x",
        "https://x.example/home/u",
        "/api/v1",
        "HEAD~",
        "@~2",
        "main..dev",
        "..main",
        "./...",
        "~2",
    ],
)
def test_other_values_stay_inside(value: str) -> None:
    assert not leads_out(value, None)


def test_settings_of_git_change_only_its_looks() -> None:
    assert is_git_setting("color.ui=always")
    assert is_git_setting("user.email=a@x.example")
    assert not any(
        map(
            is_git_setting,
            ["core.pager=x", "alias.x=!id", "core.hookspath=x", "log.showSignature=true"],
        )
    )
