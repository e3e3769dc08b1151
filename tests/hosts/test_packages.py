"""Which command lines take a package in whatever version is newest."""

import re

import pytest

from gatewright.hosts.packages import unpinned


@pytest.mark.parametrize(
    ("line", "package", "pin"),
    [
        ("npx -y @scope/name", "@scope/name", "@scope/name@VERSION"),
        ("npx -y name@latest", "name@latest", "name@VERSION"),
        ("npx --package=name bin", "name", "name@VERSION"),
        ("npx -p name bin", "name", "name@VERSION"),
        ("/usr/bin/npx name", "name", "name@VERSION"),
        ("npx.cmd name@^1.2", "name@^1.2", "name@VERSION"),
        ("bunx name", "name", "name@VERSION"),
        ("pnpm dlx name", "name", "name@VERSION"),
        ("uvx name", "name", "name==VERSION"),
        ("uvx --from name bin", "name", "name==VERSION"),
        ("uvx --with extra name@latest", "name@latest", "name==VERSION"),
        ("uv tool run name[cli]", "name[cli]", "name==VERSION"),
        ("pipx run name", "name", "name==VERSION"),
        ("docker run -i --rm -e A image", "image", "image@sha256:DIGEST"),
        (
            "docker run -it --name=x -v a:b mcp/image:latest x",
            "mcp/image:latest",
            "mcp/image@sha256:DIGEST",
        ),
        ("podman run h:5000/a/b", "h:5000/a/b", "h:5000/a/b@sha256:DIGEST"),
    ],
)
def test_a_package_without_a_version_is_named_with_a_way_to_pin_it(
    line: str, package: str, pin: str
) -> None:
    command, *args = line.split()
    for found in (unpinned(command, args), unpinned(line, ())):
        assert found is not None
        assert (found.package, found.pin) == (package, pin)
        assert (found.name, found.kind) == (re.split("@VER|==|@sha", pin)[0], found.kind)


@pytest.mark.parametrize(
    "line",
    [
        "npx -y @scope/name@1.2.3",
        "npx name@1.2.3-beta.1",
        "uvx name==1.2.3",
        "uvx name@1.2.3",
        "uvx --from git+https://g.example/a/b x",
        "docker run -i image:1.2.3",
        "docker run -i image@sha256:0123",
        "docker compose up",
        "uv run server.py",
        "npm start",
        "node server.js",
        "docker run",
        "npx",
        "npx ./local",
        "",
    ],
)
def test_what_is_pinned_or_no_package_is_left_alone(line: str) -> None:
    command, *args = line.split() or [""]
    assert unpinned(command, args) is None
