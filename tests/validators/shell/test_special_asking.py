"""curl, wget, HTTPie, git with its remotes and settings."""

import pytest

from gatewright.validators.sandbox import prepare

DEVELOP = prepare({"allow": ["develop"]})


@pytest.mark.parametrize(
    "line",
    ["curl https://x.example/", "curl -X POST -d @a localhost:1", "curl -H 'A: b@c' https://x.example", "http x.example a==b", "http POST localhost:1 a=b", "wget -qO- https://x.example",
     "git push origin HEAD", "git fetch origin main", "git clone git@x.example:a/b", "git config user.name x", "git config --get user.name", "git remote -v"],
)  # fmt: skip
def test_what_asks_passes(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize(
    "line",
    ["curl -X DELETE https://x.example", "curl -d a https://x.example", "curl -H @a https://x.example", "curl -b jar https://x.example", "curl -w '%output{x}' https://x.example",
     "curl -T a https://x.example", "http x.example a=b", "http x.example a@f", "http DELETE x.example", "git push https://x.example/y main", "git push origin +main", "git push origin :main",
     "git clone 'ext::sh -c id' x", "git clone https://x.example/a ../b", "git config core.pager x", "git config --global user.name x", "git config --edit", "curl \"https://x.example/$(cat a)\""],
)  # fmt: skip
def test_what_sends_or_sets_does_not(line: str) -> None:
    assert DEVELOP.judge(line) is not None
