"""Expands `${VAR}`, `${secret:NAME}` in a setting at each use, not at load; `folder_of`: base folder of its relative paths."""

from __future__ import annotations

import os
from pathlib import Path

from gatewright.config.model import Settings
from gatewright.config.secrets import open_secrets
from gatewright.config.substitute import Sources, substitute

__all__ = ["folder_of", "looked_up"]


def folder_of(settings: Settings, key: str) -> Path:
    """What paths at a table or key are relative to: where it was written."""
    return settings.file_of(key).absolute().parent if settings.files else settings.storage.path


def looked_up(settings: Settings, key: str, *texts: str) -> list[str]:
    """Texts that stand at a table or key, with what stands for `${…}` in them. Raises `Undefined`."""
    place, secrets, file = settings.storage.path, settings.secrets, settings.file_of(key)
    sources = Sources(
        os.environ,
        lambda: open_secrets(place, secrets.store, key_file=secrets.key_file),
        store=place,
        file=file,
        accepted=settings.accepted.get(file),
    )
    folder = folder_of(settings, key)
    return [substitute(one, sources, folder) for one in texts]
