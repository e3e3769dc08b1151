"""The walk over Python code: what reaches further than it may, in however many spellings."""

import ast

import pytest

from gatewright.validators.code_lists import BLOCKED_IMPORTS, BLOCKED_PATTERNS
from gatewright.validators.code_members import Rules
from gatewright.validators.code_rules import violations
from gatewright.validators.code_safety import prepare

STANDARD = Rules(frozenset(BLOCKED_IMPORTS), frozenset(BLOCKED_PATTERNS))

REFUSED = [
    'import os; [os][0].system("id")',
    'import os\ndef f(m): m.system("id")\nf(os)',
    'import os\nclass A: m = os\nA.m.system("x")',
    'import os\nx = {"a": os}\nx["a"].system("id")',
    "import sys as s\ns.modules",
    'from sys import modules\nmodules["os"]',
    "().__class__.__base__.__subclasses__()",
    "[].__class__.__mro__[1]",
    "x = ().__class__\nx.mro()",
    "(lambda: 0).__globals__",
    "def f(): pass\nf.__code__ = None",
    "f.__closure__",
    "try: 1/0\nexcept Exception as e: e.__traceback__.tb_frame.f_globals",
    "def g(): yield\ng().gi_frame.f_builtins",
    'import builtins as b\nb.exec("1")',
    'from builtins import exec as run\nrun("1")',
    "@eval\ndef f(): pass",
    "@exec\n@input\nclass X: pass",
    'class A:\n    __getitem__ = exec\nA()["import os"]',
    "class A:\n    __class_getitem__ = eval",
    'import os\n(o := os).system("id")',
    "import os\nf = os.system if True else None",
    'import os\n(os or None).system("id")',
    'import os\nfor m in [os]: m.system("id")',
    "import marshal",
    "import code; code.interact()",
    'import pty; pty.spawn("/bin/sh")',
    "import runpy",
    "import multiprocessing",
    '__import__("os").system("id")',
    "__builtins__.__dict__",
    'globals()["x"]',
    "locals()",
    'compile("1","","exec")',
    "breakpoint()",
    'ｅｖａｌ("1")',
    'import os\nos.ｓｙｓｔｅｍ("id")',
    "from os import *",
    "from subprocess import*",
    "import subprocess as json",
    'exec(bytes.fromhex("00"))',
    "x = eval",
    '[eval][0]("1")',
    'map(eval, ["1"])',
    '(lambda f=eval: f("1"))()',
    'if 0:\n    from re import compile\ncompile("x", "y", "exec")',
    'from re import compile\ndel compile\ncompile("x","y","exec")',
    'def eval(x): return x\ndel eval\neval("1")',
    'x = "__subclasses__"',
    "import importlib.util",
    "from importlib import util",
    "import importlib.machinery as m",
    "import ctypes",
    "from ctypes import *",
    "import _posixsubprocess",
    "import _io",
    "import http.server",
    "import os\nos.kill(1, 9)",
    "import os\nos.fork()",
    "import os\nos.dup2(1, 2)",
    'import os, functools\nfunctools.partial(os.system, "id")()',
    'with os as m: m.system("id")\nimport os',
    "import os\nlambda: os",
    'import os\ndef f(): return os\nf().system("id")',
    "import os\nf\"{os.system('id')}\"",
    'import os\nx: os.system("id") = 1',
    "async def f():\n    import subprocess",
    "x = [subprocess for subprocess in ()]\nimport subprocess.run",
    "str.__class__.__subclasses__(object)",
    "x.__reduce_ex__(2)",
    'x.__init__.__globals__["sys"]',
    "a.__init_subclass__",
    "print.__self__",
    "x.__func__.__wrapped__",
    "from os import path, system",
    "from os import (popen as p)",
    'import os\nos\\\n.system("id")',
    'import os\nos.__dict__.get("system")',
    "import shelve",
    "import webbrowser",
    "import pdb",
    "import timeit\ntimeit.timeit(\"__import__('os')\")",
    "import cProfile",
    "import socket, json",
    "import requests, paramiko",
    "import pip",
    "import gc\ngc.get_objects()",
    "import distutils.spawn",
    "import _thread",
    "import builtins",
    "import site",
    "def f(x: \"__import__('os')\"): pass",
    "def f() -> \"exec('1')\": pass",
    "async def f(*a: \"list[eval('1')]\"): pass",
    "class A:\n    x: \"Optional['A', ().__class__.__base__]\" = None",
    'class A:\n    x: Optional["open(__builtins__)"]',
    '("{0." + name + "}").format(x)',
    '"{0.%s}" % name',
    'f"{{0.{name}}}".format(x)',
    "import anyio\nanyio.run(anyio.run_process, 'id')",
    "from werkzeug.utils import import_string",
    "import git\ngit.Git().execute(['id'])",
    "import numexpr as n\nn.evaluate(text)",
    "import os\nos.environ.subprocess",
    "import anyio.to_process",
    "from git.cmd import Git",
    "import asyncio.events as e",
]

ACCEPTED = [
    'import os, sys\nprint(os.stat("x").st_size, sys.platform)',
    'from locale import gettext\nimport unicodedata\nprint(gettext("x"), unicodedata.decimal("1"))',
    "import ast\nisinstance(x, (ast.keyword, ast.operator))",
    'import os\np = os.path.join("a", os.sep)\nos.makedirs(p, exist_ok=True)',
    "import sys\nprint(sys.argv, file=sys.stderr)\nsys.exit(1)",
    'import json, re, math\np = re.compile("x")',
    "from datetime import datetime, timedelta, time\nprint(datetime.now().time())",
    "import datetime\ndatetime.datetime.now(); datetime.time(1)",
    'class A:\n    def __init__(self, **kw):\n        for k, v in kw.items():\n            setattr(self, k, v)\n    def __repr__(self):\n        return f"{self.__class__.__name__}({self.__dict__})"',
    'def dispatch(self, e):\n    return getattr(self, f"on_{e}")()',
    "import asyncio\nasync def main():\n    await asyncio.gather(asyncio.sleep(1))\nasyncio.run(main())",
    'from mcp.server.fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool()\ndef add(a: int, b: int) -> int:\n    """Add. Never uses eval( or os.system"""\n    return a + b\nif __name__ == "__main__":\n    mcp.run()',
    "import httpx\nasync def get(u):\n    async with httpx.AsyncClient() as c:\n        return (await c.get(u)).json()",
    'from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass P:\n    x: int = 0\n    def __post_init__(self):\n        object.__setattr__(self, "x", 1)',
    "import argparse\na = argparse.ArgumentParser().parse_args()\nprint(vars(a))",
    "type(x) is int and isinstance(y, type)",
    "import numpy as np\nnp.random.rand(3)",
    "import logging\nlogging.basicConfig(level=logging.INFO)\nlog = logging.getLogger(__name__)",
    "from collections import *\nfrom typing import *",
    "import time\ntime.sleep(1); time.time()",
    'import copy, glob, random\ncopy.copy(x); glob.glob("*"); random.random()',
    'import os\nos.environ["X"]\nfor k in os.environ: pass',
    '"{0:>10}".format(3); "{a.b}".format(a=1)',
    'with open("x.txt", "w") as f: f.write("1")',
    "import signal, threading\nsignal.signal(signal.SIGTERM, lambda *a: None)",
    'import sqlite3\nc = sqlite3.connect("x.db").cursor()\nc.execute("select 1")',
    "def compile_all(eval_me): return eval_me",
    'model.eval(); df.query("a > 1"); re.compile("x")',
    "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): self.assertEqual(1, 1)",
    "x.__len__(); x.__class__.__name__; Exception().__cause__",
    "import types\nx = types.SimpleNamespace(a=1)",
    "import inspect\ninspect.signature(f)",
    'import os\nif hasattr(os, "fork"): pass',
    'import operator\nsorted(x, key=operator.itemgetter(1)); operator.attrgetter("a.b")',
    "import operator, functools\nfunctools.reduce(operator.mul, [1])",
    "import os\nenv = os.environ.copy()",
    "import sys\nread = sys.stdin.readline; sys.stdin.buffer.readline(); sys.argv.copy()",
    "from pathlib import Path\nfrom datetime import datetime\nf = Path.glob; g = datetime.time",
    'def f(x: "A | None", y: Annotated[str, "a path (any)"], z: "list[int") -> "dict[str, int]": ...',
    '"{:>" + str(n) + "}"; "{0.name}"; "{a.b} %s"; "{" + key + "}"',
    "class A:\n    def __class_getitem__(cls, x): return super().__class_getitem__(x)",
    "import git\ngit.Repo('.').head.commit",
]


@pytest.mark.parametrize("code", REFUSED)
def test_code_that_reaches_for_more_is_refused(code: str) -> None:
    """MGP-7.2-2: imports, aliases, builtins under other names, special members, frames."""
    found = violations(ast.parse(code), STANDARD)
    assert found
    assert all(one.startswith("Blocked ") for one in found)


@pytest.mark.parametrize("code", ACCEPTED)
def test_ordinary_code_passes(code: str) -> None:
    """MGP-7.2-2: plain code passes."""
    assert violations(ast.parse(code), STANDARD) == []


def test_every_violation_is_told_once_in_the_order_of_the_source() -> None:
    """MGP-7.4-2"""
    code = "import subprocess\neval('1')\nimport socket, subprocess\nimport os\nos.system('x')\neval('2')"
    assert violations(ast.parse(code), STANDARD) == [
        "Blocked import: 'subprocess'",
        "Blocked pattern: 'eval('",
        "Blocked import: 'socket'",
        "Blocked pattern: 'os.system'",
    ]


def test_special_members_are_found_in_patterns_and_texts() -> None:
    code = "match x:\n    case A(__globals__=g): pass\ny = '__subclasses__'\n'__subclasses__ in a docstring'"
    assert violations(ast.parse(code), STANDARD) == [
        "Blocked attribute: '__globals__'",
        "Blocked text: '__subclasses__'",
    ]


def test_a_standard_module_cannot_be_changed_for_others() -> None:
    assert violations(ast.parse("import json\njson.loads = f"), STANDARD) == [
        "Blocked assignment: 'json.loads'"
    ]
    assert violations(ast.parse("import sys\nsys.stdout = f"), STANDARD) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os, httpx\nhttpx.post(u, json=dict(os.environ))", True),
        ("import os, httpx\ne = os.environ\nprint(str(e))", True),
        ("import os\nfrom urllib.request import urlopen\nos.environ.copy()", True),
        ("import os\nprint(dict(os.environ))", False),
        ("import os, httpx\nhttpx.get(os.environ['URL'], auth=os.environ.get('TOKEN'))", False),
    ],
)
def test_all_variables_at_once_are_not_for_code_that_uses_the_network(
    code: str, expected: bool
) -> None:
    found = violations(ast.parse(code), STANDARD)
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = '__sub' + 'classes__'", "Blocked text: '__subclasses__'"),
        ("x = f\"{'__bui'}ltins__\"", "Blocked text: '__builtins__'"),
        ("x = ('__sub' + 'classes__') % y", "Blocked text: '__subclasses__'"),
        ("x = ''.join(['a', 'b']) + y", None),
        ("f = '{0.__class__}'", "Blocked format: a special member"),
        (
            "import asyncio\nasyncio.open_connection('h', 1)",
            "Blocked call: 'asyncio.open_connection'",
        ),
        ("p = Path.home() / '.ssh' / name", "Blocked file: '.ssh'"),
        ("p = a / b / 'c'", None),
        ("x._Printer__names = y", "Blocked attribute: '_Printer__names'"),
        ("import argparse\ndef f(a: argparse._SubParsersAction): pass", None),
        ("import numpy\nnumpy.core.os", "Blocked import: 'numpy.core.os'"),
        ("import inspect\ninspect.getmembers(f)", "Blocked call: 'inspect.getmembers'"),
    ],
)
def test_what_is_put_together_or_reached_through_others_is_seen(
    code: str, says: str | None
) -> None:
    assert violations(ast.parse(code), STANDARD) == ([] if says is None else [says])


def test_the_number_of_violations_is_bounded() -> None:
    code = "\n".join(f"import subprocess.x{number}" for number in range(500))
    assert len(violations(ast.parse(code), STANDARD)) == 50


def test_a_chain_of_members_is_followed_as_far_as_names_are() -> None:
    assert violations(ast.parse("x" + ".a" * 20), STANDARD) == []
    assert violations(ast.parse("x" + ".a" * 21), STANDARD) == [
        "Nesting: a chain of more than 20 members"
    ]


def test_what_was_imported_is_told_again_where_it_is_used_as_a_value() -> None:
    assert violations(ast.parse("from os import popen\nf(popen)"), STANDARD) == [
        "Blocked import: 'os.popen'",
        "Blocked call: 'os.popen'",
    ]
    assert violations(ast.parse("import json\nf(json)"), STANDARD) == []


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("from re import compile\ncompile('x')", []),
        ("from calc import evaluate as eval\neval('x')", []),
        ("def compile(x): return x\ncompile('x')", []),
        ("class input: pass\ninput()", []),
        ("async def exec(x): return x\nexec('x')", []),
        ("from calc import eval as evaluate\neval('x')", ["Blocked pattern: 'eval('"]),
        (
            "from builtins import compile\ncompile('x')",
            ["Blocked name: 'compile'"],
        ),
    ],
)
def test_a_builtins_name_is_free_where_an_import_gives_it_another_meaning(
    code: str, says: list[str]
) -> None:
    assert [one for one in violations(ast.parse(code), STANDARD) if "import" not in one] == says


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x.__dict__", []),
        ("f().__dict__", ["Blocked attribute: '__dict__'"]),
        ("type.__dict__", ["Blocked attribute: '__dict__'"]),
        ("import json\njson.__dict__", ["Blocked attribute: '__dict__'"]),
        ("from . import x", []),
        ("from .a import system", []),
        ("from requests import *", ["Blocked import: 'requests.*'"]),
        ("import os\nx = y = os\ny.getcwd()", []),
        ("import os\nx.y = os", ["Blocked use: 'os' as a value"]),
        ("import os\n(x := os).getcwd()", []),
        ("import os\nx: object = os\nx.getcwd()", []),
        ("del json.loads\nimport json", ["Blocked assignment: 'json.loads'"]),
        ("import mine\nmine.x = 1", []),
        ("x.__class__ = y", []),
        ("setattr(x, 'a', 1)\ng = getattr", ["Blocked use: 'getattr' as a value"]),
        ("getattr = f", []),
        ("'__sub' 'classes__'", []),
        ("f('__sub' + 'classes__')", ["Blocked text: '__subclasses__'"]),
    ],
)
def test_modules_and_special_members_may_be_used_where_they_stay_in_sight(
    code: str, says: list[str]
) -> None:
    assert violations(ast.parse(code), STANDARD) == says


REFERENCES = [
    "import typing\nr = typing.get_args(typing.List['{}'])[0]\n",
    "from typing import List, get_args as take\nr, = take(List['{}'])\n",
    "from typing import *\nr = get_args(Optional['{}'])[0]\n",
    "import typing\nr = typing.Union['{}', int].__args__[0]\n",
    "import typing\nr = getattr(typing.List['{}'], '__ar' + 'gs__')[0]\n",
    "import typing\nmatch typing.List['{}']:\n    case object(__args__=(r,)): ...\n",
    "from typing import Generic, TypeVar, get_args\nT = TypeVar('T')\nclass A(Generic[T]): ...\nr = get_args(A['{}'])[0]\n",
    "import typing\nr = typing.TypeVar('T', bound='{}').evaluate_bound(1)\n",
    "import typing\nr = typing.Annotated['{}', 1].__origin__\n",
]
EVALUATED = [
    "r.evaluate()",
    "r.evaluate(globals={})",
    "f = r.evaluate",
    "getattr(r, 'evaluate')()",
    "getattr(r, 'eval' + 'uate')()",
    "import operator\noperator.attrgetter('evaluate')(r)()",
    "match r:\n    case object(evaluate=f): f()",
]


@pytest.mark.parametrize("level", ["standard", "strict", "readonly"])
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("evaluated", EVALUATED)
def test_no_reference_in_a_type_is_evaluated(level: str, reference: str, evaluated: str) -> None:
    """MGP-7.2-2: since Python 3.14 its text runs, and the name of a builtin is that builtin."""
    for text in ("1+f()", "eval"):
        assert prepare({"level": level}).judge(reference.format(text) + evaluated) is not None


@pytest.mark.parametrize(
    "code",
    [
        "class Sum:\n    def evaluate(self, env): return self.left.evaluate(env)\nprint(Sum().evaluate({}))",
        "from typing import get_args, Literal\nKind = Literal['a', 'b']\nprint(get_args(Kind))",
        "from typing import get_args, List\ndef evaluate(x): return get_args(x)\nevaluate(List[int])",
        "coco = COCOeval(annotation)\nprint(box.annotation, coco.evaluate())",
    ],
)
def test_models_are_evaluated_and_types_taken_apart(code: str) -> None:
    assert prepare({"level": "standard"}).judge(code) is None


def test_sentences_about_one_place_stand_in_the_order_of_their_words() -> None:
    found = prepare({}).judge("import shutil\nshutil.rmtree(x)")
    assert found is not None
    assert found.details["violations"] == [
        "Blocked import: 'shutil'",
        "Blocked attribute: 'rmtree'",
        "Blocked call: 'shutil.rmtree'",
    ]
