"""Python's `re` backtracks: no text of a stranger meets it. Modules that hold such a text take `gatewright.patterns`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import gatewright

SOURCE = Path(gatewright.__file__).parent

_WORD = re.compile(r"\bre\b")

_OPERATOR = "the operator's own configuration or words"
_AUTHOR = "the author's own code, while he exports or declares it"
ALLOWED = {
    "cli/run.py": _OPERATOR,
    "servers/commands/export.py": _OPERATOR,
    "app/randomness.py": "bytes of this machine's randomness",
    "dialects/openapi/to_openapi.py": "a pattern is compiled to see whether it is one, and meets no text",
    "sdk/export/catalogue.py": _AUTHOR,
    "sdk/export/sample_text.py": _AUTHOR,
    "sdk/function_schema.py": _AUTHOR,
    "config/documents.py": "the message of a parser about the operator's own file",
    "config/toml_positions.py": _OPERATOR,
    "config/substitute.py": _OPERATOR,
}
"""Module → why no stranger's text makes it slow. None is added without such a reason."""


def imports_re(text: str) -> bool:
    if not _WORD.search(text):  # parsing is most of what this costs
        return False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import) and any(
            one.name.split(".")[0] == "re" for one in node.names
        ):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "re":
            return True
    return False


def test_every_way_to_import_re_is_found() -> None:
    assert all(
        map(
            imports_re,
            ("import re", "import re as r", "from re import compile", "def f():\n    import re"),
        )
    )
    assert not any(map(imports_re, ("import re2", "from gatewright.patterns import Pattern", "")))


def test_no_module_meets_foreign_text_with_a_pattern_that_backtracks() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if imports_re(path.read_text())
    }
    assert found == set(ALLOWED)
