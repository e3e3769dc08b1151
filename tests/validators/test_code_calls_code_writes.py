"""Calls that change something outside the program."""

import ast

import pytest

from gatewright.validators.code_calls import write_violations
from gatewright.validators.code_members import Rules, Walk
from gatewright.validators.code_names import Names
from gatewright.validators.code_safety import prepare
from gatewright.validators.code_tree import Tree

READING = Rules(frozenset(), frozenset(), read_only=True)
READONLY = prepare({"level": "readonly"})


def writes(call: str) -> bool:
    tree = ast.parse(f"import os, gzip\nfrom os import truncate as cut\n{call}")
    walk = Walk(READING, Names(ast.walk(tree)), frozenset())
    return bool(list(write_violations(walk, Tree(tree))))


@pytest.mark.parametrize(
    "call",
    [
        "open(f)",
        "open(f, 'r')",
        "open(f, 'rb')",
        "open(f, mode='rt', encoding='utf-8')",
        "p.open()",
        "p.open('r')",
        "gzip.open(f, 'rt')",
        "p.read_text()",
        "'a'.replace('b', 'c')",
        "x.append(1)",
        "client.get(url)",
        "client.x(method='GET')",
        "frame.sort(inplace=True)",
        "print(x)",
        "client.request('GET', url)",
        "sys.stdout.write('x')",
        "r.urlopen(url)",
        "r.urlopen(url, timeout=3)",
        "sys.stderr.writelines(x)",
        "client.request('head', url)",
        "p.replace(a, b)",
        "z.ZipFile(f, mode='r')",
        "open(f, 'r', -1)",
        "f('w')",
        "zlib.open(f)",
    ],
)
def test_calls_that_only_read_pass(call: str) -> None:
    """MGP-7.2-4"""
    assert not writes(call)


@pytest.mark.parametrize(
    "call",
    [
        "open(f, 'w')",
        "open(f, 'a')",
        "open(f, 'x')",
        "open(f, 'r+')",
        "open(f, mode='wb')",
        "open(f, m)",
        "open(f, mode=m)",
        "open(f, **k)",
        "open(*a)",
        "open(f, opener=o)",
        "p.open('w')",
        "os.open(f, os.O_RDWR)",
        "gzip.open(f, flags=x)",
        "sys.log.write('x')",
        "client.request(verb, url)",
        "p.open(mode='a')",
        "gzip.open(f, 'wt')",
        "z.ZipFile(f, 'w')",
        "p.write_text('x')",
        "p.unlink()",
        "p.replace(q)",
        "p.mkdir()",
        "f.write('x')",
        "cut(f, 0)",
        "client.post(url)",
        "client.delete(url)",
        "client.request('POST', url)",
        "client.x(method='PUT')",
        "client.x(method=m)",
        "frame.to_csv(f)",
        "c.commit()",
        "client.stream('PATCH', url)",
        "self.f.write('x')",
        "r.urlopen(url, data)",
        "r.urlopen(url, data=d)",
    ],
)
def test_calls_that_write_are_refused(call: str) -> None:
    """MGP-7.2-4"""
    assert writes(call)


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("import pandas as pd\ndf = pd.DataFrame()\nprint(df.to_csv(), df.to_json())", False),
        ("import pandas as pd\ndf = pd.DataFrame()\ndf.rename(columns={}, inplace=True)", False),
        ("import pandas as pd\ndf = pd.DataFrame()\ndf.rank(method='first')", False),
        ("import pandas as pd\ndf = pd.DataFrame()\ndf.to_csv('x')", True),
        ("class Cache:\n    def put(self, k): self.k = k\nCache().put(1)", False),
        ("import httpx\ndef post(): pass\nhttpx.Client().post('x')", True),
        ("client.post('x')", True),
        ("import logging\nlogging.basicConfig(level=10)", False),
        ("import logging\nlogging.basicConfig(filename='x')", True),
        ("import os\nprint(os.environ['A'])", False),
        ("import os\nos.environ['A'] = '1'", True),
        ("import os\ndel os.environ['A']", True),
        ("from os import environ\nenviron.setdefault('A', '1')", True),
    ],
)
def test_what_changes_only_the_program_is_no_write(code: str, refused: bool) -> None:
    """MGP-7.2-4"""
    assert (READONLY.judge(code) is not None) is refused


HTTPX = "import httpx\nfrom httpx import Request as Q, Request\nu = 'https://x.example'\n"
VERBS = [
    "'DELETE'",
    "'post'",
    "'PU' + 'T'",
    "v",
    "*v",
    "method='PATCH'",
    "method=v",
    "**v",
    "b'DELETE'",
]
MAKERS = ["httpx.Request", "Request", "Q", "httpx.Client().build_request", "c.build_request"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("maker", MAKERS)
def test_no_request_is_made_that_does_not_read(maker: str, verb: str) -> None:
    """An authentication sends what it gives instead of the request."""
    url = ", url=u" if "=" in verb or "*" in verb else ", u"
    made = f"{maker}({verb}{url})"
    for code in (
        f"auth = lambda r: {made}\nhttpx.get(u, auth=auth)",
        f"httpx.Client(auth=lambda r: {made})",
    ):
        assert READONLY.judge(HTTPX + code) is not None, code


@pytest.mark.parametrize(
    "code",
    [
        "def g(self): setattr(self, 'method', 'DELETE')\nhttpx.Client(event_hooks={'request': [g]}).get(u)",
        "def g(cls): setattr(cls, 'me' + 'thod', 'DELETE')",
        "def g(self): object.__setattr__(self, 'method', 'DELETE')",
        "class R:\n    method = 'DELETE'",
        "class R:\n    method: str = 'DELETE'",
        "class R:\n    @property\n    def method(self): return 'DELETE'",
        "class R:\n    method, url = 'DELETE', u",
        "class R:\n    if u:\n        for method in ['DELETE']: ...",
        "class R:\n    x = (method := 'DELETE')",
        "class R:\n    class method(str): ...",
        "def g(r): r.prepare_method('DELETE')",
        "httpx.get(u, auth=lambda r: list(map(httpx.Request, ['DELETE'], [u]))[0])",
        "httpx.get(u, auth=lambda r: list(map(Request, ['DELETE'], [u]))[0])",
        "class R(Request): ...\nR('DELETE', u)",
        "class R(httpx.Request): ...\nR('DELETE', u)",
        "f = httpx.Client().build_request",
        "getattr(httpx.Client(), 'build_request')('DELETE', u)",
        "class Request: ...\nhttpx.Request('DELETE', u)",
        "httpx.Request()",
    ],
)
def test_no_request_gets_another_method(code: str) -> None:
    assert READONLY.judge(HTTPX + code) is not None


@pytest.mark.parametrize(
    "code",
    [
        "httpx.Request('GET', u)",
        "r = Request(method='HEAD', url=u)\nprint(r.method)",
        "def f(r: httpx.Request, s: Request | None = None) -> Request: return isinstance(r, httpx.Request)",
        "c.build_request('options', u)",
        "class R:\n    def f(self, x):\n        method = x\n        return method",
    ],
)
def test_requests_that_read_are_made(code: str) -> None:
    assert (
        READONLY.judge("import httpx\nfrom httpx import Request\nu = 'https://x.example'\n" + code)
        is None
    )


@pytest.mark.parametrize(
    ("call", "refused"),
    [
        ("(u)", False),
        ("(u, method='HEAD')", False),
        ("(u, d)", True),
        ("(u, data=d)", True),
        ("(u, method='PUT')", True),
    ],
)
def test_a_request_of_urllib_reads_without_data(call: str, refused: bool) -> None:
    judge = prepare({"level": "readonly", "allowed_imports": ["urllib.request"]}).judge
    found = judge(f"import urllib.request\nurllib.request.Request{call}")
    assert (found is not None) is refused


def test_a_class_of_the_program_may_be_called_like_a_request() -> None:
    assert (
        READONLY.judge(
            "class Request:\n    def __init__(self, x): self.x = x\nprint(Request('PUT').x)"
        )
        is None
    )
