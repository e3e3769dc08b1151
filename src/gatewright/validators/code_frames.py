"""`code_safety` rules for numpy and pandas at `strict` and `readonly`: which members compute, and calls that read or write files as text only.

Of both packages nothing passes but listed members; of their objects nothing that reads, writes, plots or imports by a name. A table is read
from `StringIO` and written to a text; a query is a constant that reaches no member of the program's variables. The lists follow the
references of numpy 2.0 and pandas 2.2.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gatewright.patterns import Pattern
from gatewright.validators.code_members import Walk
from gatewright.validators.code_names import folded

__all__ = ["frame_attribute", "frame_call", "frame_class", "frame_text"]

_WITH_TEXT = frozenset(
    "pandas.read_csv pandas.read_table pandas.read_fwf pandas.read_json pandas.read_xml numpy.loadtxt numpy.genfromtxt".split()
)
_TEXTS = frozenset({"io.StringIO", "io.BytesIO"})
_AS_TEXT = frozenset("to_csv to_json to_html to_string to_markdown to_latex to_xml".split())
_PLACES = frozenset("path_or_buf path_or_buffer buf path fname excel_writer".split())
_IO = _AS_TEXT | frozenset(
    """
    to_excel to_pickle to_sql to_parquet to_feather to_hdf to_stata to_clipboard to_gbq to_orc to_iceberg tofile dump from_custom_template plot hist
    boxplot ExcelWriter ExcelFile HDFStore get_handle show_versions show_config read_csv read_table read_fwf read_json read_xml read_html read_excel
    read_pickle read_sql read_sql_query read_sql_table read_parquet read_feather read_hdf read_stata read_sas read_spss read_gbq read_orc
    read_clipboard loadtxt genfromtxt fromfile fromregex memmap open_memmap savetxt save savez savez_compressed DataSource as_strided runstring
    to_file from_file read_file array_interface
    """.split()
)
"""Members, of whatever object, by which files, tables and other packages are reached."""
_BY_NAME = frozenset("agg aggregate apply transform map applymap pipe".split())
"""Methods that look another one up where they are given its name."""
_QUERYING = frozenset({"query", "eval"})
_REACHES = Pattern(r"@\s*\w+\s*[.(\[]|__|\.\s*\w+\s*\(")
_OPTIONS = ("display.", "mode.", "max_", "precision")
_HOOKS = Pattern(
    r"__array_(?:interface|struct|function|ufunc|wrap|finalize)__|__cuda_array_interface__|__dlpack\w*__|__dataframe\w*__|__arrow_\w+__"
)


def frame_attribute(node: ast.Attribute) -> Iterator[str]:
    """What speaks against a member of an object that may be a table or an array."""
    if node.attr in _IO:
        yield f"Blocked call: '{node.attr}' reads or writes elsewhere"


def frame_text(text: str) -> Iterator[str]:
    """What speaks against a text by which a method may be looked up."""
    if text in _IO or text == "plotting.backend":
        yield f"Blocked text: '{text}'"


def frame_class(node: ast.ClassDef) -> Iterator[str]:
    """A class that tells numpy where its memory is."""
    for one in node.body:
        targets = one.targets if isinstance(one, ast.Assign) else []
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(one.name)
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            names.append(one.target.id)
        for name in names:
            if _HOOKS.fits(name):
                yield f"Blocked attribute: '{name}'"


def frame_call(walk: Walk, node: ast.Call) -> Iterator[str]:
    """What speaks against a call in code that uses tables or arrays; what only turns one into text is marked as harmless."""
    func = node.func
    paths = walk.names.paths(func)
    hidden = any(isinstance(one, ast.Starred) for one in node.args) or any(
        one.arg is None for one in node.keywords
    )
    if paths and paths <= _WITH_TEXT:
        if not hidden and node.args and _is_text(walk, node.args[0]):
            walk.harmless.add(id(func))
    elif not paths.isdisjoint(_SETTING):
        names = [folded(one) for one in node.args[::2]]
        shown = all(one is not None and one.startswith(_OPTIONS) for one in names)
        if hidden or not names or not shown:
            yield "Blocked call: an option that is not about what is shown"
    elif isinstance(func, ast.Attribute) and not paths:
        yield from _method_call(walk, node, func, hidden=hidden)


def _method_call(walk: Walk, node: ast.Call, func: ast.Attribute, *, hidden: bool) -> Iterator[str]:
    """The same of a method of some object."""
    if func.attr in _AS_TEXT:
        placed = any(one.arg in _PLACES for one in node.keywords)
        if not hidden and not placed and all(_is_text(walk, one) for one in node.args[:1]):
            walk.harmless.add(id(func))
    elif func.attr in _QUERYING:
        text = folded(node.args[0]) if node.args else None
        if text is None or hidden or _REACHES.search(text):
            yield f"Blocked query: '{func.attr}' with a text that is computed or reaches members"
    elif func.attr in _BY_NAME and any(map(_is_computed, node.args[:1])):
        yield f"Blocked call: '{func.attr}' with a computed name"


_SETTING = frozenset({"pandas.set_option", "pandas.option_context"})


def _is_text(walk: Walk, node: ast.expr) -> bool:
    """Whether an argument certainly is a text in memory: nothing, or what `StringIO` made."""
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Call):
        return bool(walk.names.paths(node.func)) and walk.names.paths(node.func) <= _TEXTS
    return isinstance(node, ast.Name) and node.id in walk.buffers


def _is_computed(node: ast.expr) -> bool:
    """Whether a name is put together where it is handed over."""
    if isinstance(node, ast.JoinedStr | ast.BinOp | ast.Subscript | ast.Call):
        return folded(node) is None and not (
            isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute)
        )
    return False
