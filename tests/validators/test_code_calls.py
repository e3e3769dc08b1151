"""Single calls in Python code: look-ups by name, classes made at run time, formats, files."""

import ast

import pytest

from gatewright.validators.code_calls import call_violations
from gatewright.validators.code_lists import BLOCKED_IMPORTS, BLOCKED_PATTERNS
from gatewright.validators.code_members import Rules, Walk
from gatewright.validators.code_names import Names
from gatewright.validators.code_rules import violations
from gatewright.validators.code_tree import Tree

STANDARD = Rules(frozenset(BLOCKED_IMPORTS), frozenset(BLOCKED_PATTERNS))

REFUSED = [
    '"{0.__class__.__init__.__globals__}".format(x)',
    '"{x._secret}".format(x=1)',
    'getattr((), "".join(["__bas","e__"]))',
    "getattr(x, y)",
    'e = getattr\ne(x, "__globals__")',
    'import operator\noperator.attrgetter("__class__.__mro__")(x)',
    'from operator import attrgetter as g\ng("__globals__")(f)',
    'import operator\noperator.methodcaller("system", "id")(1)',
    'import os\na = b = os\nb.popen("id")',
    'import os\nprint(vars(os)["system"])',
    'import os\nos.__getattribute__("system")',
    'object.__getattribute__(x, "y")',
    'type.__getattribute__(A, "x")',
    'type("X", (), {})',
    'vars()["__builtins__"]',
    'setattr(os, "x", 1)\nimport os',
    'open("/etc/shadow").read()',
    'open("/root/.ssh/id_rsa")',
    'from pathlib import Path\nPath("~/.aws/credentials").read_text()',
    'import os\nimport functools\nfunctools.reduce(getattr, ["system"], os)',
    'import string\nstring.Formatter().get_field("0.__class__", (1,), {})',
    'import os\nsetattr(A, "f", os.system)',
    'import os\ngetattr(os, "sys" "tem")("id")',
    "import os\ngetattr(os, f\"{'sys'}tem\")",
    'import os\ngetattr(os, "metsys"[::-1])',
    'import os\ngetattr(os, chr(115)+"ystem")',
    'import os\ngetattr(*(os, "system"))',
    'import os\ngetattr(object=os, name="system")',
    "df.query(\"@pd.io.common.os.system('x')\")",
    'df.eval("@f . g (1)")',
    'df.query("__x__")',
    'from unittest.mock import patch\npatch("os.system").get_original()',
    'import unittest\nunittest.TestLoader().loadTestsFromName("os.abort")',
    'import numpy as np\nnp.ctypeslib.load_library("x", ".")',
    "from concurrent.futures import ProcessPoolExecutor",
    'get_ipython().system("id")',
    'import urllib.request\nurllib.request.urlopen("file:///etc/shadow")',
    'import pandas as pd\npd.read_csv("/etc/shadow")',
    'f = type(lambda:0)\ng = f.__new__\nx.__getattr__("y")',
]


@pytest.mark.parametrize("code", REFUSED)
def test_calls_that_choose_members_at_run_time_are_refused(code: str) -> None:
    """MGP-7.2-2"""
    assert violations(ast.parse(code), STANDARD)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("getattr(x, 'name')", []),
        ("getattr(x, 'name', None)", []),
        ("getattr(x, f'on_{e}')", []),
        ("df.query('a > @limit and b == 1')", []),
        ("df.eval('c = a + b')", []),
        ("model.eval()", []),
        ("urlopen('file:///srv/data.csv')", []),
        ("getattr(x, 'on_' + e)", []),
        ("getattr(x, f'_{e}')", ["Blocked call: 'getattr' with a computed name"]),
        ("getattr(x, e)", ["Blocked call: 'getattr' with a computed name"]),
        ("getattr(x, '__globals__')", ["Blocked attribute: '__globals__'"]),
        ("getattr(x)", ["Blocked call: 'getattr' with hidden arguments"]),
        ("getattr(*x)", ["Blocked call: 'getattr' with hidden arguments"]),
        ("setattr(x, e, 1)", []),
        ("delattr(x, 'a')", []),
        ("hasattr(x, e)", []),
        ("getattr(os, 'path')", []),
        ("getattr(os, 'system')", ["Blocked pattern: 'os.system'"]),
        ("setattr(os, 'path', 1)", ["Blocked call: 'setattr' of a module"]),
        ("type(x)", []),
        ("type(a, b, c)", ["Blocked call: 'type' that makes a class"]),
        ("type(*a)", ["Blocked call: 'type' that makes a class"]),
        ("vars(x)", []),
        ("vars()", ["Blocked call: 'vars'"]),
        ("vars(os)", ["Blocked call: 'vars'"]),
        ("vars(f())", ["Blocked call: 'vars'"]),
        ("'{0.name}'.format(x)", []),
        ("'{0._name}'.format(x)", ["Blocked format: a member with an underscore"]),
        ("'{0[__x]}'.format_map(x)", ["Blocked format: a member with an underscore"]),
        ("x.attrgetter('a.b')", []),
        ("x.attrgetter('a.__dict__')", ["Blocked attribute: '__dict__'"]),
        ("x.attrgetter('a.__base__')", ["Blocked attribute: '__base__'"]),
        ("x.attrgetter(e)", ["Blocked call: 'attrgetter' with a computed name"]),
        ("f(x, eval_str=True)", ["Blocked argument: 'eval_str'"]),
    ],
)
def test_each_call_gets_its_own_sentence(call: str, expected: list[str]) -> None:
    tree = ast.parse(f"import os\n{call}")
    walk = Walk(STANDARD, Names(ast.walk(tree)), frozenset())
    assert [sentence for _, sentence in call_violations(walk, Tree(tree))] == expected


@pytest.mark.parametrize(
    ("call", "refused"),
    [
        ("numpy.load('x.npy')", False),
        ("numpy.load('x.npy', 'r', allow_pickle=False)", False),
        ("numpy.load('x.npy', None, True)", True),
        ("numpy.load('x.npy', allow_pickle=True)", True),
        ("numpy.load('x.npy', allow_pickle=flag)", True),
        ("numpy.load('x.npy', **more)", True),
        ("numpy.load(*all)", True),
        ("f(numpy.load)", True),
        ("torch.load('x', weights_only=True)", False),
        ("torch.load('x', weights_only=False)", True),
        ("torch.load('x')", True),
        ("yaml.load(x, Loader=yaml.SafeLoader)", False),
        ("yaml.load(x, yaml.CSafeLoader)", False),
        ("yaml.load_all(x, SafeLoader)", False),
        ("yaml.load(x, Loader=yaml.Loader)", True),
        ("yaml.load(x, Loader=own)", True),
        ("yaml.load(x)", True),
        ("YAML(typ='unsafe')", True),
        ("YAML(typ='safe')", False),
        ("load_model('x', safe_mode=False)", True),
        ("load_model('x', safe_mode=True)", False),
    ],
)
def test_what_loads_data_is_refused_where_the_data_could_be_code(call: str, refused: bool) -> None:
    """MGP-7.2-2"""
    code = f"import numpy, torch, yaml\nfrom yaml import SafeLoader\n{call}"
    assert bool(violations(ast.parse(code), STANDARD)) is refused


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open('data.txt')", []),
        ("open(str('~/.ssh/id_rsa'))", ["Blocked file: '~/.ssh/id_rsa'"]),
        ("open('/etc/' + 'shadow')", ["Blocked file: '/etc/shadow'"]),
        ("path = '/etc/shadow'\nopen(path)", ["Blocked file: '/etc/shadow'"]),
        ("open('.env')", []),
        ("open('.ENV')", []),
        ("open('~/.SSH/config')", ["Blocked file: '~/.SSH/config'"]),
        ("x.join(home, '.ssh', 'x')", ["Blocked file: '.ssh'"]),
        ("open(x.join(f('~'), 'notes'))", []),
        ("urlopen('file:///srv/data.csv')", []),
        ("urlopen('FILE:/etc/shadow')", ["Blocked file: 'FILE:/etc/shadow'"]),
        ('"""/etc/shadow"""', []),
        ("print('look at /etc/shadow')", []),
    ],
)
def test_a_text_that_is_the_path_of_a_secret_is_refused(code: str, expected: list[str]) -> None:
    """MGP-7.2-2"""
    assert violations(ast.parse(code), STANDARD) == expected


def test_code_that_may_only_read_gets_the_rules_for_writing_as_well() -> None:
    """MGP-7.2-4"""
    tree = ast.parse("open('x', 'w')")
    reading = Rules(frozenset(), frozenset(), read_only=True)
    assert [violations(tree, rules) for rules in (STANDARD, reading)] == [
        [],
        ["Blocked write: 'open' with a mode that writes or is computed"],
    ]
