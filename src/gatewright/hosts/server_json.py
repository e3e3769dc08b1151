"""Parses a `server.json` of the MCP registry: picks one remote or package, and builds its URL or command with secrets and variables.

A remote address is preferred over a package, because nothing of it runs here; the other ways are told.
What a person would be asked for becomes a secret or a variable with a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatewright.hosts.dialects import TRANSPORTS
from gatewright.hosts.entry import Entry, literal, plain_text
from gatewright.hosts.entry_places import secret_name
from gatewright.hosts.host_entry import check_url
from gatewright.hosts.model import Refused, Server
from gatewright.hosts.placeholders import translate, variable

__all__ = ["is_described", "read_described"]

_RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "docker": "docker", "nuget": "dnx"}
_JOINTS = {"npm": "@", "pypi": "==", "oci": ":", "docker": ":", "nuget": "@"}


def is_described(value: Any) -> bool:
    """Whether a table is a `server.json`."""
    return isinstance(value, dict) and any(
        isinstance(value.get(key), list) for key in ("packages", "remotes")
    )


def read_described(data: Mapping[str, Any], entry: Entry) -> Server:
    """The server of a `server.json`; `entry` takes the notes. Raises `Refused`."""
    short = secret_name(plain_text(data.get("name", "server"), "name").rpartition("/")[2])
    title = literal(plain_text(data.get("title") or "", "title"), "title")
    remotes, packages = _tables(data.get("remotes")), _tables(data.get("packages"))
    ways = len(remotes) + len(packages)
    if ways > 1:
        entry.note("packages", f"the server can be had in {ways} ways; one was taken", "see docs")
    if remotes:
        # Reversed, so that the first of a kind stays.
        by_kind = {_said(one, "type", "transport_type"): one for one in reversed(remotes)}
        chosen = by_kind.get("streamable-http") or by_kind.get("http") or remotes[0]
        return _remote(chosen, short, title)
    if not packages:
        raise Refused("it names neither a package nor a remote address", "ask its author")
    usable = [one for one in packages if _kind(one) in _RUNNERS]
    if not usable:
        raise Refused("no package of it is one of npm, pypi, oci or nuget", "download it yourself")
    return _package(usable[0], short, title)


def _tables(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _either(table: Mapping[str, Any], *keys: str) -> Any:
    """The value under any spelling of a key."""
    return next((table[key] for key in keys if table.get(key) is not None), None)


def _said(table: Mapping[str, Any], *keys: str) -> str:
    value = _either(table, *keys)
    return "" if value is None else plain_text(value, keys[0])


def _kind(package: Mapping[str, Any]) -> str:
    return _said(package, "registryType", "registry_type", "registry_name")


def _remote(remote: Mapping[str, Any], short: str, title: str) -> Server:
    kind = _said(remote, "type", "transport_type") or "streamable-http"
    transport = TRANSPORTS.get(kind)
    if transport is None or transport == "stdio":
        raise Refused("the remote address has an unknown type", "ask its author")
    url = _filled(_said(remote, "url"), remote, short, secret=False)
    check_url(url)
    headers = _values(remote, ("headers",), short)
    return Server(id=short, title=title, transport=transport, url=url, headers=headers)


def _package(package: Mapping[str, Any], short: str, title: str) -> Server:
    kind = _kind(package)
    transport = package.get("transport")
    if isinstance(transport, dict) and transport.get("type") not in (None, "stdio"):
        raise Refused("the package opens a port by itself", "start it, and add its url by hand")
    name = _said(package, "identifier", "name")
    # The runner would read it as an option.
    if not name or name.startswith("-"):
        raise Refused("the package has no usable identifier", "ask its author")
    version = _said(package, "version")
    runner = _said(package, "runtimeHint", "runtime_hint") or _RUNNERS[kind]
    env = _values(package, ("environmentVariables", "environment_variables"), short)
    before = list(_arguments(package, ("runtimeArguments", "runtime_arguments"), short))
    after = list(_arguments(package, ("packageArguments", "package_arguments"), short))
    pinned = name if not version or _is_pinned(name, kind) else f"{name}{_JOINTS[kind]}{version}"
    args = [*_wrapped(runner, before, env), literal(pinned, "identifier")]
    # dnx takes options for its own up to `--`.
    separator = ["--"] if runner == "dnx" and after else []
    return Server(
        id=short,
        title=title,
        transport="stdio",
        command=literal(runner, "runtimeHint"),
        args=(*args, *separator, *after),
        env=env,
    )


def _is_pinned(name: str, kind: str) -> bool:
    # Behind the last slash: a scope of npm begins with `@`, a registry of images may have a `:port`.
    last = name.rpartition("/")[2]
    return "@" in last or (kind in {"oci", "docker"} and ":" in last)


def _wrapped(runner: str, before: list[str], env: Mapping[str, str]) -> list[str]:
    """The runner's own arguments, with what it needs to run without asking."""
    if runner == "npx":
        return before if {"-y", "--yes"} & set(before) else ["-y", *before]
    if runner == "dnx":
        return before if "--yes" in before else ["--yes", *before]
    if runner in {"docker", "podman"}:
        passed = [word for name in env for word in ("-e", name)]
        start = [] if before[:1] == ["run"] else ["run", "-i", "--rm"]
        return [*start, *before, *passed]
    return before


def _values(table: Mapping[str, Any], keys: tuple[str, ...], short: str) -> dict[str, str]:
    """Variables or headers; what is neither given nor needed is left out."""
    found = {}
    for one in _tables(_either(table, *keys)):
        name = _said(one, "name")
        value = _value(one, name, short)
        if name and value is not None:
            found[name] = value
    kept = Entry({"names": found})
    return kept.headers("names") if keys == ("headers",) else kept.variables("names")


def _value(one: Mapping[str, Any], name: str, short: str) -> str | None:
    """What an input comes to, None where it may be left out."""
    secret = _either(one, "isSecret", "is_secret") is True
    given = _either(one, "value", "default")
    if given is not None:
        return _filled(plain_text(given, name), one, short, secret=secret)
    if secret:
        return f"${{secret:{secret_name(f'{short}.{name}')}}}"
    needed = _either(one, "isRequired", "is_required") is True
    return f"${{{variable(name)}}}" if needed else None


def _filled(text: str, table: Mapping[str, Any], short: str, *, secret: bool) -> str:
    """A text with its `{names}` replaced by what `variables` says about them."""
    known = table.get("variables")

    def meaning(inner: str) -> str | None:
        about = known.get(inner) if isinstance(known, dict) else None
        if not isinstance(about, dict):
            return f"${{secret:{secret_name(f'{short}.{inner}')}}}" if secret else None
        return _value({"isRequired": True, **about}, inner, short)

    return translate(text, ("names",), meaning)


def _arguments(table: Mapping[str, Any], keys: tuple[str, ...], short: str) -> Iterator[str]:
    for one in _tables(_either(table, *keys)):
        name = _said(one, "name")
        value = _value(one, name.lstrip("-") or _hint(one) or "argument", short)
        if _said(one, "type") == "named" and name and (value is not None or not _takes_value(one)):
            yield literal(name, "name")
        if value is not None:
            yield value


def _hint(one: Mapping[str, Any]) -> str:
    return _said(one, "valueHint", "value_hint")


def _takes_value(one: Mapping[str, Any]) -> bool:
    return any(
        one.get(key) for key in ("format", "valueHint", "value_hint", "choices", "variables")
    )
