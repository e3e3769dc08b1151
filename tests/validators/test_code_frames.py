"""numpy and pandas at the closed levels: what computes passes, what reads, writes, looks up or runs a text does not."""

from __future__ import annotations

import pytest

from gatewright.validators.code_safety import prepare

STRICT = prepare({"level": "strict"})
READONLY = prepare({"level": "readonly"})
HEAD = "import io\nimport numpy as np\nimport pandas as pd\ndf = pd.DataFrame({'a': [1]})\n"
COMPUTING = [
    "df.groupby('a').agg({'a': 'sum'})", "np.linalg.norm(np.array([1, 2]))", "np.random.default_rng(1).normal(size=3)", "pd.read_csv(io.StringIO('a\\n1'))",
    "text = 'a'\npd.read_json(io.StringIO(text), orient='records')", "print(df.to_csv(index=False))", "df.to_string()", "pd.to_datetime('2024-01-01')",
    "df.apply(lambda row: row, axis=1)", "df['a'].agg(sum)", "pd.set_option('display.width', 80)", "np.add.reduce([1, 2])", "pd.Series([1]).rolling(2).mean()",
    "df.groupby('a').agg(total=('a', 'sum'), most=pd.NamedAgg(column='a', aggfunc='max'))", "def f(x):\n    return x\ndf['a'].map(f)\ndf.pipe(f)", "df['a'].map({1: 'x'})",
    "names = {1: 'x'}\ndf['a'].map(names)", "df.agg(['sum', np.mean])", "df.pivot_table(index='a', aggfunc='count')", "print(type(df))", "type(df).__name__", "'{:.2f}'.format(1)",
    "pd.options.display.width = 80", "df.astype(object).to_markdown()", "df.to_json(orient='records')", "df.apply(np.sum, 1)", "f = lambda x: x\ndf.transform(f)", "df.info()", "print(df.to_html(index=False))",
    "df.eval('b = a * 2')", "df.query('a > 1 and (b == \"x y\" or c not in [1, 2.5]) & ~(d <= e % 2)')", "print(hasattr(np, 'trapezoid'))", "df['a'].map('{:.2f}'.format)", "df['a'].apply(str.upper)", "df.select_dtypes(include=[np.number]).corr()",
]  # fmt: skip
REACHING = [
    "pd.read_csv('x.csv')", "pd.read_csv(path)", "pd.read_pickle('x')", "df.to_csv('x')", "df.to_csv(path_or_buf='x')", "df.to_pickle('x')", "df.to_csv(*a)", "np.load('x')", "np.save('x', df)",
    "np.array([1]).tofile('x')", "np.lib.npyio.DataSource()", "np.f2py", "from pandas.io.common import os", "import pandas.io.common", "import numpy.lib", "from numpy import loadtxt",
    "from pandas import *", "pd.io.common.os", "pd.eval('1')", "df.plot()", "pd.set_option('plotting.backend', 'x')", "np.testing.runstring('x', {})", "np.memmap('x')", "pd.ExcelWriter('x')",
    "class A:\n    __array_interface__ = {}", "class A:\n    def __array_struct__(self): ...", "x = np\nx.load('a')", "getattr(np, 'load')", "pd.DataFrame.to_csv(df, 'x')", "f = df.to_csv\nf('x')",
    "np.random.mtrand", "pd.options.plotting.backend = 'x'", "np.lib.stride_tricks.as_strided(df)", "pd.set_option('max_zzz|plotting.backend', 'x')", "o = pd.set_option\no('plotting.backend', 'x')",
    "pd.set_option('display.' + x, 'y')", "df.to_excel('x')", "df.to_html('x')", "df.to_html(buf='x')", "df.to_latex()", "df.to_xml(stylesheet='x')", "pd.read_xml(io.StringIO('x'), stylesheet='x')", "pd.read_xml('x')", "pd.read_html('x')",
    "pd.read_sql('x', y)", "df.to_string('x')", "df.to_markdown('x')", "df.to_json('x', mode='a')", "df.to_csv(mode='a')", "df.info(buf='x')", "df.to_clipboard()", "pd.read_table(io.StringIO('x'))",
    "from pandas import read_csv", "pd.io.formats.style", "[pd][0].read_csv('x')", "[np][0].load('x')", "pd.compat.os", "pd.core", "np.ctypeslib", "import os", "import operator\noperator.methodcaller('eval', 'x')(df)",
    "from typing import get_type_hints", "from string import Formatter", "import pathlib", "setattr(df, 'a', 1)", "vars(df)", "df._mgr", "df.__class__", "df.__dict__", "x: 'f()' = 1",
]  # fmt: skip
BY_NAME = [
    "df.apply('eval', args=(\"@inspect.os.system('id')\",))", "df.agg('eval', 0, '@x')", "n = '_'.join(('to', 'csv'))\ndf.apply(n, args=('out.csv',))", "df.agg([''.join(('to_', 'csv'))])",
    "df.agg(func=''.join(('to_', 'csv')))", "df.agg('to_csv', 0, 'x')", "df.agg(['to_pickle'])", "df.agg({'a': 'to_csv'})", "df.agg('to' + '_csv')", "df.agg('vsc_ot'[::-1])", "df.agg(func='eval')",
    "df.aggregate(f'{x}')", "df.transform(name)", "df.pipe('eval', 'x')", "df.map('eval')", "df.applymap('eval')", "df.groupby('a').agg(total=('a', 'to_csv'))", "df.groupby('a').agg(total='to_csv')",
    "df.groupby('a').agg(axis='to_csv')", "df.groupby('a').agg(**d)", "df.agg(*d)", "df.agg({**d})", "d = {'a': 'to_csv'}\ndf.agg(d)", "df.agg([['to_csv']])", "df.agg({'a': ['sum', 'to_csv']})",
    "df.agg(None, a='to_csv')", "df.pivot_table(aggfunc='to_csv')", "df.pivot_table('a', 'b', 'c', 'to_csv')", "pd.crosstab(x, y, aggfunc=name)", "df.groupby('a').agg(t=pd.NamedAgg('a', 'to_csv'))",
    "f = df.apply\nf('eval')", "list(map(df.apply, ['eval']))", "pd.DataFrame.apply(df, 'eval')", "pd.DataFrame.apply(lambda: 0, '__globals__')", "def f(): ...\n[pd.DataFrame][0].apply(f, '__glo' + 'bals__')",
    "def f(): ...\nf = 'eval'\ndf.apply(f)", "def f(): ...\nfor f in ['eval']:\n    df.apply(f)", "@g\ndef f(): ...\ndf.apply(f)", "sum = 'eval'\ndf.apply(sum)", "np = x\ndf.apply(np.mean)", "def g(f):\n    df.apply(f)\nf = lambda: 0",
    "df.apply(x := 'eval')", "df.apply('eval' if x else 'sum')", "df.agg(n for n in ['eval'])", "match 'eval':\n    case sum:\n        df.apply(sum)", "def sum(): ...\nglobal sum\ndf.apply(sum)",
    "df.resample('D').apply('to_csv')", "df.apply(str.format)", "str = x\ndf.apply(str.upper)", "df.agg(lambda: 0, 'eval')", "df.agg(t=('a', ['to_csv']))", "df.agg(f=('a', 'b', 'to_csv'))", "df.rolling(2).agg('eval')", "df.expanding().aggregate(['eval'])", "name = 'eval'\ndf.map(name)",
]  # fmt: skip
QUERIES = [
    "df.query('a(1)')", "df.query('a.b')", "df.query('sin (a)')", "df.query('f_in (a)')", "df.query('notf(a)')", "df.query('not(f)(1)')", "df.query('(a)[0]')", "df.query('a[0]')", "df.query('`a`')", "df.query('a == 1', engine='python')", "df.query('x and (@y)')", "df.eval('b = f(a)')", "q = df.query\nq(\"@pd.compat.os.system('id')\")", "list(map(df.eval, ['x']))", "pd.DataFrame.query(df, '@x')", "df.query('@pd.io')", "df.query(text)",
    "df.eval('@x.__class__')", "df.query(f'a > {x}')", "df.groupby('a').query", "[df.eval]", "(lambda d: d.eval)(df)", "match df:\n    case pd.DataFrame(eval=e): e('x')",
    "class A(pd.DataFrame):\n    __match_args__ = ('eval',)", "class A(pd.DataFrame):\n    run = pd.DataFrame.eval", "df.eval = 1", "del df.query", "class M(type): ...", "class A(metaclass=M): ...",
    "D = type(df)", "type(type(df))('A', (), {})", "'{0.style}'.format(df)", "f = '{0.style}'.format", "str.format('{0.style}', df)", "'{:{0.style}}'.format(df)", "'{0[a].style}'.format(df)", "df.map('{0.style}'.format)", "df.map(('{0' + '.style}').format)", "[type][0](df)", "print(type)(df)", "'{x}'.format_map({'x': df})", "getattr(df, 'eval')", "help('x')",
]  # fmt: skip
STYLES = [
    "df.style.env.from_string(r'{{ x }}').render()", "df.style", "df.style.loader", "df.style.env.compile", "x.loader", "x.env", "x.env.compile('x')", "s = [df.style][0]", "f = lambda d: d.style",
    "x.from_string('x')", "x.render()", "x.template_html", "pd.io.formats.style.Styler", "from pandas.io.formats.style import Styler", "df.hist()", "df.boxplot()", "df.plot.line()",
]  # fmt: skip
NOT_STRINGIO = [
    "b = io.StringIO()\nmatch 's.csv':\n    case b: pass\npd.read_csv(b)", "buffer = io.StringIO('a')\npd.read_csv(buffer)", "def f(buffer):\n    return pd.read_csv(buffer)",
    "from io import StringIO\nStringIO = str\npd.read_csv(StringIO('x.csv'))", "from io import StringIO\ndef StringIO(x): return x\npd.read_csv(StringIO('x.csv'))",
    "from io import StringIO\nclass StringIO(str): ...\npd.read_csv(StringIO('x.csv'))", "from io import StringIO\nfor StringIO in [str]:\n    pd.read_csv(StringIO('x.csv'))",
    "from io import StringIO\nwith x as StringIO:\n    pd.read_csv(StringIO('x.csv'))", "from io import StringIO\n(StringIO := str)\npd.read_csv(StringIO('x.csv'))",
    "from io import StringIO\ntry: x\nexcept E as StringIO:\n    pd.read_csv(StringIO('x.csv'))", "from io import StringIO\ndef f(StringIO):\n    pd.read_csv(StringIO('x.csv'))",
    "from io import StringIO\nmatch str:\n    case StringIO: pd.read_csv(StringIO('x.csv'))", "from io import StringIO\nmatch [str]:\n    case [*StringIO]: pd.read_csv(StringIO('x'))",
    "from io import StringIO\nmatch {}:\n    case {**StringIO}: pd.read_csv(StringIO('x'))", "from io import StringIO\nStringIO += x\npd.read_csv(StringIO('x'))", "from io import StringIO\ndel StringIO\npd.read_csv(StringIO('x'))",
    "from io import StringIO\ndef f():\n    global StringIO\npd.read_csv(StringIO('x'))", "from io import StringIO\n[pd.read_csv(StringIO('x')) for StringIO in [str]]", "from io import StringIO\nfrom builtins import str as StringIO\npd.read_csv(StringIO('x'))",
    "from io import StringIO\nlambda StringIO: pd.read_csv(StringIO('x'))", "io = x\npd.read_csv(io.StringIO('x'))", "io.StringIO = str\npd.read_csv(io.StringIO('x'))", "for io.StringIO in [str]: pd.read_csv(io.StringIO('x'))",
    "from io import FileIO as StringIO\npd.read_csv(StringIO('x'))", "pd.read_csv(io.StringIO(*x))", "pd.read_csv(io.StringIO('x'), **y)", "pd.read_csv(filepath_or_buffer='x')", "pd.read_csv(x.StringIO('x'))", "pd.read_csv(open('x'))",
    "class pd: ...\npd.read_csv(io.StringIO('x'))", "class StringIO(str): ...\npd.read_csv(StringIO('x'))", "def f[StringIO](): pd.read_csv(StringIO('x'))", "type StringIO = str\npd.read_csv(StringIO('x'))",
]  # fmt: skip


@pytest.mark.parametrize("code", COMPUTING)
def test_what_computes_passes(code: str) -> None:
    assert STRICT.judge(HEAD + code) is None


def test_a_table_is_read_from_the_class_by_its_own_name() -> None:
    code = "from io import StringIO\nimport pandas as pd\nprint(pd.read_csv(StringIO('a')))"
    assert STRICT.judge(code) is None


@pytest.mark.parametrize("code", [*REACHING, *BY_NAME, *QUERIES, *STYLES, *NOT_STRINGIO])
def test_what_reaches_elsewhere_is_refused(code: str) -> None:
    assert STRICT.judge(HEAD + code) is not None
    assert READONLY.judge(HEAD + code) is not None


def test_what_a_class_of_the_program_has_is_no_way_to_a_member_of_a_table() -> None:
    declared = "class A:\n    env = 1\n    def eval(self): ...\nA().env\n"
    assert STRICT.judge(HEAD + declared) is not None
    assert STRICT.judge(declared) is None


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/hostname')",
        "f'{1:{open(\"/etc/x\").read()}}'",
        "rd = open\nrd('x')",
        "import os\nos.listdir('/')",
        "open('../x')",
        "open('data.csv')",
        "open('json.py', 'w')",
        "from io import open as o\no('x')",
        "from pathlib import Path\nPath('x').read_text()",
        "import pathlib\nlist(pathlib.Path('.').glob('*'))",
    ],
)
def test_no_file_is_opened_at_a_closed_level(code: str) -> None:
    assert STRICT.judge(code) is not None
