"""Files and folders of the gateway itself that sandboxed servers must not see, or not change: `guarded_of` has all of it.

Configuration, acceptance, state and keys are nobody's to see, there or not: who makes a file that counts configures the gateway. What
is read on their word (rules, documents, values, modules that run inside the gateway) may be shown to a server, and is not its to change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from gatewright.config import Settings
from gatewright.config.api import is_url
from gatewright.config.lookup import STDIN
from gatewright.config.model import Server
from gatewright.config.source import named_files, value_files
from gatewright.config.substitute import Undefined
from gatewright.sdk.discovery import is_folder
from gatewright.servers.gateway_code import LAST, own_code, own_secrets, shadowing
from gatewright.servers.module_names import listed, module_name
from gatewright.transport.isolation.rules import Kept, real_path

__all__ = [
    "Guarded",
    "changed_by_servers",
    "guarded_of",
    "hidden_folders_of",
    "hidden_of",
    "kept_of",
]


class Guarded(msgspec.Struct, frozen=True):
    """The same for all isolated servers of a configuration; as in `Isolation`."""

    hidden: tuple[str, ...]
    hidden_folders: tuple[str, ...]
    kept: tuple[Kept, ...]
    changed_by_others: tuple[str, ...]


def guarded_of(settings: Settings) -> Guarded:
    """All of it. It asks the file system, so once for a configuration will do."""
    # What holds other things is kept first.
    kept, changed = (*own_code(), *kept_of(settings)), changed_by_servers(settings)
    kept += tuple(sorted({*shadowing(kept, changed, _imported(settings))}, key=_order))
    return Guarded(hidden_of(settings), hidden_folders_of(settings), kept, changed)


def hidden_of(settings: Settings) -> tuple[str, ...]:
    """Files, absolute: each that counts as configuration or would if it were there, and keys."""
    found = [one for one in (*settings.files, *settings.own.files) if one != STDIN]
    if settings.secrets.key_file is not None:
        found.append(settings.secrets.key_file)
    if settings.protocol is not None and (key := settings.protocol.transport.tls.key_file):
        found.append(Path(key))
    return _texts((*found, *own_secrets()))


def hidden_folders_of(settings: Settings) -> tuple[str, ...]:
    """Folders, absolute: the state, that of other gateways of this user, and what they accepted."""
    return _texts((settings.storage.path, *settings.own.folders))


def kept_of(settings: Settings) -> tuple[Kept, ...]:
    """What the gateway reads, or runs, because its configuration says so; absolute."""
    modules = (one for server in settings.servers if server.transport == "python" for one in _modules(server))  # fmt: skip
    return (
        *sorted({*modules}, key=_order),
        *map(Kept, _texts(_kept(settings))),
    )


def changed_by_servers(settings: Settings) -> tuple[str, ...]:
    """Where isolated servers may write; absolute."""
    places = (one.confinement.write for one in settings.servers if one.confinement.level == "confined")  # fmt: skip
    return _texts(place for write in places for place in write)


def _kept(settings: Settings) -> Iterator[Path]:
    yield from value_files(settings)
    yield from named_files(settings)
    if settings.protocol is not None:
        tls = settings.protocol.transport.tls
        yield from map(Path, filter(None, (tls.cert_file, tls.ca_file)))
    for server in settings.servers:
        if server.openapi and not is_url(server.openapi):
            yield Path(server.openapi)
    yield from _records(settings)
    if model := settings.discovery.embedder.path:
        from gatewright.config.setting_sources import folder_of  # noqa: PLC0415 - few have a model

        # Native libraries read it inside the gateway.
        yield folder_of(settings, "discovery.embedder") / os.path.expanduser(model)  # noqa: PTH111 - that of Path raises for an unknown user


def _records(settings: Settings) -> Iterator[Path]:
    """Files that the record is written to: by a link in the place of one the gateway would write elsewhere."""
    for sink in settings.audit.sinks:
        if not sink.path:
            continue
        from gatewright.config.setting_sources import looked_up  # noqa: PLC0415 - few have such a file

        try:
            [said] = looked_up(settings, "audit.sinks", sink.path)
        except Undefined:  # nothing is written there
            continue
        yield settings.storage.path / os.path.expanduser(said)  # noqa: PTH111 - that of Path raises for an unknown user


def _modules(server: Server) -> Iterator[Kept]:
    """What a server imports that runs inside the gateway: its modules, and the folder that it puts on the path of modules. Compiled
    modules and what its modules import lie there as well."""
    why = f"what the server {server.id}, which runs inside the gateway, is imported from"
    own = _own(server)
    if own.suffix == ".py":
        yield Kept(str(own), why)
        yield from (Kept(str(one), why, modules=LAST) for one in (own.parent, real_path(own).parent))  # fmt: skip
        return
    if not is_folder(server.python):
        yield Kept(str(own.parent), why, modules=LAST)
        yield Kept(str(own.with_name(f"{own.name}.py")), why)
    # Subfolders are searched for modules, so what is to be written to in one of them is code, too; elsewhere it is data.
    yield Kept(str(own), why, whole=True, modules=LAST)


def _own(server: Server) -> Path:
    """Its file or folder; of the name of a module the folder that it would be."""
    folder = Path(server.cwd or ".").absolute()
    if is_folder(server.python):
        return folder / os.path.expanduser(server.python)  # noqa: PTH111 - that of Path raises for an unknown user
    return folder / server.python.partition(".")[0]


def _imported(settings: Settings) -> frozenset[str]:
    """Modules of such servers by the names that they are looked for: a folder of the name comes before the file, wherever it is earlier."""
    found = set[str]()
    for server in (one for one in settings.servers if one.transport == "python"):
        own = _own(server)
        if is_folder(server.python) and own.suffix != ".py":
            found |= {*map(module_name, listed(str(own)))}
        else:
            found |= {module_name(own.name), module_name(real_path(own).name)}
    return frozenset(found)


def _order(one: Kept) -> tuple[str, str]:
    return one.path, one.why


def _texts(paths: Iterable[Path]) -> tuple[str, ...]:
    # In one order, whatever they come from: a server is started anew where its rules are others.
    return tuple(sorted({str(one.absolute()) for one in paths}))
