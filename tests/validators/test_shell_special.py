"""Programs whose arguments are a language of their own."""

import pytest

from gatewright.validators.shell_programs import program_rule
from gatewright.validators.shell_syntax import read

READING = [
    "find . -name '*.py' -mtime -10 -size +5k -perm -u+x -print0",
    "find -L / -maxdepth 2 ! -path './x/*' -newermt 2020-01-01 -ls",
    "find . \\( -type f -o -type d \\) -printf '%p\\n'",
    "date",
    "date -u +%F",
    "date -d yesterday",
    "date -Iseconds",
    "date --date=now --iso-8601=seconds",
    "date --date now --utc",
    "date -r f",
    "sed -n 5p f",
    "sed -e s/a/b/ -e d f",
    "sed -nE 's/a/b/p' f",
    "sed --expression=p --quiet f",
    "sed --expression p f",
    "sed p -",
    "awk '{print $1}' f",
    "awk -F: -v n=1 '$1 > n' f",
    "awk -- '{print}' f",
    "tar tf a.tar",
    "tar -tvzf a.tgz",
    "tar --list --file=a.tar",
    "ip addr",
    "ip -4 route show",
    "ip a s eth0",
    "ip -br a",
    "ip r s",
    "ip n s",
    "ip l sh",
    "ip l ls",
    "ip link show eth0",
    "ip ro get 10.0.0.1",
    "ip r g 10.0.0.1",
    "ip ru l",
    "ip",
    "command -v ls",
    "env",
    "env -i LC_ALL=C sort f",
    "env -u X ls",
    "xargs",
    "xargs -0 -n 1 grep x",
    "xargs -I{} cat {}",
    "xargs -P4 wc -l",
    "time -p ls",
    "time sort f",
    "nice -n5 ls",
    "timeout 5 ls",
    "timeout -v 2.5m grep x f",
    "stdbuf -oL cat f",
    "stdbuf -o L cat f",
    "nice -n 10 ls",
    "timeout -s INT -k 5 10 ls",
    "tar tf a.tar --wildcards '*.txt'",
]

OTHER = [
    "nice -n ls rm x",
    "nice -n 10 sh",
    "timeout -k 5 sh",
    "timeout -s KILL 5 sh",
    "stdbuf -o sh",
    "date --utc 010100002030",
    "date -dnow 010100002030",
    "date -d now 010100002030",
    "date --date=now 010100002030",
    "awk -v n=1 'BEGIN{system(\"id\")}'",
    "awk -o",
    "awk -- 'BEGIN{system(\"id\")}'",
    "tar t --to-command=sh",
    "tar f a",
    "tar txf a",
    "ip netns",
    "env -u X rm",
    "xargs -n 1 rm",
    "sed -n -e p -f script",
    "find . -delete",
    "find . -exec cat {} +",
    "find . -execdir id",
    "find . -ok id",
    "find . -okdir id",
    "find . -fprint f",
    "find . -fprintf f x",
    "find . -fls f",
    "find . -files0-from f",
    "find . -unheard",
    "date -s now",
    "date -us now",
    "date --set=now",
    "date --s now",
    "date 010100002030",
    "sed -i s/a/b/ f",
    "sed -ni p f",
    "sed --in-place p f",
    "sed -f script f",
    "sed 'w out' f",
    "sed -e p -e 'e id' f",
    "sed -ne 'e id' f",
    "awk -f script f",
    "awk -i inplace '{print}' f",
    "awk 'BEGIN{system(\"id\")}'",
    "awk -F: -f x",
    "awk -o '{print}'",
    "tar xf a.tar",
    "tar",
    "tar -cf a.tar x",
    "tar tf a --checkpoint=1",
    "tar tf a -I sh",
    "tar tf host:a",
    "tar tf a --to-command=sh",
    "tar tf a -F sh",
    "ip link set eth0 down",
    "ip link s eth0 down",
    "ip l s eth0 down",
    "ip -s l se eth0 down",
    "ip l '' eth0",
    "ip a f",
    "ip -b f",
    "ip -n x a",
    "ip netns exec x sh",
    "ip -batch f",
    "ip addr add 10.0.0.1 dev x",
    "command ls",
    "command -p ls",
    "env LD_PRELOAD=x ls",
    "env PATH=. ls",
    "env -S ls",
    "env sh",
    "env -i rm x",
    "xargs rm",
    "xargs sort",
    "xargs sh -c id",
    "xargs -I{} sh -c {}",
    "xargs -p ls",
    "xargs find",
    "time",
    "time -o f ls",
    "time rm x",
    "nice rm x",
    "timeout ls",
    "timeout 5 sh",
    "timeout 5",
    "stdbuf -x ls",
]


def judged(line: str) -> str | None:
    (words,) = read(line, pipes=False)
    return program_rule(words)


# In the order in which `ip` of iproute2 (6.x) asks whether the word is the beginning of one of them.
IP = {
    "addr": "add change chg replace delete show lst list flush save showdump restore",
    "link": "add set change replace delete afstats xstats property show lst list help",
    "route": "list show lst get add change chg replace prepend append test delete flush save restore showdump",
    "neigh": "add change chg replace delete get show lst list flush",
    "rule": "list lst show save restore add delete flush",
    "maddr": "add delete list show lst",
    "mroute": "list lst show",
    "tunnel": "add change replace delete show lst list prl 6rd",
}
IP_READS = frozenset("show lst list get save showdump afstats xstats help".split())


@pytest.mark.parametrize("name", IP)
def test_each_abbreviation_for_ip_that_passes_means_what_reads(name: str) -> None:
    commands = IP[name].split()
    for verb in {one[:end] for one in commands for end in range(1, len(one) + 1)}:
        if judged(f"ip {name} {verb} x") is None:
            meant = {one for one in commands if one.startswith(verb)}
            assert meant <= IP_READS, verb
    assert judged(f"ip {name} show x") is None


@pytest.mark.parametrize("line", READING)
def test_uses_that_only_read_pass(line: str) -> None:
    assert judged(line) is None


@pytest.mark.parametrize("line", OTHER)
def test_uses_that_write_run_or_change_something_are_refused(line: str) -> None:
    """MGP-4.5-1 and MGP-4.5-2"""
    assert judged(line) is not None


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("time", "operand"),
        ("timeout", "operand"),
        ("timeout 5", "operand"),
        ("timeout soon ls", "operand"),
        ("nice -x ls", "option"),
        ("date 010100002030", "operand"),
        ("date -s now", "option"),
        ("tar tf host:a", "operand"),
        ("tar xf a", "option"),
        ("ip netns", "subcommand"),
        ("ip link set", "subcommand"),
        ("ip -batch f", "option"),
        ("sed -i p f", "option"),
        ("sed 'w f'", "script"),
        ("command ls", "runs_programs"),
    ],
)
def test_what_is_refused_has_a_reason(line: str, rule: str) -> None:
    assert judged(line) == rule
