"""`code_safety` rules for calls: computed look-ups, run-time classes, format strings, files, unsafe loaders; at `readonly` writing ones."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_members import Walk, attribute_violation
from gatewright.validators.code_names import Names, folded
from gatewright.validators.shell_files import is_sensitive

__all__ = [
    "JUDGED_ARGUMENTS",
    "JUDGED_CALLS",
    "call_violations",
    "joined_violation",
    "names_file",
    "write_violation",
]

_OPENS = frozenset(
    "open ZipFile TarFile GzipFile BZ2File LZMAFile FileIO fdopen memmap mmap connect".split()
)
_MODE = Pattern(r"[rwaxbtU+:|gz2]{1,8}")
_WRITES = Pattern(r"[wax+]")
_READING_VERBS = frozenset({"GET", "HEAD", "OPTIONS"})


def write_violation(node: ast.Call, names: Names) -> Iterator[str]:
    """What speaks against one call in code that may only read."""
    func = node.func
    if isinstance(func, ast.Attribute):
        name = func.attr
        if _is_writing_method(node, func):
            yield f"Blocked write: '{name}'"
    else:
        name = func.id if isinstance(func, ast.Name) else ""
        if any(path.rpartition(".")[2] in lists.WRITING_ATTRIBUTES for path in names.paths(func)):
            yield f"Blocked write: '{name}'"
    if name in _OPENS or any(path.endswith(".open") for path in names.paths(func)):
        yield from _mode_violation(node, name)
    yield from _request_violation(node)


def _is_writing_method(node: ast.Call, func: ast.Attribute) -> bool:
    name = func.attr
    # `httpx.request("GET", …)` only reads; a method that is computed may be any.
    if name in {"request", "stream"} and node.args:
        return (folded(node.args[0]) or "").upper() not in _READING_VERBS
    if name in {"write", "writelines"} and isinstance(func.value, ast.Attribute):
        # The program's own output is no file.
        return func.value.attr not in {"stdout", "stderr"}
    if name == "urlopen":
        return len(node.args) > 1 or any(one.arg == "data" for one in node.keywords)
    # `str.replace` has two arguments, `Path.replace` one.
    return name in lists.WRITING_ATTRIBUTES or (name == "replace" and len(node.args) == 1)


def _mode_violation(node: ast.Call, name: str) -> Iterator[str]:
    """The mode has to be a constant that only reads, wherever it stands."""
    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(
        one.arg is None for one in node.keywords
    ):
        yield f"Blocked write: '{name}' with hidden arguments"
        return
    named = [one.value for one in node.keywords if one.arg in {"mode", "flags", "opener"}]
    first = [arg for arg in node.args[:1] if isinstance(node.func, ast.Attribute) and _is_mode(arg)]
    for mode in (*first, *node.args[1:2], *named):
        text = folded(mode)
        if text is None or _WRITES.search(text):
            yield f"Blocked write: '{name}' with a mode that writes or is computed"


def _is_mode(node: ast.expr) -> bool:
    text = folded(node)
    return text is not None and _MODE.fullmatch(text) is not None


def _request_violation(node: ast.Call) -> Iterator[str]:
    for one in node.keywords:
        if one.arg == "method" and (folded(one.value) or "").upper() not in _READING_VERBS:
            yield "Blocked write: a request that is no GET or HEAD"
        elif one.arg == "inplace" and not (
            isinstance(one.value, ast.Constant) and not one.value.value
        ):
            yield "Blocked write: 'inplace'"


def names_file(node: ast.Call) -> bool:
    """Whether the first argument is a URL of a file."""
    first = node.args[0] if node.args else None
    text = first.value if type(first) is ast.Constant else None
    return type(text) is str and text[:5].lower() == "file:"


def call_violations(walk: Walk, node: ast.Call) -> Iterator[str]:
    """Every sentence that speaks against one call."""
    func = node.func
    if isinstance(func, ast.Name):
        yield from _named_call(walk, node, func)
    elif isinstance(func, ast.Attribute) and func.attr in _READERS:
        yield from _READERS[func.attr](folded(func.value), node)
    for arg in node.args if _is_attrgetter(walk, func) else ():
        yield from _member_text(folded(arg), "attrgetter")
    yield from _file_violation(node, closed=walk.closed)
    if _gives_environment_away(walk, node):
        yield "Blocked use: the whole of 'os.environ' in code that uses the network"
    yield from _switch_violation(node)
    # After all else spoke: the function itself is blocked where it is named, except for this one call.
    if _loads_only_data(walk, node):
        walk.harmless.add(id(func))
    if walk.rules.read_only:
        yield from write_violation(node, walk.names)


_SWITCHES: dict[str, object] = {"allow_pickle": True, "safe_mode": False, "typ": "unsafe"}
"""Arguments, of whatever function, with which data that it reads may be code."""


def _switch_violation(node: ast.Call) -> Iterator[str]:
    for one in node.keywords:
        if one.arg == "eval_str":
            yield "Blocked call: annotations that are evaluated"
        elif one.arg in _SWITCHES and _value(one.value) == _SWITCHES[one.arg]:
            yield f"Blocked argument: '{one.arg}'"


def _value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


_SAFE_LOADERS = frozenset(
    f"yaml.{name}" for name in "SafeLoader CSafeLoader BaseLoader CBaseLoader".split()
)
_LOADS = frozenset("numpy.load torch.load yaml.load yaml.load_all".split())


def _loads_only_data(walk: Walk, node: ast.Call) -> bool:
    """Whether a function that can load code is told, or made, to load nothing but data."""
    paths = walk.names.paths(node.func) if isinstance(node.func, ast.Attribute) else frozenset()
    if not paths or not paths <= _LOADS:
        return False
    if any(one.arg is None for one in node.keywords) or any(
        isinstance(one, ast.Starred) for one in node.args
    ):
        return False
    named = {one.arg: one.value for one in node.keywords}
    if paths == {"numpy.load"} and walk.frames:  # which listed members alone pass
        return False
    if paths == {"numpy.load"}:
        return len(node.args) <= _BEFORE_ALLOW_PICKLE and _is(named.get("allow_pickle"), False)
    if paths == {"torch.load"}:
        return "weights_only" in named and _is(named["weights_only"], True)
    loader = named.get("Loader", node.args[1] if len(node.args) > 1 else None)
    found = walk.names.paths(loader)
    return bool(found) and found <= _SAFE_LOADERS


_BEFORE_ALLOW_PICKLE = 2


def _is(node: ast.expr | None, value: bool) -> bool:
    """Whether an argument is not given, or is this constant."""
    return node is None or (isinstance(node, ast.Constant) and node.value is value)


def _gives_environment_away(walk: Walk, node: ast.Call) -> bool:
    """Whether a call gets all variables at once, secrets included, in code that can send them somewhere."""
    if not walk.networked:
        return False
    values = [*node.args, *(one.value for one in node.keywords)]
    if isinstance(node.func, ast.Attribute) and node.func.attr in {"copy", "items", "values"}:
        values.append(node.func.value)
    return any("os.environ" in walk.names.paths(value) for value in values)


def _named_call(walk: Walk, node: ast.Call, func: ast.Name) -> Iterator[str]:
    # Judged here as a call; as a bare name it would count as a value that is passed around.
    if func.id not in walk.rebound:
        walk.followed.add(id(func))
    special = _CALLS.get(func.id)
    if special is not None:
        yield from special(walk, node)
    for path in walk.names.paths(func):
        found = walk.member_violation(path) if "." in path else None
        if found is not None:
            yield found


def _is_attrgetter(walk: Walk, func: ast.expr) -> bool:
    if isinstance(func, ast.Attribute):
        return func.attr == "attrgetter"
    return "operator.attrgetter" in walk.names.paths(func)


def _getattr(walk: Walk, node: ast.Call) -> Iterator[str]:
    """`getattr`, `setattr`, `delattr`, `hasattr`: like the attribute, where its name can be read."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    # `getattr(*x)`: what is looked up cannot be seen.
    if len(node.args) < 2 or node.keywords:
        yield f"Blocked call: '{name}' with hidden arguments"
        return
    base, member = node.args[0], folded(node.args[1])
    paths = walk.names.paths(base)
    if isinstance(base, ast.Name):
        walk.followed.add(id(base))
    # It tells whether there is such a member, and gives nobody the member.
    if name == "hasattr":
        return
    if paths and name != "getattr":
        yield f"Blocked call: '{name}' of a module"
    if member is not None:
        yield from _member_text(member, name)
        yield from filter(None, (walk.member_violation(f"{path}.{member}") for path in paths))
    elif paths or (name != "setattr" and not _has_plain_prefix(node.args[1])):
        yield f"Blocked call: '{name}' with a computed name"


def _has_plain_prefix(node: ast.expr) -> bool:
    """Whether a computed name begins with letters that make it no special one: `f"on_{event}"`."""
    first: ast.expr = node
    while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Add):
        first = first.left
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    text = folded(first)
    return text is not None and _JOINED.begins(text)


def _member_text(member: str | None, caller: str) -> Iterator[str]:
    if member is None:
        yield f"Blocked call: '{caller}' with a computed name"
        return
    for part in member.split("."):
        yield from attribute_violation(part)
        if part == "__dict__":
            yield f"Blocked attribute: '{part}'"


def _type(walk: Walk, node: ast.Call) -> Iterator[str]:
    # With three arguments `type` makes a class, whose members nobody has judged.
    if len(node.args) > 1 or any(isinstance(arg, ast.Starred) for arg in node.args):
        yield "Blocked call: 'type' that makes a class"


def _vars(walk: Walk, node: ast.Call) -> Iterator[str]:
    if (
        len(node.args) != 1
        or walk.names.paths(node.args[0])
        or not isinstance(node.args[0], ast.Name)
    ):
        yield "Blocked call: 'vars'"


_CALLS: dict[str, Callable[[Walk, ast.Call], Iterator[str]]] = {
    "getattr": _getattr,
    "setattr": _getattr,
    "delattr": _getattr,
    "hasattr": _getattr,
    "type": _type,
    "vars": _vars,
}

_JOINED = Pattern(r"[a-zA-Z]\w*_")
_FORMAT_MEMBER = Pattern(r"\{[^{}]*[.\[]_")


def _format_violation(text: str | None, node: ast.Call) -> Iterator[str]:
    del node
    if text is not None and _FORMAT_MEMBER.search(text):
        yield "Blocked format: a member with an underscore"


_QUERIED = Pattern(r"@\s*\w+(?:\s*\.\s*\w+)*\s*[(\[]|__\w+__")


def _query_violation(base: str | None, node: ast.Call) -> Iterator[str]:
    """A query of a data frame reaches everything behind a variable of the program, modules included."""
    del base
    text = folded(node.args[0]) if node.args else None
    if text is not None and _QUERIED.search(text):
        yield "Blocked query: a call behind '@'"


_READERS: dict[str, Callable[[str | None, ast.Call], Iterator[str]]] = {
    "format": _format_violation,
    "format_map": _format_violation,
    "query": _query_violation,
    "eval": _query_violation,
}
"""Methods that read a text as a language of its own."""


_OPENERS = frozenset(
    "open Path PurePath PosixPath expanduser expandvars FileIO join joinpath copyfile listdir scandir walk "
    "read_csv read_table read_fwf read_json loadtxt genfromtxt fromfile".split()
)
_CLIMBS = Pattern(r"(?:[^/]+/)*\.\.(?:/|\n?\Z)|[A-Za-z]:[/\\]|[a-z]+://")
_JOINERS = frozenset({"Path", "PurePath", "PosixPath", "join", "joinpath"})
_OWN_FILES = frozenset({".env", ".env.local", ".env.production", ".npmrc", ".pypirc"})
"""Secrets of the project itself, which its own code may well read."""


_STARTED = Pattern(
    r"(?:^|/)(?:\.(?:bashrc|bash_profile|bash_login|profile|zshrc|zprofile|zshenv)|authorized_keys|"
    r"etc/(?:ld\.so\.preload|rc\.local|profile|init\.d|systemd|cron\.[a-z]+)|autostart|LaunchAgents)(?:/|\n?\Z)",
    IGNORECASE,
)
"""What the host runs by itself: who writes there stays."""


def _is_foreign_secret(path: str) -> bool:
    if _STARTED.search(path):
        return True
    return path.rpartition("/")[2].casefold() not in _OWN_FILES and is_sensitive(path)


def _file_violation(node: ast.Call, *, closed: bool) -> Iterator[str]:
    func = node.func
    name = (
        func.id
        if isinstance(func, ast.Name)
        else func.attr
        if isinstance(func, ast.Attribute)
        else ""
    )
    if name in _OPENERS and node.args:
        parts = node.args if name in _JOINERS else node.args[:1]
        path = "/".join(map(_pieces, parts))
        yield from _path_violation(path)
        if closed and (path.startswith(("/", "~", "\\")) or _CLIMBS.begins(path)):
            yield f"Blocked file: '{path[:100]}' is outside of the program's folder"
    elif names_file(node):
        yield from _path_violation((folded(node.args[0]) or "")[5:])


def _path_violation(path: str) -> Iterator[str]:
    """What speaks against a path, in which `?` stands for what is not known."""
    if _is_foreign_secret(path):
        yield f"Blocked file: '{path[:100]}'"


def _pieces(node: ast.expr, depth: int = 0) -> str:
    """A path that is put together by `/`, with `?` for what is not known."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and depth < _MAX_PIECES:
        return f"{_pieces(node.left, depth + 1)}/{_pieces(node.right, depth + 1)}"
    if isinstance(node, ast.Call) and len(node.args) == 1 and depth < _MAX_PIECES:
        return _pieces(node.args[0], depth + 1)
    return folded(node) or "?"


_MAX_PIECES = 10


JUDGED_CALLS = (
    _OPENERS | _CALLS.keys() | _READERS.keys() | {path.rpartition(".")[2] for path in _LOADS}
) | {"attrgetter"}
"""Names of functions and methods about which there are rules at every level; what else is called has to be followed."""
JUDGED_ARGUMENTS = frozenset({"eval_str", *_SWITCHES})


def joined_violation(node: ast.BinOp) -> Iterator[str]:
    """What speaks against a path that operators put together."""
    path = _pieces(node) if isinstance(node.op, ast.Div) else ""
    # Numbers are divided as well, and more often.
    if path.strip("?/"):
        yield from _path_violation(path)
