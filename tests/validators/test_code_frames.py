"""numpy and pandas at the closed levels: what computes passes, what reads, writes, plots or imports does not."""

from __future__ import annotations

import pytest

from gatewright.validators.code_safety import prepare

STRICT = prepare({"level": "strict"})
HEAD = "import io\nimport numpy as np\nimport pandas as pd\ndf = pd.DataFrame({'a': [1]})\n"
COMPUTING = [
    "df.groupby('a').agg({'a': 'sum'})", "np.linalg.norm(np.array([1, 2]))", "np.random.default_rng(1).normal(size=3)", "pd.read_csv(io.StringIO('a\\n1'))",
    "buffer = io.StringIO('a')\npd.read_csv(buffer)", "print(df.to_csv(index=False))", "df.to_string()", "df.query('a > 1')", "pd.to_datetime('2024-01-01')",
    "df.apply(lambda row: row, axis=1)", "df['a'].agg(sum)", "pd.set_option('display.width', 80)", "np.add.reduce([1, 2])", "pd.Series([1]).rolling(2).mean()", "df.eval('b = a * 2')",
]  # fmt: skip
REACHING = [
    "pd.read_csv('x.csv')", "pd.read_csv(path)", "pd.read_pickle('x')", "df.to_csv('x')", "df.to_csv(path_or_buf='x')", "df.to_pickle('x')", "df.to_csv(*a)", "np.load('x')", "np.save('x', df)",
    "np.array([1]).tofile('x')", "np.lib.npyio.DataSource()", "np.f2py", "from pandas.io.common import os", "import pandas.io.common", "import numpy.lib", "from numpy import loadtxt",
    "from pandas import *", "pd.io.common.os", "df.agg('to_csv', 0, 'x')", "df.agg(['to_pickle'])", "df.agg({'a': 'to_csv'})", "df.agg('to' + '_csv')", "df.agg('vsc_ot'[::-1])", "df.query('@pd.io')",
    "df.query(text)", "df.eval('@x.__class__')", "pd.eval('1')", "df.plot()", "pd.set_option('plotting.backend', 'x')", "np.testing.runstring('x', {})", "np.memmap('x')", "pd.ExcelWriter('x')",
    "class A:\n    __array_interface__ = {}", "class A:\n    def __array_struct__(self): ...", "x = np\nx.load('a')", "getattr(np, 'load')", "pd.DataFrame.to_csv(df, 'x')", "f = df.to_csv\nf('x')",
    "buffer = io.StringIO('a')\nbuffer = 'x'\npd.read_csv(buffer)", "def f(buffer):\n    return pd.read_csv(buffer)", "np.random.mtrand", "pd.options.plotting.backend = 'x'", "np.lib.stride_tricks.as_strided(df)",
]  # fmt: skip


@pytest.mark.parametrize("code", COMPUTING)
def test_what_computes_passes(code: str) -> None:
    assert STRICT.judge(HEAD + code) is None


@pytest.mark.parametrize("code", REACHING)
def test_what_reaches_elsewhere_is_refused(code: str) -> None:
    assert STRICT.judge(HEAD + code) is not None
    assert prepare({"level": "readonly"}).judge(HEAD + code) is not None


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/hostname')",
        "f'{1:{open(\"/etc/x\").read()}}'",
        "rd = open\nrd('x')",
        "import os\nos.listdir('/')",
        "open('../x')",
    ],
)
def test_no_file_outside_is_read_at_a_closed_level(code: str) -> None:
    assert STRICT.judge(code) is not None
    assert prepare({"level": "strict"}).judge("open('data.csv')") is None
