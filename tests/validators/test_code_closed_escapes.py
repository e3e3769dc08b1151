"""Programs that came to files, sockets, builtins or members by ways round the lists of `strict` and `readonly`; and plain ones beside them."""

import pytest

from gatewright.validators.code_safety import prepare

STRICT = prepare({"level": "strict"})
READONLY = prepare({"level": "readonly"})
STANDARD = prepare({})

REFUSED = [
    'list(map("{0.a}".format, [obj]))',
    'import functools\nclass H:\n    def __getitem__(self, f):\n        f("1")\n        return int\nh = H()\n@functools.singledispatch\ndef g(x): ...\n@g.register\ndef _(x: "h[eval]"): ...',
    'import functools\n@functools.singledispatch\ndef g(x): ...\n@g.register\ndef _(x: "h[ev" + "al]"): ...',
    'import functools\nfrom typing import List\n@functools.singledispatch\ndef g(x): ...\n@g.register\ndef _(x: List["h[eval]"]): ...',
    'import functools\n@functools.singledispatch\ndef g(x): ...\n@g.register\ndef _(x: "h[open]"): ...',
    'import functools\nclass A:\n    @functools.singledispatchmethod\n    def g(self, x): ...\n    @g.register\n    def _(self, x: "h[eval]"): ...',
    'from typing import Annotated, List\ndef f(x: Annotated["g(1)", 1], y: List["h[eval]"]): ...',
    'def f(x: list[list["h[eval]"]]): ...',
    'def f(x: "a" | "h[eval]"): ...',
    'x: "h[open]" = 1',
    'def f() -> "h[eval]": ...',
    'import os\ndef f(x: "h[os.system]"): ...',
    'def f(*a: "h[eval]", **k: "h[eval]"): ...',
    "async def f(x: f\"h[{'ev'}al]\"): ...",
    "def _(x: \"List['h(open)']\"): ...",
    "def _(x: \"List['h[eval]']\"): ...",
    'from asyncio.streams import open_connection\nopen_connection("x.example", 80)',
    'import asyncio.streams as s\ns.open_connection("x.example", 80)',
    'from logging.handlers import SocketHandler\nSocketHandler("x.example", 80)',
    'from logging.handlers import WatchedFileHandler\nWatchedFileHandler("/tmp/x")',
    'import logging.handlers as h\nh.HTTPHandler("x.example", "/")',
    "from asyncio.runners import events\nevents.get_event_loop_policy()",
    "from json.tool import main\nmain()",
    "import asyncio.__main__",
    "from asyncio.base_events import BaseEventLoop",
    "from zoneinfo._common import load_tzdata",
    "from httpx._transports.default import HTTPTransport",
    "from httpx._main import main\nmain()",
    "from httpx._compat import ssl\nssl.SSLContext",
    'import httpx\nhttpx.NetRCAuth("/tmp/x")',
    'import httpx\nhttpx.Client(transport=httpx.HTTPTransport(uds="/tmp/x.sock")).get("http://x.example")',
    "import httpx\nhttpx.main()",
    'x = eval("1")\ndef eval(y): return y',
    'x = open("a").read()\ndef open(y): return y',
    'def open(x): return x\ndel open\nprint(open("a").read())',
    'x = exec("1")\nfrom math import floor as exec',
    'def f():\n    return open("a").read()\nx = f()\ndef open(y): return y',
    'class A:\n    x = open("a")\nclass open: pass',
    'def open(x=open): return x("a")',
    "@open\ndef open(x): ...",
    "class open(open): ...",
    'def eval(x=eval): return x("1")',
    "@eval\ndef eval(x): ...",
    'def open(x): ...\ndef f():\n    global open\n    del open\nf()\nopen("a")',
    'def eval(x): return x\ntry: 1/0\nexcept ZeroDivisionError as eval: pass\neval("1")',
    "import operator\nlist(map(operator.attrgetter, [n]))[0](f)",
    "from operator import attrgetter as a\nb = [a][0]\nb(n)(f)",
    "import functools, operator\nfunctools.partial(operator.attrgetter, n)()(f)",
    "import operator\ndef k(): return operator.attrgetter\nk()(n)(f)",
    'a = "{0"\nb = ".x}"\n(a + b).format(f)',
    'import abc\nX = abc.ABCMeta("X", (), d)',
    'X = type(int)("X", (), d)',
    'X = type(type(1))("X", (), {("__ann" + s): 1})',
    'import enum\nX = enum.Enum("X", d)',
    'import dataclasses, typing\nT = typing.TypedDict("T", {\'"+str(print(1))+"\': int})\nD = dataclasses.dataclass(T, init=False, eq=False)\nD.__repr__(D)',
    "from dataclasses import dataclass as d\nlist(map(d, [T]))",
    'import abc\nclass M(abc.ABCMeta): ...\nX = M("X", (), d)',
    'import warnings, contextlib, io\nb = io.StringIO()\nwith contextlib.redirect_stderr(b):\n    warnings.warn_explicit("m", UserWarning, "/tmp/x", 1)\nprint(b.getvalue())',
    'import typing_extensions\ntyping_extensions.inspect.linecache.getlines("/x")',
    "from typing_extensions import inspect\ninspect.getsource(f)",
    'import contextlib\ncontextlib.chdir("/")',
    'from httpx._multipart import Path\nPath("/tmp/x").read_text()',
    'from logging import basicConfig as b\nb(filename="x")',
    'import logging\nb = logging.basicConfig\nb(filename="x")',
    'import logging, functools\nfunctools.partial(logging.basicConfig, filename="x")()',
    'import logging\n[logging.basicConfig][0](filename="x")',
    "import logging\nlist(map(lambda f: f(**k), [logging.basicConfig]))",
    'import httpx\nhttpx.main(["--download", "/x", "https://x.example"])',
    "import abc, dataclasses, types\n@dataclasses.dataclass\nclass X(abc.ABC):\n    gi_frame: object\nX.register(types.GeneratorType)\nmatch g:\n    case X(frame): print(frame)",
    "from typing import Protocol, runtime_checkable\nfrom dataclasses import dataclass\n@runtime_checkable\n@dataclass\nclass X(Protocol):\n    gi_frame: object\nmatch g:\n    case X(frame): print(frame)",
    'M = type(int)("M", (type(int),), d)\nX = M("X", (), d)\nmatch g:\n    case X(a): print(a)',
    "class X: ...\nX.__match_args__ = (n,)",
    "from abc import ABCMeta\nclass M(ABCMeta): ...",
    'import httpx\nhttpx.HTTPTransport(False, None, False, True, False, l, None, "/x")',
    "import httpx, functools\nfunctools.partial(httpx.HTTPTransport, **k)",
    "import functools\nfunctools.partial(functools.wraps, g, assigned=[n])()(self)",
    "from functools import wraps as w\nlist(map(lambda f: f(g, assigned=[n]), [w]))",
    "from functools import wraps\nwraps(g, assigned=[n])(o)",
]

WRITING = [
    'import httpx\nf = httpx.Client().post\nf("https://x.example")',
    "import httpx\nc = httpx.Client()\nlist(map(c.post, urls))",
    'import httpx\nc = httpx.Client()\ngetattr(c, "post")("https://x.example")',
    'def post(): ...\nclient.post("https://x.example")',
]

PASSING = [
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\ndef f(s):\n    match s:\n        case P(x, y): return x\n        case int(n): return n\n        case str(): return 1",
    'from collections import namedtuple\nP = namedtuple("P", "x y")\ndef f(s):\n    match s:\n        case P(x, y): return x',
    "from typing import NamedTuple\nfrom abc import ABC, abstractmethod\nclass S(ABC):\n    @abstractmethod\n    def area(self): ...\nclass P(NamedTuple):\n    x: int\nclass Q(S):\n    def area(self): return 1\nmatch P(1):\n    case P(x): print(x)\n    case Q(y): print(y)",
    "import functools\nfrom functools import wraps\ndef deco(f):\n    @wraps(f)\n    def g(*a): return f(*a)\n    return g\ndef deco2(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a)\n    return g",
    "import dataclasses\nfrom dataclasses import dataclass, field\nfrom functools import total_ordering\n@total_ordering\n@dataclass(frozen=True)\nclass A:\n    x: int\n@dataclasses.dataclass\nclass B:\n    y: list = field(default_factory=list)\n@dataclasses.dataclass(order=True)\nclass C: z: int",
    'from operator import attrgetter, itemgetter\nimport operator\na = sorted(xs, key=attrgetter("name"))\nb = sorted(xs, key=operator.attrgetter("a.b"))',
    'from re import compile\nx = compile("a")\ndef help(): print("usage")\nhelp()',
    "def eval(x): return x if isinstance(x, int) else eval_all(x)\ndef eval_all(xs): return [eval(x) for x in xs]\nprint(eval(3))",
    "def open(x):\n    return open(x - 1) if x else 0\nprint(open(3))",
    'import logging\nlogging.basicConfig(level=logging.INFO, format="%(message)s")\nlog = logging.getLogger(__name__)\nlog.info("x")',
    'import abc\nclass A(metaclass=abc.ABCMeta):\n    @abc.abstractmethod\n    def f(self) -> "A": ...\n    def g(self, x: "list[int] | None" = None, s: "dict[str, A]" = None): ...',
    'import httpx\nt = httpx.HTTPTransport(retries=3)\nwith httpx.Client(transport=t, timeout=5) as c:\n    r = c.get("https://x.example/a")\n    print(r.json(), r.request.url)',
    'from typing import Literal, Annotated, Optional\ndef f(x: Literal["open", "a (b)"], y: Annotated[str, "name (short)"], v: "Optional[A]", u: list["A | None"]): ...',
    'import os.path\nimport collections.abc\nfrom urllib.parse import urlparse\nfrom html.parser import HTMLParser\nfrom json.decoder import JSONDecodeError\nfrom zoneinfo import ZoneInfo\nimport asyncio\nprint(os.path.join("a", "b"))',
    "class V:\n    def __init__(self, x, y, z): self.x, self.y, self.z = x, y, z\n    def __add__(self, o): return type(self)(self.x + o.x, self.y + o.y, self.z + o.z)",
    "import queue\nclass B:\n    def put(self, x): self.q.append(x)\nb = B()\nb.put(1)",
    "from dataclasses import dataclass\n@dataclass\nclass E:\n    n: int\nclass Bus:\n    def register(self, f): ...\nbus = Bus()\nbus.register(print)\nmatch E(1):\n    case E(n): print(n)",
    "from contextlib import contextmanager, suppress, redirect_stdout\nimport io\n@contextmanager\ndef f():\n    yield 1\nwith suppress(ValueError), redirect_stdout(io.StringIO()): pass",
    'from __future__ import annotations\nimport warnings\nwarnings.warn("x", DeprecationWarning)',
    'def main():\n    print(vars_(1))\ndef vars_(x): return x\nif __name__ == "__main__": main()',
    'print(", ".join(map("{:.2f}".format, xs)))',
    'import operator\nsorted(xs, key=operator.attrgetter("name"))',
]


@pytest.mark.parametrize("code", REFUSED)
def test_ways_round_the_lists_are_refused(code: str) -> None:
    assert STRICT.judge(code) is not None
    assert READONLY.judge(code) is not None


@pytest.mark.parametrize("code", WRITING)
def test_methods_that_send_are_no_values(code: str) -> None:
    assert READONLY.judge(code) is not None
    assert STRICT.judge(code) is None


@pytest.mark.parametrize("code", PASSING)
def test_plain_programs_pass(code: str) -> None:
    assert STRICT.judge(code) is None
    assert READONLY.judge(code) is None


@pytest.mark.parametrize(
    "code",
    [
        'x = eval("1")\ndef eval(y): return y',
        "def eval(x=eval): return x('1')",
        "def eval(x): ...\ntry: f()\nexcept E as eval: pass\neval('1')",
        "def f(): return eval('1')\nf()\ndef eval(x): return x",
        'def f(x: "h[eval]"): ...',
        'def f(x: list["h[eval]"]): ...',
        "import operator\nlist(map(operator.attrgetter, names))",
    ],
)
def test_at_every_level(code: str) -> None:
    assert STANDARD.judge(code) is not None


def test_notes_beside_types_are_no_code() -> None:
    code = """
from typing import Annotated, Literal
from pydantic import Field
def f(a: Annotated[str, "Amount (EUR)"], b: Literal["eval(x)"], c: Annotated[int, Field(description="size (mm)")]): ...
"""
    assert STANDARD.judge(code) is None


def test_a_module_inside_another_one_may_be_allowed_by_name() -> None:
    code = "from logging.handlers import QueueHandler\nfrom logging import getLogger"
    assert (
        prepare({"level": "strict", "allowed_imports": ["logging", "logging.handlers"]}).judge(code)
        is None
    )
    assert prepare({"level": "strict", "allowed_imports": ["logging"]}).judge(code) is not None
