"""Unicode puts a row of marks in order in the square of its length: no module normalizes but `secret_scanning.unicode_forms`."""

from __future__ import annotations

import ast
from pathlib import Path

import gatewright

SOURCE = Path(gatewright.__file__).parent
_NORMALIZING = {"normalize", "is_normalized", "ucd_3_2_0"}
HERE = "secret_scanning/unicode_forms.py"


def normalizes(text: str) -> bool:
    if "unicodedata" not in text:  # parsing is most of what this costs
        return False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in _NORMALIZING:
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "unicodedata":
            return any(one.name in {*_NORMALIZING, "*"} for one in node.names)
    return False


def test_every_way_to_normalize_is_found() -> None:
    for text in (
        "import unicodedata\nunicodedata.normalize('NFC', x)",
        "import unicodedata as u\nf = u.is_normalized",
        "from unicodedata import normalize",
        "from unicodedata import *",
    ):
        assert normalizes(text)
    assert not normalizes("import unicodedata\nunicodedata.combining(x)")
    assert not normalizes("from gatewright.secret_scanning.unicode_forms import normal")


def test_no_other_module_normalizes() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if normalizes(path.read_text())
    }
    assert found == {HERE}
