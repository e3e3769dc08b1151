"""What a found configuration file would start, import, send, use, in lines for its user to accept; digests of values and files; changes since.

Nothing is filled in here: no variable, no secret and no program is touched, so that a stranger's file can be shown.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import shlex
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from gatewright.config.documents import Document
from gatewright.config.problems import Origin, Problem, SettingsError
from gatewright.config.toml_positions import KeyPath
from gatewright.config.variable_risks import loads_code, moves_traffic
from gatewright.patterns import Pattern
from gatewright.secret_scanning.escape_invisible import spelled

__all__ = ["Entry", "changes", "contents", "digests", "effects", "entries"]

_HARMLESS = frozenset(
    {("limits",), ("gateway", "name"), ("gateway", "startup_wait_s"), ("gateway", "port")}
    | {("telemetry", "sample"), ("telemetry", "interval_s"), ("console", "port")}
)
"""What neither runs, nor sends, nor permits anything; whatever is not named here counts."""
_REFERENCE = Pattern(r"\$\{([^}]*)\}")
_PROGRAM = frozenset({"id", "command", "args", "cwd", "python", "url", "openapi", "base_url"})
_ADDRESS = Pattern(r"(?P<where>[a-z+]{1,20}://[A-Za-z0-9.:\[\]-]{1,200})(?:[/?#]|\Z)")
_FILE_BYTES = 16 << 20
_FILES_BYTES = 64 << 20
"""Of all files that one configuration names."""
_FILES = 256
_OF_FILE = "file:"
"""What the identity of an entry begins with that stands for a file."""
_LONG = 240
_WHOLE = 4096
"""Characters of what is shown whole. What is longer is not asked about: nobody reads it."""


class Entry(msgspec.Struct, frozen=True):
    """One value of the file, or one file that it names."""

    key: str
    """For people: `servers.files.command`."""
    identity: str
    value: str
    """Exact, and not to be shown."""


def entries(document: Document) -> list[Entry]:
    """Everything that has to be accepted. Raises `SettingsError` for what cannot be shown or looked at."""
    _check(document)
    found = [
        # `repr`: 1, "1" and true are different values; the path as JSON, because a key may have a dot in it.
        Entry(_dotted(path), msgspec.json.encode(path).decode(), repr(value))
        for path, value in _leaves(document.data, ())
        if not any(path[: len(one)] == one for one in _HARMLESS)
    ]
    return [*found, *_of_files(document)]


def _of_files(document: Document) -> Iterator[Entry]:
    """The files that it names, with what is in them."""
    folder = document.path.absolute().parent
    names = sorted({*_named_files(document.data)})
    if len(names) > _FILES:
        what = f"it names {len(names)} files, and at most {_FILES} can be accepted with it"
        raise SettingsError([Problem(Origin(document.path), "", what, "name fewer")])
    left = _FILES_BYTES
    for name in names:
        digest, size = _digest_of(folder / name)
        left -= size
        if left < 0:
            what = f"the files that it names have more than {_FILES_BYTES} bytes together"
            raise SettingsError([Problem(Origin(document.path), "", what, "name smaller ones")])
        yield Entry(f"file {name}", f"{_OF_FILE}{name}", digest)


def contents(document: Document, found: list[Entry]) -> dict[str, str]:
    """Path → digest of the content, of the files among entries."""
    folder = document.path.absolute().parent
    return {
        str(folder / one.identity.removeprefix(_OF_FILE)): one.value
        for one in found
        if one.identity.startswith(_OF_FILE)
    }


def digests(found: list[Entry], salt: str) -> dict[str, str]:
    """Identity → keyed digest: tells values apart without saying one."""
    key = salt.encode()
    return {
        # Keyed: by a plain digest a short secret could be guessed from trust.json.
        one.identity: hmac.digest(key, one.value.encode(errors="surrogatepass"), "sha256").hex()
        for one in found
    }


def changes(found: list[Entry], salt: str, accepted: Mapping[str, str]) -> list[str]:
    """What differs from what was accepted, in words; empty where nothing does."""
    now = digests(found, salt)
    said = []
    for one in found:
        former = accepted.get(one.identity)
        if former != now[one.identity]:
            word = "new" if former is None else "changed"
            said.append(f"{word}: {_whole(one.key)} = {_value(one)}")
    gone = [one for one in accepted if one not in now]
    return [*said, *(f"removed: {_whole(_label(one))}" for one in gone)]


def effects(document: Document) -> list[str]:
    """What the file runs, imports, sends and uses, a sentence each, what matters most first. Raises `SettingsError`
    for what cannot be shown."""
    _check(document)
    data = document.data
    said = [line for one in _tables(data.get("servers")) for line in _of_server(one)]
    rest = {name: value for name, value in data.items() if name != "servers"}
    said += list(_of_values(rest))
    said += list(_of_references(data))
    return said


def _check(document: Document) -> None:
    """Refuse by name what is too long to be shown whole, and files that are not known by their name."""
    problems = [
        Problem(Origin(document.path), _shown(key, 120), _TOO_LONG.format(length), _SHORTER)
        for key, length in _lengths(document.data)
        if length > _WHOLE
    ]
    problems += [
        Problem(Origin(document.path), f"servers.{number}.openapi", _WHICH_FILE, _NAME_IT)
        for number, table in enumerate(_tables(document.data.get("servers")))
        if _is_file(name := table.get("openapi")) and "${" in name
    ]
    if problems:
        raise SettingsError(problems)


_WHICH_FILE = "a variable says which file this is, so what was accepted could be another one later"
_NAME_IT = 'write its name, openapi = "api.json"; --config FILE uses it as it is'


_TOO_LONG = f"it has {{}} characters, and at most {_WHOLE} are shown to whoever is to accept it"
_SHORTER = (
    "write less, for instance a script in a file of its own; --config FILE uses it without asking"
)


def _lengths(data: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """(key, characters) of everything that is shown whole."""
    for path, value in _leaves(data, ()):
        key = _dotted(path)
        yield key, max(len(key), len(str(value)) if _is_whole(path) else 0)
    for number, table in enumerate(_tables(data.get("servers"))):
        if "command" in table:
            yield f"servers.{number}.command with its args", len(_command(table))
    for verb, names in _uses(data):
        yield verb, len(names)


def _is_whole(path: KeyPath) -> bool:
    """Whether it says what runs, what is loaded or where something is sent: every character of it counts."""
    if len(path) < 3 or path[0] != "servers":
        return False
    return path[2] in _PROGRAM or (path[2] == "env" and bool(_kind(str(path[-1]))))


def _command(table: Mapping[str, Any]) -> str:
    return shlex.join(map(str, [table["command"], *_list(table.get("args"))]))


def _of_server(table: Mapping[str, Any]) -> Iterator[str]:
    name = f"server {_shown(str(table.get('id', '?')), 80)}"
    if "command" in table:
        folder = f" in {_whole(str(table['cwd']))}" if "cwd" in table else ""
        yield f"{name} runs `{_whole(_command(table))}`{folder}"
    if "python" in table:
        yield f"{name} imports the Python module {_whole(str(table['python']))}"
    for key, verb in (("url", "sends to"), ("base_url", "sends to"), ("openapi", "reads the API")):
        if key in table:
            yield f"{name} {verb} {_whole(str(table[key]))}"
    env = table.get("env")
    for variable, value in (env if isinstance(env, dict) else {}).items():
        kind = _kind(str(variable))
        said = _whole(str(value)) if kind else _text(str(variable), value)
        yield f"{name} sets {_shown(str(variable), 80)}={said}{kind}"
    headers = table.get("headers")
    for header, value in (headers if isinstance(headers, dict) else {}).items():
        yield f"{name} sends the header {_shown(str(header), 80)}: {_text(str(header), value)}"
    known = _PROGRAM | {"env", "headers"}
    for line in _of_values({key: table[key] for key in sorted(table.keys() - known)}):
        yield f"{name} {line}"


def _kind(variable: str) -> str:
    if loads_code(variable):
        return ", which chooses what a program loads"
    return ", which says where connections go" if moves_traffic(variable) else ""


def _of_values(data: Mapping[str, Any]) -> Iterator[str]:
    """Of all other tables: each value, texts first."""
    found = [*_leaves(data, ())]
    found.sort(key=lambda one: isinstance(one[1], bool | int | float))
    for path, value in found:
        yield f"sets {_whole(_dotted(path))} = {_text(_name(path), value)}"


def _name(path: KeyPath) -> str:
    """The name that says what a value is; of an element that of its list."""
    if "credentials" in path:
        return "credential"
    return next((one for one in reversed(path) if isinstance(one, str)), "")


def _of_references(data: Mapping[str, Any]) -> Iterator[str]:
    return (f"{verb} {_whole(names)}" for verb, names in _uses(data))


def _uses(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(what is done with them, their names) of all that the texts refer to."""
    kinds: dict[str, dict[str, None]] = {}
    for name in _references(data):
        kind, colon, rest = name.partition(":")
        kind = kind if colon and kind in {"secret", "file"} else "variable"
        kinds.setdefault(kind, {})[rest if kind != "variable" else name.partition(":-")[0]] = None
    for kind, verb in (
        ("secret", "uses the secrets"),
        ("variable", "uses the variables of your environment"),
        ("file", "reads the files"),
    ):
        if names := kinds.get(kind):
            yield verb, ", ".join(names)


def _text(name: str, value: object) -> str:
    """A value beside its name, which may say that it is a secret; of an address where it leads."""
    from gatewright.secret_scanning.credentials import is_secret_name  # noqa: PLC0415 - as below

    if not is_secret_name(name):
        return _shown(str(value))
    found = _ADDRESS.match(str(value))
    return f"{found['where']}/***" if found else "***"


def _shown(text: str, most: int = _LONG) -> str:
    # Only who is told pays for knowing secrets when it sees them.
    from gatewright.secret_scanning.message_text import shown  # noqa: PLC0415

    return shown(text, most)


def _whole(text: str) -> str:
    """Every character of it, with nothing masked; what is not seen is spelled."""
    return spelled(text)


def _value(entry: Entry) -> str:
    if entry.identity.startswith("file:"):
        return "other content"
    path = tuple(msgspec.json.decode(entry.identity, type=list[str | int]))
    return _whole(entry.value) if _is_whole(path) else _text(_name(path), entry.value)


def _label(identity: str) -> str:
    if identity.startswith("file:"):
        return identity.replace(":", " ", 1)
    return _dotted(msgspec.json.decode(identity, type=list[str | int]))


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path))


def _leaves(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """(path, value) of everything that is neither table nor array; elements by id or name where they have one."""
    if isinstance(value, dict) and (value or not path):
        for key, one in value.items():
            yield from _leaves(one, (*path, str(key)))
    elif isinstance(value, list) and value:
        for called, one in zip(_called(value), value, strict=True):
            yield from _leaves(one, (*path, called))
    else:
        yield path, value


def _called(items: list[Any]) -> list[str | int]:
    """Of each element its id, or its number where that is missing or not the only one."""
    ids = [one.get("id", one.get("name")) if isinstance(one, dict) else None for one in items]
    times = Counter(one for one in ids if isinstance(one, str))
    return [
        own if isinstance(own, str) and times[own] == 1 else number
        for number, own in enumerate(ids)
    ]


def _is_file(openapi: Any) -> TypeGuard[str]:
    """Whether an API's document is, or may be, one beside the file; what begins otherwise is fetched."""
    return isinstance(openapi, str) and "://" not in _REFERENCE.sub("", openapi)


def _named_files(data: Mapping[str, Any]) -> Iterator[str]:
    """Documents beside the file that say where things go or who comes in: a change of them is one of the file."""
    for table in _tables(data.get("servers")):
        name = table.get("openapi")
        if _is_file(name):
            yield os.path.expanduser(name)  # noqa: PTH111 - that of Path raises for an unknown user
    if authority := _authority(data):
        yield os.path.expanduser(authority)  # noqa: PTH111
    for reference in _references(data):
        if reference.startswith("file:"):
            yield reference.removeprefix("file:")


def _authority(data: Mapping[str, Any]) -> str:
    """The file whose certificates let clients in; empty where there is none."""
    found: Any = data
    for key in ("mcp", "protocol", "transport", "tls", "ca_file"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (found[1] for found in _REFERENCE.finditer(value))
    elif isinstance(value, dict):
        for one in value.values():
            yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def _digest_of(path: Path) -> tuple[str, int]:
    """Of the content, and how many bytes that has; of what cannot be read, that it cannot."""
    try:
        path = path.expanduser()
        # To open a device or a pipe can already do something.
        if _is_readable(path.stat()):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                # Looked at again by its descriptor: the name may mean another file by now.
                if _is_readable(found):
                    return hashlib.file_digest(file, "sha256").hexdigest(), found.st_size
    except (OSError, RuntimeError, ValueError):
        pass
    return "not read", 0


def _is_readable(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_size <= _FILE_BYTES


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
