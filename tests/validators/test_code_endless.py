"""Code that plainly has no end or fills the memory."""

import pytest

from gatewright.validators.code_safety import prepare

STRICT = prepare({"level": "strict"})
HEAD = "import asyncio, itertools, math, time\nfrom itertools import count, repeat\n"
LOOPS = [
    "while True: pass", "while 1: x = 1", "while not False: x()", "while True and 1: pass", "while 1 == 1: pass", "while [0]: pass", "while True:\n    for i in x: break",
    "while True:\n    def f(): return 1", "for i in iter(int, 1): pass", "for i in count(): print(i)", "for i in itertools.cycle([1]): pass", "for i in repeat(1): pass", "for i in range(10**12): pass",
    "for i, j in enumerate(count()): pass", "for i in x or iter(int, 1): pass", "for i in count() if x else []: pass",
]  # fmt: skip
TAKING = [
    "list(count())", "sum(itertools.count())", "[*repeat(1)]", "tuple(iter(int, 1))", "set(map(str, count()))", "''.join(repeat('a'))", "sum(x for x in count())", "print(*count())", "max(range(10**11))", "time.sleep(10**6)", "await asyncio.sleep(9999)",
]  # fmt: skip
SIZES = [
    "'a' * 10**10", "10**10 * 'a'", "[0] * 10**11", "9**9**9", "9**9**9**9", "10**10**8", "2 << 10**11", "x * (9**9**9)", "math.factorial(10**9)", "'a'.zfill(10**10)", "math.comb(10**9, 10**8)", "import numpy as np\nnp.zeros((10**6, 10**6))", "import numpy as np\nnp.ones(10**11)",
]  # fmt: skip
HONEST = [
    "while True:\n    n += 1\n    if n > 3: break", "def f():\n    while True: yield 1", "def f():\n    while True:\n        if x: return", "while True:\n    try: next(x)\n    except E: break", "while True:\n    x.pop()", "while x: pass", "while True: raise X", "while 1 == x: pass",
    "async def f():\n    while True: await asyncio.sleep(1)", "for i in count():\n    if i > 3: break", "list(itertools.islice(count(), 3))", "list(repeat(1, 3))", "sum(repeat(1, times=3))", "for a in iter(f, ''): pass", "list(zip(x, count()))", "2 ** 64", "10 ** 9 + 7", "1 << 20", "'-' * 80",
    "[0] * 1000", "x ** y ** z", "2 ** -1", "0 ** 5", "math.factorial(100)", "time.sleep(1)", "'a'.zfill(8)", "range(10**12)", "(-2) ** 3", "1.5 ** 2", "'a' * n", "import numpy as np\nnp.zeros((1000, 1000))", "import numpy as np\nnp.full((3, 3), 10**12)", "import numpy as np\nnp.arange(0, 10**6)",
]  # fmt: skip


@pytest.mark.parametrize("code", [*LOOPS, *TAKING, *SIZES])
def test_what_plainly_has_no_end_or_bound_is_refused(code: str) -> None:
    wrapped = f"async def f():\n    {code}" if "await" in code else code
    found = STRICT.judge(wrapped if "numpy" in code else HEAD + wrapped)
    assert found is not None
    assert all(one.startswith(("Endless:", "Size:")) for one in found.details["violations"])


@pytest.mark.parametrize("code", HONEST)
def test_what_ends_passes(code: str) -> None:
    assert STRICT.judge(code if "numpy" in code else HEAD + code) is None


def test_a_number_is_told_once_with_all_that_is_in_it() -> None:
    found = STRICT.judge("9 ** 9 ** 9 ** 9")
    assert found is not None
    assert found.details["violations"] == ["Size: a number or text without a bound"]
