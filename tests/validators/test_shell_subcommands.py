"""Programs that are many in one: the subcommands that read, and the others."""

from collections.abc import Iterator

import pytest

from gatewright.validators.shell_builds import BUILDING
from gatewright.validators.shell_options import Program, option_rule
from gatewright.validators.shell_programs import PROGRAMS, program_rule
from gatewright.validators.shell_subcommands import WITH_SUBCOMMANDS
from gatewright.validators.shell_syntax import Word, read

READING = [
    "git --no-pager log -3",
    "git branch --contains abc",
    "git branch --merged main",
    "git branch --list 'feature/*'",
    "git tag -l 'v1.*'",
    "git tag -n -l 'v1.*'",
    "git tag -n 'v1.*'",
    "git tag -n3 'v1.*'",
    "git tag --sort -v:refname -l 'v*'",
    "git branch --sort -committerdate --list x",
    "git branch -a --sort -committerdate --list x",
    "git log output",
    "git log -S output",
    "git diff -- output",
    "git log --format=%an",
    "git tag --sort=-creatordate --list 'v*'",
    "git tag --sort creatordate -l 'v*'",
    "git tag --list --format '%(refname)' 'v*'",
    "git branch -a --no-color --list 'x*'",
    "git branch --list -- 'x*'",
    "git grep -e x -- src",
    "git remote",
    "git remote -v",
    "git remote show origin",
    "git remote get-url origin",
    "git config user.email",
    "git config --global user.name",
    "git config --list --show-origin",
    "git config list",
    "git config branch.main.remote",
    "git blame -L 1,5 f",
    "git rev-list --count HEAD",
    "git stash list -3",
    "git reflog -5",
    "pip list --outdated --format=json --exclude x",
    "pip list --local -v",
    "pip show -f requests",
    "pip3 freeze --all --user",
    "pip check",
    "npm view @scope/x@^1.2 versions dist-tags.latest --json",
    "npm view x",
    "npm outdated",
    "apt list --installed",
    "apt-cache policy -t stable bash",
    "docker history -H x",
    "docker ps --namespace --no-trunc",
    "podman images --format json",
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
    "git tag --format --list v9": "operand",
    "git tag --sort -n v9": "operand",
    "git tag --cleanup -l v9": "option",
    "git tag v9 -- --list": "operand",
    "git tag --points-at HEAD --no-points-at v9": "option",
    "git branch --sort --list new": "operand",
    "git branch --format --merged new": "operand",
    "git branch --track --list new": "option",
    "git branch --list --no-list new": "option",
    "git branch --list --no-l new": "option",
    "git branch --points-at=HEAD --no-points-at new": "option",
    "git branch --format -- --sort --list -D main": "option",
    "git branch --format -- --sort --list new": "operand",
    "git grep -e -- -Osh": "option",
    "git stash list -- --ext-diff -p": "option",
    "git stash list -- --outp=f": "option",
    "kubectl get pods -n -- --kubeconfig=x": "option",
    "git remote show https://example.net/x": "operand",
    "git remote get-url -x": "option",
    "git remote -v update": "subcommand",
    "git config user.email x": "option",
    "git config --get user.email --edit": "option",
    "git config --add user.email x": "option",
    "git config --file f user.email": "option",
    "git config edit": "option",
    "git config --edit": "option",
    "git config -e": "option",
    "git config --edi": "option",
    "git config --global edit": "option",
    "git config unset x.y": "option",
    "git blame --output=x f": "option",
    "git annotate --outp x f": "option",
    "git rev-list --output=x HEAD": "option",
    "git stash list --output=x": "option",
    "git reflog --ext-diff -p": "option",
    "git log --show-sig": "option",
    "git log --format=%G?": "operand",
    "git log --pretty=format:%h%+GS": "operand",
    "git rev-list --format=%GK HEAD": "operand",
    "git stash list --format '%<(20)%GK'": "operand",
    "git for-each-ref --format='%(signature)'": "operand",
    "git for-each-ref --format='%(*signature:key)'": "operand",
    "git for-each-ref --sort=-signature": "operand",
    "git tag --sort -signature:grade -l": "operand",
    "git branch --format='%(signature:key)' --list": "operand",
    "git branch --format --sort -delete main": "option",
    "git branch --format --sort -D main": "option",
    "git branch --sort -D main": "option",
    "git branch -- --sort -move a": "option",
    "git grep --textconv x": "option",
    "git tag -l -v x": "option",
    "git tag --contains x --edit": "option",
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
    "kubectl logs -fs example.net web": "option",
    "kubectl logs -fps example.net web": "option",
    "kubectl config view --flatten": "option",
    "kubectl config view --fl=true": "option",
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
    "npm view https://example.net/x.tgz": "operand",
    "npm view git+ssh://git@example.net/x": "operand",
    "npm view somebody/x": "operand",
    "npm view x@npm:y": "operand",
    "pip freeze -r https://example.net/r.txt": "option",
    "pip freeze -lr x": "option",
    "pip list -ofx": "option",
    "pip list --ind x": "option",
    "pip show -i x y": "option",
    "apt list --OPTION=Dir::Bin::dpkg=/tmp/x": "option",
    "apt-cache policy -p /tmp/x": "option",
    "apt-cache search x --Pkg-Cache=/tmp/x": "option",
    "kubectl get pods --profile_output=x": "option",
    "podman ps --url=ssh://example.net": "option",
    "podman inspect x --runtime /tmp/x": "option",
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


def leaves(name: str, program: Program) -> Iterator[tuple[str, Program]]:
    """Each line of a program and its subcommands, and what is known of it."""
    if program.subs is None:
        yield name, program
        return
    for sub, described in program.subs.items():
        yield from leaves(f"{name} {sub}", described)


LEAVES = [found for name in WITH_SUBCOMMANDS for found in leaves(name, WITH_SUBCOMMANDS[name])]
PIP = (
    "index-url extra-index-url find-links trusted-host proxy cert client-cert log log-file local-log cache-dir python keyring-provider src "
    "config-settings requirement exists-action use-feature retries timeout"
)
ELSEWHERE = {
    "pip": PIP,
    "pip3": PIP,
    "npm": "registry script-shell userconfig globalconfig prefix cache proxy https-proxy cafile logs-dir git node-options viewer editor",
    "kubectl": "server kubeconfig kuberc token cache-dir profile-output as as-group as-uid log-file log-dir client-key raw flatten",
    "docker": "host config tlscacert tlscert tlskey",
    "podman": "url connection identity remote root runroot runtime conmon module hooks-dir out config storage-opt tmpdir ssh",
    "systemctl": "host machine root image",
    "timedatectl": "host machine",
    "loginctl": "host machine",
    "hostnamectl": "host machine",
    "localectl": "host machine",
    "apt": "option config-file",
    "apt-cache": "option config-file pkg-cache src-cache",
}
"""Long options that write a file, run a program or lead to another host, behind whatever subcommand."""


@pytest.mark.parametrize(
    "line", [line for line, _ in LEAVES if line.partition(" ")[0] in ELSEWHERE]
)
def test_no_subcommand_writes_runs_or_goes_elsewhere_by_an_option(line: str) -> None:
    """MGP-4.5-2"""
    for option in ELSEWHERE[line.partition(" ")[0]].split():
        for spelled in (f"{line} --{option}=x", f"{line} --{option} x"):
            assert judged(spelled) is not None, spelled


@pytest.mark.parametrize(("line", "program"), [leaf for leaf in LEAVES if leaf[1].long])
def test_a_refused_option_is_refused_however_it_is_shortened_and_spelled(
    line: str, program: Program
) -> None:
    for name in program.long:
        spelled = {name[:end] for end in range(1, len(name) + 1)}
        spelled |= {one.upper() for one in spelled} | {one.replace("-", "_") for one in spelled}
        for one in spelled:
            assert judged(f"{line} --{one}=x") is not None, one
            assert judged(f"{line} --{one} x") is not None, one


BEHIND = [
    (line, program)
    for known in (PROGRAMS, BUILDING)
    for name in known
    for line, program in leaves(name, known[name])
    if program.check is None and (program.long or program.short)
]
"""Each program and subcommand some of whose options are refused by name."""


@pytest.mark.parametrize(("line", "program"), BEHIND, ids=[line for line, _ in BEHIND])
def test_nothing_hides_a_refused_option_behind_it(line: str, program: Program) -> None:
    """Whatever option may take `--`, or another option, for its value."""
    hiding = [*(f"-{one}" for one in program.valued), "-e", "--any", "-PI a", ""]
    values = ["--", "x --", "-- --", "-- x", "--other", "--other --"]
    refused = [f"-{one}" for one in program.short] + [f"--{one}=x" for one in program.long]
    for option in refused:
        for before in (f"{one} {value}" for one in hiding for value in values):
            words = [Word(one) for one in f"{before} {option}".split()]
            assert option_rule(program, words) is not None, (before, option)


@pytest.mark.parametrize("line", ["git branch", "git tag"])
@pytest.mark.parametrize(
    "choosing", ["--list", "--merged", "--contains", "--points-at", "-l", "-n"]
)
def test_no_value_and_no_operand_chooses(line: str, choosing: str) -> None:
    for before in ("--format", "--sort", "--any", "--sort x --format", "--", "--sort --", "-a --"):
        for behind in ("", "--sort", "--"):
            words = [Word(one) for one in f"{line} {before} {choosing} new {behind}".split()]
            assert program_rule(words) is not None, words


def judged(line: str) -> str | None:
    (words,) = read(line, pipes=False)
    return program_rule(words)
