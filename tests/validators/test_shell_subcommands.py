"""Programs that are many in one: the subcommands that read, and the others."""

import pytest

from gatewright.validators.shell_programs import program_rule
from gatewright.validators.shell_subcommands import WITH_SUBCOMMANDS
from gatewright.validators.shell_syntax import read

READING = [
    "git --no-pager log -3",
    "git branch --contains abc",
    "git branch --merged main",
    "git branch --list 'feature/*'",
    "git tag -l 'v1.*'",
    "git remote",
    "git remote -v",
    "git remote show origin",
    "git remote get-url origin",
    "git config user.email",
    "git config --global user.name",
    "git config --list --show-origin",
    "git worktree list",
    "git submodule status",
    "git check-ignore -v x.o",
    "kubectl -n prod get pods",
    "kubectl --context=x get nodes",
    "kubectl get pods -o 'jsonpath={.items[*].spec.secret.name}'",
    "kubectl get pods -l app=secret",
    "kubectl logs -f web-0",
    "kubectl config get-contexts",
    "kubectl rollout status deploy/web",
    "kubectl auth can-i list pods",
    "docker image ls",
    "docker compose ps",
    "docker compose -p x logs web",
    "docker network inspect bridge",
    "systemctl --failed",
    "systemctl --user status x",
    "systemctl --type=service --state=running",
    "timedatectl",
    "localectl status",
    "resolvectl query example.net",
    "npm ls --depth 0",
]

OTHER = {
    "git --no-pager push": "subcommand",
    "git --no-pager -c core.pager=sh log": "subcommand",
    "git -C x status": "subcommand",
    "git --git-dir=x log": "subcommand",
    "git branch --contains x -D y": "option",
    "git branch --list -D x": "option",
    "git branch -v new": "operand",
    "git branch -l new": "operand",
    "git tag -l -d v1": "option",
    "git tag -n3 new": "operand",
    "git remote show https://example.net/x": "operand",
    "git remote get-url -x": "option",
    "git remote -v update": "subcommand",
    "git config user.email x": "option",
    "git config --get user.email --edit": "option",
    "git config --add user.email x": "option",
    "git config --file f user.email": "option",
    "git worktree remove x": "subcommand",
    "git submodule update": "subcommand",
    "kubectl -n prod delete pod x": "subcommand",
    "kubectl -n prod get secrets": "operand",
    "kubectl get pods,secrets": "operand",
    "kubectl get pod/x,secret/y": "operand",
    "kubectl describe Secret/x": "operand",
    "kubectl get secrets.v1.": "operand",
    "kubectl get -f x.yaml": "option",
    "kubectl describe --filename=x": "option",
    "kubectl cluster-info dump": "operand",
    "kubectl get pods --profile=cpu --profile-output=x": "option",
    "kubectl get pods --as-group=x": "option",
    "kubectl config view --raw": "option",
    "kubectl config use-context x": "subcommand",
    "kubectl rollout restart deploy/web": "subcommand",
    "docker image rm x": "subcommand",
    "docker compose -f x up": "subcommand",
    "docker -H tcp://x ps": "subcommand",
    "systemctl --user enable x": "subcommand",
    "systemctl --failed restart x": "subcommand",
    "systemctl -H x status": "subcommand",
    "timedatectl set-ntp true": "subcommand",
    "resolvectl dns eth0 x": "subcommand",
    "npm view x --script-shell=x": "option",
}


@pytest.mark.parametrize("line", READING)
def test_subcommands_that_read_pass(line: str) -> None:
    (words,) = read(line, pipes=False)
    assert program_rule(words) is None


@pytest.mark.parametrize(("line", "rule"), OTHER.items())
def test_everything_else_is_refused_with_the_reason(line: str, rule: str) -> None:
    (words,) = read(line, pipes=False)
    assert program_rule(words) == rule


@pytest.mark.parametrize("name", WITH_SUBCOMMANDS)
def test_unseen_arguments_go_to_none_of_them(name: str) -> None:
    (words,) = read(name, pipes=False)
    assert program_rule(words, appended=True) == "unknown_arguments"
