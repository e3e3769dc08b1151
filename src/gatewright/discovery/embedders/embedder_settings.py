"""Reads the settings of an embedder: API key (warns where it goes without TLS), model folder, and what its vectors depend on."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gatewright.config import Settings
from gatewright.config.embedder import Embedder as Written
from gatewright.config.setting_sources import folder_of, looked_up
from gatewright.secret_scanning import HELD
from gatewright.web.urls import bare, is_loopback

__all__ = ["key_in_clear_text", "key_of", "place_of", "said_of"]

_TABLE = "discovery.embedder"


def key_of(settings: Settings) -> str:
    """The key of an endpoint, with what stands for `${…}` in it. Raises `Undefined`."""
    [key] = looked_up(settings, _TABLE, settings.discovery.embedder.key)
    HELD.hold("embedder", [key] if key else [])
    return key


def key_in_clear_text(written: Written) -> str:
    """What to say of a key that everybody on the way to the endpoint can read; empty where nobody can."""
    plain = written.url.partition(":")[0].casefold() == "http" and not is_loopback(written.url)
    if written.type != "endpoint" or not written.key or not plain:
        return ""
    return (
        f"its key, what tools say of themselves and what is searched for go to {bare(written.url)} without TLS: everybody on the way can "
        "read and change them"
    )


def place_of(settings: Settings) -> Path:
    """The folder of a local model."""
    return folder_of(settings, _TABLE) / Path(settings.discovery.embedder.path).expanduser()


def said_of(written: Written) -> str:
    """What of a table the vectors depend on."""
    parts = (written.type, written.url, written.model, written.query_prefix, written.tool_prefix)
    return msgspec.json.encode(parts).decode()
