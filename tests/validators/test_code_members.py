"""What speaks against modules and their members, however the code reached them."""

import ast

import pytest

from gatewright.validators.code_lists import BLOCKED_IMPORTS, BLOCKED_PATTERNS
from gatewright.validators.code_members import Rules, Walk, attribute_violation
from gatewright.validators.code_names import Names
from gatewright.validators.code_rules import violations
from gatewright.validators.code_safety import prepare

STANDARD = Rules(frozenset(BLOCKED_IMPORTS), frozenset(BLOCKED_PATTERNS))
STRICT = Rules(
    frozenset(BLOCKED_IMPORTS),
    frozenset(BLOCKED_PATTERNS),
    frozenset({"os", "json", "urllib.parse"}),
)
READING = Rules(frozenset(), frozenset(), frozenset({"os"}), read_only=True)

REFUSED = [
    'import sys\nsys.modules["os"].system("id")',
    'import json\njson.codecs.builtins.exec("1")',
    'import random\nrandom._os.system("id")',
    'import os.path\nos.path.os.system("id")',
    'import os.path as p\np.os.system("id")',
    'from os.path import os as o\no.system("id")',
    'import logging\nlogging.os.system("x")',
    'import asyncio\nasyncio.create_subprocess_shell("id")',
    'import asyncio\nasyncio.subprocess.create_subprocess_exec("id")',
    "from asyncio import create_subprocess_exec as c",
    'import asyncio\nloop = asyncio.get_event_loop()\nloop.subprocess_shell(None, "id")',
    'import os\nos.posix_spawn("/bin/sh", [], {})',
    'import os\nos.execvp("sh", ["sh"])',
    "import types\ntypes.FunctionType(c, {})",
    "import inspect\ninspect.currentframe().f_back",
    "import inspect\ninspect.stack()[0][0]",
    "import typing\ntyping.get_type_hints(f)",
    'import typing\ntyping.ForwardRef("os")._evaluate({}, {})',
    'import pickle\npickle.loads(b"x")',
    "import yaml\nyaml.load(x)",
    "import yaml\nyaml.unsafe_load(x)",
    'import pandas as pd\npd.read_pickle("x")',
    "import sys\nsys._getframe(1)",
    "import sys\nsys.settrace(f)",
    "import platform\nplatform.os",
    'import threading, os\nthreading.Thread(target=os.system, args=("id",)).start()',
    "import os\nos.environ.__class__.__init__.__globals__",
    "import collections\ncollections._sys.modules",
    "import collections as c\nc.abc.sys",
    "import re\nre.sre_compile\nre.enum.sys.modules",
    'import urllib.request\nurllib.request.os.system("id")',
    'import glob\nglob.os.system("id")',
    'import tempfile\ntempfile._os.system("x")',
    "import weakref, sys\nsys.exc_info()",
    "import ctypes.util as u",
    "import codecs\ncodecs.builtins",
    "import codecs\nx = codecs.open\ncodecs.sys",
]


def walk(rules: Rules) -> Walk:
    return Walk(rules, Names([]), frozenset())


@pytest.mark.parametrize("code", REFUSED)
def test_members_that_lead_further_are_refused(code: str) -> None:
    """MGP-7.2-2"""
    assert violations(ast.parse(code), STANDARD)


@pytest.mark.parametrize(
    ("module", "standard", "strict"),
    [
        ("json", False, False),
        ("os.path", False, False),
        ("urllib.parse", False, False),
        ("urllib", False, True),
        ("urllib.request", False, True),
        ("requests", False, True),
        ("subprocess", True, True),
        ("ctypes.util", True, True),
        ("subprocesses", False, True),
        ("_io", True, True),
        ("__future__", False, True),
    ],
)
def test_a_rule_for_a_module_covers_what_is_below_it(
    module: str, standard: bool, strict: bool
) -> None:
    """MGP-7.2-3: at `strict` an unlisted import is rejected."""
    sentence = f"Blocked import: '{module}'"
    assert walk(STANDARD).import_violation(module) == (sentence if standard else None)
    assert walk(STRICT).import_violation(module) == (sentence if strict else None)


@pytest.mark.parametrize(
    ("path", "standard", "strict", "reading"),
    [
        ("os.path.join", None, None, None),
        ("os.environ", None, None, None),
        ("os.system", "pattern", "pattern", "call"),
        ("os.popen", "call", "call", "call"),
        ("os.remove", None, "call", "call"),
        ("os.mkdir", None, "call", "call"),
        ("os.__name__", None, None, None),
        ("os._exit", "call", "call", "call"),
        ("random._os", "private member", "call", "call"),
        ("json.codecs", "import", "call", "call"),
        ("os.path.os", "import", "call", "call"),
        ("datetime.datetime", None, None, None),
        ("collections.abc", None, None, None),
        ("subprocess.run", "call", "call", None),
        ("numpy.random", None, None, None),
    ],
)
def test_members_are_judged_by_their_dotted_path(
    path: str, standard: str | None, strict: str | None, reading: str | None
) -> None:
    found = [walk(rules).member_violation(path) for rules in (STANDARD, STRICT, READING)]
    assert found == [kind and f"Blocked {kind}: '{path}'" for kind in (standard, strict, reading)]


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("name", False),
        ("__init__", False),
        ("__dict__", False),
        ("__mro__", True),
        ("f_globals", True),
        ("_x", False),
    ],
)
def test_members_of_any_object_are_judged_by_their_name(name: str, refused: bool) -> None:
    assert list(attribute_violation(name)) == ([f"Blocked attribute: '{name}'"] if refused else [])


@pytest.mark.parametrize(
    "code",
    [
        "from unittest.mock import patch\npatch('os.system').get_original()[0]('x')",
        "from unittest.mock import patch\nwith (p := patch('os.system')): p.temp_original('x')",
    ],
)
def test_what_a_mock_stands_for_is_out_of_reach(code: str) -> None:
    assert prepare({"level": "standard"}).judge(code) is not None


def test_everyday_mocks_pass() -> None:
    code = "from unittest.mock import patch\nwith patch('a.b') as m: m()"
    assert prepare({"level": "standard"}).judge(code) is None
