"""Functions that methods of tables are given."""

import pytest

from gatewright.validators.code_safety import prepare

STRICT = prepare({"level": "strict"})
HEAD = "import math\nimport numpy as np\nimport pandas as pd\nfrom functools import partial\ndf = pd.DataFrame({'a': [1]})\n"


@pytest.mark.parametrize(
    "code",
    [
        "funcs = {'a': 'sum', 'b': ['min', 'max']}\ndf.agg(funcs)", "how = 'mean'\ndf.agg(how)", "stats = ['mean', 'std']\ndf.groupby('a').agg(stats)", "for how in ['mean', 'sum']: df.agg(how)", "[df.agg(how) for how in ('mean', np.sum)]", "mapping = df.set_index('a')['b']\ndf['a'].map(mapping)",
        "df.apply(pd.to_numeric, errors='coerce')", "df.columns.map('_'.join)", "df['a'].map(x)", "df['a'].apply(partial(round, ndigits=1))", "df['a'].apply(math.sqrt)", "df.agg('mean', axis=1, numeric_only=True)", "def f(x, expr): ...\ndf.apply(f, expr='@x')", "df.pivot_table(aggfunc=['mean', 'sum'])", "df.apply(np.sum, axis=1)",
    ],
)  # fmt: skip
def test_functions_that_can_be_seen_pass(code: str) -> None:
    assert STRICT.judge(HEAD + code) is None


@pytest.mark.parametrize(
    "code",
    [
        "df.agg('mean', expr='@x')", "df.agg(np.mean, expr='@x')", "df.apply(pd.to_numeric, target=x)", "funcs = {'a': 'sum'}\nfuncs['a'] = 'eval'\ndf.agg(funcs)", "funcs = {'a': 'sum'}\nfuncs.update(x)\ndf.agg(funcs)", "funcs = {'a': 'sum'}\nf(funcs)\ndf.agg(funcs)", "funcs = {'a': 'sum'}\ng = funcs\ndf.agg(funcs)",
        "funcs = ['sum']\nfuncs += ['eval']\ndf.agg(funcs)", "for how in ['mean', 'eval']: df.agg(how)", "for how in names: df.agg(how)", "how = 'me' + x\ndf.agg(how)", "how = other\ndf.agg(how)", "df.apply(partial(df.eval, 'x'))", "df.apply(np.ndarray)", "df.apply(np.load)", "df.apply(pd.read_csv)", "df['a'].map('eval')",
        "df['a'].map(pd.eval)", "df.agg(np.random.mtrand)", "df.apply(partial(*x))", "df.pivot_table(aggfunc=name)", "df.apply(np.sum, args=('x',))", "df.map(arg='eval')", "df.map(f, expr='x')", "df.agg('{0.x}'.format)",
    ],
)  # fmt: skip
def test_what_may_be_another_function_is_refused(code: str) -> None:
    assert STRICT.judge(HEAD + code) is not None
