"""The programs that the allow-list mode knows, each in uses that read and in others."""

import pytest

from gatewright.validators.shell_options import Program
from gatewright.validators.shell_programs import PROGRAMS, program_name, program_rule
from gatewright.validators.shell_syntax import Word, read

READING = [
    "ls -la",
    "/bin/ls",
    "/usr/bin/wc -l f",
    "cat a b",
    "grep -rn x src",
    "sort -t: -k2,2n f",
    "uniq -c",
    "uniq -f 1 f",
    "tree -L 2 -P '*.py'",
    "file -b f",
    "xxd -l 16 f",
    "hostname -I",
    "man 5 crontab",
    "journalctl -u x -n 20 --no-pager",
    "ss -tlnp",
    "yq .a f.yml",
    "xmllint --xpath //a f.xml",
    "unzip -l a.zip",
    "gzip -l a.gz",
    "top -b -n 1",
    "systemctl status x",
    "git log --oneline -5",
    "git diff HEAD~1 -- f",
    "git log -- -weird",
    "grep -e a -- -b",
    "rg pat -- -weird-file",
    "sort -k 2 -- f",
    "xxd -ps f",
    "xxd -c 8 -g1 -- f",
    "xxd --len 16 -",
    "git branch -a",
    "git stash list",
    "git config --get user.name",
    "kubectl get pods -n x",
    "docker ps -a",
    "pip list",
    "npm ls",
    "apt list --installed",
    "dpkg -l",
    "rpm -qa",
    "python3 --version",
    "node -v",
    "java -version",
    "printf %s x",
    "jq .a f.json",
    "dig +short example.net",
    "base64 -d f",
    "getent hosts example.net",
    "lastlog -u x",
    "units -o %.3f feet meters",
    "pidstat -u -p 1 5",
    "pmap -x 1",
    "cloc --by-file --exclude-dir=x .",
    "less -RS +G f",
    "zless f.gz",
    "gzip -dc f.gz",
    "gunzip --stdout f.gz",
    "xz -l f.xz",
    "mount",
    "mount -l",
    "mount -t ext4",
    "swapon --show",
    "sysctl -n vm.swappiness",
    "python3 -V",
    "go version",
    "make --version",
    "yq '.spec.payload' f.yml",
]

OTHER = {
    "rm x": "unknown_program",
    "sh": "unknown_program",
    "curl http://example.net": "unknown_program",
    "./ls": "unknown_program",
    "/home/x/bin/ls": "unknown_program",
    "/bin/../tmp/ls": "unknown_program",
    "LS": "unknown_program",
    "tee f": "unknown_program",
    "vi f": "unknown_program",
    "sort -o f f": "option",
    "sort -uof f": "option",
    "sort --output=f": "option",
    "sort --compress-prog=sh": "option",
    "sort -k 1 -o f": "option",
    "uniq in out": "operand",
    "tree -o f": "option",
    "tree -aR": "option",
    "file -C -m x": "option",
    "xxd -r f": "option",
    "xxd in out": "operand",
    "xxd -ps in out": "operand",
    "xxd -pl in out": "operand",
    "xxd in -l": "operand",
    "xxd -- in -ps": "operand",
    "xxd --rev f": "option",
    "xxd -l 16 -revert f": "option",
    "uniq -- -- out": "operand",
    "tree -PI a -- -o out": "option",
    "tree -P -- -ao out": "option",
    "rg -e -- --pre=sh f": "option",
    "man -L -- -P ./x ls": "option",
    "journalctl -u -- --vacuum-size=1": "option",
    "sort -t -- -o f": "option",
    "printf -- -v x": "option",
    "hostname new": "operand",
    "hostname -F f": "option",
    "man -P sh ls": "option",
    "man --pager=sh ls": "option",
    "dmesg -C": "option",
    "journalctl --vacuum-size=1": "option",
    "ss -K": "option",
    "ifconfig eth0 down": "operand",
    "route add x": "operand",
    "yq -i .a=1 f": "option",
    "yq --inplace .a=1 f": "option",
    "xmllint --output f g": "option",
    "xmllint -shell f": "option",
    "unzip a.zip": "option",
    "unzip -l a.zip -d /x": "option",
    "gzip f": "option",
    "top": "option",
    "systemctl stop x": "subcommand",
    "git push": "subcommand",
    "git -c core.pager=sh log": "subcommand",
    "git --exec-path=. log": "subcommand",
    "git log --output=f": "option",
    "git diff --ext-diff": "option",
    "git grep -Osh x": "option",
    "git branch -D x": "option",
    "git branch new": "operand",
    "git tag v1": "operand",
    "git remote add x y": "subcommand",
    "git stash": "subcommand",
    "git stash pop": "subcommand",
    "git config user.name x": "option",
    "kubectl delete pod x": "subcommand",
    "kubectl get pods --kubeconfig=x": "option",
    "docker run x": "subcommand",
    "pip install x": "subcommand",
    "npm install": "subcommand",
    "apt install x": "subcommand",
    "dpkg -i x.deb": "option",
    "rpm -e x": "option",
    "rpm -q --pipe sh x": "option",
    "python3 -c x": "inline_code",
    "python3 f.py": "inline_code",
    "perl -e x": "inline_code",
    "printf -v x y": "option",
    "lshw -dump f": "option",
    "sdiff -o f a b": "option",
    "shuf --output f": "option",
    "lsof -D x": "option",
    "sar -o f": "option",
    "arp -d x": "option",
    "rg --pre sh x": "option",
    "nm --plugin=x f": "option",
    "diff3 --diff-program=sh a b c": "option",
    "zstdcat -o f g": "option",
    "zstdcat --trace f g": "option",
    "test -v x": "option",
    "systemctl status -H host": "option",
    "journalctl -M x": "option",
    "git reflog expire": "operand",
    "kubectl get secrets": "operand",
    "pip list --log f": "option",
    "npm ls --script-shell=sh": "option",
    "apt list -o X=y": "option",
    "dpkg -l --pre-invoke=sh": "option",
    "iconv -o f g": "option",
    "fd -x rm": "option",
    "crontab -r": "option",
    "sysctl -w x=1": "option",
    "ldd f": "unknown_program",
    "base64 -o f g": "option",
    "in2csv --write-sheets - f": "option",
    "getent shadow": "operand",
    "getent gshadow x": "operand",
    "lastlog -C -u x": "option",
    "units -L f": "option",
    "pidstat -e sh": "option",
    "pidstat 1 -e sh": "option",
    "pmap -N f": "option",
    "pmap --create-rc-to=f": "option",
    "nstat -r": "option",
    "cloc --extract-with=sh f": "option",
    "cloc -extract-with=sh f": "option",
    "cloc --out=f .": "option",
    "ack --output=x y": "option",
    "less -Xof f": "option",
    "less +!id f": "operand",
    "more +!id f": "operand",
    "gzip -d f.gz": "option",
    "gunzip f.gz": "option",
    "xz -c -S x f": "option",
    "mount --target=x": "option",
    "mount -t ext4 x": "option",
    "swapon f": "option",
    "sysctl -n kernel.x=1": "operand",
    "sysctl -a kernel.x=1": "operand",
    "sysctl -p f": "option",
    "yq 'load(\"f\")' g": "operand",
    "yq '.a = load_str(\"f\")' g": "operand",
    "python3 -v": "inline_code",
    "node version": "inline_code",
    "R version": "inline_code",
    "bash --version -c x": "unknown_program",
    "bash -v": "unknown_program",
}


@pytest.mark.parametrize("line", READING)
def test_known_programs_may_be_used_to_read(line: str) -> None:
    (words,) = read(line, pipes=False)
    assert program_rule(words) is None


@pytest.mark.parametrize(("line", "rule"), OTHER.items())
def test_everything_else_is_refused_with_the_reason(line: str, rule: str) -> None:
    (words,) = read(line, pipes=False)
    assert program_rule(words) == rule


def test_a_program_is_known_by_its_name_in_the_folders_of_the_system_only() -> None:
    assert program_name("/usr/local/bin/jq") == "jq"
    assert program_name("/opt/bin/jq") == "/opt/bin/jq"
    assert program_name("jq") == "jq"


def test_unseen_arguments_go_to_open_programs_only() -> None:
    assert program_rule([Word("cat")], appended=True) is None
    assert program_rule([Word("sort")], appended=True) == "unknown_arguments"
    assert program_rule([], appended=True) == "empty"


def test_an_operators_program_is_known_beside_the_others() -> None:
    known = {**PROGRAMS, "deploy": Program()}
    assert program_rule([Word("deploy"), Word("--now")], known) is None


WITHOUT_VALUE = {
    # What has no value, by the manuals, and what is refused.
    "lsof": ("abhlnNOPRtUvVXM", "D"),
    "tree": ("adfilpsughDFqNQArtUcxJXCSnLPIHT", "oR"),
    "journalctl": ("afrxeqmkNl", "M"),
    "sort": ("bdfghiMnRrVcCmsuz", "oT"),
    "shuf": ("erz", "o"),
    "dmesg": ("HkLPrSTtuwWx", "CcDEn"),
    "ss": ("hVnraloemipTsbEZz0460tudwxSHOQ", "KDNF"),
    "arp": ("avne", "sdfD"),
    "fd": ("HIuaLpgFisl0", "xX"),
    "iconv": ("cls", "o"),
    "base64": ("di", "o"),
    "units": ("chpqstv1", "L"),
    "yq": ("CMnPrNj0", "is"),
    "git grep": ("aIrivwhHnlLcozEGFPpWq", "O"),
    "git branch": ("rvaql", "dDmMcCuf"),
    "git tag": ("l", "adefsuvFm"),
    "kubectl logs": ("fp", "s"),
    "kubectl get": ("AwR", "s"),
    "apt list": ("avqyd", "ocps"),
}


@pytest.mark.parametrize("name", WITHOUT_VALUE)
def test_a_letter_without_a_value_hides_no_refused_one(name: str) -> None:
    harmless, refused = WITHOUT_VALUE[name]
    passing = [
        line
        for letter in refused
        for before in ("", *harmless, harmless)
        for line in (f"{name} -{before}{letter} x", f"{name} -{before}{letter}x")
        if program_rule([Word(one) for one in line.split()]) is None
    ]
    assert passing == []
