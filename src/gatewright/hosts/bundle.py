"""Reads `.mcpb` bundles: validates the zip (paths, sizes, symbolic links), unpacks it, and reads the server from its manifest.

A zip from a stranger may name files outside its folder, hide gigabytes in kilobytes or link to a file
of ours: everything is checked against the list of its contents before the first byte is unpacked.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from gatewright.hosts.entry import Entry, literal, plain_text
from gatewright.hosts.entry_places import secret_name
from gatewright.hosts.model import CannotRead, Refused, Server
from gatewright.hosts.placeholders import Meaning, escape, places, variable
from gatewright.patterns import Pattern

__all__ = ["MAX_FILES", "MAX_RATIO", "MAX_UNPACKED", "manifest_of", "read_manifest", "unpack"]

MAX_FILES = 20_000
MAX_UNPACKED = 256 * 1024 * 1024
MAX_RATIO = 200
MAX_MANIFEST = 1024 * 1024
_SMALL = 1024 * 1024
_ASKED = Pattern(r"\$\{user_config\.([A-Za-z0-9_.-]+)\}")
_UNFIT = Pattern(r"[\\\x00-\x1f:]")
_KEY = Pattern(r"user_config\.([A-Za-z0-9_.-]+)")


def manifest_of(content: bytes) -> bytes:
    """`manifest.json` of a bundle whose contents are harmless. Raises `CannotRead` (`bundle`)."""
    with _opened(content) as bundle:
        _checked(bundle)
        try:
            info = bundle.getinfo("manifest.json")
        except KeyError:
            raise _bad("there is no manifest.json in it", "name a .mcpb bundle") from None
        if info.file_size > MAX_MANIFEST:
            raise _bad("its manifest.json is too long", "ask its author")
        return _member(bundle, info)


def unpack(content: bytes, folder: Path) -> None:
    """Unpack a bundle into a folder that is not there yet. Nothing is left behind where it fails."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Beside its final place, so that the rename at the end stays within one file system.
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        with _opened(content) as bundle:
            for info in _checked(bundle):
                path = unfinished.joinpath(*PurePosixPath(info.filename).parts)
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with path.open("xb") as file:
                    file.write(_member(bundle, info))
                path.chmod(0o700 if (info.external_attr >> 16) & 0o100 else 0o600)
        # Whole or not there: `import` takes a folder of this name for a bundle that was unpacked before.
        unfinished.rename(folder)
    except FileExistsError:
        raise _bad("it has one file twice", "ask its author") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def read_manifest(data: Mapping[str, Any], entry: Entry, *, folder: str, platform: str) -> Server:
    """The server of a manifest that was unpacked into `folder`. Raises `Refused`."""
    name = secret_name(plain_text(data.get("name") or "bundle", "name"))
    server = data.get("server")
    if not isinstance(server, dict):
        raise Refused("the manifest says nothing about the server", "ask its author")
    _check_platform(data, platform)
    config = {**_default_start(server), **_table(server.get("mcp_config"))}
    # MCPB: a platform replaces single variables of `env`, and every other member as a whole; null takes a variable out.
    override = _table(_table(config.get("platform_overrides")).get(platform))
    config = {**config, **{key: one for key, one in override.items() if key != "env"}}
    env = {**_table(config.get("env")), **_table(override.get("env"))}
    config["env"] = {key: one for key, one in env.items() if one is not None}
    options = _table(data.get("user_config"))
    inner = Entry(config, syntaxes=("braces",), meaning=_meaning(options, name, folder))
    command = inner.text("command")
    if not command:
        raise Refused("the manifest names no command", "ask its author")
    title = data.get("display_name") or data.get("name") or ""
    return Server(
        id=name,
        title=literal(title, "display_name"),
        transport="stdio",
        command=command,
        args=tuple(_arguments(inner, options)),
        cwd=escape(folder),
        env=inner.variables("env"),
    )


def _opened(content: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except Exception:  # noqa: BLE001 - the reader fails on hostile input in many ways
        raise _bad("it is no whole zip", "download it again") from None


def _bad(what: str, instead: str) -> CannotRead:
    return CannotRead("bundle", f"the bundle cannot be used: {what}", instead)


def _checked(bundle: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files in it, each inside the folder and all together of a bearable size."""
    found = bundle.infolist()
    if len(found) > MAX_FILES:
        raise _bad(f"it has more than {MAX_FILES} files", "ask its author")
    total = 0
    for info in found:
        path = PurePosixPath(info.filename)
        if path.is_absolute() or ".." in path.parts or _UNFIT.within(info.filename):
            raise _bad("a file of it would land outside its folder", "do not use it")
        # The upper half is the Unix mode; 0 where the zip was made on another system.
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
            raise _bad("it has a link or a device in it", "ask its author")
        if info.flag_bits & 0x1:
            raise _bad("it is encrypted", "ask its author")
        # A zip bomb comes near the limit of deflate, about 1,000 to 1. Up to a MiB any ratio passes: short texts pack well.
        if info.file_size > max(info.compress_size * MAX_RATIO, _SMALL):
            raise _bad("a file of it is packed too tightly to be honest", "do not use it")
        total += info.file_size
    if total > MAX_UNPACKED:
        raise _bad(f"it unpacks to more than {MAX_UNPACKED // 1024 // 1024} MB", "ask its author")
    return [info for info in found if not info.is_dir() and PurePosixPath(info.filename).parts]


def _member(bundle: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """One file, never longer than the list says it is."""
    try:
        with bundle.open(info) as member:
            # One byte more than was announced is enough to notice that the list lied.
            content = member.read(info.file_size + 1)
    except Exception:  # noqa: BLE001 - decompressors fail on hostile input in many ways
        raise _bad("a file of it cannot be unpacked", "download it again") from None
    if len(content) > info.file_size:
        raise _bad("a file of it is longer than it says", "do not use it")
    return content


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _check_platform(data: Mapping[str, Any], platform: str) -> None:
    platforms = _table(data.get("compatibility")).get("platforms")
    if isinstance(platforms, list) and platforms and platform not in platforms:
        raise Refused("the bundle is made for other systems", "ask its author for one")


def _default_start(server: Mapping[str, Any]) -> dict[str, Any]:
    """How a server is started whose manifest does not say it."""
    entry_point = server.get("entry_point")
    if not isinstance(entry_point, str):
        return {}
    path = "${__dirname}/" + entry_point
    kind = server.get("type")
    if kind == "uv":
        return {"command": "uv", "args": ["run", "--directory", "${__dirname}", path]}
    if kind in ("node", "python"):
        return {"command": "node" if kind == "node" else "python3", "args": [path]}
    return {"command": path}


def _meaning(options: Mapping[str, Any], name: str, folder: str) -> Meaning:
    known = {
        **places(folder),
        "__dirname": escape(folder),
        "DESKTOP": "${HOME}/Desktop",
        "DOCUMENTS": "${HOME}/Documents",
        "DOWNLOADS": "${HOME}/Downloads",
    }

    def meaning(inner: str) -> str | None:
        asked = _KEY.fullmatch(inner)
        if asked is None:
            return known.get(inner)
        option = _table(options.get(asked[1]))
        if option.get("sensitive") is True:
            return f"${{secret:{secret_name(f'{name}.{asked[1]}')}}}"
        default = option.get("default")
        if isinstance(default, list):
            default = default[0] if len(default) == 1 else None
        if default is None:
            return f"${{{variable(asked[1])}}}"
        return _default(plain_text(default, asked[1]), asked[1], known)

    return meaning


def _default(text: str, key: str, known: Mapping[str, str]) -> str:
    """A variable with the option's default; a default with a placeholder in it stands by itself."""
    # A `}` in the default would end the reference early.
    if "${" not in text and "}" not in text:
        return f"${{{variable(key)}:-{text}}}"
    return Entry({key: text}, syntaxes=("braces",), meaning=known.get).text(key)


def _arguments(inner: Entry, options: Mapping[str, Any]) -> Iterator[str]:
    """The arguments; an option of several values is as many arguments."""
    raw = inner.data.get("args")
    for value in raw if isinstance(raw, list) else []:
        # Enough for any name; what is longer is no placeholder.
        asked = _ASKED.fullmatch(str(value)[:200])
        option = _table(options.get(asked[1])) if asked else {}
        default = option.get("default")
        if option.get("multiple") is True and isinstance(default, list) and default:
            yield from (inner.said(one, "default") for one in default[:1000])
        else:
            yield inner.said(value, "args")
