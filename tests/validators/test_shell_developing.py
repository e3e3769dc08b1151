"""Programs of the preset `develop`, each in uses inside the workspace and in others."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_developing import DEVELOPING, NODE_TOOLS, REFUSED_PROGRAMS
from gatewright.validators.shell_options import option_rule
from gatewright.validators.shell_syntax import Word

INSIDE = [
    "rm -rf dist", "mkdir -p a/b", "cp a b", "mv a b", "ln -s a b", "chmod +x a", "chmod 755 a", "sed -i.bak -e /x/d a", "tar -xzf a.tgz -C b", "unzip -q a.zip -d b",
    "git restore --staged a", "git merge --no-ff x", "git tag -a v1 -m x", "git branch -d x", "git reset --soft HEAD~1", "git submodule update --init", "git commit --amend",
    "pip install -r requirements.txt", "python -m pytest -q", "python -u a.py", "node --test", "php -l a.php", "bash -n a.sh", "source .venv/bin/activate",
    "set -euo pipefail", "java -jar build/a.jar", "go run ./cmd/x", "go get example.org/a/b@v1", "cargo +nightly fmt", "bun install", "sort -u a -o a", "yq -i .a=1 a.yml",
]  # fmt: skip
OTHER = [
    "rm -rf /", "rm -rf *", "rm -rf .git", "mkdir ~/x", "cp a ~/x", "cp a host:x", "mv a /x", "ln -s /etc a", "chmod u+s a", "chmod 4755 a", "sed -i s/a/b/e a", "sed -i s/a/b/ /x",
    "tar -xf a -C /", "tar -I sh -cf a b", "tar --to-command=sh -xf a", "unzip a -d /", "git restore .", "git reset --hard", "git branch -D x", "git tag -d x", "git rebase -x id",
    "git bisect run id", "git submodule foreach id", "git apply --unsafe-paths a", "git archive --remote=x HEAD", "git commit -F x", "git clean -fdx", "git merge -s x y",
    "pip install https://x/a.whl", "pip install --index-url x a", "python -c id", "python -m x", "python /tmp/a.py", "node -e id", "node -r ./x a.js", "perl -e id", "ruby -r/x a",
    "bash -c id", "bash a.sh", "source a", "set -x y", "java -javaagent:x -jar a", "go run x@latest", "go run -exec sh .", "cargo install x", "bun x y", "sort -o ~/a a", "tsx -e id",
]  # fmt: skip


def rule(line: str) -> str | None:
    name, *rest = line.split()
    return option_rule(DEVELOPING[name], [Word(one) for one in rest])


@pytest.mark.parametrize("line", INSIDE)
def test_what_stays_inside_passes(line: str) -> None:
    assert rule(line) is None


@pytest.mark.parametrize("line", OTHER)
def test_what_leads_outside_is_refused(line: str) -> None:
    assert rule(line) is not None


def test_what_is_refused_by_its_name_has_its_reason() -> None:
    for name, why in REFUSED_PROGRAMS.items():
        if DEVELOPING.get(name) is not None and DEVELOPING[name].check is not None:
            assert rule(name) == why, name


def test_no_tool_takes_what_is_elsewhere() -> None:
    for name in NODE_TOOLS - {"rimraf", "mkdirp"}:
        assert rule(f"{name} --config=/tmp/x") is not None, name
