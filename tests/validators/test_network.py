"""`network_restricted`: URLs that may only lead to the public internet."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.validators.network import (
    Loose,
    Unresolved,
    addresses_rule,
    host_rule,
    prepare,
    sentence,
    url_rule,
)
from gatewright.validators.options import BadOptions

ALLOWED = [
    "https://status.example.net/",
    "http://9.9.9.9/",
    "HTTPS://Docs.Example.NET:8443/a/b?c=d#e",
    "https://[2620:fe::fe]/dns-query",
    "https://[2620:00fe:0::FE]:853/",
    "https://müller.example/",
    "https://xn--mller-kva.example/",
    "https://example.net/?to=http://10.0.0.1/",
    "https://example.net/#@localhost",
    "https://example.net/a@b/c:d",
    "https://example.net:443/",
    "http://example.net:80",
    "https://example.net./",
    "https://a_b.example.net/",
    "https://192-168-1-1.example.net/",
    "https://10.0.0.1.example.net/",
    "https://internal.example.net/localhost",
    "https://example.net?mail=a@example.org",
    "https://example.net#@somebody",
]

BLOCKED = {
    "control_character": [
        "https://example.net/ x",
        "https://example.net\t/",
        "https://exam\nple.net/",
        "https://example.net\\@127.0.0.1/",
        "https://example.net/\u202e",
        " https://example.net/",
        "https://example.net/\x00",
    ],
    "too_long": ["https://example.net/" + "a" * 9000],
    "scheme": [
        "ftp://example.net/",
        "file:///etc/hosts",
        "gopher://example.net/_x",
        "javascript:alert(1)",
        "data:text/plain,x",
        "//example.net/",
        "example.net",
        "http:example.net",
        "http:/example.net",
        "",
        "unix:/run/x.sock",
        "jar:http://example.net!/x",
    ],
    "userinfo": [
        "https://user@example.net/",
        "https://example.net@127.0.0.1/",
        "https://a:b@example.net/",
        "https://@example.net/",
        "https://example.net%40x@y/",
    ],
    "host_syntax": [
        "http:///example.net",
        "http://",
        "http://?x",
        "http://exam%70le.net/",
        "http://127.0.0.1%2f.example.net/",
        "http://[fe80::1%25eth0]/",
        "http://[::1",
        "http://a,b/",
        "http://{host}/",
        "http://$HOST/",
        "http://example.net:123456/",
        "http://example.net:x/",
        "http://a..b.net/",
    ],
    "internal_address": [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
        "http://１２７.0.0.1/",
        "http://127。0。0。1/",
        "http://0/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:a00:1::]/",
        "http://[fd00:ec2::254]/",
        "http://192.168.1.1:8080/",
    ],
    "ambiguous": [
        "http://134744072/",
        "http://8.8.2056/",
        "http://010.8.8.8/",
        "https://ｅxample.net/",
        "https://example。net/",
        "https://ⓔⓧ.net/",
    ],
    "internal_name": [
        "http://localhost/",
        "http://LOCALHOST:3000/",
        "http://localhost./",
        "http://api.localhost/",
        "http://intranet/",
        "http://metadata/",
        "http://metadata.google.internal/",
        "http://metadata.goog/",
        "http://fritz.box/",
        "http://db.internal:5432/",
        "http://printer.local/",
        "http://nas.home.arpa/",
        "http://kubernetes.default.svc/",
        "http://x.svc.cluster.local/",
        "http://10.0.0.1.nip.io/",
        "http://a.localtest.me/",
    ],
    "unreadable": ["http://1.2.3.4.5/", "http://256.1.1.1/", "http://0x1ffffffff/"],
}


@pytest.mark.parametrize("url", ALLOWED)
def test_urls_of_the_internet_pass(url: str) -> None:
    assert url_rule(url) is None


@pytest.mark.parametrize(
    ("rule", "url"), [(rule, url) for rule, urls in BLOCKED.items() for url in urls]
)
def test_urls_that_lead_elsewhere_are_refused_with_the_reason(rule: str, url: str) -> None:
    """MGP-4.5-3: local, private and metadata hosts in every form, and what programs read differently."""
    found = prepare({}).judge(url)
    assert found is not None
    assert (found.rule, found.message) == (rule, sentence(rule))


def test_a_name_is_judged_by_all_its_addresses() -> None:
    """MGP-4.5-3: a name that resolves to an internal address."""
    known = {"good.example": ["9.9.9.9"], "half.example": ["9.9.9.9", "::1"], "none.example": []}

    def resolver(name: str) -> Sequence[str]:
        try:
            return known[name]
        except KeyError:
            raise Unresolved(name) from None

    judge = prepare({}, "", resolver).judge
    found = {name: judge(f"https://{name}/") for name in (*known, "lost.example")}
    assert {name: one and one.rule for name, one in found.items()} == {
        "good.example": None,
        "half.example": "internal_address",
        "none.example": "unresolved",
        "lost.example": "unresolved",
    }
    assert judge("https://9.9.9.9/") is None


@pytest.mark.parametrize(
    ("played", "rule"),
    [
        ({"url": "http://a.example/"}, None),
        ({"url": "http://a.example/", "dns": {"a.example": [["9.9.9.9"]]}}, None),
        ({"url": "http://a.example/", "dns": {"a.example": [["9.9.9.9", "10.0.0.1"]]}}, "internal_address"),
        ({"url": "http://a.example/", "dns": {"a.example": [["9.9.9.9"], ["::1"]]}}, "internal_address"),
        ({"url": "http://a.example/", "redirects": {"http://a.example/": "http://b.example/"}}, None),
        ({"url": "http://a.example/", "redirects": {"http://a.example/": "/b"}}, None),
        ({"url": "http://a.example/", "redirects": {"http://a.example/": "//localhost/"}}, "internal_name"),
        ({"url": "http://a.example/", "redirects": {"http://a.example/": "file:///x"}}, "scheme"),
        ({"url": "http://a.example/", "redirects": {"http://a.example/": "http://a.example/"}}, "redirects"),
        ({"url": 1}, "no_url"),
        ({}, "no_url"),
        ({"url": "http://a.example/", "dns": [1]}, "no_url"),
        ({"url": "http://A.example/", "dns": {"a.EXAMPLE.": [["10.0.0.1"]]}}, "internal_address"),
        ({"url": "http://bücher.example/", "dns": {"bücher.example": [["10.0.0.1"]]}}, "internal_address"),
        ({"url": "http://a.example#x", "redirects": {"HTTP://a.example/": "http://10.0.0.1/"}}, "internal_address"),
        ({"url": "http://a.example./", "redirects": {"http://a.example": "http://10.0.0.1/"}}, "internal_address"),
        ({"url": "http://a.example/", "redirects": {"http://a.example/": ["http://10.0.0.1/"]}}, "no_url"),
        (None, "no_url"),
    ],
)  # fmt: skip
def test_look_ups_and_redirects_can_be_played(played: object, rule: str | None) -> None:
    """MGP-4.5-3: redirects, and a name that changes its mind."""
    found = prepare({}).judge(played)
    assert (found and found.rule) == rule


@pytest.mark.parametrize(("redirects", "rule"), [(3, None), (4, "redirects")])
def test_redirects_are_followed_as_often_as_the_gateway_follows_them(
    redirects: int, rule: str | None
) -> None:
    """MGP-4.5-3"""
    chain = {f"http://a.example/{n}": f"/{n + 1}" for n in range(redirects)}
    found = prepare({}).judge({"url": "http://a.example/0", "redirects": chain})
    assert (found and found.rule) == rule


def test_an_operator_can_list_the_only_hosts() -> None:
    judge = prepare({"hosts": ["api.example", ".cdn.example"]}).judge
    urls = [
        "https://api.example/",
        "https://a.cdn.example/",
        "https://cdn.example/",
        "https://x.api.example/",
    ]
    rules = [one and one.rule for one in map(judge, urls)]
    assert rules == [None, None, "not_listed", "not_listed"]


def test_options_that_nobody_knows_are_an_error() -> None:
    with pytest.raises(BadOptions):
        prepare({"host": ["x"]})


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "http://127.0.0.1/"},
        {"url": "localhost"},
        {"base_url": "10.0.0.1:8080"},
        {"host": "::1"},
        {"hostname": "2130706433"},
        {"text": "please fetch http://169.254.169.254/latest now"},
        {"text": "curl -s 192.168.0.1:80/x"},
        {"args": ["-s", "http://localhost:9200"]},
        {"deep": [{"er": {"href": "file:///etc/hosts"}}]},
        {"x": "see metadata.google.internal"},
        {"x": "(10.0.0.1), or host=127.0.0.1:80/x"},
        {"x": "http://a.example,http://localhost"},
        {"x": "0x7f000001"},
        {"x": "[::1]:80"},
        {"x": "http://user@example.net/"},
        {"http://10.0.0.1/": 1},
        {"text": "see ｈttp://１０.0.0.1/"},
    ],
)
def test_urls_and_hosts_are_found_wherever_they_stand(arguments: object) -> None:
    validator = prepare({})
    assert any(validator.judge(value) is not None for _, value in validator.parts(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "https://example.net/x"},
        {"host": "example.net"},
        {"host": "2620:fe::fe"},
        {"host": "2620::fe"},
        {
            "text": "release 1.2.3.4 of version 10.2, 0.5 and 127.1; a/10.0.0.1x; see https://example.net/."
        },
        {"text": "the local host of the party, 12:30, a:b, note: none"},
        {"count": 3, "flag": None, "query": "internal affairs"},
        {"url": "not a url"},
        "plain",
    ],
)
def test_harmless_arguments_pass(arguments: object) -> None:
    validator = prepare({})
    assert [v for _, v in validator.parts(arguments) if validator.judge(v) is not None] == []


def test_names_that_need_a_look_up_are_told() -> None:
    validator = prepare({})
    assert list(validator.hosts("https://Example.NET./x")) == ["example.net"]
    assert list(validator.hosts("https://9.9.9.9/")) == []
    assert list(validator.hosts("ftp://example.net/")) == []
    assert list(validator.hosts(Loose("https://a.example/ http://b.example"))) == [
        "a.example",
        "b.example",
    ]
    assert list(validator.hosts({"url": "x"})) == []


def test_one_internal_address_is_enough() -> None:
    assert addresses_rule(["9.9.9.9"]) is None
    assert addresses_rule(["9.9.9.9", "10.0.0.1"]) == "internal_address"
    assert addresses_rule([]) == "unresolved"


def test_a_host_by_itself_can_be_judged() -> None:
    assert host_rule("example.net") is None
    assert host_rule("10.0.0.1") == "internal_address"
    assert host_rule("::1") == "internal_address"
    assert host_rule(".example.net") == "host_syntax"
    assert host_rule("example") == "internal_name"


@given(st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    found = prepare({}).judge("http://" + text)
    assert found is None or found.message == sentence(found.rule)


def test_a_url_may_be_as_long_as_the_bound() -> None:
    url = "https://example.net/"
    assert url_rule(url + "a" * (8192 - len(url))) is None
    assert url_rule(url + "a" * (8193 - len(url))) == "too_long"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.net#@127.0.0.1/",
        "http://example.net?@127.0.0.1/",
        "http://example.net?a=b@[::1]:80/",
        "https://example.net?x#y@0x7f.1",
        "http://example.net#@localhost",
        "http://example.net#@metadata.google.internal/",
    ],
)
def test_a_host_that_ends_only_at_a_slash_for_somebody_must_not_be_another(url: str) -> None:
    """MGP-4.5"""
    assert url_rule(url) == "ambiguous"


def test_no_reading_of_a_url_leads_beside_the_list() -> None:
    assert url_rule("http://example.net?a@example.org/", ("example.net",)) == "ambiguous"
    assert url_rule("http://example.net?a@example.net/", ("example.net",)) is None
    assert url_rule("http://example.net/?a@example.org/", ("example.net",)) is None


_MARKS = "\u0301\u0323" * 15


@pytest.mark.parametrize("before", ["/", "?q=", "#"])
def test_marks_behind_a_host_are_no_matter_of_the_host(before: str) -> None:
    assert url_rule(f"https://example.net{before}a{_MARKS}{_MARKS}") is None


@pytest.mark.parametrize(
    "host", ["a" + _MARKS * 2, "a" + (_MARKS + "\u034f") * 200, "\u00e4" * 264 + ".example"]
)
def test_a_host_that_takes_long_to_normalize_is_refused_before(host: str) -> None:
    assert url_rule(f"https://{host}/") == "host_syntax"
