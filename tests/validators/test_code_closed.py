"""What passes at `strict` and `readonly` is listed: files, special and private members, classes, formats, modules as values."""

from itertools import product

import pytest

from gatewright.validators.code_safety import prepare

STRICT = prepare({"level": "strict"})
READONLY = prepare({"level": "readonly"})
TABLES = "import copy\nimport numpy as np\nimport pandas as pd\ndf = pd.DataFrame({'a': [1]})\n"
REACHING = [
    "[{m}][0]", "(lambda: {m})()", "{{'m': {m}}}['m']", "({m} if df is None else {m})", "(None or {m})", "next(iter([{m}]))", "[m for m in [{m}]][0]", "max([{m}], key=id)", "dict(m={m})['m']", "(m := {m})", "copy.copy({m})", "(*[{m}],)[0]", "(x := [{m}]).pop()",
]  # fmt: skip
STORING = ["{r}.mean = 'eval'", "{r}.mean += 'eval'", "{r}.mean: str = 'eval'", "for {r}.mean in ['eval']: pass", "with x as {r}.mean: pass", "[1 for {r}.mean in ['eval']]", "del {r}.mean", "f({r})"]  # fmt: skip
MODULES = ["np", "pd", "np.random", "np.linalg", "copy"]
NAMING = [
    "def g(m): m.mean = 'eval'\ng({m})", "def g(m={m}): m.mean = 'eval'", "for m in [{m}]: m.mean = 'eval'", "match {m}:\n    case m: m.mean = 'eval'", "d = {{}}\nd['m'] = {m}", "class C: m = {m}", "a, b = {m}, 1", "[a, *b] = [{m}]", "def f():\n    yield {m}",
    "def f(): return {m}", "try:\n    raise E({m})\nexcept E as e: e.args", "x.y = {m}", "m = {m}\nm.mean = 'eval'", "lambda m={m}: 0", "print({m})", "async def f(): await {m}", "assert {m}", "x[{m}]", "f'{{{m}}}'", "{m} + 1", "@{m}\ndef f(): ...", "from x import *\n{m}.mean = 1",
]  # fmt: skip
REFUSED = [
    "import os\nprint(os.environ)", "from os import environ\nprint(dict(environ))", "from os import environ as e\nfor k, v in e.items(): print(k, v)", "import os\n{**os.environ}", "import os\nos.environ.copy()", "import os\ngetattr(os, 'environ').items()", "from os import listdir",
    "import warnings\nwarnings.catch_warnings()._module", "from warnings import catch_warnings as c\nc()._module.sys", "class A:\n    def __init__(self): self._module = 1\nx._module", "x._private", "(1).__class__", "x.__class__ = y", "x.__class__.__name__ = y",
    "str.__dict__", "x.__dict__", "vars(str)", "__file__", "__loader__", "x.__file__", "__name__.__class__", "setattr(str, 'x', 1)", "delattr(x, 'y')", "getattr((), '__cl' 'ass__')", "getattr(x, '__class__')", "import operator\noperator.attrgetter('__class__')", "class A(metaclass=B): pass",
    "class A(metaclass=lambda n, b, d: d): pass", "class A(type): pass", "class A(B, x=f()): pass", "class A(**x): pass", "class A:\n    def __reduce_ex__(self, p): return print, ()", "class A:\n    def __getattribute__(self, n): return n", "class A:\n    def __init_subclass__(cls): pass",
    "class A:\n    __reduce__ = f", "def __reduce__(self): ...", "class A:\n    import x as __reduce__", "class A:\n    for __reduce__ in x: pass", "class A:\n    try: x\n    except E as __del__: pass", "match x:\n    case object(__class__=c): pass", "match x:\n    case __reduce__: pass",
    "'{0.a}'.format(x)", "'{a.b}'.format_map({'a': f})", "'{a[b]}'.format(a=x)", "t = '{0.a}'\nt.format(x)", "try: x.y\nexcept AttributeError as e: e.obj", "try: x\nexcept E as e: e.with_traceback(None).__context__", "e.__traceback__", "x = '__reduce__'", "x.obj", "x = e\nx.obj",
    "x = '__red' + 'uce__'", "f(__class__=1)", "import functools\nfunctools.wraps(f, assigned=['x'])", "from functools import wraps as w\nw(f, ['x'])", "import functools\nfunctools.update_wrapper(f, g)", "import logging\nlogging.basicConfig(filename='x')", "help('modules')", "input()", "dir(x)",
    "from contextlib import redirect_stdout\nclass R(redirect_stdout):\n    _stream = 'modules'\n    def f(self): self._old_targets = self._old_targets", "getattr(x, '_old_targets')", "getattr(x, '_' + 'y', 1)", "import ｊｓｏｎ", "ｐrint(1)", "x.ａ", "().__𝒸𝓁𝒶𝓈𝓈__", "ºpen('x')", "open = open\nopen('x')", "def f(open): open('x')",
]  # fmt: skip
HONEST = [
    "import os\nprint(os.environ['HOME'], os.environ.get('X'), os.path.join('a', 'b'))", "import os\nif 'X' in os.environ: pass", "class A:\n    def __init__(self): self._x = 1\n    def f(self, other): return self._x == other._x", "p._asdict(); p._replace(x=1)",
    "class A:\n    def __repr__(self): return f'{self.__class__.__name__}({self.__dict__})'", "print(type(e).__name__, e.__class__.__name__)", "class A:\n    def __init__(self, **k):\n        for a, b in k.items(): setattr(self, a, b)", "class A(B):\n    def __init__(self, x): super().__init__(x)", "(1).__class__.__name__", "f'{x.__class__}'",
    "from abc import ABC, ABCMeta\nclass A(metaclass=ABCMeta): pass", "class A(TypedDict, total=False): x: int", "class A:\n    __slots__ = ('x',)\n    def __eq__(self, o): return True\n    def __enter__(self): return self", "if __name__ == '__main__': print(__doc__)", "'{:>10}|{0:,}'.format(1)",
    "t = '{name}'\nt.format(name=1)", "print('{a.b} in a text')", "from functools import wraps\ndef d(f):\n    @wraps(f)\n    def g(*a): return f(*a)\n    return g", "def forward(self, input): return input", "µ = 1\nσ = µ", "s = 'm² ℃ ｆｕｌｌ'  # ｆ", "f'{x} ℃'", "getattr(x, 'name', None)",
    "from pathlib import PurePath\nPurePath('a/b.csv').suffix", "'''__doc__'''", "import logging\nlogging.basicConfig(level=logging.INFO)", "raise X() from e",
]  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_no_value_however_it_is_reached_and_set(module: str) -> None:
    """A member of a module that somebody else sets is not what its name says."""
    ways = [
        storing.format(r=reaching.format(m=module))
        for reaching, storing in product(REACHING, STORING)
    ]
    ways += [naming.format(m=module) for naming in NAMING]
    passed = [one for one in ways if "await" not in one and STRICT.judge(TABLES + one) is None]
    assert passed == []


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_not_listed_is_refused_at_the_closed_levels(code: str) -> None:
    assert STRICT.judge(code) is not None
    assert READONLY.judge(code) is not None


@pytest.mark.parametrize("code", HONEST)
def test_ordinary_code_passes_at_strict(code: str) -> None:
    assert STRICT.judge(code) is None


@pytest.mark.parametrize("code", ["while True: pass", "x = 10**10**10", "x = 'a' * 10**10"])
def test_whether_code_ends_is_not_judged(code: str) -> None:
    assert prepare({"level": "readonly"}).judge(code) is None
