"""Files and folders of the gateway itself that sandboxed servers must not see (`hidden_of`), or not change (`kept_of`, `own_code`).

Configuration, acceptance, state and keys are nobody's to see, there or not: who makes a file that counts configures the gateway. What
is read on their word (rules, documents, values, modules that run inside the gateway) may be shown to a server, and is not its to change.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gatewright.config import Settings
from gatewright.config.api import is_url
from gatewright.config.lookup import STDIN
from gatewright.config.source import named_files, value_files
from gatewright.config.substitute import Undefined
from gatewright.sdk.discovery import is_folder
from gatewright.transport.isolation.rules import real_path

__all__ = ["changed_by_servers", "hidden_folders_of", "hidden_of", "kept_of", "own_code"]

_PATH = tuple(one for one in sys.path if one and os.path.isdir(one))  # noqa: PTH112 - texts are compared
"""Where modules are found as the gateway starts. Later servers that run inside it add folders, which are kept for themselves."""


def hidden_of(settings: Settings) -> tuple[str, ...]:
    """Files, absolute: each that counts as configuration or would if it were there, and keys."""
    found = [one for one in (*settings.files, *settings.own.files) if one != STDIN]
    if settings.secrets.key_file is not None:
        found.append(settings.secrets.key_file)
    if settings.protocol is not None and (key := settings.protocol.transport.tls.key_file):
        found.append(Path(key))
    return _texts(found)


def hidden_folders_of(settings: Settings) -> tuple[str, ...]:
    """Folders, absolute: the state, that of other gateways of this user, and what they accepted."""
    return _texts((settings.storage.path, *settings.own.folders))


def kept_of(settings: Settings) -> tuple[str, ...]:
    """What the gateway reads, or runs, because its configuration says so; absolute."""
    return _texts(_kept(settings))


def own_code() -> tuple[str, ...]:
    """What the gateway itself runs from: its environment, that of its interpreter, its modules, and wherever else it looks for modules. Who
    changes these is the gateway from its next start on. Absolute."""
    own = [sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]), *_PATH]
    if site.ENABLE_USER_SITE:  # looked at where it is there, at the next start
        own.append(site.getusersitepackages())
    found = [Path(one).absolute() for one in dict.fromkeys(own)]
    return _texts(one for one in found if not any(above in one.parents for above in found))


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
        if server.transport == "python":
            yield from _modules(settings, Path(server.cwd or "."), server.python)
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


def _modules(settings: Settings, folder: Path, python: str) -> Iterator[Path]:
    """What a server imports that runs inside the gateway: its modules, and the folder that it puts on the path of modules. Compiled
    modules and what its modules import lie there as well."""
    if is_folder(python):
        own = folder / os.path.expanduser(python)  # noqa: PTH111 - that of Path raises for an unknown user
        if own.suffix == ".py":
            yield from (own, own.parent, real_path(own).parent)
            return
    else:
        own = folder / python.partition(".")[0]
        yield from (folder, own.with_name(f"{own.name}.py"))
    yield own
    # Subfolders are searched for modules, so what is to be written to in one of them is code, too; elsewhere it is data.
    real = real_path(own)
    yield from (Path(one) for one in changed_by_servers(settings) if real_path(one).is_relative_to(real))  # fmt: skip


def _texts(paths: Iterable[Path]) -> tuple[str, ...]:
    # In one order, whatever they come from: a server is started anew where its rules are others.
    return tuple(sorted({str(one.absolute()) for one in paths}))
