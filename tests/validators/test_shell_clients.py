"""Clients ask servers, send to this machine alone, and write inside."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_clients import CLIENTS, client_rule, sends_input

PASSING = [
    "curl -fsSL https://x.example/a -o a", "curl -H Accept:x https://x.example", "curl -X POST -d @a http://localhost:3000/x", "curl -O https://x.example/a",
    "curl -s -o /dev/null -w %{http_code} https://x.example", "wget -qO- https://x.example", "wget -nv -P dl https://x.example/a", "http localhost:8000/x a=b",
    "http GET https://x.example Accept:x", "curl -b a=b https://x.example",
]  # fmt: skip
SENDING = [
    "curl -d a https://x.example", "curl -sd a https://x.example", "curl -H @f https://x.example", "curl -H@f https://x.example", "curl --header=@f https://x.example",
    "curl --resolve a:1:2 -d x http://localhost/", "curl --connect-to a:1:b:2 -d x http://localhost/", "curl -d x 2130706433", "curl -T x telnet://x.example",
    "curl telnet://x.example", "curl file:///etc/x", "curl -b cookies https://x.example", "curl -w @f https://x.example", "curl -d x", "http x.example a=b",
    "http POST https://x.example a@f", "wget --post-file=x https://x.example", "curl -d x http://localhost/ https://x.example/",
]  # fmt: skip
REFUSED = [
    "wget -qP /home/u/x https://x.example", "wget -a /home/u/x https://x.example", "wget --save-cookies /home/u/x https://x.example", "curl -OJ https://x.example",
    "curl -c/home/u/x https://x.example", "curl --output-d x https://x.example", "wget --post-f=x https://x.example", "curl --data-b @x https://x.example",
    "curl -K x https://x.example", "curl -x x https://x.example", "wget -i x", "wget -qO.git/hooks/x https://x.example", "curl -so ~/x https://x.example",
]  # fmt: skip


def rule(line: str, made: set[str] | None = None) -> str | None:
    name, *texts = line.split()
    assert name in CLIENTS
    return client_rule(name, texts, set() if made is None else made)


@pytest.mark.parametrize("line", PASSING)
def test_asking_for_something_passes(line: str) -> None:
    assert rule(line) is None


@pytest.mark.parametrize("line", SENDING)
def test_nothing_is_sent_to_another_machine(line: str) -> None:
    assert rule(line) == "sends_away"


@pytest.mark.parametrize("line", REFUSED)
def test_nothing_is_written_elsewhere_and_no_other_option_passes(line: str) -> None:
    assert rule(line) in {"outside", "option"}


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("curl -o d/a https://x.example/b", {"d/a", "a"}),
        ("curl -sO https://x.example/b", {"b"}),
        ("wget https://x.example/b", {"b"}),
        ("wget -O - https://x.example/b", set()),
        ("curl https://x.example/b", set()),
    ],
)
def test_what_is_written_is_kept(line: str, made: set[str]) -> None:
    found: set[str] = set()
    assert rule(line, found) is None
    assert found == made


def test_input_is_sent_by_those_that_ask_for_it_unasked() -> None:
    assert sends_input("http", ["x.example"])
    assert not sends_input("http", ["localhost:8000"])
    assert not sends_input("curl", ["x.example"])
