"""Edits servers, grants, tool settings in `mgp.toml` under a lock: atomic, only if the result loads; renews the file's acceptance.

    with editing(path) as file:
        add_servers(file, [{"id": "files", "command": "npx", "args": ["-y", "…"]}])

The file is replaced as a whole when the block ends, with the mode it had, and only by a text that
loads: an edit that would break the configuration is refused, and the old file stands.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gatewright.command_text import to_type
from gatewright.config.build import build
from gatewright.config.check import Report
from gatewright.config.documents import Document, parse, read
from gatewright.config.draft import Draft
from gatewright.config.lookup import state_directory
from gatewright.config.model import Grant
from gatewright.config.problems import NotOfFile, Origin, Problem, SettingsError
from gatewright.config.servers import build_grant
from gatewright.config.trust import accept, is_accepted
from gatewright.storage.errors import StoreError
from gatewright.storage.private_file import alone, replace_file

__all__ = [
    "add_grants",
    "add_servers",
    "editing",
    "remove_grants",
    "remove_server",
    "set_sandbox_value",
    "set_server_value",
    "set_tool_value",
]

log = logging.getLogger("gatewright.config")

_BOM = b"\xef\xbb\xbf"
_ANYWHERE = Origin(Path())


@contextmanager
def editing(
    path: Path,
    *,
    new: str | None = None,
    write: bool = True,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Draft]:
    """The file as a draft; written when the block ends without an error, unless `write` is off.

    `new` is the text to begin with where there is no file yet; without it, that is an error. A
    symbolic link stays one: what it points to is changed, and it has to be there. A file that is new, or was accepted as it was
    (`trust`), is accepted with the change, which is warned about where it cannot be kept; another stays as little accepted as it
    was. Raises `SettingsError` and `OSError`.
    """
    target = path.resolve()
    if path.is_symlink() and not target.exists():
        what = f"this is a link to {target}, where no file is"
        raise NotOfFile([Problem(Origin(path), "", what, "remove the link, or name the file")])
    if new is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.is_dir():
        read(path)
    # By its folder: the file is replaced, and a lock on it would go with the old one.
    with alone(target.parent):
        content, mode = _content(path, target, new)
        bom = content.startswith(_BOM)
        text = content.removeprefix(_BOM).decode()
        crlf = "\r\n" in text
        draft = Draft(text.replace("\r\n", "\n"), path)
        before = draft.text if target.exists() else None
        yield draft
        if draft.text == before:
            return
        _check(draft, before or "", environ)
        if write:
            # By the text from before: a command's edit must not accept what a stranger wrote beside it (decision 0048).
            ours = before is None or _is_accepted(before, path, environ)
            ended = draft.text.replace("\n", "\r\n") if crlf else draft.text
            replace_file(target, (_BOM if bom else b"") + ended.encode(), mode=mode)
            if ours:
                _accept(parse(draft.text, path), os.environ if environ is None else environ)


def _accept(document: Document, environ: Mapping[str, str]) -> None:
    """Have what was written accepted by that. Where this cannot be kept, nothing is lost but a question that is asked later."""
    try:
        accept(document, environ)
    except (StoreError, SettingsError) as problem:
        path = document.path.absolute()
        log.warning(
            "%s is written, but that it is yours could not be kept: %s. So where it is found it is asked about, once; --config uses it at once",
            path,
            problem,
        )


def _is_accepted(text: str, path: Path, environ: Mapping[str, str] | None) -> bool:
    return is_accepted(parse(text, path), os.environ if environ is None else environ)


def _check(draft: Draft, before: str, environ: Mapping[str, str] | None = None) -> None:
    """Whether the gateway would take it. Raises `SettingsError`: `NotOfFile` where it takes the file as it was."""
    found = _flaws(draft.text, draft.path, environ)
    if not found:
        return
    was_flawed = _flaws(before, draft.path, environ)
    instead = "correct what is named above first" if was_flawed else "ask for what fits"
    more = Problem(Origin(draft.path), "", "the file was left as it is", instead)
    raise (SettingsError if was_flawed else NotOfFile)([*found, more])


def _flaws(text: str, path: Path, environ: Mapping[str, str] | None) -> Sequence[Problem]:
    variables = os.environ if environ is None else environ
    try:
        build([parse(text, path)], variables, state_directory(variables))
    except SettingsError as found:
        return found.problems
    return ()


def add_servers(
    draft: Draft,
    servers: Sequence[Mapping[str, Any]],
    *,
    replace: bool = False,
    notes: Mapping[str, str] | None = None,
) -> None:
    """More `[[servers]]`, each as the file spells one, with its `id`; those of an id that is there
    already are replaced where `replace` says so, else refused.

    `notes` are comments above the tables, by id. Raises `SettingsError`.
    """
    for server in servers:
        table = {key: value for key, value in server.items() if value is not None}
        note = (notes or {}).get(str(server["id"]), "")
        number = _find(draft, str(server["id"]))
        if number is None:
            draft.append("servers", table, note)
        elif replace:
            draft.replace("servers", number, table, note)
        else:
            raise _problem(
                draft,
                server["id"],
                "there is a server of this id",
                f"choose another id, or --replace; `{to_type('server show {}', str(server['id']))}` says what it is",
            )


def add_grants(draft: Draft, grants: Sequence[Mapping[str, Any]]) -> None:
    """More `[[grants]]`, but those that stand there already. Raises `SettingsError`."""
    for grant in grants:
        held = draft.data.get("grants", [])
        if not isinstance(held, list) or dict(grant) not in held:
            draft.append("grants", grant)


def remove_grants(draft: Draft, grants: Collection[Grant]) -> None:
    """Take those `[[grants]]` out that say the same as these, wherever they stand by now; another one of the same agent and tool stays.
    Raises `SettingsError`, also where one is not there any more."""
    report = Report(parse(draft.text, draft.path))
    held = draft.data.get("grants", [])
    standing = [
        build_grant(one, ("grants", number), report)
        for number, one in enumerate(held if isinstance(held, list) else [])
    ]
    said = [None if one is None else replace(one, origin=_ANYWHERE) for one in standing]
    gone = [replace(one, origin=_ANYWHERE) for one in grants]
    if any(one not in said for one in gone):
        what = "a grant that was to be taken out of it does not stand there any more"
        raise NotOfFile([Problem(Origin(draft.path), "grants", what, "look at it again")])
    # From the end, so that the numbers before stay right.
    for number in reversed(range(len(said))):
        if said[number] in gone:
            draft.remove("grants", number)


def remove_server(draft: Draft, server: str) -> None:
    """Take a server out, with the grants that name it alone. Raises `SettingsError`."""
    draft.remove("servers", _number(draft, server))
    held = draft.data.get("grants", [])
    # From the end, so that the numbers before stay right.
    for number in reversed(range(len(held) if isinstance(held, list) else 0)):
        if isinstance(held[number], dict) and held[number].get("server") == server:
            draft.remove("grants", number)


def set_server_value(draft: Draft, server: str, key: str, value: Any) -> None:
    """A key of a server. Raises `SettingsError`."""
    draft.put(("servers", _number(draft, server), key), value)


def set_sandbox_value(draft: Draft, server: str, key: str, value: Any) -> None:
    """A key of `[servers.sandbox]`. Raises `SettingsError`."""
    draft.put(("servers", _number(draft, server), "sandbox", key), value)


def set_tool_value(draft: Draft, server: str, tool: str, key: str, value: Any) -> None:
    """A key of `[servers.tools.TOOL]`. Raises `SettingsError`."""
    draft.put(("servers", _number(draft, server), "tools", tool, key), value)


def _content(path: Path, target: Path, new: str | None) -> tuple[bytes, int]:
    """The bytes to begin with and the mode to write with."""
    if new is not None and not target.exists():
        # No call only reads it.
        umask = os.umask(0)
        os.umask(umask)
        return new.encode(), 0o666 & ~umask
    read(path)  # whatever is wrong with it is said with its line
    return target.read_bytes(), stat.S_IMODE(target.stat().st_mode)


def _find(draft: Draft, server: str) -> int | None:
    held = draft.data.get("servers", [])
    if not isinstance(held, list):
        what, instead = "servers is no array of tables", "write [[servers]] for each"
        raise _problem(draft, server, what, instead, SettingsError)
    ids = [one.get("id") if isinstance(one, dict) else None for one in held]
    return ids.index(server) if server in ids else None


def _number(draft: Draft, server: str) -> int:
    found = _find(draft, server)
    if found is None:
        raise _problem(
            draft,
            server,
            "this file has no server of this id",
            f"`{to_type('config show')}` has them",
        )
    return found


def _problem(
    draft: Draft, server: str, what: str, instead: str, kind: type[SettingsError] = NotOfFile
) -> SettingsError:
    number = None
    if isinstance(draft.data.get("servers"), list):
        number = _find(draft, server)
    line = 0 if number is None else draft.line(("servers", number))
    return kind([Problem(Origin(draft.path, line), f"servers.{server}", what, instead)])
